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
// Options.SessionLife, by ExpireTokens, and by FaultExpiredToken.
//
// # Calls
//
// Below /services/data/vNN.0: limits, query and its further pages, sobjects with describe, create, read, update, delete, and
// upsert by an external id, composite, and composite/sobjects. /services/data and /id/ORG/USER are there too.
//
// A query is SELECT of fields, of fields of a parent (Contact__r.Email) or COUNT(), FROM one object, WHERE with AND, OR, NOT,
// parentheses, =, !=, <>, <, <=, >, >=, LIKE, IN, NOT IN and null, ORDER BY, LIMIT and OFFSET.
//
// # The schema
//
// DefaultSchema has these objects; + marks a unique external id, ! what is required:
//
//	Contact (003)                    FirstName LastName! Email Phone AccountId Provider_Checkout_Key__c+ Environment__c
//	Opportunity (006)                Name! StageName! CloseDate! Amount AccountId ContactId Provider_Checkout_Key__c+
//	                                 Environment__c Checkout_Id__c Provider_Order_Id__c Provider_Code__c Course_Code__c
//	                                 Provider_Integration__c Course__c and the figures of the plan
//	OpportunityContactRole (00K)     OpportunityId! ContactId! Role IsPrimary Provider_Checkout_Key__c+
//	Account (001)                    Name! AccountNumber Website Phone
//	Direct_Debit_Authority__c (a00)  Provider_Checkout_Key__c+ Environment__c Contact__c Opportunity__c Status__c
//	                                 Billing_Request_Id__c Mandate_Id__c Mandate_Status__c Account_Holder__c Account_Mask__c
//	                                 Authorised_At__c Consent_Given_At__c Consent_Version__c Consent_Text__c
//	Payment_Plan_Agreement__c (a01)  Agreement_Number__c+! Provider_Checkout_Key__c+ Environment__c Opportunity__c Contact__c
//	                                 Direct_Debit_Authority__c Template_Version__c Accepted_At__c Declarations__c Notice_Days__c
//	                                 Collect_From__c PDF_SHA256__c PDF_Content_Document_Id__c and the figures of the plan
//	Provider_Integration__c (a02)    Name! Provider_Code__c+! Account__c Active__c API_Enabled__c Environment__c Pricing_Mode__c
//	                                 Enrolment_Origins__c Success_URL__c Cancel_URL__c Display_Name__c Primary_Colour__c
//	                                 Logo_URL__c Support_Email__c Notice_Days__c
//	Course__c (a03)                  Name! Course_Code__c! (an external id that is not unique) Course_Name__c
//	                                 Provider_Integration__c! Price__c Upfront_Payment__c Active__c Environment__c
//	Course_Plan__c (a04)             Course__c! Payment_Frequency__c Number_Of_Instalments__c Instalment_Amount__c
//	ContentVersion (068)             Title PathOnClient! VersionData! FirstPublishLocationId ContentDocumentId, and
//	                                 PDF_SHA256__c and Provider_Checkout_Key__c, which are unique but no external ids
//	ContentDocument (069)            made with the first ContentVersion
//	ContentDocumentLink (06A)        ContentDocumentId! LinkedEntityId! ShareType Visibility
//	Organization (00D), User (005)   one record each, which can only be read
//
// The figures of the plan are Course_Name__c Course_Price__c Upfront_Payment__c Amount_To_Finance__c Payment_Frequency__c
// (Weekly, Fortnightly, Monthly) Number_Of_Instalments__c Instalment_Amount__c Final_Instalment_Amount__c and
// First_Payment_Date__c. Pricing_Mode__c is catalogue or legacy; Status__c is Customer In Progress, Authorised, Failed or Cancelled; Environment__c is sandbox or
// production.
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
// looks at the e-mail address of contacts alone. Numbers that are too long after the point are rounded. There are no
// sharing rules, triggers, record types, or search, and no recycle bin.
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
	SessionLife  time.Duration  // of a token that is not used; 2 hours if 0

	Schema               Schema // DefaultSchema if it has no objects
	Sandbox              bool   // what Organization.IsSandbox says
	WithoutDuplicateRule bool   // a second contact with the same e-mail address is as good as any
	DailyLimit           int    // calls in a day of UTC; 100,000 if 0
	QueryPage            int    // records in a page of a query; 2,000 if 0

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
	o.SessionLife = cmp.Or(o.SessionLife, 2*time.Hour)
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
	counts counts
	calls  int // that were carried out

	closing context.Context
	stop    context.CancelFunc
}

// New returns a simulator. Close must be called when it is done with. It panics without a client's credentials, and with a
// schema that no organisation could have.
func New(o Options) *Simulator {
	if o.ClientID == "" || o.ClientSecret == "" && o.PublicKey == nil {
		panic("salesforcetest: Options.ClientID is empty, or both ClientSecret and PublicKey")
	}
	s := &Simulator{options: o.complete(), tokens: tokens{live: map[string]time.Time{}}, counts: newCounts()}
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
	identityPath = "/id/"
)

// ServeHTTP implements http.Handler.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, controlPath) && s.options.Control:
		s.control.ServeHTTP(w, r)
	case path == tokenPath:
		s.serveToken(w, r)
	case strings.HasPrefix(path, identityPath):
		s.serveIdentity(w, r)
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
