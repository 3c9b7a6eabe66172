package gocardlesstest_test

import (
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

// page is a page as a browser without scripts has it.
type page struct {
	status   int
	location string
	header   http.Header
	body     string
}

// visit gets an address, or posts a form to it, and follows no redirect.
func (b *bench) visit(address string, form url.Values) page {
	b.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.URL + address
	}
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r, err := http.NewRequestWithContext(b.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		b.Fatal(err)
	}
	return page{got.StatusCode, got.Header.Get("Location"), got.Header, string(text)}
}

// leadsTo returns the targets of the page's forms and links: the addresses that a payer without scripts can reach.
func (p page) leadsTo() (addresses []string) {
	for _, found := range regexp.MustCompile(` (?:action|href)="([^"]*)"`).FindAllStringSubmatch(p.body, -1) {
		addresses = append(addresses, html.UnescapeString(found[1]))
	}
	return addresses
}

// field returns what a field of the page holds.
func (p page) field(name string) string {
	found := regexp.MustCompile(` name="` + name + `" value="([^"]*)"`).FindStringSubmatch(p.body)
	if found == nil {
		return "(none)"
	}
	return html.UnescapeString(found[1])
}

// What payers fill in.
var (
	detailsForm = url.Values{"given_name": {"Mere"}, "family_name": {"Tau"}, "email": {"mere@example.nz"}}
	accountForm = url.Values{"account_holder_name": {"M Tau"}, "bank_code": {"01"}, "branch_code": {"0902"},
		"account_number": {"0068389"}, "account_number_suffix": {"00"}, "authority_confirmed": {"yes"}}
)

// changed returns a form with one field changed.
func changed(form url.Values, field, value string) url.Values {
	form = maps.Clone(form)
	form[field] = []string{value}
	return form
}

func TestAPayerWithoutScripts(t *testing.T) {
	b := newBench(t)
	id := b.newRequest()
	first := b.newFlow(id)
	at := func(p page, step string) string {
		t.Helper()
		if want := strings.TrimPrefix(first, b.URL) + step; p.status != http.StatusSeeOther || p.location != want {
			t.Fatalf("%d to %q, want 303 to %q:\n%s", p.status, p.location, want, p.body)
		}
		return p.location
	}
	start := b.visit(first, nil)
	if start.field("given_name") != "Ana" || start.field("family_name") != "Tau" || start.field("email") != "ana@example.nz" ||
		!strings.Contains(start.body, "Rimu College") || !strings.Contains(start.body, "Carpentry") {
		t.Errorf("the first page lacks what is known already:\n%s", start.body)
	}
	details := start.leadsTo()[3] // after the stylesheets and the icon
	account := at(b.visit(details, detailsForm), "/account")
	if got := b.visit(account, nil).field("account_holder_name"); got != "Mere Tau" {
		t.Errorf("account holder = %q, want the payer", got)
	}
	check := at(b.visit(account, accountForm), "/check")
	page := b.visit(check, nil)
	for _, text := range []string{"Mere Tau", "mere@example.nz", "M Tau", "01-0902-0068389-00", "ANZ", "Carpentry",
		"I authorise my bank to debit my account", "<bdi>Rimu College</bdi>, with the authorisation code 0200001", "each payment shows as <bdi>Rimu College</bdi>."} {
		if !strings.Contains(page.body, text) {
			t.Errorf("the page to check lacks %q", text)
		}
	}
	for range 2 { // a double click
		if got := b.visit(check, url.Values{}); got.status != http.StatusSeeOther || got.location != redirectURI {
			t.Errorf("confirmation = %d to %q, want 303 to %q", got.status, got.location, redirectURI)
		}
	}
	if billing, mandate := b.status(id); billing != "fulfilled" || mandate != "pending_submission" {
		t.Errorf("billing request is %s, mandate %s", billing, mandate)
	}
	want := []string{"fulfilled", "payer_details_confirmed", "collect_bank_account", "collect_customer_details", "flow_visited",
		"flow_created", "created"}
	if got := b.events("billing_request="+id, "action"); !slices.Equal(got, want) {
		t.Errorf("events = %v, want %v", got, want)
	}
	got := b.OK(200, "GET", "/billing_requests/"+id, "")
	if got.Text("billing_requests.resources.customer.given_name") != "Mere" ||
		got.Text("billing_requests.resources.customer_bank_account.account_holder_name") != "M Tau" ||
		b.sim.Statistics().Mandates != 1 {
		t.Errorf("%s, want what the payer gave, and one mandate", got.Raw)
	}
}

