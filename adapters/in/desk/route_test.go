package desk

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// target returns a path of a route, of records that exist.
func target(path string) string {
	for _, id := range [][2]string{{"/checkouts/{id}", "/checkouts/" + checkoutID}, {"/providers/{id}", "/providers/KOWHAI"}, {"/months/{id}", "/months/2026-11"}, {"{id}", "apr_unknown"}} {
		path = strings.Replace(path, id[0], id[1], 1)
	}
	return path
}

// Every cell of the matrix: a role that may not is answered 403, and any other is not; nobody else gets further than the sign-in.
func TestEachRoleOpensItsRoutesAndNoOther(t *testing.T) {
	w := newWorld(t)
	stranger := w.browser(t)
	for _, role := range append(operate.Roles(), "") {
		b := stranger
		if role != "" {
			b = w.as(t, "Aroha", role)
		}
		for _, route := range routes() {
			method, path, _ := strings.Cut(route.Path, " ")
			var a answer
			if path = target(path); method == http.MethodGet {
				a = b.get(t, path)
			} else {
				a = b.post(t, path, "revoke", "unknown") // all who may press a button of keys may revoke one
			}
			open := role != "" && operate.RightsTo(route.Act).Open(role)
			toSignIn := a.status == http.StatusSeeOther && strings.HasPrefix(a.header.Get("Location"), "/sign-in?to=") ||
				a.status == http.StatusForbidden && strings.HasPrefix(a.header.Get("Refresh"), "0; url=/sign-in?to=")
			if role == "" && !toSignIn || role != "" && open == (a.status == http.StatusForbidden) || role != "" && toSignIn {
				t.Errorf("%q on %s is answered %d %s; open to it: %v", role, route.Path, a.status, a.header.Get("Location"), open)
			}
			switch {
			case !open || method != http.MethodGet:
			case strings.HasSuffix(path, agreementFile): // to where the reason is asked for
				a.is(t, http.StatusSeeOther)
			case strings.HasSuffix(path, "/proof.json"): // there is no agreement
				a.is(t, http.StatusConflict)
			default:
				a.is(t, http.StatusOK)
			}
			if a.status == http.StatusInternalServerError {
				t.Errorf("%q on %s: %s", role, route.Path, a.body)
			}
		}
	}
	leaves := slices.DeleteFunc(w.recorded(t), func(leaf string) bool { return strings.Contains(leaf, `"providers ping"`) }) // it needs no field
	if len(leaves) != 0 {
		t.Errorf("forms without a field left the records %q", leaves)
	}
}

// A route needs the rights of an act that package operate knows, and no page that changes something is a GET.
func TestEveryRouteHasAnAct(t *testing.T) {
	for _, route := range routes() {
		method, _, _ := strings.Cut(route.Path, " ")
		r := operate.RightsTo(route.Act)
		if len(r.Alone)+len(r.Ask) == 0 || method == http.MethodGet && (r.Reasoned || r.Fresh) {
			t.Errorf("%s is open to %+v", route.Path, r)
		}
	}
}

// A browser that says that another website sent a form, or has opened the page, is refused; and no website frames a page.
func TestOtherWebsitesCannotAct(t *testing.T) {
	w := newWorld(t)
	b := w.as(t, "Aroha", operate.Support)
	for _, header := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		r := b.form(t, "/checkouts/"+checkoutID+"/reveal", "reason", "ticket 7")
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set(header[0], header[1])
		b.do(t, r).is(t, http.StatusForbidden).has(t, "from another website")
	}
	if leaves := w.recorded(t); len(leaves) != 0 {
		t.Errorf("the records are %q", leaves)
	}
	h := b.get(t, "/").is(t, http.StatusOK).header
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"Cache-Control":           "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		"Strict-Transport-Security": "max-age=31536000", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	b.get(t, "/").lacks(t, "<script", "style=", "onclick")
	b.get(t, "/nowhere").is(t, http.StatusNotFound)
	if a := b.post(t, "/").is(t, http.StatusMethodNotAllowed); a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Allow is %q", a.header.Get("Allow"))
	}
	r := b.form(t, "/checkouts/"+checkoutID+"/reveal", "reason", strings.Repeat("a", 20<<10))
	b.do(t, r).is(t, http.StatusRequestEntityTooLarge)
	r = b.form(t, "/checkouts/"+checkoutID+"/reveal", "reason", "ticket 7")
	r.Header.Set("Content-Type", "text/plain")
	b.do(t, r).is(t, http.StatusBadRequest)
}

