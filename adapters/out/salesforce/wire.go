package salesforce

import "encoding/json"

// tokenWire is the answer to a request for a token.
type tokenWire struct {
	AccessToken string `json:"access_token"`
	InstanceURL string `json:"instance_url"`
	Error       string `json:"error"`
}

// faultWire is one fault of an answer that is no success.
type faultWire struct {
	Code   string   `json:"errorCode"`
	Fields []string `json:"fields"`
}

// part is one part of a composite request.
type part struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	ID      string            `json:"referenceId"`
	Headers map[string]string `json:"httpHeaders,omitempty"`
	Body    map[string]any    `json:"body,omitempty"`
	object  string
}

// compositeWire is the answer to a composite request.
type compositeWire struct {
	Parts []struct {
		Body   json.RawMessage `json:"body"`
		Status int             `json:"httpStatusCode"`
		ID     string          `json:"referenceId"`
	} `json:"compositeResponse"`
}
