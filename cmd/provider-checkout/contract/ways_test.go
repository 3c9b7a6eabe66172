package contract_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Section 4, the payer's way over GoCardless when things do not go well.

// journey is a payer who has gone on from the setup page to GoCardless' page.
type journey struct {
	*suite
	created response
	page    string // the address of GoCardless' page
	request string // the id of the billing request
}

func setOut(t *testing.T) *journey {
	t.Helper()
	j := &journey{suite: &suite{sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, sandbox.Memory)}}
	j.created = j.Create(t, "ORDER-1")
	j.page = j.ToProcessor(t, j.created)
	j.request = j.billingRequest(t)
	return j
}

func (j *journey) billingRequest(t *testing.T) string {
	t.Helper()
	return j.record(t, "ORDER-1").Checkout.Setup.BillingRequestID
}

// finish completes GoCardless' page.
func (j *journey) finish(t *testing.T, p gocardlesstest.Payer) {
	t.Helper()
	if _, err := j.Bank.Complete(j.page, p); err != nil {
		t.Fatal(err)
	}
}

// finishAs is finish for an account holder whose name has a fate.
func finishAs(holder string) func(*testing.T, *journey) {
	return func(t *testing.T, j *journey) { j.finish(t, gocardlesstest.Payer{Holder: holder}) }
}

// finishBefore is finishAs, and then a while.
func finishBefore(holder string, after time.Duration) func(*testing.T, *journey) {
	return func(t *testing.T, j *journey) {
		j.finish(t, gocardlesstest.Payer{Holder: holder})
		j.Clock.Forward(after)
	}
}

// refuse has GoCardless refuse the payer for the place.
func (j *journey) refuse(t *testing.T) {
	t.Helper()
	if _, err := j.Bank.Complete(j.page, gocardlesstest.Payer{FamilyName: "GEO BLOCKED"}); err != nil {
		t.Fatal(err)
	}
}

// leave takes the exit of GoCardless' page and returns where it leads.
func (j *journey) leave(t *testing.T) string {
	t.Helper()
	r := j.Submit(t, j.page+"/exit", nil)
	if r.Status != http.StatusSeeOther {
		t.Fatalf("the exit answers %d %s", r.Status, r.Body)
	}
	return r.Header.Get("Location")
}

// noticed returns the first heading after the main one, where it is above the plan.
func noticed(t *testing.T, r response) string {
	t.Helper()
	for _, e := range sandbox.Elements(t, r) {
		switch {
		case e.Attr["class"] == "card":
			return ""
		case e.Name == "h2":
			return e.Text
		}
	}
	return ""
}

// What a way on leads to.
const (
	noWayOn  = 0 // there is nothing to do
	sameTry  = 1 // GoCardless' page, for the same billing request
	otherTry = 2 // GoCardless' page, for another one
)

