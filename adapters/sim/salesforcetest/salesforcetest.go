// Package salesforcetest is a double of a Salesforce organisation for tests: its REST API (versions 61.0 to 65.0) with the records
// of students, enrolments, direct debit authorities, agreements and their PDFs. Everything is in memory.
//
//	org := salesforcetest.New(salesforcetest.Options{ClientID: "client", ClientSecret: "secret"})
//	defer org.Close()
//	server := httptest.NewServer(org)
//
// POST /services/oauth2/token takes client_credentials, and, where Options.PublicKey is set, JWT bearer with an RS256 assertion.
// Below /services/data/vNN.0 there are limits, query with further pages, sobjects with describe, create, update and
// upsert by an external id, and composite. soql.go lists the forms of a query, schema.go the objects.
//
// It differs from an organisation in this: no write waits for a lock; the duplicate rule looks at the e-mail address of contacts alone; a
// file has no document; there are no users, sharing rules, triggers, record types, search and recycle bin.
package salesforcetest

import (
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are the options of an organisation. ClientID is required, and ClientSecret or PublicKey.
type Options struct {
	ClientID     string
	ClientSecret string         // for client credentials; refused if empty
	PublicKey    *rsa.PublicKey // of the key that signs assertions; refused if nil
	Username     string         // that assertions must name

	Schema     Schema           // DefaultSchema if empty
	Production bool             // Organization.IsSandbox is false
	QueryPage  int              // records in a page of a query; 2,000 if 0
	Now        func() time.Time // time.Now if nil
}

// Org is one organisation, and the handler of its API. It is safe for concurrent use.
type Org struct {
	options Options
	ended   chan struct{}
	end     func()

	mu      sync.Mutex
	tables  map[string]*table  // by name in lower case
	records map[string]*record // by id, deleted ones too
	made    int                // records
	cursors map[string][]any   // the results of queries of several pages
	tokens  map[string]bool
	calls   []Call
	journal []Entry
	faults  func(Call) Fault
}

// Call is one request.
type Call struct {
	Number int // from 1
	Method string
	Path   string // without the query
}

// Entry is one effect of a call: a record that it created or updated. A call that was rolled back has no entry.
type Entry struct {
	Action  string // created or updated
	Object  string
	ID      string
	Fields  map[string]string // that were written
	Changed []string          // the fields whose value became another, sorted
}

// New returns an organisation. Close must be called when it is no longer used. It panics without a client's credentials, and with a
// schema that no organisation could have.
func New(o Options) *Org {
	if o.ClientID == "" || o.ClientSecret == "" && o.PublicKey == nil {
		panic("salesforcetest: Options.ClientID is empty, or both ClientSecret and PublicKey")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Schema) == 0 {
		o.Schema = DefaultSchema()
	}
	o.QueryPage = cmp.Or(o.QueryPage, 2000)
	g := &Org{options: o, tables: map[string]*table{}, records: map[string]*record{},
		cursors: map[string][]any{}, tokens: map[string]bool{}, ended: make(chan struct{})}
	g.end = sync.OnceFunc(func() { close(g.ended) })
	for _, object := range o.Schema {
		g.tables[strings.ToLower(object.Name)] = newTable(object)
	}
	t := &transaction{org: g}
	described := map[string]string{"Name": "Simulated", "OrganizationType": "Developer Edition"}
	if described["IsSandbox"] = "true"; o.Production {
		described["IsSandbox"], described["OrganizationType"] = "", "Enterprise Edition"
	}
	if _, err := t.insert(g.table("Organization"), described); err != nil {
		panic("salesforcetest: " + err.Error())
	}
	return g
}

// Close ends the requests that hang.
func (g *Org) Close() { g.end() }

// Faults has calls suffer what a function says, from now on; nil takes them away. It is called once for each call, one at a time.
func (g *Org) Faults(f func(Call) Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = f
}

// Calls returns every request so far.
func (g *Org) Calls() []Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls)
}

// Journal returns every effect that calls had so far, the first one first.
func (g *Org) Journal() []Entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.journal)
}

// Records returns the records of an object, oldest first, as texts by the names of their fields: a number in full, a time
// as 2027-02-01T00:00:00.000Z, content as it is. A value that is not given, or false, is not there.
func (g *Org) Records(object string) (all []map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.table(object).records {
		values := maps.Clone(r.values)
		maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
		all = append(all, values)
	}
	return all
}

// Insert adds a record as an administrator would, by hand, and returns its id.
func (g *Org) Insert(object string, fields map[string]any) (id string, err error) {
	err = g.administer(func(t *transaction) *apiError {
		r, err := t.create(g.table(object), fields, nil)
		if err == nil {
			id = r.id
		}
		return err
	})
	return id, err
}

// Update changes a record as an administrator would.
func (g *Org) Update(id string, fields map[string]any) error {
	return g.administer(func(t *transaction) *apiError { return t.update(g.records[id], fields) })
}

func (g *Org) administer(do func(*transaction) *apiError) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &transaction{org: g, allowDuplicates: true}
	if err := do(t); err != nil {
		t.rollBack()
		return err
	}
	g.journal = append(g.journal, t.entries...)
	return nil
}

