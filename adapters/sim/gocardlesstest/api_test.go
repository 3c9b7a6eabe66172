package gocardlesstest_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

// checkError checks an error of the API: its status, type, and the first reason.
func checkError(t *testing.T, name string, got simtest.Reply, status int, kind, reason string) {
	t.Helper()
	if got.Status != status || got.Text("error.type") != kind || got.Text("error.errors.0.reason") != reason ||
		got.At("error.code") != float64(status) || got.Text("error.message") == "" ||
		got.Text("error.request_id") == "" || got.Header.Get("X-Request-Id") != got.Text("error.request_id") ||
		!strings.HasPrefix(got.Text("error.documentation_url"), "https://developer.gocardless.com/") {
		t.Errorf("%s: %d\n%s\nwant a whole error %d %s %q", name, got.Status, got.Raw, status, kind, reason)
	}
}

func TestOnlyClientsOfTheAPIAreAnswered(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name, method, path string
		edit               simtest.Edit
		status             int
		reason             string
	}{
		{"no token", "GET", "/creditors", with("Authorization", ""), 401, "unauthorized"},
		{"another token", "GET", "/creditors", with("Authorization", "Bearer other"), 401, "unauthorized"},
		{"another scheme", "GET", "/creditors", with("Authorization", "Basic "+token), 401, "unauthorized"},
		{"an empty token", "GET", "/creditors", with("Authorization", "Bearer "), 401, "unauthorized"},
		{"no version", "GET", "/creditors", with("GoCardless-Version", ""), 400, "missing_version_header"},
		{"another version", "GET", "/creditors", with("GoCardless-Version", "2014-01-01"), 400, "version_not_found"},
		{"an unknown path", "GET", "/payments", nil, 404, "path_not_found"},
		{"a path that is too long", "GET", "/billing_requests/BRQ1/more", nil, 404, "path_not_found"},
		{"a path without an id", "GET", "/billing_requests/", nil, 404, "path_not_found"},
		{"another method", "DELETE", "/creditors", nil, 404, "path_not_found"},
		{"an unknown path without a token", "GET", "/payments", with("Authorization", ""), 401, "unauthorized"},
		{"an unknown billing request", "GET", "/billing_requests/BRQ1", nil, 404, "resource_not_found"},
		{"an unknown mandate", "GET", "/mandates/MD1", nil, 404, "resource_not_found"},
		{"an action of an unknown billing request", "POST", "/billing_requests/BRQ1/actions/cancel", nil, 404, "resource_not_found"},
		{"an action of an unknown mandate", "POST", "/mandates/MD1/actions/cancel", nil, 404, "resource_not_found"},
	} {
		body := ""
		if tt.path == "/billing_requests" {
			body = requestBody
		}
		edits := []simtest.Edit{}
		if tt.edit != nil {
			edits = append(edits, tt.edit)
		}
		checkError(t, tt.name, b.Call(tt.method, tt.path, body, edits...), tt.status, "invalid_api_usage", tt.reason)
	}
	if got := b.sim.Statistics(); got.BillingRequests != 0 || got.Calls["other"] != 5 || got.Answers["GET /creditors 401"] != 4 {
		t.Errorf("%+v, want nothing done, 5 calls that are none, and 4 of GET /creditors refused for the token", got)
	}
}

func TestBodiesAreReadStrictly(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name, body string
		edit       simtest.Edit
		status     int
		reason     string
	}{
		{"no body", "", with("Content-Type", "application/json"), 400, "bad_request"},
		{"no content type", requestBody, with("Content-Type", ""), 415, "unsupported_media_type"},
		{"another content type", requestBody, with("Content-Type", "text/plain"), 415, "unsupported_media_type"},
		{"torn JSON", requestBody[:40], nil, 400, "bad_request"},
		{"something after the JSON", requestBody + "x", nil, 400, "bad_request"},
		{"a name given twice", `{"billing_requests":{},"billing_requests":{}}`, nil, 400, "bad_request"},
		{"deep nesting", strings.Repeat("[", 50) + strings.Repeat("]", 50), nil, 400, "bad_request"},
		{"no envelope", `{"mandate_request":{}}`, nil, 400, "invalid_document_structure"},
		{"another envelope", `{"data":{}}`, nil, 400, "invalid_document_structure"},
		{"two envelopes", `{"billing_requests":{},"data":{}}`, nil, 400, "invalid_document_structure"},
		{"a list in the envelope", `{"billing_requests":[]}`, nil, 400, "invalid_document_structure"},
		{"too much", `{"billing_requests":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`, nil, 413, "request_entity_too_large"},
		{"a long key", requestBody, with("Idempotency-Key", strings.Repeat("k", 129)), 400, "idempotency_key_too_long"},
	} {
		edits := []simtest.Edit{}
		if tt.edit != nil {
			edits = append(edits, tt.edit)
		}
		checkError(t, tt.name, b.Call("POST", "/billing_requests", tt.body, edits...), tt.status, "invalid_api_usage", tt.reason)
	}
	b.OK(201, "POST", "/billing_requests", requestBody, with("Content-Type", "application/json; charset=utf-8"))
	if got := b.sim.Statistics().BillingRequests; got != 1 {
		t.Errorf("%d billing requests, want the last one alone", got)
	}
}

