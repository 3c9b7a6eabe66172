package salesforcetest

// This file has the shapes of the API's JSON, and of the control path's.

type errorWire struct {
	Message         string               `json:"message"`
	ErrorCode       string               `json:"errorCode"`
	Fields          []string             `json:"fields,omitzero"`
	DuplicateResult *duplicateResultWire `json:"duplicateResult,omitempty"`
}

type saveErrorWire struct {
	StatusCode      string               `json:"statusCode"`
	Message         string               `json:"message"`
	Fields          []string             `json:"fields"`
	DuplicateResult *duplicateResultWire `json:"duplicateResult,omitempty"`
}

type duplicateResultWire struct {
	AllowSave               bool              `json:"allowSave"`
	DuplicateRule           string            `json:"duplicateRule"`
	DuplicateRuleEntityType string            `json:"duplicateRuleEntityType"`
	ErrorMessage            string            `json:"errorMessage"`
	MatchResults            []matchResultWire `json:"matchResults"`
}

type matchResultWire struct {
	EntityType   string            `json:"entityType"`
	Errors       []struct{}        `json:"errors"`
	MatchEngine  string            `json:"matchEngine"`
	MatchRecords []matchRecordWire `json:"matchRecords"`
	Rule         string            `json:"rule"`
	Size         int               `json:"size"`
	Success      bool              `json:"success"`
}

type matchRecordWire struct {
	AdditionalInformation []struct{}  `json:"additionalInformation"`
	FieldDiffs            []struct{}  `json:"fieldDiffs"`
	MatchConfidence       int         `json:"matchConfidence"`
	Record                matchedWire `json:"record"`
}

type matchedWire struct {
	Attributes attributesWire `json:"attributes"`
	ID         string         `json:"Id"`
}

type attributesWire struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// saveResultWire is the outcome of one record.
type saveResultWire struct {
	ID      string          `json:"id,omitempty"`
	Success bool            `json:"success"`
	Errors  []saveErrorWire `json:"errors"`
	Created *bool           `json:"created,omitempty"`
}

type queryResultWire struct {
	TotalSize      int    `json:"totalSize"`
	Done           bool   `json:"done"`
	NextRecordsURL string `json:"nextRecordsUrl,omitempty"`
	Records        []any  `json:"records"`
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
	Label   string `json:"label"`
	URL     string `json:"url"`
	Version string `json:"version"`
}

type limitWire struct {
	Max       int `json:"Max"`
	Remaining int `json:"Remaining"`
}

type identityWire struct {
	ID             string `json:"id"`
	UserID         string `json:"user_id"`
	OrganizationID string `json:"organization_id"`
	Username       string `json:"username"`
	DisplayName    string `json:"display_name"`
}

type tokenWire struct {
	AccessToken string `json:"access_token"`
	Signature   string `json:"signature,omitempty"`
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
	Encoding     string               `json:"encoding"`
	MaxBatchSize int                  `json:"maxBatchSize"`
	SObjects     []objectDescribeWire `json:"sobjects"`
}

type basicInfoWire struct {
	ObjectDescribe objectDescribeWire `json:"objectDescribe"`
	RecentItems    []struct{}         `json:"recentItems"`
}

type objectDescribeWire struct {
	Name               string              `json:"name"`
	Label              string              `json:"label"`
	LabelPlural        string              `json:"labelPlural"`
	KeyPrefix          string              `json:"keyPrefix"`
	Custom             bool                `json:"custom"`
	Createable         bool                `json:"createable"`
	Updateable         bool                `json:"updateable"`
	Deletable          bool                `json:"deletable"`
	Queryable          bool                `json:"queryable"`
	Retrieveable       bool                `json:"retrieveable"`
	URLs               map[string]string   `json:"urls"`
	Fields             []fieldDescribeWire `json:"fields,omitempty"`
	ChildRelationships []struct{}          `json:"childRelationships"`
	RecordTypeInfos    []struct{}          `json:"recordTypeInfos"`
}

type fieldDescribeWire struct {
	Name               string              `json:"name"`
	Label              string              `json:"label"`
	Type               FieldType           `json:"type"`
	Length             int                 `json:"length"`
	Precision          int                 `json:"precision"`
	Scale              int                 `json:"scale"`
	Nillable           bool                `json:"nillable"`
	Createable         bool                `json:"createable"`
	Updateable         bool                `json:"updateable"`
	Unique             bool                `json:"unique"`
	ExternalID         bool                `json:"externalId"`
	IDLookup           bool                `json:"idLookup"`
	CaseSensitive      bool                `json:"caseSensitive"`
	AutoNumber         bool                `json:"autoNumber"`
	Custom             bool                `json:"custom"`
	DefaultedOnCreate  bool                `json:"defaultedOnCreate"`
	RestrictedPicklist bool                `json:"restrictedPicklist"`
	PicklistValues     []picklistValueWire `json:"picklistValues"`
	ReferenceTo        []string            `json:"referenceTo"`
	RelationshipName   *string             `json:"relationshipName"`
}

type picklistValueWire struct {
	Active       bool   `json:"active"`
	DefaultValue bool   `json:"defaultValue"`
	Label        string `json:"label"`
	Value        string `json:"value"`
}

// The shapes of the control path.

type statisticsWire struct {
	Calls         map[string]int    `json:"calls"`
	Answers       map[string]int    `json:"answers"`
	Faults        map[FaultKind]int `json:"faults"`
	Tokens        int               `json:"tokens"`
	Usage         int               `json:"usage"`
	BusiestMinute int               `json:"busiest_minute"`
	Records       map[string]int    `json:"records"`
}

type journalWire struct {
	Entries []entryWire `json:"entries"`
}

type entryWire struct {
	Time    string            `json:"time"`
	Call    int               `json:"call"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Action  Action            `json:"action"`
	Type    string            `json:"type"`
	Key     string            `json:"key"`
	ID      string            `json:"id"`
	Fields  map[string]string `json:"fields"`
	Changed []string          `json:"changed"`
}
