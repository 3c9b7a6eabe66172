package desk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A viewer opens each page and makes no act; an agent does both; nobody else gets anything but the stylesheets and the icon.
func TestEachRoleOpensItsRoutesAndNoOther(t *testing.T) {
	w := newWorld(t)
	agent, viewer, stranger := w.agent(), w.viewer(), w.with("")
	for _, rt := range routes() {
		method, path, _ := strings.Cut(rt.path, " ")
		record := map[bool]string{true: "KOWHAI", false: openID}[strings.HasPrefix(path, "/providers")]
		path = strings.Replace(path, "{id}", record, 1)
		want := [3]int{http.StatusOK, http.StatusOK, http.StatusUnauthorized}
		request := func(b browser) *http.Request { return b.request(t, method, path, "") }
		if rt.act != nil {
			want = [3]int{http.StatusUnprocessableEntity, http.StatusForbidden, http.StatusUnauthorized}
			request = func(b browser) *http.Request { return b.form(t, path) }
		}
		for i, b := range []browser{agent, viewer, stranger} {
			if a := b.do(t, request(b)); a.status != want[i] {
				t.Errorf("%s is answered %d to %s, want %d", rt.path, a.status, [...]string{"an agent", "a viewer", "nobody"}[i], want[i])
			}
		}
	}
	w.did(t)
	for path, status := range map[string]int{"/nowhere": 404, "/checkouts/KOWHAI-9-z": 404, "/providers/TUI": 404, "/assets/desk.css": 200,
		"/assets/style.css": 200, "/assets/icon.svg": 200, "/assets/other.css": 404} {
		agent.get(t, path).is(t, status).lacks(t, "education provider")
	}
	for _, path := range []string{openPath, confirmedPath, "/providers/KOWHAI"} {
		viewer.get(t, path).is(t, http.StatusOK).has(t, "ben@lender.example</bdi>, viewer").lacks(t, `method="post"`)
		agent.get(t, path).is(t, http.StatusOK).has(t, `method="post"`)
	}
	stranger.get(t, "/assets/desk.css").is(t, http.StatusOK)
	stranger.get(t, "/nowhere").is(t, http.StatusUnauthorized)
	viewer.post(t, openPath+"/cancel", "reason", "ticket 7").is(t, http.StatusForbidden).has(t, "Your role is viewer")
}

// A browser that says that another website sent the form is refused, and no website frames a page.
func TestOtherWebsitesCannotAct(t *testing.T) {
	w := newWorld(t)
	b := w.agent()
	for _, header := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.nz"},
		{"Origin", "null"}} {
		r := b.form(t, openPath+"/cancel", "reason", "ticket 7")
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set(header[0], header[1])
		b.do(t, r).is(t, http.StatusForbidden).has(t, "The form came from another website.").lacks(t, "ORDER-1")
	}
	w.did(t)
	a := b.get(t, openPath).is(t, http.StatusOK).lacks(t, "<script", "style=", "onclick")
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
			"frame-ancestors 'none'",
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Set-Cookie": "",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if a := b.post(t, "/").is(t, http.StatusMethodNotAllowed); a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Allow is %q", a.header.Get("Allow"))
	}
	r := b.form(t, openPath+"/cancel", "reason", "ticket 7") // through a proxy that changes Host
	r.Host = "desk.internal"
	r.Header.Del("Sec-Fetch-Site")
	r.Header.Set("Origin", w.URL)
	b.do(t, r).leads(t, openPath+"?done")
}

