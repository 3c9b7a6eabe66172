package salesforce

import "encoding/json"

// This file has the shapes of the API's JSON.

// tokenWire is the answer to a request for a token, and to its refusal.
type tokenWire struct {
	AccessToken string `json:"access_token"`
	InstanceURL string `json:"instance_url"`
	Error       string `json:"error"`
}

type errorWire struct {
	Message   string   `json:"message"`
	ErrorCode string   `json:"errorCode"`
	Fields    []string `json:"fields"`
}

type compositeWire struct {
	AllOrNone bool       `json:"allOrNone"`
	Parts     []partWire `json:"compositeRequest"`
}

type partWire struct {
	Method      string            `json:"method"`
	URL         string            `json:"url"`
	ReferenceID string            `json:"referenceId"`
	Headers     map[string]string `json:"httpHeaders,omitempty"`
	Body        map[string]any    `json:"body,omitempty"`
}

type compositeAnswerWire struct {
	Parts []partAnswerWire `json:"compositeResponse"`
}

type partAnswerWire struct {
	Body        json.RawMessage `json:"body"`
	Status      int             `json:"httpStatusCode"`
	ReferenceID string          `json:"referenceId"`
}

type savedWire struct {
	ID      string `json:"id"`
	Success bool   `json:"success"`
}

// recordsWire is the answer to a query, or a page of it. The records are read by strictjson.
type recordsWire struct {
	Records []json.RawMessage `json:"records"`
	Done    bool              `json:"done"`
	Next    string            `json:"nextRecordsUrl"`
}

type organisationsWire struct {
	Records []struct {
		IsSandbox bool   `json:"IsSandbox"`
		Edition   string `json:"OrganizationType"`
	} `json:"records"`
}

type limitsWire struct {
	Requests struct {
		Max       int `json:"Max"`
		Remaining int `json:"Remaining"`
	} `json:"DailyApiRequests"`
}

type describeWire struct {
	Createable bool                `json:"createable"`
	Updateable bool                `json:"updateable"`
	Fields     []describeFieldWire `json:"fields"`
}

type describeFieldWire struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Length     int            `json:"length"`
	Precision  int            `json:"precision"`
	Scale      int            `json:"scale"`
	Createable bool           `json:"createable"`
	Updateable bool           `json:"updateable"`
	Unique     bool           `json:"unique"`
	ExternalID bool           `json:"externalId"`
	Restricted bool           `json:"restrictedPicklist"`
	Values     []picklistWire `json:"picklistValues"`
}

type picklistWire struct {
	Active bool   `json:"active"`
	Value  string `json:"value"`
}
