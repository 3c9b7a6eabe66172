package full_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// crmPoint is a moment in the life of an enrolment: a call of Salesforce is under way.
type crmPoint struct {
	confirm bool   // the call is one of the confirm, or else of the create
	call    string // "POST contact, opportunity, contact_role, authority"
	side    side
}

func (p crmPoint) String() string {
	return fmt.Sprintf("%s %s, %s", requestOf(p.confirm), p.call, p.side)
}

func requestOf(confirm bool) string {
	if confirm {
		return "confirm:"
	}
	return "create:"
}

// crossing is a call for an enrolment that came to the gate.
type crossing struct {
	door   int // the process that made it
	call   string
	at     time.Time
	writes bool      // it made or changed a record
	later  bool      // it came after the process was struck
	freed  time.Time // when the answer was sent, or not waited for any longer, if it was held while others took over
}

// first reports whether the call is the first one of an attempt, which looks at what there is.
func (c crossing) first() bool { return strings.HasPrefix(c.call, "GET contact, ") }

// lookForAgreement is the first call of a confirm.
const lookForAgreement = "GET Payment_Plan_Agreement__c"

// passage is the gate's record of an enrolment.
type passage struct {
	keys    []string // natural keys of its records
	crossed []crossing
	target  *crmPoint     // where a call is held; nil once one was
	held    chan struct{} // closed when one is
	gone    bool          // its process has given it up before it was struck
	ended   chan struct{} // closed when the call that was held is over
}

// crmGate is before a simulator of Salesforce. It has a door for each process, so that it is known who makes a call, and holds
// one call of each enrolment until the process is struck.
type crmGate struct {
	sim    *salesforcetest.Simulator
	struck chan struct{} // closed when the process has been struck
	due    chan struct{} // closed when late calls arrive
	letIn  func()        // closes due

	effect sync.Mutex // held while one call has its effect, so that it is known which

	mu        sync.Mutex
	doors     int
	striking  bool // the process is being struck: what it gives up now it does not give up by itself
	dead      bool // by a kill
	passages  map[*workload.Enrolment]*passage
	effective []crmPoint // calls that arrived late, and had an effect

	takeover *takeover // nil, or what holds the attempts of others
}

// takeover is the first calls of attempts that other processes make at what the struck one has left. What they see is no
// longer so when they have the answer.
type takeover struct {
	struck int           // door of the struck process
	begun  func()        // called with each
	goOn   chan struct{} // closed when they go on
}

func newCRMGate() *crmGate {
	g := &crmGate{
		sim:    salesforcetest.New(salesforcetest.Options{ClientID: clientID, ClientSecret: clientSecret, Sandbox: true}),
		struck: make(chan struct{}), due: make(chan struct{}), passages: make(map[*workload.Enrolment]*passage)}
	g.letIn = sync.OnceFunc(func() { close(g.due) })
	return g
}

// open opens a door for the next process, and returns the URL at which it finds Salesforce.
func (g *crmGate) open(t *testing.T) (door int, url string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	door = g.doors
	g.doors++
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.pass(door, w, r) }))
	t.Cleanup(server.Close)
	return door, server.URL
}

// close lets everything go that is held, so that the doors can be closed.
func (g *crmGate) close() {
	select {
	case <-g.struck:
	default:
		close(g.struck)
	}
	g.letIn()
	g.sim.Close()
}

// admit has the gate follow an enrolment.
func (g *crmGate) admit(e *workload.Enrolment) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &passage{held: make(chan struct{}), ended: make(chan struct{})}
	for _, kind := range recordKinds {
		p.keys = append(p.keys, keyOf(e, kind))
	}
	g.passages[e] = p
}

func keyOf(e *workload.Enrolment, kind string) string {
	return checkout.NaturalKey(catalogue.Sandbox, e.Provider, e.Order, kind)
}

// aim has the gate hold the next call of an enrolment at a point.
func (g *crmGate) aim(e *workload.Enrolment, at crmPoint) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passages[e].target = &at
}

// holds reports whether a call of the enrolment is held, or was when the process was struck.
func (g *crmGate) holds(e *workload.Enrolment) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.passages[e].held:
		return !g.passages[e].gone
	default:
		return false
	}
}

// crossings returns the calls for an enrolment, in order.
func (g *crmGate) crossings(e *workload.Enrolment) []crossing {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]crossing(nil), g.passages[e].crossed...)
}

// pass has a call pass the gate.
func (g *crmGate) pass(door int, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil { // the process was killed while it sent it
		panic(http.ErrAbortHandler)
	}
	name := nameOf(r, body)
	p := g.of(r.URL.Query().Get("q") + string(body[:min(len(body), enough)]))
	if p == nil { // a sign-in, or a look at the limits
		g.carry(w, r, body)
		return
	}
	at, nth, taken := g.arrive(p, door, name)
	if at == nil {
		answer, writes := g.perform(r, body)
		g.note(p, nth, writes)
		if taken != nil {
			taken.begun()
			select {
			case <-taken.goOn:
			case <-r.Context().Done(): // the request that made it has no time left
			}
			g.free(p, nth)
		}
		sendAnswer(w, answer)
		return
	}
	defer close(p.ended)
	var answer *httptest.ResponseRecorder
	if at.side == after {
		var writes bool
		answer, writes = g.perform(r, body)
		g.note(p, nth, writes)
	}
	if !g.hold(p, r) {
		panic(http.ErrAbortHandler)
	}
	switch {
	case at.side == after && !g.dead: // the answer is there when the process goes on
		sendAnswer(w, answer)
		return
	case at.side == late:
		<-g.due
		if _, writes := g.perform(r, body); writes {
			g.mu.Lock()
			g.effective = append(g.effective, *at)
			g.mu.Unlock()
		}
	}
	tear(w)
}

