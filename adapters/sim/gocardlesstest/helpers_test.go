package gocardlesstest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

const (
	token  = "sandbox_token"
	secret = "webhook_secret"
)

// Shorthands of package simtest.
var (
	with    = simtest.With
	started = simtest.Started()
)

// bench is a simulator behind a server, with a clock that stands still unless it is moved.
type bench struct {
	*simtest.Client
	sim *gocardlesstest.Simulator
}

// newBench starts a simulator; change changes its options.
func newBench(t *testing.T, change ...func(*gocardlesstest.Options)) *bench {
	t.Helper()
	o := gocardlesstest.Options{Token: token, Control: true, Now: func() time.Time { return started }}
	for _, c := range change {
		c(&o)
	}
	sim := gocardlesstest.New(o)
	return &bench{simtest.Serve(t, sim, with("Authorization", "Bearer "+token), with("GoCardless-Version", "2015-07-06"),
		with("Accept", "application/json")), sim}
}

const requestBody = `{"billing_requests":{"mandate_request":{"scheme":"becs_nz","currency":"NZD","description":"Carpentry",
	"metadata":{"checkout_id":"CHK1"}},"metadata":{"checkout_id":"CHK1"}}}`

// newRequest creates a billing request and returns its id.
func (b *bench) newRequest() string {
	b.Helper()
	return b.OK(201, "POST", "/billing_requests", requestBody).Text("billing_requests.id")
}

// newFlow creates a flow for a billing request and returns the address of its page.
func (b *bench) newFlow(request string) string {
	b.Helper()
	return b.flow(request).Text("billing_request_flows.authorisation_url")
}

// The addresses to which the hosted page leads back.
const (
	redirectURI = "https://pay.example/enrol/setup?token=x.1"
	exitURI     = "https://pay.example/enrol/setup?token=x.1&exit=1"
)

func (b *bench) flow(request string) simtest.Reply {
	b.Helper()
	body, err := json.Marshal(simtest.Object{"billing_request_flows": simtest.Object{"redirect_uri": redirectURI, "exit_uri": exitURI,
		"prefilled_customer": simtest.Object{"given_name": "Ana", "family_name": "Tau", "email": "ana@example.nz"},
		"lock_currency":      true, "show_redirect_buttons": true, "language": "en", "links": simtest.Object{"billing_request": request}}})
	if err != nil {
		b.Fatal(err)
	}
	return b.OK(201, "POST", "/billing_request_flows", string(body))
}

// act calls an action of a billing request.
func (b *bench) act(request, action, data string) simtest.Reply {
	b.Helper()
	return b.OK(200, "POST", "/billing_requests/"+request+"/actions/"+action, `{"data":`+data+`}`)
}

// fulfilled creates a billing request and fulfils it.
func (b *bench) fulfilled() simtest.Reply {
	b.Helper()
	id := b.newRequest()
	b.must(b.sim.FulfilRequest(id))
	return b.OK(200, "GET", "/billing_requests/"+id, "")
}

// inbox is an endpoint for notifications.
type inbox struct {
	server *httptest.Server
	mu     sync.Mutex
	got    []notification
	answer func(n int) int // status for the n-th notification, from 0; 204 if nil
}

type notification struct {
	body      []byte
	signature string
}

func newInbox(t *testing.T) *inbox {
	in := &inbox{}
	in.server = httptest.NewServer(in)
	t.Cleanup(in.server.Close)
	return in
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.got = append(in.got, notification{body, r.Header.Get("Webhook-Signature")})
	status := http.StatusNoContent
	if in.answer != nil {
		status = in.answer(len(in.got) - 1)
	}
	w.WriteHeader(status)
}

// all returns the notifications that have come so far.
func (in *inbox) all() []notification {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]notification(nil), in.got...)
}

// events returns the ids of a notification's events.
func (n notification) events() (ids []string) {
	var body struct{ Events []struct{ ID string } }
	if json.NewDecoder(bytes.NewReader(n.body)).Decode(&body) != nil {
		return nil
	}
	for _, e := range body.Events {
		ids = append(ids, e.ID)
	}
	return ids
}
