package gocardlesstest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

const (
	token  = "sandbox_token"
	secret = "webhook_secret"
)

// started is the time at which every bench's clock begins, a Monday.
var started = time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)

// bench is a simulator behind a server, with a clock that stands still unless it is moved.
type bench struct {
	*testing.T
	sim    *gocardlesstest.Simulator
	server *httptest.Server
}

// newBench starts a simulator; change changes its options.
func newBench(t *testing.T, change ...func(*gocardlesstest.Options)) *bench {
	t.Helper()
	o := gocardlesstest.Options{Token: token, Control: true, Now: func() time.Time { return started }}
	for _, c := range change {
		c(&o)
	}
	b := &bench{T: t, sim: gocardlesstest.New(o)}
	b.server = httptest.NewServer(b.sim)
	t.Cleanup(func() {
		b.sim.Close()
		b.server.Close()
	})
	return b
}

// object is any JSON object.
type object = map[string]any

// reply is an answer of the API.
type reply struct {
	status int
	header http.Header
	raw    []byte
	body   object // nil where it is no JSON
}

// at returns what stands under a path of names and indexes in the body, such as "error.errors.0.reason".
func (r reply) at(path string) any {
	var v any = r.body
	for name := range strings.SplitSeq(path, ".") {
		switch holder := v.(type) {
		case object:
			v = holder[name]
		case []any:
			if i := int(name[0] - '0'); i < len(holder) {
				v = holder[i]
				continue
			}
			return nil
		default:
			return nil
		}
	}
	return v
}

// text returns the text under a path.
func (r reply) text(path string) string {
	s, _ := r.at(path).(string)
	return s
}

// edit changes a request before it is sent.
type edit func(*http.Request)

// with sets a header, or takes it away where the value is "".
func with(name, value string) edit {
	return func(r *http.Request) {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}

// request makes a request as a client of the API does.
func (b *bench) request(method, path, body string, edits ...edit) *http.Request {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("GoCardless-Version", "2015-07-06")
	r.Header.Set("Accept", "application/json")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edits {
		e(r)
	}
	return r
}

// do sends a request and reads the answer.
func (b *bench) do(r *http.Request) (reply, error) {
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		return reply{}, err
	}
	out := reply{status: got.StatusCode, header: got.Header, raw: raw}
	if json.Unmarshal(raw, &out.body) != nil {
		out.body = nil
	}
	return out, nil
}

// call sends a request that is answered.
func (b *bench) call(method, path, body string, edits ...edit) reply {
	b.Helper()
	got, err := b.do(b.request(method, path, body, edits...))
	if err != nil {
		b.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// ok is call for an answer of that status.
func (b *bench) ok(status int, method, path, body string, edits ...edit) reply {
	b.Helper()
	got := b.call(method, path, body, edits...)
	if got.status != status {
		b.Fatalf("%s %s = %d, want %d:\n%s", method, path, got.status, status, got.raw)
	}
	return got
}

const requestBody = `{"billing_requests":{"mandate_request":{"scheme":"becs_nz","currency":"NZD","description":"Carpentry",
	"metadata":{"checkout_id":"CHK1"}},"metadata":{"checkout_id":"CHK1"}}}`

// newRequest creates a billing request and returns its id.
func (b *bench) newRequest() string {
	b.Helper()
	return b.ok(201, "POST", "/billing_requests", requestBody).text("billing_requests.id")
}

// newFlow creates a flow for a billing request and returns the address of its page.
func (b *bench) newFlow(request string) string {
	b.Helper()
	return b.flow(request).text("billing_request_flows.authorisation_url")
}

// The addresses to which the hosted page leads back.
const (
	redirectURI = "https://pay.example/enrol/setup?token=x.1"
	exitURI     = "https://pay.example/enrol/setup?token=x.1&exit=1"
)

func (b *bench) flow(request string) reply {
	b.Helper()
	body, err := json.Marshal(object{"billing_request_flows": object{"redirect_uri": redirectURI, "exit_uri": exitURI,
		"prefilled_customer": object{"given_name": "Ana", "family_name": "Tau", "email": "ana@example.nz"},
		"lock_currency":      true, "show_redirect_buttons": true, "language": "en", "links": object{"billing_request": request}}})
	if err != nil {
		b.Fatal(err)
	}
	return b.ok(201, "POST", "/billing_request_flows", string(body))
}

// act calls an action of a billing request.
func (b *bench) act(request, action, data string) reply {
	b.Helper()
	return b.ok(200, "POST", "/billing_requests/"+request+"/actions/"+action, `{"data":`+data+`}`)
}

// Details as a payer gives them over the API.
const (
	customerData = `{"customer":{"given_name":"Ana","family_name":"Tau","email":"ana@example.nz"},"customer_billing_detail":{"country_code":"NZ"}}`
	accountData  = `{"country_code":"NZ","currency":"NZD","bank_code":"01","branch_code":"0902","account_number":"0068389",
		"account_number_suffix":"00","account_holder_name":"Ana Tau"}`
)

// fulfilled creates a billing request and fulfils it over the API.
func (b *bench) fulfilled() reply {
	b.Helper()
	id := b.newRequest()
	b.act(id, "collect_customer_details", customerData)
	b.act(id, "collect_bank_account", accountData)
	b.act(id, "confirm_payer_details", `{}`)
	return b.act(id, "fulfil", `{}`)
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