func TestContract4APayerWhoComesBackFromGoCardlessSeesTheTruthAndAWayOn(t *testing.T) {
	const nothing = "Nothing is set up, and no payment was taken."
	const dead = "Your earlier bank setup is no longer valid."
	const open, settling = sandbox.OpenTitle, "Your direct debit is being set up"
	const pending, cancelled = "pending Customer In Progress false", "cancelled Customer In Progress false"
	for _, tt := range []struct {
		name   string
		happen func(*testing.T, *journey)
		title  string
		notice string
		says   []string
		wayOn  int
		polled string // billing request, mandate, authorisation and setup_complete
	}{
		{"left by the exit", func(t *testing.T, j *journey) {
			if back := j.leave(t); back != sandbox.ReturnURL(j.created.SetupURL()) {
				t.Errorf("the exit leads to %q", back)
			}
		}, open, "Your bank setup is not finished", []string{nothing, "You can go on"}, sameTry, pending},
		{"left half-way", func(t *testing.T, j *journey) {
			j.Submit(t, j.page+"/details", []string{"given_name", "Hana", "family_name", "Ngata", "email", "hana@example.nz"})
			j.leave(t)
		}, open, "Your bank setup is not finished", []string{nothing}, sameTry, pending},
		{"closed the window", func(t *testing.T, j *journey) { j.Visit(t, j.page); j.Clock.Forward(time.Hour) },
			open, "Your bank setup is not finished", []string{nothing}, sameTry, pending},
		{"cancelled at GoCardless", func(t *testing.T, j *journey) {
			if err := j.Bank.CancelRequest(j.request); err != nil {
				t.Fatal(err)
			}
		}, open, "The bank setup did not go through", []string{nothing, "start it again"}, otherTry, cancelled},
		{"cancelled after the payer was done", finishAs("SETUP CANCELLED"), open, "The bank setup did not go through", []string{nothing}, otherTry, cancelled},
		{"failed", finishAs("SETUP FAILS"), open, "The bank setup did not go through", []string{nothing}, otherTry, cancelled},
		{"where GoCardless does not serve", func(t *testing.T, j *journey) {
			j.refuse(t)
			refused := j.Visit(t, j.page)
			if exit := sandbox.ReturnURL(j.created.SetupURL()); refused.Status != http.StatusForbidden || len(pick(sandbox.Elements(t, refused), "a", "href", exit)) != 1 {
				t.Errorf("GoCardless answers %d %s, want 403 and a link back", refused.Status, refused.Body)
			}
		}, open, "Your bank setup is not finished", []string{nothing}, sameTry, pending},
		{"ready to be fulfilled", finishAs("SETUP WAITS"), settling, "", []string{"You need not do anything", "See whether it is done"}, noWayOn,
			"ready_to_fulfil Customer In Progress false"},
		{"being fulfilled, and no end of it", finishBefore("SETUP HANGS", time.Hour), settling, "", []string{"still says so tomorrow, tell Kōwhai Institute"}, noWayOn,
			"fulfilling Customer In Progress false"},
		{"fulfilled without a mandate yet", finishAs("MANDATE LATE"), settling, "", []string{"See whether it is done"}, noWayOn,
			"fulfilling Customer In Progress false"},
		{"the mandate failed", finishBefore("MANDATE FAILS", time.Minute), open, "The bank setup failed", []string{dead, "use another one", "No payment was taken"}, otherTry,
			"fulfilled failed Customer In Progress false"},
		{"the mandate was cancelled", finishBefore("MANDATE CANCELLED", time.Minute), open, "The direct debit was cancelled", []string{dead, "set it up again"}, otherTry,
			"fulfilled cancelled Customer In Progress false"},
		{"the mandate was blocked", finishBefore("MANDATE BLOCKED", time.Minute), open, "The direct debit was stopped", []string{dead, "with another account", "ask Kōwhai Institute"}, otherTry,
			"fulfilled blocked Customer In Progress false"},
		{"the mandate expired", finishBefore("MANDATE EXPIRED", time.Minute), open, "The direct debit has ended", []string{dead, "set it up again"}, otherTry,
			"fulfilled expired Customer In Progress false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := setOut(t)
			tt.happen(t, j)
			// The payer comes back at once, whether a notification has come or not.
			page := j.Back(t, j.created.SetupURL())
			shows(t, "setup page", page, http.StatusOK, tt.title)
			if got := noticed(t, page); !strings.HasPrefix(got, tt.notice) || tt.wayOn != noWayOn && got != tt.notice {
				t.Errorf("what the payer reads first is %q, want %q", got, tt.notice)
			}
			text := sandbox.Elements(t, page)[0].Text
			for _, want := range tt.says {
				if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
					t.Errorf("the page does not say %q:\n%s", want, text)
				}
			}
			j.Bank.Advance(0)        // what is due happens
			if tt.wayOn != noWayOn { // while it is settling a notification may stay pending
				j.Settle(t)
			}
			for end := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
				got := brief(j.Get(t, "KOWHAI", j.created.CheckoutPath()), "direct_debit.billing_request_status", "direct_debit.mandate_status",
					"direct_debit.authorisation_status", "direct_debit.setup_complete")
				if got == "200 "+tt.polled {
					break
				}
				if tt.wayOn != noWayOn || time.Now().After(end) {
					t.Errorf("a poll answers %q, want %q", got, "200 "+tt.polled)
					break
				}
			}
			refused(t, j.Confirm(t, j.created), http.StatusConflict, "DIRECT_DEBIT_SETUP_INCOMPLETE")
			if forms := len(pick(sandbox.Elements(t, page), "form", "method", "post")); (forms == 1) != (tt.wayOn != noWayOn) {
				t.Errorf("the page has %d forms", forms)
			}
			j.goesOn(t, tt.wayOn)
		})
	}
}

// goesOn presses the button of the setup page, or of an old page if there is nothing to do any more, and then completes
// the setup.
func (j *journey) goesOn(t *testing.T, wayOn int) {
	t.Helper()
	if wayOn == noWayOn {
		again := j.Submit(t, sandbox.SetupPagePath, []string{"token", j.created.String("direct_debit.token")})
		if at := again.Header.Get("Location"); again.Status != http.StatusSeeOther || at != j.created.String("direct_debit.setup_url") || j.billingRequest(t) != j.request {
			t.Errorf("an old page leads to %q and billing request %s, want the setup page and %s", at, j.billingRequest(t), j.request)
		}
	} else {
		page := j.ToProcessor(t, j.created)
		if next := j.billingRequest(t); page == j.page || (next == j.request) != (wayOn == sameTry) {
			t.Errorf("the way on leads to %s of billing request %s; it was %s of %s", page, next, j.page, j.request)
		}
	}
	if got := j.Bank.Statistics().BillingRequests; got != max(wayOn, 1) {
		t.Errorf("there are %d billing requests, want %d", got, max(wayOn, 1))
	}
	if wayOn == noWayOn {
		return
	}
	j.Clock.Forward(24 * time.Hour) // the longest that a payer is kept out
	j.SetUp(t, j.created)
	shows(t, "page in the end", j.Visit(t, j.created.String("direct_debit.setup_url")), http.StatusOK, sandbox.DoneTitle)
	if r := j.Confirm(t, j.created); r.Status != http.StatusOK {
		t.Errorf("confirm answers %d %s", r.Status, r.Body)
	}
}

