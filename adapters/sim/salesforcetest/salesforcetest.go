// Package salesforcetest is a simulator of a Salesforce organisation: its REST API (versions 61.0 to 65.0) with the records
// of students, enrolments, direct debit authorities, agreements and their PDFs. Everything is in memory, and nothing is
// shared between two simulators.
//
//	sim := salesforcetest.New(salesforcetest.Options{ClientID: "client", ClientSecret: "secret"})
//	defer sim.Close()
//	server := httptest.NewServer(sim)
//
// # Signing in
//
// POST /services/oauth2/token takes client_credentials with client_id and client_secret, and, where Options.PublicKey is
// set, urn:ietf:params:oauth:grant-type:jwt-bearer with an RS256 assertion: iss is the client id, sub is Options.Username,
// aud is Options.Audience, and exp is not more than three minutes ahead. A token ends when it was not used for
// two hours, by ExpireTokens, and by FaultExpiredToken.
//
// # Calls
//
// Below /services/data/vNN.0: limits, query and its further pages, sobjects with describe, create, read, update, delete, and
// upsert by an external id, and composite. /services/data is there too. A query may have
// the forms that soql.go lists. A part of a composite request may refer to the id of an earlier part's record: @{contact.id}.
//
// # The schema
//
// DefaultSchema is the organisation to start from: Contact, Opportunity, OpportunityContactRole, Account,
// Direct_Debit_Authority__c, Payment_Plan_Agreement__c, Provider_Integration__c, Course__c, Course_Plan__c, ContentVersion,
// ContentDocument, ContentDocumentLink and Organization, with their unique keys, required fields, lengths and picklists.
//
// # The control path
//
// With Options.Control these paths move everything that the methods of Simulator move, in JSON; "simulate salesforce" has them:
//
//	GET    /simulator/clock            {"now":"2027-02-01T00:00:00.000Z"}
//	POST   /simulator/clock            {"advance":"1m30s"}
//	GET    /simulator/statistics
//	GET    /simulator/journal
//	POST   /simulator/faults           {"kind":"timeout_after","method":"POST","path":"/services/data/*/composite","times":1}
//	DELETE /simulator/faults
//	DELETE /simulator/tokens           ends all tokens
//
// A fault's kind is one of FaultKinds, and its other fields are those of Fault: probability, object, hang.
//
// # Where it differs
//
// Two writes never wait for each other: a lock that is held and a race that is lost are faults to arm. A duplicate rule
// looks at the e-mail address of contacts alone. Numbers that are too long after the point are rounded. A file has one version.
// References to a deleted record stay. There are no users, sharing rules, triggers, record types, or search, and no recycle bin.
package salesforcetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

// Options is the configuration of a simulator. ClientID is required, and ClientSecret or PublicKey.
type Options struct {
	ClientID     string
	ClientSecret string         // for client credentials; refused if empty
	PublicKey    *rsa.PublicKey // of the key that signs assertions; refused if nil
	Username     string         // of the user as whom clients are signed in; integration@simulated.example if empty
	Audience     string         // of assertions; the origin of the token request if empty
	InstanceURL  string         // origin of the API, which a token comes with; that of the token request if empty

	Schema     Schema // DefaultSchema if it has no objects
	Sandbox    bool   // what Organization.IsSandbox says
	DailyLimit int    // calls in a day of UTC; 100,000 if 0
	QueryPage  int    // records in a page of a query; 2,000 if 0

	Control bool // serve the paths under /simulator/, by which everything can be moved

	Now  func() time.Time // time.Now if nil; what Advance adds comes on top
	Rand io.Reader        // crypto/rand.Reader if nil; must not fail
}

func (o Options) complete() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if len(o.Schema.Objects) == 0 {
		o.Schema = DefaultSchema()
	}
	o.Username = cmp.Or(o.Username, "integration@simulated.example")
	o.DailyLimit = cmp.Or(o.DailyLimit, 100_000)
	o.QueryPage = cmp.Or(o.QueryPage, maxPage)
	o.InstanceURL = strings.TrimRight(o.InstanceURL, "/")
	return o
}

// Simulator is one organisation, and the handler of its API. It is safe for concurrent use.
type Simulator struct {
	options Options
	control http.Handler

	mu     sync.Mutex
	clock  control.Shifted
	org    *org
	tokens tokens
	faults *faults.Armed
	counts map[string]int // calls, by name
	calls  int            // that were carried out

	closing context.Context
	stop    context.CancelFunc
}

// New returns a simulator. Close must be called when it is done with. It panics without a client's credentials, and with a
// schema that no organisation could have.
func New(o Options) *Simulator {
	if o.ClientID == "" || o.ClientSecret == "" && o.PublicKey == nil {
		panic("salesforcetest: Options.ClientID is empty, or both ClientSecret and PublicKey")
	}
	s := &Simulator{options: o.complete(), tokens: tokens{live: map[string]time.Time{}}, counts: map[string]int{}}
	s.clock.Base, s.faults = s.options.Now, faults.New(&s.mu)
	s.closing, s.stop = context.WithCancel(context.Background())
	s.org = newOrg(s.options, s.clock.Now())
	s.control = newControl(s)
	return s
}

// Close ends the requests that hang.
func (s *Simulator) Close() { s.stop() }

// The paths that are not the API's.
const (
	controlPath  = "/simulator/"
	tokenPath    = "/services/oauth2/token"
	identityPath = "/id/" // in the ids of users, which are not served
)

// ServeHTTP implements http.Handler.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, controlPath) && s.options.Control:
		s.control.ServeHTTP(w, r)
	case path == tokenPath:
		s.serveToken(w, r)
	default:
		s.serveAPI(w, r)
	}
}

// Now returns the time of the simulator's clock.
func (s *Simulator) Now() time.Time { return s.clock.Now() }

// Advance moves the clock on.
func (s *Simulator) Advance(by time.Duration) { s.clock.Advance(by) }

// Insert adds a record as an administrator would, by hand: no call is counted, and no duplicate rule asked. It returns the
// record's id.
func (s *Simulator) Insert(object string, fields map[string]any) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &call{}
	if err := c.parse(control.Encode(fields)); err != nil {
		return "", err
	}
	t := &transaction{org: s.org, now: s.clock.Now()}
	table := s.org.table(object)
	if table == nil {
		return "", fmt.Errorf("there is no object %s", object)
	}
	r, err := t.create(table, c.body, nil)
	if err != nil {
		return "", err
	}
	return r.id, nil
}

// Records returns the records of an object, oldest first, as texts by the names of their fields: a number in full, a time
// as 2027-02-01T00:00:00.000Z, content as it is. What is not given, or false, is not there.
func (s *Simulator) Records(object string) []map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	table := s.org.table(object)
	if table == nil {
		return nil
	}
	var all []map[string]string
	for _, r := range table.records {
		values := maps.Clone(r.values)
		maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
		all = append(all, values)
	}
	return all
}