func TestPersonalDataIsMaskedUntilSomebodySaysWhy(t *testing.T) {
	w := newWorld(t)
	path := confirmedPath
	b := w.agent()
	masked := []string{canaryEmail, "anary.mail", "Holder", "whsec_"}
	for _, reader := range []browser{b, w.viewer()} {
		reader.get(t, path).has(t, canaryName, "<bdi translate=\"no\">c•••</bdi>", "01-0902-•••••89-00, of <bdi translate=\"no\">C•••</bdi>").lacks(t, masked...)
	}
	b.post(t, path+"/reveal").is(t, http.StatusUnprocessableEntity).lacks(t, masked...)
	b.post(t, path+"/reveal", "reason", "two\nlines").is(t, http.StatusUnprocessableEntity).lacks(t, masked...)
	w.viewer().post(t, path+"/reveal", "reason", "ticket 7").is(t, http.StatusForbidden).lacks(t, masked...)
	b.post(t, "/checkouts/KOWHAI-9-z/reveal", "reason", "ticket 7").is(t, http.StatusNotFound)
	w.did(t)
	b.post(t, path+"/reveal", "reason", "ticket 7").is(t, http.StatusOK).has(t, canaryEmail, "Canary Holder").lacks(t, "Show personal data")
	w.did(t, "aroha@lender.example: reveal "+confirmedID+": ticket 7")
	b.get(t, path).has(t, `<strong>reveal</strong> <a href="/find?q=`+confirmedID+`">`, "<bdi translate=\"no\">ticket 7</bdi>").lacks(t, masked...)

	c := w.open("KOWHAI-3-c", "ORDER-3") // whose end has a provider's reason, which may name the student
	c.Next.Status, c.Next.End = checkout.Cancelled, checkout.End{At: w.now(), By: checkout.PartyProvider, Reason: "Canary moved"}
	w.insert(t, c)
	b.get(t, "/checkouts/KOWHAI-3-c").has(t, ">Cancelled by the provider<", "by the provider</dd>").lacks(t, "moved", "Cancel the")
	b.post(t, "/checkouts/KOWHAI-3-c/reveal", "reason", "ticket 7").is(t, http.StatusOK).has(t, "Canary moved")
}

func TestATimelineGivesTheReasonOfARefusalInWords(t *testing.T) {
	w := newWorld(t)
	c := w.open("KOWHAI-3-c", "ORDER-3")
	for _, detail := range []string{"CONFLICT dda_id", "DIRECT_DEBIT_SETUP_INCOMPLETE", "SOME_LATER_CODE"} {
		c.Moments = append(c.Moments, checkout.Moment{ID: detail, At: w.now(), Kind: checkout.MomentRefused, Actor: checkout.ProviderActor("key1"), Detail: detail})
	}
	w.insert(t, c)
	w.viewer().get(t, "/checkouts/KOWHAI-3-c").has(t, "<strong>Call refused</strong>: the identifiers are not this checkout’s: dda_id (CONFLICT)",
		"<strong>Call refused</strong>: the direct debit was not set up (DIRECT_DEBIT_SETUP_INCOMPLETE)", "<strong>Call refused</strong>: SOME_LATER_CODE")
}

// The log has no personal data, no reason, no query and nothing of the token.
func TestTheLogHasNoPersonalData(t *testing.T) {
	w := newWorld(t)
	b := w.agent()
	b.get(t, "/find?q="+canaryEmail)
	b.post(t, openPath+"/reveal", "reason", "Canary asked").is(t, http.StatusUnprocessableEntity)
	b.post(t, openPath+"/reveal", "reason", "she asked").is(t, http.StatusOK).has(t, canaryEmail)
	b.get(t, "/checkouts/"+canaryEmail+strings.Repeat("x", 64))
	logged := w.logged()
	for _, c := range []string{"anary", "example.nz", "asked", "aroha", b.token[:20]} {
		if strings.Contains(logged, c) {
			t.Errorf("the log has %q:\n%s", c, logged)
		}
	}
	if !strings.Contains(logged, `"path":"/checkouts/`+openID+`/reveal"`) {
		t.Errorf("the log lacks the requests:\n%s", logged)
	}
}