// A page of GoCardless that is open for longer than it works leads back to a link that has ended too. The provider's new
// link goes on with the same billing request.
func TestContract4APayerWhoseGoCardlessPageExpiredGoesOnWithTheSameBillingRequest(t *testing.T) {
	j := setOut(t)
	exit := sandbox.ReturnURL(j.created.SetupURL())
	j.Clock.Forward(7 * 24 * time.Hour)
	expired := j.Visit(t, j.page)
	if expired.Status != http.StatusGone || len(pick(sandbox.Elements(t, expired), "a", "href", exit)) != 1 {
		t.Fatalf("GoCardless answers %d %s, want 410 and a link back", expired.Status, expired.Body)
	}
	shows(t, "page that it leads back to", j.Visit(t, exit), http.StatusGone, sandbox.ExpiredTitle)
	shows(t, "form of a page that is still open",
		j.Submit(t, sandbox.SetupPagePath, []string{"token", j.created.String("direct_debit.token")}), http.StatusGone, sandbox.ExpiredTitle)

	j.created = j.Replay(t, "ORDER-1")
	if page := j.Visit(t, exit); !strings.Contains(page.Body, "There is a newer link") {
		t.Errorf("the former link does not name the newer one:\n%s", page.Body)
	}
	page := j.Visit(t, j.created.String("direct_debit.setup_url"))
	shows(t, "new link", page, http.StatusOK, sandbox.OpenTitle)
	if got := noticed(t, page); got != "You have started your bank setup" {
		t.Errorf("what the payer reads first is %q", got)
	}
	j.goesOn(t, sameTry)
}

// While GoCardless is down it is not known whether the payer has finished, and the page claims neither. A payer who goes on then
// reads what to do.
func TestContract4APayerWhoComesBackWhileGoCardlessIsDown(t *testing.T) {
	j := setOut(t)
	j.Bank.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultError, Method: http.MethodPost, Path: "/billing_request_flows", Times: 1000})
	halted := j.Press(t, j.created)
	shows(t, "page of a payer who goes on", halted, http.StatusServiceUnavailable, sandbox.OpenTitle)
	if got := noticed(t, halted); got != "We could not start your bank setup" {
		t.Errorf("what the payer reads first is %q", got)
	}
	j.Bank.Disarm()
	j.Bank.SetWebhook("", "")
	j.finish(t, gocardlesstest.Payer{})
	j.Bank.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultError, Method: http.MethodGet, Path: "/billing_requests/*", Times: 1000})
	page := j.Back(t, j.created.SetupURL())
	shows(t, "setup page", page, http.StatusOK, sandbox.OpenTitle)
	if got := noticed(t, page); got != "We cannot see whether your bank setup is finished" || strings.Contains(page.Body, "Nothing is set up") ||
		!strings.Contains(page.Body, `<a href="">Look again</a>`) {
		t.Errorf("the page claims what is not known, under %q:\n%s", got, page.Body)
	}
	j.Bank.Disarm()
	j.Clock.Forward(2 * time.Second)
	shows(t, "page a little later", j.Back(t, j.created.SetupURL()), http.StatusOK, sandbox.DoneTitle)
}

const goodAccount = apiclient.AccountNumber

// pick returns the elements with this name, or any name if it is "", that have an attribute with this value.
func pick(all []*apiclient.Element, name, attr, value string) (found []*apiclient.Element) {
	for _, e := range all {
		if got, ok := e.Attr[attr]; (name == "" || e.Name == name) && ok && got == value {
			found = append(found, e)
		}
	}
	return found
}

// heading returns the text of a page's h1.
func heading(t *testing.T, r response) string {
	t.Helper()
	for _, e := range sandbox.Elements(t, r) {
		if e.Name == "h1" {
			return e.Text
		}
	}
	return ""
}

func shows(t *testing.T, what string, r response, status int, title string) {
	t.Helper()
	if r.Status != status || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || heading(t, r) != title {
		t.Errorf("%s: %d %s\nwant %d %q", what, r.Status, r.Body, status, title)
	}
}