func TestValuesAreChecked(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options) { o.Creditors = []gocardlesstest.Creditor{{ID: "CR1"}, {ID: "CR2"}} })
	id := b.OK(201, "POST", "/billing_requests",
		`{"billing_requests":{"mandate_request":{"currency":"NZD"},"links":{"creditor":"CR2"}}}`).Text("billing_requests.id")
	const create, flow = "/billing_requests", "/billing_request_flows"
	request := func(more string) string { return `{"billing_requests":{"links":{"creditor":"CR1"},` + more + `}}` }
	const mandate = `"mandate_request":{"currency":"NZD"}`
	for _, tt := range []struct{ name, path, body, pointer string }{
		{"no mandate request", create, request(`"metadata":{}`), "/billing_requests/mandate_request"},
		{"another scheme", create, request(`"mandate_request":{"currency":"NZD","scheme":"bacs"}`), "/billing_requests/mandate_request/scheme"},
		{"no currency", create, request(`"mandate_request":{}`), "/billing_requests/mandate_request/currency"},
		{"another currency", create, request(`"mandate_request":{"currency":"AUD"}`), "/billing_requests/mandate_request/currency"},
		{"no creditor of several", create, `{"billing_requests":{` + mandate + `}}`, "/billing_requests/links/creditor"},
		{"an unknown creditor", create, `{"billing_requests":{"links":{"creditor":"CR3"},` + mandate + `}}`, "/billing_requests/links/creditor"},
		{"an unknown field", create, request(mandate + `,"colour":"red"`), "/billing_requests/colour"},
		{"four keys of metadata", create, request(mandate + `,"metadata":{"a":"","b":"","c":"","d":""}`), "/billing_requests/metadata"},
		{"a long key of metadata", create, request(mandate + `,"metadata":{"` + strings.Repeat("k", 51) + `":""}`), "/billing_requests/metadata"},
		{"a long value of metadata", create, request(mandate + `,"metadata":{"k":"` + strings.Repeat("v", 501) + `"}`), "/billing_requests/metadata"},
		{"metadata that is a number", create, request(mandate + `,"metadata":{"k":1}`), "/billing_requests/metadata"},
		{"metadata of the mandate", create, request(`"mandate_request":{"currency":"NZD","metadata":"x"}`),
			"/billing_requests/mandate_request/metadata"},
		{"no billing request", flow, `{"billing_request_flows":{}}`, "/billing_request_flows/links/billing_request"},
		{"a redirect without a host", flow, `{"billing_request_flows":{"redirect_uri":"/x"}}`, "/billing_request_flows/redirect_uri"},
		{"a redirect that ends the policy", flow, `{"billing_request_flows":{"redirect_uri":"https://a;b/"}}`, "/billing_request_flows/redirect_uri"},
		{"a redirect that is a script", flow, `{"billing_request_flows":{"exit_uri":"javascript:alert(1)"}}`, "/billing_request_flows/exit_uri"},
		{"a prefilled address", flow, `{"billing_request_flows":{"prefilled_customer":{"email":"x"}}}`,
			"/billing_request_flows/prefilled_customer/email"},
		{"a lock without details", flow, `{"billing_request_flows":{"lock_customer_details":true,"links":{"billing_request":"` + id + `"}}}`,
			"/billing_request_flows/lock_customer_details"},
		{"a flag that is a text", flow, `{"billing_request_flows":{"lock_currency":"yes"}}`, "/billing_request_flows/lock_currency"},
	} {
		got := b.Call("POST", tt.path, tt.body)
		if got.Status != 422 || got.Text("error.type") != "validation_failed" || got.Text("error.errors.0.request_pointer") != tt.pointer ||
			!strings.HasSuffix(tt.pointer, "/"+got.Text("error.errors.0.field")) || got.Text("error.errors.0.message") == "" {
			t.Errorf("%s: %d\n%s\nwant 422 validation_failed that points to %s", tt.name, got.Status, got.Raw, tt.pointer)
		}
	}
	if got := b.sim.Statistics(); got.BillingRequests != 1 || got.Events != 1 {
		t.Errorf("%+v, want nothing but the billing request", got)
	}
}

