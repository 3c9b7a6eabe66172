package salesforcetest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

const (
	clientID     = "client"
	clientSecret = "secret"
	data         = "/services/data/v61.0/"
)

// started is the time at which every bench's clock begins, a Monday.
var started = time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)

// bench is a simulator behind a server, with a clock that stands still unless it is moved, and a client with a token.
type bench struct {
	*testing.T
	sim    *salesforcetest.Simulator
	server *httptest.Server
	token  string
}

// newBench starts a simulator; change changes its options.
func newBench(t *testing.T, change ...func(*salesforcetest.Options)) *bench {
	t.Helper()
	o := salesforcetest.Options{ClientID: clientID, ClientSecret: clientSecret, Control: true, Now: func() time.Time { return started }}
	for _, c := range change {
		c(&o)
	}
	b := &bench{T: t, sim: salesforcetest.New(o)}
	b.server = httptest.NewServer(b.sim)
	t.Cleanup(func() {
		b.sim.Close()
		b.server.Close()
	})
	b.signIn()
	return b
}

// signIn gets a token for the client.
func (b *bench) signIn() {
	b.Helper()
	got := b.post(url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID}, "client_secret": {clientSecret}})
	if b.token = got.text("access_token"); b.token == "" {
		b.Fatalf("token = %d %s", got.status, got.raw)
	}
}

// post sends a token request.
func (b *bench) post(form url.Values) reply {
	b.Helper()
	return b.call("POST", "/services/oauth2/token", form.Encode(), with("Content-Type", "application/x-www-form-urlencoded"),
		with("Authorization", ""))
}

// object is any JSON object.
type object = map[string]any

// reply is an answer of the API.
type reply struct {
	status int
	header http.Header
	raw    []byte
	body   any // nil where it is no JSON
}

// at returns what stands under a path of names and indexes in the body, such as "compositeResponse.0.body.id".
func (r reply) at(path string) any {
	v := r.body
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

// allowSave lets a duplicate be saved.
var allowSave = with("Sforce-Duplicate-Rule-Header", "allowSave=true")

// request makes a request as a client of the API does. A path without a slash in front is below the version.
func (b *bench) request(method, path, body string, edits ...edit) *http.Request {
	b.Helper()
	if !strings.HasPrefix(path, "/") {
		path = data + path
	}
	r, err := http.NewRequestWithContext(b.Context(), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.token)
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

// refused is call for an answer with that status and code, in the form of every error.
func (b *bench) refused(status int, code, method, path, body string, edits ...edit) reply {
	b.Helper()
	got := b.call(method, path, body, edits...)
	if got.status != status || got.text("0.errorCode") != code || got.text("0.message") == "" {
		b.Errorf("%s %s %s = %d, want %d %s:\n%s", method, path, body, got.status, status, code, got.raw)
	}
	return got
}

// create creates a record and returns its id.
func (b *bench) create(object, body string, edits ...edit) string {
	b.Helper()
	return b.ok(201, "POST", "sobjects/"+object, body, edits...).text("id")
}

// rows runs a query and returns its records.
func (b *bench) rows(soql string) []any {
	b.Helper()
	rows, _ := b.ok(200, "GET", "query?q="+url.QueryEscape(soql), "").at("records").([]any)
	return rows
}

// column runs a query and returns one field of its records.
func (b *bench) column(field, soql string) (values []any) {
	b.Helper()
	for _, row := range b.rows(soql) {
		values = append(values, reply{body: row}.at(field))
	}
	return values
}

// contact is a body for a contact with that e-mail address.
func contact(email string) string {
	return `{"FirstName":"Mere","LastName":"Tau","Email":"` + email + `"}`
}

const opportunityBody = `{"Name":"Carpentry","StageName":"Prospecting","CloseDate":"2027-02-01","Amount":2990.5}`

// Shorthands for what options are changed with.
type (
	options = salesforcetest.Options
	field   = salesforcetest.Field
)

// schemaWith returns the default schema with one field changed.
func schemaWith(path string, change func(*field)) salesforcetest.Schema {
	schema := salesforcetest.DefaultSchema()
	change(schema.Field(path))
	return schema
}
