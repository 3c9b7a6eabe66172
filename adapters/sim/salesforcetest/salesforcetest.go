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
	"crypto/rsa"
	"maps"
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