func TestABillingRequestOnItsWay(t *testing.T) {
	b := newBench(t)
	got := b.OK(201, "POST", "/billing_requests", requestBody)
	id := got.Text("billing_requests.id")
	check := func(step string, got simtest.Reply, want map[string]any) {
		t.Helper()
		for path, value := range want {
			if at := got.At("billing_requests." + path); at != value {
				t.Errorf("%s: %s = %v, want %v", step, path, at, value)
			}
		}
	}
	if !regexp.MustCompile(`^BRQ[A-Z2-7]{14}$`).MatchString(id) {
		t.Errorf("id = %q", id)
	}
	check("created", got, map[string]any{"status": "pending", "created_at": "2027-02-01T00:00:00.000Z", "metadata.checkout_id": "CHK1",
		"mandate_request.scheme": "becs_nz", "mandate_request.description": "Carpentry", "links.mandate_request_mandate": nil,
		"resources.customer.email": nil, "resources.customer_bank_account": nil, "actions.1.status": "pending"})
	if _, err := b.sim.Complete(b.newFlow(id), gocardlesstest.Payer{}); err != nil {
		t.Fatal(err)
	}
	got = b.OK(200, "GET", "/billing_requests/"+id, "")
	check("confirmed", got, map[string]any{"resources.customer.family_name": "Tau", "actions.1.status": "completed",
		"resources.customer_bank_account.account_holder_name":   "Ana Tau",
		"resources.customer_bank_account.account_number_ending": "8389", "resources.customer_bank_account.bank_name": "ANZ",
		"resources.customer_bank_account.links.customer": got.At("billing_requests.links.customer"), "actions.2.status": "completed",
		"links.customer_bank_account": got.At("billing_requests.resources.customer_bank_account.id"), "actions.3.status": "completed"})
	mandate := got.Text("billing_requests.links.mandate_request_mandate")
	check("fulfilled", got, map[string]any{"status": "fulfilled", "mandate_request.links.mandate": mandate})
	if looked := b.OK(200, "GET", "/billing_requests/"+id, ""); string(looked.Raw) != string(got.Raw) {
		t.Errorf("GET = %s, want %s", looked.Raw, got.Raw)
	}
	m := b.OK(200, "GET", "/mandates/"+mandate, "")
	for path, want := range map[string]any{"id": mandate, "status": "pending_submission", "scheme": "becs_nz", "metadata.checkout_id": "CHK1",
		"next_possible_charge_date": "2027-02-11", "links.customer": got.At("billing_requests.links.customer"),
		"links.customer_bank_account": got.At("billing_requests.links.customer_bank_account"), "links.new_mandate": nil} {
		if at := m.At("mandates." + path); at != want {
			t.Errorf("mandate: %s = %v, want %v", path, at, want)
		}
	}
}

func TestActionsInTheWrongStateAreRefused(t *testing.T) {
	b := newBench(t)
	done := b.fulfilled().Text("billing_requests.id")
	cancelled := b.newRequest()
	b.act(cancelled, "cancel", `{}`)
	for _, id := range []string{done, cancelled} {
		got := b.Call("POST", "/billing_requests/"+id+"/actions/cancel", `{"data":{}}`)
		checkError(t, "cancel", got, 422, "invalid_state", "billing_request_not_cancellable")
	}
	flow := b.Call("POST", "/billing_request_flows", `{"billing_request_flows":{"links":{"billing_request":"`+done+`"}}}`)
	checkError(t, "a flow of a fulfilled billing request", flow, 422, "invalid_state", "billing_request_not_pending")
	if got := b.sim.Statistics(); got.Mandates != 1 || got.Fulfilled != 1 {
		t.Errorf("%+v, want one mandate", got)
	}
}