func TestARefusedActKeepsWhatWasTyped(t *testing.T) {
	w := newWorld(t)
	b := w.agent()
	path := confirmedPath
	b.post(t, path+"/withdraw", "ground", "hardship", "reason", " ").is(t, http.StatusUnprocessableEntity).
		has(t, `role="alert">Give a reason`, "<option selected>hardship</option>", `value=" " required`, `aria-invalid="true"`)
	b.post(t, path+"/withdraw", "ground", "whim", "reason", "ticket <7>").is(t, http.StatusUnprocessableEntity).
		has(t, "Choose a ground.", `<details open><summary class="button second">Withdraw`, `value="ticket &lt;7&gt;"`)
	b.post(t, openPath+"/cancel", "reason", strings.Repeat("a", 256)).is(t, http.StatusUnprocessableEntity).
		has(t, "The reason must be at most 255 characters", strings.Repeat("a", 256))
	b.post(t, path+"/cancel", "reason", "wrong course").is(t, http.StatusConflict).has(t, "It is confirmed")
	b.post(t, openPath+"/withdraw", "ground", "error", "reason", "ticket 7").is(t, http.StatusConflict).has(t, "no agreement to withdraw")
	b.post(t, path+"/link", "reason", "ticket 7").is(t, http.StatusConflict).has(t, "no link is needed")
	b.post(t, path+"/withdraw", "reason", strings.Repeat("a", 20<<10)).is(t, http.StatusBadRequest)
	w.did(t)
}

// A reason stays on record for ever, whatever the act.
func TestNoActTakesAReasonThatNamesTheStudent(t *testing.T) {
	w := newWorld(t)
	w.failEvent(t)
	b := w.agent()
	for act, of := range map[string]string{"link": "", "cancel": "", "reveal": "", "retry": "evt_1"} {
		b.post(t, openPath+"/"+act, "of", of, "reason", "Rapata rang").is(t, http.StatusUnprocessableEntity).
			has(t, "must not name the student", `value="Rapata rang"`)
	}
	b.post(t, confirmedPath+"/withdraw", "ground", "error", "reason", canaryEmail).is(t, http.StatusUnprocessableEntity)
	w.did(t)
}

func TestWhereNoMailIsSentNoLinkIsPromised(t *testing.T) {
	newWorld(t, func(o *Options) { o.Mails = false }).agent().get(t, openPath).has(t, "A new link cannot be sent").lacks(t, "Send a new link")
}

func TestACheckoutGetsALinkAndEndsOnce(t *testing.T) {
	w := newWorld(t)
	b := w.agent()
	b.get(t, openPath).has(t, "Cancel the checkout", "Send a new link", "Link opens until").lacks(t, "Withdraw the agreement")
	b.get(t, confirmedPath).has(t, "Withdraw the agreement", `<select name="ground" required><option value="">Choose a ground</option>`).
		lacks(t, "Cancel the checkout", "Send a new link", " selected>")
	b.post(t, openPath+"/link", "reason", "ticket 7").leads(t, openPath+"?done")
	b.post(t, openPath+"/link", "reason", "ticket 7").is(t, http.StatusConflict).has(t, "less than ten minutes ago", "E-mail: link", ">waits<")
	for range 2 {
		w.forward(time.Second)
		b.post(t, openPath+"/cancel", "reason", "wrong course").leads(t, openPath+"?done")
		w.forward(time.Second)
		b.post(t, confirmedPath+"/withdraw", "ground", "hardship", "reason", "ticket 7").leads(t, confirmedPath+"?done")
	}
	w.did(t, "aroha@lender.example: link "+openID+": ticket 7", "aroha@lender.example: cancel "+openID+": wrong course",
		"aroha@lender.example: withdraw "+confirmedID+": ticket 7")
	b.get(t, openPath+"?done").has(t, "Done, and on record.", ">Cancelled by the operator<", "by the operator: <q><bdi translate=\"no\">wrong course</bdi>").
		lacks(t, "Cancel the checkout", "Send a new link", "Link opens until")
	b.get(t, confirmedPath).has(t, ">Withdrawn<", "by the operator, hardship: <q><bdi translate=\"no\">ticket 7</bdi></q>").lacks(t, "Withdraw the agreement")
}