func TestPersonalDataIsMaskedUntilSomebodySaysWhy(t *testing.T) {
	w := newWorld(t)
	path := "/checkouts/" + checkoutID
	for _, role := range operate.Roles() {
		page := w.as(t, "Aroha", role).get(t, path).is(t, http.StatusOK).lacks(t, canaryEmail, "canary.mail", "whsec_")
		if named := strings.Contains(page.body, canaryName); named != (role == operate.Support || role == operate.Finance || role == operate.Compliance) {
			t.Errorf("%s sees the name: %v", role, named)
		}
	}
	b := w.as(t, "Aroha", operate.Support)
	b.post(t, path+"/reveal").is(t, http.StatusUnprocessableEntity)
	b.post(t, path+"/reveal", "reason", "two\nlines").is(t, http.StatusUnprocessableEntity)
	b.post(t, "/checkouts/KOWHAI-2-b/reveal", "reason", "ticket 7").is(t, http.StatusNotFound)
	if leaves := w.recorded(t); len(leaves) != 0 {
		t.Fatalf("the records are %q, and nobody has seen anything", leaves)
	}
	if a := b.post(t, path+"/reveal", "reason", "ticket 7").is(t, http.StatusSeeOther); a.header.Get("Location") != path+"?done=reveal" {
		t.Errorf("the form leads to %q", a.header.Get("Location"))
	}
	b.get(t, path).has(t, canaryName, canaryEmail)
	leaves := w.recorded(t)
	want := `"operator":"Aroha (support)","operation":"reveal","subject":"` + checkoutID + `","reason":"ticket 7"`
	if len(leaves) != 1 || !strings.Contains(leaves[0], want) {
		t.Errorf("the records are %q, want one with %s", leaves, want)
	}
	w.as(t, "Ben", operate.Support).get(t, path).lacks(t, canaryEmail)
	w.forward(revealedFor)
	b.get(t, path).lacks(t, canaryEmail)
}

func TestAnEventIsSentAgainAndACallIsHastened(t *testing.T) {
	w := newWorld(t)
	path := "/checkouts/" + checkoutID
	support, engineer := w.as(t, "Aroha", operate.Support), w.as(t, "Ben", operate.Engineer)
	page := support.get(t, path).has(t, "evt_1", "given up", "status 500", "Send again", "after 20 ms", "&lt;b&gt;out of order")
	page.lacks(t, "Try now")
	engineer.get(t, path).has(t, "Send again", "Try now")
	support.post(t, path+"/retry", "job", "open:"+checkoutID, "reason", "ticket 7").is(t, http.StatusForbidden)
	support.post(t, path+"/retry", "job", "evt_1").is(t, http.StatusUnprocessableEntity)
	support.post(t, path+"/retry", "reason", "ticket 7").is(t, http.StatusNotFound)
	support.post(t, path+"/retry", "job", "seal", "reason", "ticket 7").is(t, http.StatusNotFound)
	if leaves := w.recorded(t); len(leaves) != 0 {
		t.Fatalf("the records are %q", leaves)
	}
	for range 2 { // the second time it waits
		to := support.post(t, path+"/retry", "job", "evt_1", "reason", "ticket 7").is(t, http.StatusSeeOther).header.Get("Location")
		support.get(t, to).has(t, "It is attempted in a moment.")
	}
	engineer.post(t, path+"/retry", "job", "open:"+checkoutID, "reason", "ticket 8").is(t, http.StatusSeeOther)
	leaves := strings.Join(w.recorded(t), "\n")
	for _, want := range []string{`"operator":"Aroha (support)","operation":"events redeliver","subject":"evt_1","reason":"ticket 7"`,
		`"operator":"Ben (engineer)","operation":"jobs retry","subject":"open:` + checkoutID + `","reason":"ticket 8"`} {
		if strings.Count(leaves, want) != 1 {
			t.Errorf("the records are\n%s\nwant one with %s", leaves, want)
		}
	}
	w.sendsAgain(t, "evt_1", "operator:Aroha")
	engineer.get(t, path).has(t, "status 204 after 30 ms, asked by operator:Aroha")
	w.as(t, "Aroha", operate.Auditor).get(t, "/audit").has(t, "events redeliver", "Aroha (support)", "ticket 8", "To be sealed").lacks(t, "Forged")
}

// The log has no personal data, no reason, no cookie and no query.
func TestTheLogHasNoPersonalData(t *testing.T) {
	w := newWorld(t)
	b := w.as(t, "Aroha", operate.Support)
	b.get(t, "/?q="+canaryEmail)
	b.post(t, "/checkouts/"+checkoutID+"/reveal", "reason", "Canary asked").is(t, http.StatusUnprocessableEntity)
	b.post(t, "/checkouts/"+checkoutID+"/reveal", "reason", "she asked").is(t, http.StatusSeeOther)
	b.get(t, "/checkouts/"+checkoutID).has(t, canaryEmail)
	b.get(t, "/checkouts/"+canaryEmail+strings.Repeat("x", 64))
	for _, c := range []string{"anary", "example.nz", "asked", "cookie", "Aroha", "__Host"} {
		if strings.Contains(w.logged(), c) {
			t.Errorf("the log has %q:\n%s", c, w.logged())
		}
	}
	if !strings.Contains(w.logged(), `"path":"/checkouts/`+checkoutID+`"`) {
		t.Errorf("the log lacks the requests:\n%s", w.logged())
	}
}

// Every error has a page, and an error that nobody expected is a failure.
func TestEveryProblemHasItsPage(t *testing.T) {
	for _, p := range problems {
		status, _ := problemOf(fmt.Errorf("act: %w", p.err))
		if status != p.status || messages[status].Title == "" || messages[status].Text == "" {
			t.Errorf("%v is answered %d with %+v, want %d", p.err, status, messages[status], p.status)
		}
	}
	if status, why := problemOf(errors.New("the cable is out")); status != http.StatusInternalServerError || why != "" {
		t.Errorf("a failure is answered %d, %q", status, why)
	}
}