func TestAKeyIsUsedOnce(t *testing.T) {
	b := newBench(t)
	key := with("Idempotency-Key", "CHK1.1")
	b.Call("POST", "/billing_requests", `{"billing_requests":{}}`, key) // refused: the key is still free
	id := b.OK(201, "POST", "/billing_requests", requestBody, key).Text("billing_requests.id")
	for name, body := range map[string]string{"the same": requestBody, "another": strings.Replace(requestBody, "CHK1", "CHK2", 2)} {
		got := b.Call("POST", "/billing_requests", body, key)
		checkError(t, name+" body", got, 409, "invalid_state", "idempotent_creation_conflict")
		if at := got.Text("error.errors.0.links.conflicting_resource_id"); at != id {
			t.Errorf("%s body: conflict with %q, want %q", name, at, id)
		}
	}
	flow := `{"billing_request_flows":{"links":{"billing_request":"` + id + `"}}}`
	flowID := b.OK(201, "POST", "/billing_request_flows", flow, key).Text("billing_request_flows.id") // each list has keys of its own
	if at := b.Call("POST", "/billing_request_flows", flow, key).Text("error.errors.0.links.conflicting_resource_id"); at != flowID {
		t.Errorf("flow: conflict with %q, want %q", at, flowID)
	}
	cancel := "/billing_requests/" + id + "/actions/cancel"
	b.OK(200, "POST", cancel, "", key)
	if got := b.Call("POST", cancel, "", key); got.Text("error.errors.0.links.conflicting_resource_id") != id {
		t.Errorf("a repeated action = %s, want a conflict with %s", got.Raw, id)
	}
	b.OK(201, "POST", "/billing_requests", requestBody, with("Idempotency-Key", "CHK1.2"))
	b.OK(201, "POST", "/billing_requests", requestBody)
	got := b.sim.Statistics()
	if got.BillingRequests != 3 || got.RequestsByKey["CHK1.1"] != 1 || got.RequestsByMetadata["checkout_id=CHK1"] != 3 || got.WithoutKey != 1 {
		t.Errorf("%+v, want 3 billing requests, one of the key, 3 of the metadata and one call without a key", got)
	}
}

func TestRequestsAreLimitedByTheMinute(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options) {
		o.RateLimit = 2
		o.Now = func() time.Time { return started.Add(10 * time.Second) }
	})
	for _, left := range []string{"1", "0"} {
		got := b.OK(200, "GET", "/creditors", "")
		if h := got.Header; h.Get("RateLimit-Limit") != "2" || h.Get("RateLimit-Remaining") != left ||
			h.Get("RateLimit-Reset") != "Mon, 01 Feb 2027 00:01:00 GMT" {
			t.Errorf("headers = %v, want %s left until a minute past", h, left)
		}
	}
	got := b.Call("GET", "/creditors", "")
	checkError(t, "the third", got, 429, "invalid_api_usage", "rate_limit_reached")
	if h := got.Header; h.Get("RateLimit-Remaining") != "0" || h.Get("RateLimit-Reset") != "Mon, 01 Feb 2027 00:01:00 GMT" {
		t.Errorf("headers = %v, want none left", h)
	}
	b.sim.Advance(50 * time.Second)
	b.OK(200, "GET", "/creditors", "")
}

func TestCreditors(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options) {
		o.Creditors = []gocardlesstest.Creditor{{ID: "CR1", Name: "Rimu College", SchemeName: "RIMU", MinimumAdvanceNotice: 5, Reference: "0212345"},
			{ID: "CR2", SchemeStatus: "pending"}, {ID: "CR3", SchemeStatus: gocardlesstest.NoScheme}}
	})
	got := b.OK(200, "GET", "/creditors", "")
	for path, want := range map[string]any{
		"0.id": "CR1", "0.name": "Rimu College", "0.scheme_identifiers.0.scheme": "becs_nz", "0.scheme_identifiers.0.name": "RIMU", "0.scheme_identifiers.0.status": "active",
		"0.scheme_identifiers.0.minimum_advance_notice": 5.0, "0.scheme_identifiers.0.reference": "0212345",
		"1.scheme_identifiers.0.status": "pending", "1.scheme_identifiers.0.reference": nil, "2.scheme_identifiers.0": nil,
	} {
		if at := got.At("creditors." + path); at != want {
			t.Errorf("%s = %v, want %v", path, at, want)
		}
	}
	if err := b.sim.SetSchemeStatus("CR2", "active", 3); err != nil {
		t.Fatal(err)
	}
	if got := b.OK(200, "GET", "/creditors", ""); got.At("creditors.1.scheme_identifiers.0.minimum_advance_notice") != 3.0 ||
		got.At("creditors.1.scheme_identifiers.0.status") != "active" {
		t.Errorf("%s, want it active with 3 days' notice", got.Raw)
	}
}

func TestTheHostedPageIsOnThePublicOrigin(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options) { o.PublicURL = "https://pay.gocardless.example/" })
	got := b.flow(b.newRequest())
	if url := got.Text("billing_request_flows.authorisation_url"); !regexp.MustCompile(
		`^https://pay\.gocardless\.example/flow/BRF[A-Z2-7]{14}$`).MatchString(url) {
		t.Errorf("authorisation_url = %q", url)
	}
	want := map[string]any{"expires_at": "2027-02-08T00:00:00.000Z", "redirect_uri": redirectURI, "exit_uri": exitURI, "auto_fulfil": true,
		"lock_currency": true, "lock_customer_details": false, "show_redirect_buttons": true, "prefilled_customer.given_name": "Ana"}
	for path, value := range want {
		if at := got.At("billing_request_flows." + path); at != value {
			t.Errorf("%s = %v, want %v", path, at, value)
		}
	}
}