func TestAFailedEventIsSentAgain(t *testing.T) {
	w := newWorld(t)
	w.failEvent(t)
	b := w.agent()
	path := openPath
	b.get(t, path).has(t, ">failed<", "Event checkout.created", "status 500", "evt_1", "Try now")
	b.get(t, "/providers/KOWHAI").has(t, ">failed: status 500</strong> 1")
	for _, unknown := range []string{"", "evt_2", "sync"} {
		b.post(t, path+"/retry", "of", unknown, "reason", "ticket 7").is(t, http.StatusNotFound)
	}
	b.post(t, confirmedPath+"/retry", "of", "evt_1", "reason", "ticket 7").is(t, http.StatusNotFound)
	w.did(t)
	b.post(t, path+"/retry", "of", "evt_1", "reason", "ticket 7").leads(t, path+"?done")
	w.did(t, "aroha@lender.example: jobs retry "+openID+": ticket 7")
	b.get(t, path).has(t, ">waits<", "status 500").lacks(t, ">failed<")
}

// The enrolment whose first payment comes first is the first of the repair queue.
func TestARefusalOfTheCRMIsALineWithItsReason(t *testing.T) {
	w := newWorld(t)
	c := w.open("KOWHAI-3-c", "ORDER-3")
	c.Next.Intent.Plan.First = money.Date{Year: 2026, Month: time.November, Day: 19}
	w.insert(t, c)
	w.refuseSync(t, openID, "the CRM refuses the enrolment: INVALID (last_name)")
	w.forward(time.Minute)
	w.refuseSync(t, "KOWHAI-3-c", "the CRM refuses the enrolment: CRM_IS_AHEAD")
	w.forward(time.Minute)
	b := w.agent()
	b.get(t, "/").is(t, http.StatusOK).has(t, `label bad">2</strong> <span><a href="/find?trouble=crm">`)
	list := b.get(t, "/find?trouble=crm").is(t, http.StatusOK).has(t, "<br>the CRM refuses the enrolment: INVALID (last_name)",
		"CRM_IS_AHEAD", "the first payment on Thursday 19 November 2026", "the first payment on Friday 20 November 2026")
	if strings.Index(list.body, "ORDER-3") > strings.Index(list.body, "ORDER-1") {
		t.Errorf("the first of the list is not the first to be paid:\n%s", list.body)
	}
	b.get(t, "/find?q=ORDER").lacks(t, "the first payment on")
	b.get(t, openPath).has(t, ">waits<", "<strong>Write to the CRM</strong> <small class=\"quiet\">due 20 Nov 2026, 17:10:00", "INVALID (last_name)",
		"CRM refused</strong>: INVALID last_name")
	b.post(t, openPath+"/retry", "of", "sync", "reason", "the mapping is right now").leads(t, openPath+"?done")
	b.get(t, openPath).has(t, ">due now, attempts: 3")
}

// Somebody who asks what is due when is answered from the page.
func TestACheckoutHasItsPaymentsAndItsIds(t *testing.T) {
	w := newWorld(t)
	w.viewer().get(t, confirmedPath).is(t, http.StatusOK).has(t, "$2,990.00, of which $200.00 is paid first",
		"52 instalments of $53.65, the last of $53.85, the first payment on Friday 20 November 2026", "<li>Friday 20 November 2026: $200.00</li>",
		confirmedID, "ORDER-2", number, "BRQ1", "MD1", "pending submission", "/providers/KOWHAI")
}