// tear ends a connection within the answer. If it ended before the answer, an HTTP client might repeat a call that only reads
// and changes nothing, whatever the time.
func tear(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 ") // a process that was killed does not read it
	_ = conn.Close()
}

// enough is the number of bytes of a call's body that say which enrolment it is about. A document is longer.
const enough = 16 << 10

// of returns the passage of the enrolment that a call is about; nil if there is no such enrolment.
func (g *crmGate) of(text string) *passage {
	keys := naturalKeys.FindAllString(strings.ReplaceAll(text, "%27", "'"), -1) // a query in a part's address is escaped
	for _, authority := range g.sim.Records("Direct_Debit_Authority__c") {      // a change names records by their ids
		if strings.Contains(text, authority["Id"]) {
			keys = append(keys, authority[keyField])
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.passages {
		for _, own := range p.keys {
			for _, key := range keys {
				if own == key {
					return p
				}
			}
		}
	}
	return nil
}

const keyField = "Provider_Checkout_Key__c"

var naturalKeys = regexp.MustCompile(`\b[0-9a-f]{32}\b`)

// arrive notes a call. It returns the target if the call is to be held until the process is struck, its number, and the
// takeover of which it is.
func (g *crmGate) arrive(p *passage, door int, name string) (at *crmPoint, nth int, taken *takeover) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := crossing{door: door, call: name, at: time.Now()}
	defer func() { p.crossed = append(p.crossed, c) }()
	nth = len(p.crossed)
	select {
	case <-g.struck:
		c.later = true
		if c.first() && g.takeover != nil && g.takeover.struck != door {
			taken = g.takeover
		}
	default:
		if p.target != nil && p.target.call == name {
			at, p.target = p.target, nil
		}
	}
	return at, nth, taken
}

// holdTakeover holds the answers to the first calls of other processes' attempts until goOn is called. begun is closed when
// there is one.
func (g *crmGate) holdTakeover(struck int) (begun <-chan struct{}, goOn func()) {
	first := make(chan struct{})
	h := &takeover{struck: struck, begun: sync.OnceFunc(func() { close(first) }), goOn: make(chan struct{})}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.takeover = h
	return first, func() { close(h.goOn) }
}

func (g *crmGate) free(p *passage, nth int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.crossed[nth].freed = time.Now()
}

func (g *crmGate) note(p *passage, nth int, writes bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.crossed[nth].writes = writes
}

// hold holds a call until the process has been struck, and reports whether it was: it may give up the call before.
func (g *crmGate) hold(p *passage, r *http.Request) bool {
	close(p.held)
	select {
	case <-g.struck:
		return true
	case <-r.Context().Done():
	}
	g.mu.Lock()
	p.gone = !g.striking
	g.mu.Unlock()
	if !p.gone {
		<-g.struck
	}
	return !p.gone
}

// strike has the process struck.
func (g *crmGate) strike(dead bool, how func()) {
	g.mu.Lock()
	g.striking, g.dead = true, dead
	g.mu.Unlock()
	how()
	close(g.struck)
}

// perform has Salesforce carry out a call, and reports whether that made or changed a record.
func (g *crmGate) perform(r *http.Request, body []byte) (answer *httptest.ResponseRecorder, writes bool) {
	g.effect.Lock()
	defer g.effect.Unlock()
	had := len(g.sim.Journal())
	answer = httptest.NewRecorder()
	g.carry(answer, r, body)
	for _, e := range g.sim.Journal()[had:] {
		writes = writes || len(e.Changed) > 0
	}
	return answer, writes
}

func (g *crmGate) carry(w http.ResponseWriter, r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.sim.ServeHTTP(w, r)
}

var (
	apiVersion    = regexp.MustCompile(`^/services/data/v[0-9.]+`)
	queriedObject = regexp.MustCompile(`FROM (\w+)`)
)

// nameOf names a call by what it does with which objects.
func nameOf(r *http.Request, body []byte) string {
	path := apiVersion.ReplaceAllString(r.URL.Path, "")
	if from := queriedObject.FindStringSubmatch(r.URL.Query().Get("q")); from != nil {
		return r.Method + " " + from[1]
	}
	var composite struct {
		Parts []struct {
			Method string `json:"method"`
			Of     string `json:"referenceId"`
		} `json:"compositeRequest"`
	}
	if json.Unmarshal(body, &composite) != nil || len(composite.Parts) == 0 {
		return r.Method + " " + strings.TrimPrefix(path, "/sobjects/")
	}
	var of []string
	for _, p := range composite.Parts {
		of = append(of, p.Of)
	}
	return composite.Parts[0].Method + " " + strings.Join(of, ", ")
}
