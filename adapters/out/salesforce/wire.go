package salesforce

import "encoding/json"

type tokenWire struct {
	AccessToken string `json:"access_token"`
	InstanceURL string `json:"instance_url"`
	Error       string `json:"error"`
}

type faultWire struct {
	Code   string   `json:"errorCode"`
	Fields []string `json:"fields"`
}

type part struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	ID      string            `json:"referenceId"`
	Headers map[string]string `json:"httpHeaders,omitempty"`
	Body    map[string]any    `json:"body,omitempty"`
	object  string
}

type compositeWire struct {
	Parts []struct {
		Body   json.RawMessage `json:"body"`
		Status int             `json:"httpStatusCode"`
		ID     string          `json:"referenceId"`
	} `json:"compositeResponse"`
}