func TestFindLeadsToTheOneCheckout(t *testing.T) {
	w := newWorld(t)
	b := w.viewer()
	for q, path := range map[string]string{"ORDER-1": openPath, openID: openPath, number: confirmedPath, "MD1": confirmedPath} {
		b.get(t, "/find?q="+url.QueryEscape(q)).leads(t, path)
	}
	b.get(t, "/find?q=+BRQ1+").leads(t, confirmedPath)
	b.get(t, "/find?q=rapata").is(t, http.StatusOK).has(t, canaryName, openPath, confirmedPath, `good">Confirmed<`).
		lacks(t, canaryEmail, "There are more")
	b.get(t, "/find?q="+canaryEmail).is(t, http.StatusOK).has(t, openPath)
	b.get(t, "/find?q=nobody").is(t, http.StatusOK).has(t, "No checkout.", "beginning of a family name")
	for _, nothing := range []string{"", "?q=", "?q=+", "?trouble=unknown", "?q=a&q=b", "?trouble=notifications"} {
		b.get(t, "/find"+nothing).is(t, http.StatusOK).has(t, "<h1>Find</h1>").lacks(t, "No checkout.")
	}
	for i := range maxHits - 1 {
		w.insert(t, w.open(fmt.Sprint("KOWHAI-9-", i), fmt.Sprint("MANY-", i)))
	}
	b.get(t, "/find?q=rapata").is(t, http.StatusOK).has(t, "There are more checkouts than the 100 of this list.")
}

func TestTodayHasALineForEachTroubleAndNoneOnAQuietDay(t *testing.T) {
	w := newWorld(t)
	b := w.viewer()
	b.get(t, "/").is(t, http.StatusOK).has(t, "Nothing needs a hand.").lacks(t, "/find?trouble")
	w.failEvent(t)
	c := w.open("KOWHAI-3-c", "ORDER-3")
	c.Next.Setup.Observation = checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandateActive,
		MandateID: "MD3", AccountHolder: "C", AccountMask: "01-0902-•••••89-00", CompletedAt: w.now()}
	w.insert(t, c)
	w.forward(2 * time.Hour)
	b = w.viewer()
	b.get(t, "/").is(t, http.StatusOK).has(t, "Enrolments with events that the provider’s receiver did not take", `href="/find?trouble=events"`,
		"and not confirmed by the provider", `href="/find?trouble=unconfirmed"`, `href="/providers/KOWHAI"`).lacks(t, "Nothing needs")
	b.get(t, "/find?trouble=events").is(t, http.StatusOK).has(t, "did not take</h1>", openPath).lacks(t, "/checkouts/KOWHAI-3-c")
	b.get(t, "/find?trouble=mandates&q=ORDER-1").is(t, http.StatusOK).has(t, "No checkout.")
}

// The journal's own words are for programs.
func TestTheTimelineIsInWords(t *testing.T) {
	w := newWorld(t)
	for i, kind := range checkout.MomentKinds() {
		m := checkout.Moment{At: w.now().Add(time.Duration(i) * time.Second), Kind: kind, Actor: "crm", Times: 1, Detail: "of " + string(kind)}
		if kind == checkout.MomentSetupDone {
			m.Detail, m.Times = "mandate pending_submission", 3
		}
		must(t, w.store.Note(t.Context(), []checkout.Noted{{About: checkout.About{CheckoutID: openID}, Moment: m}}, nil))
	}
	page := w.viewer().get(t, openPath).is(t, http.StatusOK).has(t, "20 Nov 2026, 17:00:00", `datetime="2026-11-20T04:00:00Z"`,
		"Payer opened the page", "Payer went on to the bank", "Setup done</strong> ×3: mandate pending submission", "CRM refused",
		"Event delivered", "Event not taken", "E-mail sent", "Personal data erased")
	if raw := regexp.MustCompile(`<strong>([^<]*_[^<]*)?</strong>`).FindString(page.body); raw != "" {
		t.Errorf("the timeline has %s", raw)
	}
}

