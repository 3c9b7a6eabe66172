package salesforcetest

import (
	"encoding/json"
	"time"
)

// This file has the shapes of the API's JSON, and of the control path's.

type errorWire struct {
	Message         string               `json:"message"`
	ErrorCode       string               `json:"errorCode"`
	Fields          []string             `json:"fields,omitzero"`
	DuplicateResult *duplicateResultWire `json:"duplicateResult,omitempty"`
}

type duplicateResultWire struct {
	AllowSave     bool              `json:"allowSave"`
	DuplicateRule string            `json:"duplicateRule"`
	ErrorMessage  string            `json:"errorMessage"`
	MatchResults  []matchResultWire `json:"matchResults"`
}

type matchResultWire struct {
	MatchRecords []matchRecordWire `json:"matchRecords"`
}

type matchRecordWire struct {
	Record matchedWire `json:"record"`
}

type matchedWire struct {
	Attributes attributesWire `json:"attributes"`
	ID         string         `json:"Id"`
}

type attributesWire struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// saveResultWire is the outcome of a record that was stored.
type saveResultWire struct {
	ID      string   `json:"id"`
	Success bool     `json:"success"`
	Errors  []string `json:"errors"` // empty
	Created *bool    `json:"created,omitempty"`
}

type queryResultWire struct {
	TotalSize      int    `json:"totalSize"`
	Done           bool   `json:"done"`
	NextRecordsURL string `json:"nextRecordsUrl,omitempty"`
	Records        []any  `json:"records"`
}

// compositeWire is a composite request.
type compositeWire struct {
	AllOrNone bool       `json:"allOrNone"`
	Collate   bool       `json:"collateSubrequests"` // of which only the speed depends
	Parts     []partWire `json:"compositeRequest"`
}

type partWire struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	ID      string            `json:"referenceId"`
	Headers map[string]string `json:"httpHeaders"`
	Body    json.RawMessage   `json:"body"`
}

type compositeResultWire struct {
	Results []partResultWire `json:"compositeResponse"`
}

type partResultWire struct {
	Body           any               `json:"body"`
	HTTPHeaders    map[string]string `json:"httpHeaders"`
	HTTPStatusCode int               `json:"httpStatusCode"`
	ReferenceID    string            `json:"referenceId"`
}

type versionWire struct {
	URL     string `json:"url"`
	Version string `json:"version"`
}

type limitWire struct {
	Max       int `json:"Max"`
	Remaining int `json:"Remaining"`
}

type tokenWire struct {
	AccessToken string `json:"access_token"`
	Scope       string `json:"scope"`
	InstanceURL string `json:"instance_url"`
	ID          string `json:"id"`
	TokenType   string `json:"token_type"`
	IssuedAt    string `json:"issued_at"`
}

type oauthErrorWire struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

type jwtHeaderWire struct {
	Algorithm string `json:"alg"`
}

type jwtClaimsWire struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	Expires  int64  `json:"exp"`
}

type globalDescribeWire struct {
	SObjects []objectDescribeWire `json:"sobjects"`
}

type objectDescribeWire struct {
	Name       string              `json:"name"`
	KeyPrefix  string              `json:"keyPrefix"`
	Custom     bool                `json:"custom"`
	Createable bool                `json:"createable"`
	Updateable bool                `json:"updateable"`
	Fields     []fieldDescribeWire `json:"fields,omitempty"`
}

type fieldDescribeWire struct {
	Name               string              `json:"name"`
	Type               FieldType           `json:"type"`
	Length             int                 `json:"length"`
	Precision          int                 `json:"precision"`
	Scale              int                 `json:"scale"`
	Nillable           bool                `json:"nillable"`
	Createable         bool                `json:"createable"`
	Updateable         bool                `json:"updateable"`
	Unique             bool                `json:"unique"`
	ExternalID         bool                `json:"externalId"`
	Custom             bool                `json:"custom"`
	RestrictedPicklist bool                `json:"restrictedPicklist"`
	PicklistValues     []picklistValueWire `json:"picklistValues"`
	ReferenceTo        []string            `json:"referenceTo"`
	RelationshipName   *string             `json:"relationshipName"`
}

type picklistValueWire struct {
	Active bool   `json:"active"`
	Value  string `json:"value"`
}

// The shapes of the control path.

type journalWire struct {
	Entries []Entry `json:"entries"`
}

// Entry is one effect of a call: a record that it created, updated or deleted. The control path answers with it.
type Entry struct {
	Time    time.Time         `json:"time"`
	Call    int               `json:"call"`   // number of the call, from 1; the parts of a composite call share it
	Method  string            `json:"method"` // of the call, or of the part of a composite call
	Path    string            `json:"path"`
	Action  Action            `json:"action"`
	Type    string            `json:"type"`    // name of the object
	Key     string            `json:"key"`     // value of the record's first unique field that has a value, or ""
	ID      string            `json:"id"`      // of the record
	Fields  map[string]string `json:"fields"`  // what was written, by name of the field; of content only the size
	Changed []string          `json:"changed"` // names of those fields whose value became another, sorted; all of them in a new record
}

// Statistics counts the work of a simulator so far. The control path answers with it.
type Statistics struct {
	Calls   map[string]int    `json:"calls"` // by name: "POST /composite", "PATCH /sobjects/Contact/{field}/{value}", or "other"
	Faults  map[FaultKind]int `json:"faults"`
	Tokens  int               `json:"tokens"`  // that were issued
	Usage   int               `json:"usage"`   // calls of the present day that count for the limit
	Records map[string]int    `json:"records"` // of each object that has some
}