func TestAPayerCanGoBackAndChangeEverything(t *testing.T) {
	b := newBench(t)
	id := b.newRequest()
	flow := b.newFlow(id)
	b.visit(flow+"/details", detailsForm)
	b.visit(flow+"/account", accountForm)
	if got := b.visit(flow+"/details", nil); got.field("given_name") != "Mere" {
		t.Errorf("given name = %q, want what was given before", got.field("given_name"))
	}
	got := b.visit(flow+"/account", nil)
	if got.field("account_number") != "0068389" || got.field("account_holder_name") != "M Tau" || strings.Contains(got.body, " checked") {
		t.Errorf("the account lacks what was given before, or its box is ticked:\n%s", got.body)
	}
	b.visit(flow+"/details", changed(detailsForm, "given_name", "Hana"))
	b.visit(flow+"/account", changed(accountForm, "account_holder_name", "H Tau"))
	if page := b.visit(flow+"/check", nil); !strings.Contains(page.body, "Hana Tau") || !strings.Contains(page.body, "H Tau") {
		t.Errorf("the page to check lacks what was changed:\n%s", page.body)
	}
}

func TestStepsCannotBeSkipped(t *testing.T) {
	b := newBench(t)
	id := b.newRequest()
	flow := b.newFlow(id)
	path := strings.TrimPrefix(flow, b.URL)
	skip := func(step, want string, form url.Values) {
		t.Helper()
		if got := b.visit(flow+step, form); got.status != http.StatusSeeOther || got.location != path+want {
			t.Errorf("%s = %d to %q, want 303 to %q", step, got.status, got.location, path+want)
		}
	}
	skip("/account", "/details", nil)
	skip("/account", "/details", accountForm)
	skip("/check", "/details", nil)
	skip("/check", "/details", url.Values{})
	b.visit(flow+"/details", detailsForm)
	skip("/check", "/account", nil)
	skip("/check", "/account", url.Values{})
	if billing, _ := b.status(id); billing != "pending" {
		t.Errorf("billing request is %s, want pending", billing)
	}
}

func TestMistakesComeBackBesideTheirFields(t *testing.T) {
	b := newBench(t)
	flow := b.newFlow(b.newRequest())
	for _, tt := range []struct{ step, field, value, want string }{
		{"/details", "given_name", " ", "Enter the first name."},
		{"/details", "family_name", "Tau\u202e", "The last name must not contain U&#43;202E"},
		{"/details", "email", "", "Enter your email address."},
		{"/details", "email", "mere@", "The email address "},
		{"/account", "account_holder_name", "", "Enter the name of the account holder."},
		{"/account", "account_number", "0068388", "Check the account number: one of its digits is wrong."},
		{"/account", "bank_code", "99", "The account number must begin with the number of a New Zealand bank."},
		{"/account", "branch_code", "", "The account number must be 15 or 16 digits"},
		{"/account", "authority_confirmed", "", "Tick this if no one else has to sign."},
	} {
		form := detailsForm
		if tt.step == "/account" {
			form = accountForm
			b.visit(flow+"/details", detailsForm)
		}
		got := b.visit(flow+tt.step, changed(form, tt.field, tt.value))
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, tt.want) || !strings.Contains(got.body, "<title>Error: ") ||
			strings.Count(got.body, `role="alert"`) != 1 || strings.Count(got.body, " autofocus") != 1 {
			t.Errorf("%s %q: %d, want 422 with one mistake %q:\n%s", tt.field, tt.value, got.status, tt.want, got.body)
		}
	}
}

func TestLockedDetailsStayAsTheyAre(t *testing.T) {
	b := newBench(t)
	id := b.newRequest()
	flow := b.OK(201, "POST", "/billing_request_flows", `{"billing_request_flows":{"lock_customer_details":true,"redirect_uri":"https://pay.example/",
		"prefilled_customer":{"given_name":"Ana","family_name":"Tau","email":"ana@example.nz"},"links":{"billing_request":"`+id+`"}}}`).
		Text("billing_request_flows.authorisation_url")
	page := b.visit(flow, nil)
	if strings.Contains(page.body, "<input") || !strings.Contains(page.body, "ana@example.nz") || strings.Contains(page.body, "/exit") {
		t.Errorf("the page has fields, or an exit that leads nowhere:\n%s", page.body)
	}
	b.visit(flow+"/details", detailsForm)
	if got := b.OK(200, "GET", "/billing_requests/"+id, "").Text("billing_requests.resources.customer.given_name"); got != "Ana" {
		t.Errorf("given name = %q, want Ana", got)
	}
}

