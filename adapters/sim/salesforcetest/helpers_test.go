package salesforcetest_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

const (
	clientID     = "client"
	clientSecret = "secret"
	data         = "/services/data/v61.0/"
)

// Shorthands of package simtest.
var (
	with    = simtest.With
	started = simtest.Started()
)

// bench is a simulator behind a server, with a clock that stands still unless it is moved, and a client with a token.
type bench struct {
	*simtest.Client
	sim   *salesforcetest.Simulator
	token string
}

// newBench starts a simulator; change changes its options.
func newBench(t *testing.T, change ...func(*salesforcetest.Options)) *bench {
	t.Helper()
	o := salesforcetest.Options{ClientID: clientID, ClientSecret: clientSecret, Control: true, Now: func() time.Time { return started }}
	for _, c := range change {
		c(&o)
	}
	b := &bench{sim: salesforcetest.New(o)}
	b.Client = simtest.Serve(t, b.sim, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+b.token) })
	b.Below = data
	b.signIn()
	return b
}

// signIn gets a token for the client.
func (b *bench) signIn() {
	b.Helper()
	got := b.post(url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID}, "client_secret": {clientSecret}})
	if b.token = got.Text("access_token"); b.token == "" {
		b.Fatalf("token = %d %s", got.Status, got.Raw)
	}
}

// post sends a token request.
func (b *bench) post(form url.Values) simtest.Reply {
	b.Helper()
	return b.Call("POST", "/services/oauth2/token", form.Encode(), with("Content-Type", "application/x-www-form-urlencoded"),
		with("Authorization", ""))
}

// allowSave lets a duplicate be saved.
var allowSave = with("Sforce-Duplicate-Rule-Header", "allowSave=true")

// refused is call for an answer with that status and code, in the form of every error.
func (b *bench) refused(status int, code, method, path, body string, edits ...simtest.Edit) simtest.Reply {
	b.Helper()
	got := b.Call(method, path, body, edits...)
	if got.Status != status || got.Text("0.errorCode") != code || got.Text("0.message") == "" {
		b.Errorf("%s %s %s = %d, want %d %s:\n%s", method, path, body, got.Status, status, code, got.Raw)
	}
	return got
}

// create creates a record and returns its id.
func (b *bench) create(object, body string, edits ...simtest.Edit) string {
	b.Helper()
	return b.OK(201, "POST", "sobjects/"+object, body, edits...).Text("id")
}

// rows runs a query and returns its records.
func (b *bench) rows(soql string) []any {
	b.Helper()
	rows, _ := b.OK(200, "GET", "query?q="+url.QueryEscape(soql), "").At("records").([]any)
	return rows
}

// column runs a query and returns one field of its records.
func (b *bench) column(field, soql string) (values []any) {
	b.Helper()
	for _, row := range b.rows(soql) {
		values = append(values, simtest.Reply{Body: row}.At(field))
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
