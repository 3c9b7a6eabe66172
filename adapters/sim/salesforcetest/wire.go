package salesforcetest

import "encoding/json"

// compositeWire is a composite request.
type compositeWire struct {
	AllOrNone bool       `json:"allOrNone"`
	Parts     []partWire `json:"compositeRequest"`
}

type partWire struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	ID      string            `json:"referenceId"`
	Headers map[string]string `json:"httpHeaders"`
	Body    json.RawMessage   `json:"body"`
}

// headerWire is the header of a JWT.
type headerWire struct {
	Algorithm string `json:"alg"`
}

// claimsWire are the claims of a JWT.
type claimsWire struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	Expires  int64  `json:"exp"`
}