func TestTheExit(t *testing.T) {
	b := newBench(t)
	id := b.newRequest()
	flow := b.newFlow(id)
	for _, step := range []string{"", "/account", "/check"} {
		if page := b.visit(flow+step, nil); !strings.Contains(page.body, `action="`+strings.TrimPrefix(flow, b.URL)+`/exit"`) {
			t.Errorf("the page %q has no exit:\n%s", step, page.body)
		}
		b.visit(flow+"/details", detailsForm)
		b.visit(flow+"/account", accountForm)
	}
	if got := b.visit(flow+"/exit", url.Values{}); got.status != http.StatusSeeOther || got.location != exitURI {
		t.Errorf("exit = %d to %q, want 303 to %q", got.status, got.location, exitURI)
	}
	if got := b.events("action=flow_exited&billing_request="+id, "details.origin"); !slices.Equal(got, []string{"payer"}) {
		t.Errorf("events of exits are of %v, want one of the payer", got)
	}
	if got := b.visit(flow+"/check", url.Values{}); got.location != redirectURI {
		t.Errorf("who comes back and confirms is led to %q, want %q", got.location, redirectURI)
	}
}

func TestPagesOfFlowsThatAreOverLeadBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		end    func(b *bench, id, flow string)
		status int
		want   string // in the page
		back   string
	}{
		{"expired", func(b *bench, _, _ string) { b.sim.Advance(7 * 24 * time.Hour) }, 410, "This page has expired", exitURI},
		{"cancelled", func(b *bench, id, _ string) { b.act(id, "cancel", `{}`) }, 410, "This direct debit was cancelled", exitURI},
		{"fulfilled", func(b *bench, id, _ string) { b.must(b.sim.FulfilRequest(id)) }, 200, "We have your details", redirectURI},
		{"blocked by its payer's name", func(b *bench, _, flow string) {
			b.visit(flow+"/details", changed(detailsForm, "family_name", "Geo Blocked"))
		}, 403, "not available where you are", exitURI},
		{"blocked", func(b *bench, id, _ string) { b.must(b.sim.BlockPayer(id)) }, 403, "not available where you are", exitURI},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			id := b.newRequest()
			flow := b.newFlow(id)
			tt.end(b, id, flow)
			before := b.sim.Statistics()
			for _, got := range []page{b.visit(flow, nil), b.visit(flow+"/account", nil), b.visit(flow+"/details", detailsForm)} {
				links := got.leadsTo()
				if got.status != tt.status || !strings.Contains(got.body, tt.want) || links[len(links)-1] != tt.back {
					t.Errorf("%d, want %d with %q and the way to %q:\n%s", got.status, tt.status, tt.want, tt.back, got.body)
				}
			}
			if after := b.sim.Statistics(); after.Events != before.Events {
				t.Errorf("%d events, want no more than %d", after.Events, before.Events)
			}
		})
	}
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func TestABlockedPayerMayTryAgainAfterADay(t *testing.T) {
	b := newBench(t)
	id := b.newRequest()
	flow := b.newFlow(id)
	b.must(b.sim.BlockPayer(id))
	if got := b.events("action=payer_geo_blocked", "details.cause"); !slices.Equal(got, []string{"payer_geo_blocked"}) {
		t.Errorf("causes = %v", got)
	}
	if _, err := b.sim.Complete(flow, gocardlesstest.Payer{}); err == nil {
		t.Error("a payer who is blocked completed the flow")
	}
	b.sim.Advance(24 * time.Hour)
	if got := b.visit(flow, nil); got.status != http.StatusOK {
		t.Errorf("after a day: %d, want 200", got.status)
	}
}

func TestPagesMayOnlyLeadToTheirOwnFlowsAddresses(t *testing.T) {
	b := newBench(t)
	got := b.visit(b.newFlow(b.newRequest()), nil)
	want := "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self' https://pay.example; " +
		"base-uri 'none'; frame-ancestors 'none'"
	if at := got.header.Get("Content-Security-Policy"); at != want {
		t.Errorf("policy = %q, want %q", at, want)
	}
	for _, sheet := range got.leadsTo()[:2] {
		if css := b.visit(sheet, nil); css.status != http.StatusOK || !strings.HasPrefix(css.header.Get("Content-Type"), "text/css") {
			t.Errorf("%s = %d %v", sheet, css.status, css.header)
		}
	}
}

func TestStrangersFindNoFlow(t *testing.T) {
	b := newBench(t)
	flow := b.newFlow(b.newRequest())
	for path, want := range map[string]int{"/flow/": 404, "/flow/BRFAAAAAAAAAAAAAA": 404, flow + "/more": 404, flow + "/account/x": 404,
		"/assets/none.css": 404, flow + "/exit": 405} {
		if got := b.visit(path, nil); got.status != want {
			t.Errorf("GET %s = %d, want %d", path, got.status, want)
		}
	}
	for _, step := range []string{"/details", "/account", "/check", "/exit"} {
		if got := b.visit("/flow/BRFAAAAAAAAAAAAAA"+step, url.Values{}); got.status != 404 {
			t.Errorf("POST %s of an unknown flow = %d, want 404", step, got.status)
		}
	}
	if got := b.visit(flow, url.Values{}); got.status != http.StatusMethodNotAllowed {
		t.Errorf("POST of the first page = %d, want 405", got.status)
	}
}