// Delete deletes a record as an administrator would. What refers to it refers to nothing then.
func (g *Org) Delete(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, other := range g.tables {
		for _, f := range other.order {
			for _, referring := range other.with(f.Name, id) {
				values := maps.Clone(referring.values)
				values[f.Name] = ""
				referring.set(values)
			}
		}
	}
	r := g.records[id]
	r.set(nil)
	r.deleted, r.table.records = true, slices.DeleteFunc(r.table.records, func(other *record) bool { return other == r })
}

// serveToken answers a request for a token.
func (g *Org) serveToken(r *http.Request) answer {
	code, base := "unsupported_grant_type", "http://"+r.Host
	switch r.PostFormValue("grant_type") {
	case "client_credentials":
		code = ""
		if g.options.ClientSecret == "" || r.PostFormValue("client_id") != g.options.ClientID ||
			r.PostFormValue("client_secret") != g.options.ClientSecret {
			code = "invalid_client"
		}
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		code = g.checkAssertion(r.PostFormValue("assertion"), base)
	}
	if code != "" {
		return answer{status: http.StatusBadRequest, body: map[string]string{"error": code, "error_description": "refused"}}
	}
	token := newID("00D", 1) + "!" + rand.Text()
	g.tokens[token] = true
	return answer{status: http.StatusOK, body: map[string]string{"access_token": token, "scope": "api", "instance_url": base,
		"id": base + "/id/" + newID("00D", 1) + "/" + newID("005", 1), "token_type": "Bearer", "issued_at": "1738368000000"}}
}

// checkAssertion returns the error of a JWT, or "".
func (g *Org) checkAssertion(assertion, audience string) string {
	var header headerWire
	var claims claimsWire
	parts := strings.Split(assertion+"..", ".")
	for i, into := range []any{&header, &claims} {
		if data, err := base64.RawURLEncoding.DecodeString(parts[i]); err != nil || json.Unmarshal(data, into) != nil {
			return "invalid_grant"
		}
	}
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	now, ends := g.options.Now(), time.Unix(claims.Expires, 0)
	switch key := g.options.PublicKey; {
	case key == nil || header.Algorithm != "RS256" || rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) != nil,
		claims.Issuer != g.options.ClientID, claims.Audience != audience, claims.Subject != g.options.Username,
		!ends.After(now) || ends.After(now.Add(3*time.Minute)):
		return "invalid_grant"
	}
	return ""
}

// FaultKind names a fault.
type FaultKind string

// The faults.
const (
	Hang         FaultKind = "hang"          // no answer comes
	Reset        FaultKind = "reset"         // the connection breaks
	ServerError  FaultKind = "server_error"  // 500 UNKNOWN_EXCEPTION
	Unavailable  FaultKind = "unavailable"   // 503 SERVER_UNAVAILABLE
	HTML         FaultKind = "html"          // 503 with a page
	RequestLimit FaultKind = "request_limit" // 403 REQUEST_LIMIT_EXCEEDED
	ExpiredToken FaultKind = "expired_token" // 401 INVALID_SESSION_ID, and all tokens have ended
	TornBody     FaultKind = "torn_body"     // half of the answer comes
	OtherBody    FaultKind = "other_body"    // the answer is 200 with Fault.Body
	Refuse       FaultKind = "refuse"        // the write of a record fails with Code and Field
)

// Fault is the trouble of a call. The zero Fault is no trouble.
type Fault struct {
	Kind   FaultKind
	After  bool   // the call is carried out; it always is for TornBody, and without effect for Refuse
	Body   string // of OtherBody
	Object string // of Refuse: whose record it is; "" for the first record that is written
	Code   string // of Refuse: FIELD_CUSTOM_VALIDATION_EXCEPTION if empty
	Field  string // of Refuse
}

// page is the answer of a proxy.
const page = "<html><head><title>Down for Maintenance</title></head><body><h1>We are down for maintenance.</h1></body></html>"

// suffer answers a call as its fault has it. carryOut carries the call out.
func (g *Org) suffer(w http.ResponseWriter, r *http.Request, f Fault, carryOut func() answer) {
	var done answer
	if f.After || f.Kind == "" || f.Kind == TornBody || f.Kind == Refuse {
		done = carryOut()
	}
	switch f.Kind {
	case Hang:
		select {
		case <-r.Context().Done():
		case <-g.ended:
		}
		panic(http.ErrAbortHandler)
	case Reset:
		panic(http.ErrAbortHandler)
	case ServerError:
		done = failure(http.StatusInternalServerError, "UNKNOWN_EXCEPTION", "An unexpected error occurred.").answer()
	case Unavailable:
		done = failure(http.StatusServiceUnavailable, "SERVER_UNAVAILABLE", "The server is unavailable.").answer()
	case HTML:
		done = answer{status: http.StatusServiceUnavailable, media: "text/html", content: page}
	case RequestLimit:
		done = failure(http.StatusForbidden, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.").answer()
	case ExpiredToken:
		g.mu.Lock()
		clear(g.tokens)
		g.mu.Unlock()
		done = invalidSession().answer()
	case TornBody:
		whole := string(done.bytes())
		done = answer{status: done.status, content: whole[:len(whole)/2]}
	case OtherBody:
		done = answer{status: http.StatusOK, content: f.Body}
	}
	done.write(w)
}