func TestStatesAreInColourAndWords(t *testing.T) {
	w := newWorld(t)
	w.viewer().get(t, openPath).has(t, `<strong class="label heed">Waits for the payer<`)
	for want, change := range map[string]func(*checkout.Checkout){`quiet">Withdrawn<`: func(c *checkout.Checkout) { c.End.At = w.now() },
		`bad">Confirmed; the mandate has ended<`: func(c *checkout.Checkout) { c.Setup.Mandate = checkout.MandateFailed },
		`quiet">Confirmed<`:                      func(c *checkout.Checkout) { c.ErasedAt = w.now() }} {
		w.change(t, confirmedID, func(c checkout.Checkout) checkout.Change {
			c.End, c.ErasedAt, c.Setup.Mandate = checkout.End{}, time.Time{}, checkout.MandateActive
			change(&c)
			return checkout.Change{At: w.now(), Next: c}
		})
		w.viewer().get(t, confirmedPath).has(t, `<strong class="label `+want)
	}
}

func TestAProviderIsDisabledAndEnabledAndItsKeyRevoked(t *testing.T) {
	w := newWorld(t)
	b := w.agent()
	const path = "/providers/KOWHAI"
	b.get(t, "/providers").is(t, http.StatusOK).has(t, `href="/providers/KOWHAI"`, `label good">Active<`)
	b.post(t, "/providers/TUI/disable", "reason", "ticket 7").is(t, http.StatusNotFound)
	for range 2 { // the second changes nothing
		b.post(t, path+"/disable", "reason", "complaint 12").leads(t, path+"?done")
	}
	w.did(t, "aroha@lender.example: providers disable KOWHAI: complaint 12")
	b.get(t, "/providers").has(t, `label bad">Calls refused: provider KOWHAI was disabled by an operator<`)
	b.get(t, path).has(t, "Enable the provider", "providers disable</strong> <code>KOWHAI</code> by <bdi translate=\"no\">aroha@lender.example</bdi>: <q><bdi translate=\"no\">complaint 12</bdi>").
		lacks(t, "Disable the provider", "whsec_", "key2")
	w.forward(time.Second)
	b.post(t, path+"/enable", "reason", "settled").leads(t, path+"?done")
	w.did(t, "aroha@lender.example: providers disable KOWHAI: complaint 12", "aroha@lender.example: providers enable KOWHAI: settled")
	b.get(t, path).has(t, `label good">Active<`, "https://hooks.example", "account <code>acc_1</code>", "last used 20 Nov 2026, 17:00:00 NZDT", ">live<")

	w.forward(time.Second)
	b.post(t, path+"/revoke", "of", "other", "reason", "leaked").is(t, http.StatusNotFound)
	b.post(t, path+"/revoke", "of", "key1").is(t, http.StatusUnprocessableEntity).has(t, `<details open><summary class="button second">Revoke`)
	b.post(t, path+"/revoke", "of", "key1", "reason", "leaked").leads(t, path+"?done")
	b.get(t, path).has(t, ">revoked<", "keys revoke</strong> <code>key1</code> by <bdi translate=\"no\">aroha@lender.example</bdi>: <q><bdi translate=\"no\">leaked").lacks(t, `value="key1"`)
}

// broken is a store whose troubles cannot be read.
type broken struct {
	ports.Admin
	err error
}

func (b broken) Troubles(context.Context, time.Time) ([]checkout.TroubleCount, error) {
	return nil, b.err
}

func TestAFailureIsLoggedAndNotShown(t *testing.T) {
	for status, err := range map[int]error{500: errors.New("cable out"), 503: ports.ErrBusy} {
		w := newWorld(t, func(o *Options) { o.Store = broken{o.Store, fmt.Errorf("count: %w", err)} })
		w.viewer().get(t, "/").is(t, status).has(t, "again", "<code>req_").lacks(t, "count:", "cable")
		if logged := w.logged(); !strings.Contains(logged, `"error":"count: `+err.Error()) {
			t.Errorf("%v is logged as %s", err, logged)
		}
	}
}
