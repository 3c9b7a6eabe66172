package processortest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func leadsBack(t *testing.T, b Bench) {
	for _, name := range []string{"the first page", "a later page"} {
		first := b.start(t, name)
		later := first
		later.ReturnURL += "2" // a later token of the setup page
		pages := map[string]checkout.SetupStart{"the first page": first, "a later page": later}
		urls := map[string]string{"the first page": b.begin(t, first).URL, "a later page": b.begin(t, later).URL}
		if got, want := b.Complete(t, urls[name]), pages[name].ReturnURL; !leadsTo(got, want) {
			t.Errorf("%s leads back to %q, want %q", name, got, want)
		}
	}
}

// leadsTo reports whether an address is that of a page. The processor may have added to its query.
func leadsTo(address, page string) bool {
	got, err := url.Parse(address)
	want, failed := url.Parse(page)
	if err != nil || failed != nil || got.Scheme != want.Scheme || got.Host != want.Host || got.Path != want.Path {
		return false
	}
	for name, values := range want.Query() {
		if !slices.Equal(got.Query()[name], values) {
			return false
		}
	}
	return true
}

func pendingBefore(t *testing.T, b Bench) {
	start := b.start(t, "a")
	request := b.begin(t, start)
	check := func(when string) {
		t.Helper()
		if got := b.observe(t, b.Account, request.ID, notBegun); got != notBegun {
			t.Errorf("%s: %+v, want %+v", when, got, notBegun)
		}
	}
	check("before the payer opens the page")
	b.Visit(t, request.URL)
	check("while the payer has the page open")
	b.begin(t, start)
	check("after the payer went back and on again")
	if b.pass(t) {
		check("a while later")
	}
}

func fulfilledIsComplete(t *testing.T, b Bench) {
	request := b.begin(t, b.start(t, "a"))
	b.Complete(t, request.URL)
	got := b.fulfilled(t, b.Account, request.ID)
	switch {
	case got.Mandate == checkout.MandateNone, got.Mandate.Dead():
		t.Errorf("Mandate = %q, want a living one: %+v", got.Mandate, got)
	case got.MandateID == "":
		t.Errorf("MandateID is missing: %+v", got)
	case got.AccountHolder == "":
		t.Errorf("AccountHolder is missing: %+v", got)
	case maskFault(got.AccountMask) != "":
		t.Errorf("AccountMask = %q, which %s: %+v", got.AccountMask, maskFault(got.AccountMask), got)
	case got.CompletedAt.IsZero(), got.CompletedAt != got.CompletedAt.UTC().Truncate(time.Millisecond):
		t.Errorf("CompletedAt = %v, want a time in UTC to the millisecond: %+v", got.CompletedAt, got)
	case got.Authorisation != checkout.CustomerInProgress && got.Authorisation != checkout.Authorised:
		t.Errorf("Authorisation = %q, want %q or %q", got.Authorisation, checkout.CustomerInProgress, checkout.Authorised)
	}
	if next := (checkout.Checkout{Setup: checkout.Setup{Try: 1, BillingRequestID: request.ID, Observation: got}}); !next.SetupComplete() {
		t.Errorf("a setup of %+v is not complete by the rules of package checkout", got)
	}
}

// A mask may show this much, and no more.
const (
	longestMask  = 32 // characters
	mostDigits   = 11 // of bank, branch, the base's last two and a suffix
	mostTogether = 4  // digits with nothing between them
)

// maskFault returns what is wrong with the mask of an account, or "".
func maskFault(mask agreement.AccountMask) string {
	shown := strings.FieldsFunc(string(mask), func(r rune) bool { return r < '0' || r > '9' })
	switch {
	case mask == "":
		return "is empty"
	case utf8.RuneCountInString(string(mask)) > longestMask:
		return fmt.Sprintf("is longer than %d characters", longestMask)
	case !strings.Contains(string(mask), agreement.HiddenDigit):
		return "hides no digit"
	case len(strings.Join(shown, "")) > mostDigits:
		return fmt.Sprintf("shows more than %d digits", mostDigits)
	case slices.ContainsFunc(shown, func(digits string) bool { return len(digits) > mostTogether }):
		return fmt.Sprintf("shows more than %d digits together", mostTogether)
	}
	return ""
}

// rank returns how far a setup is by what was observed of it: later observations rank no lower.
func rank(o checkout.Observation) (billing, mandate, authorisation int) {
	billing = slices.Index([]checkout.BillingRequestStatus{checkout.BillingPending, checkout.BillingReadyToFulfil,
		checkout.BillingFulfilling, checkout.BillingFulfilled}, o.BillingRequest)
	mandate = slices.Index([]checkout.MandateStatus{checkout.MandateNone, checkout.MandatePendingSubmission,
		checkout.MandateSubmitted, checkout.MandateActive}, o.Mandate)
	authorisation = slices.Index([]checkout.AuthorisationStatus{checkout.CustomerInProgress, checkout.Authorised}, o.Authorisation)
	return billing, mandate, authorisation
}

func nothingGoesBack(t *testing.T, b Bench) {
	request := b.begin(t, b.start(t, "a"))
	last := b.observe(t, b.Account, request.ID, notBegun)
	b.Complete(t, request.URL)
	look := func(onRecord checkout.Observation) {
		t.Helper()
		got := b.observe(t, b.Account, request.ID, onRecord)
		billing, mandate, authorisation := rank(got)
		wasBilling, wasMandate, wasAuthorisation := rank(last)
		if billing < wasBilling || mandate < wasMandate || authorisation < wasAuthorisation {
			t.Errorf("%+v after %+v, want nothing to go back", got, last)
		}
		was, is := last, got
		was.Mandate, was.Authorisation, is.Mandate, is.Authorisation = "", "", "", ""
		was.MandateSince, was.MandateReason, is.MandateSince, is.MandateReason = time.Time{}, "", time.Time{}, ""
		if last.BillingRequest == checkout.BillingFulfilled && is != was {
			t.Errorf("%+v after %+v, want the mandate's id, the account and the time to stay", got, last)
		}
		last = got
	}
	look(last)
	for range steps {
		look(last)
		look(notBegun) // the record of another process may be behind
		if !b.pass(t) {
			break
		}
	}
	if last.BillingRequest != checkout.BillingFulfilled {
		t.Errorf("%+v in the end, want the billing request fulfilled", last)
	}
}

func deadStaysDead(t *testing.T, b Bench) {
	if b.Fail == nil {
		t.Skip("the bench has no payer whose mandate dies")
	}
	request := b.begin(t, b.start(t, "a"))
	b.Fail(t, request.URL)
	last, died := notBegun, false
	for range steps {
		last = b.observe(t, b.Account, request.ID, last)
		died = died || last.Mandate.Dead()
		if died && (!last.Mandate.Dead() || last.Authorisation == checkout.Authorised) {
			t.Errorf("%+v of a mandate that died, want it dead, and no money to be collected", last)
		}
		if !b.pass(t) {
			break
		}
	}
	if !died {
		t.Errorf("%+v in the end, want a mandate that died", last)
	}
}

func refusedGoesOn(t *testing.T, b Bench) {
	if b.Refuse == nil {
		t.Skip("the bench has no payer who is refused")
	}
	start := b.start(t, "a")
	request := b.begin(t, start)
	b.Visit(t, request.URL)
	b.Refuse(t, request.URL)
	if got := b.observe(t, b.Account, request.ID, notBegun); got != notBegun {
		t.Errorf("%+v of a payer who was refused, want %+v", got, notBegun)
	}
	if again := b.begin(t, start); again.ID != request.ID {
		t.Errorf("the next start made billing request %q, want %q", again.ID, request.ID)
	}
}

func completedKey(t *testing.T, b Bench) {
	start := b.start(t, "a")
	request := b.begin(t, start)
	b.Complete(t, request.URL)
	want := b.fulfilled(t, b.Account, request.ID)
	again, err := b.Processor.Begin(t.Context(), start) // of a process that did not see it yet
	if err == nil && again.ID != request.ID {
		t.Errorf("Begin under the key of a completed setup made billing request %q, want %q or an error", again.ID, request.ID)
	}
	if got := b.observe(t, b.Account, request.ID, want); got.BillingRequest != want.BillingRequest || got.MandateID != want.MandateID ||
		got.CompletedAt != want.CompletedAt {
		t.Errorf("%+v after another start, want it to stay %+v", got, want)
	}
}

func accountsApart(t *testing.T, b Bench) {
	if b.Other == (checkout.Account{}) {
		t.Skip("the bench has no other account")
	}
	apart(t, b, b.Other)
}

// apart checks that two setups, the second of this account, know nothing of each other.
func apart(t *testing.T, b Bench, account checkout.Account) {
	theirs := b.start(t, "second")
	theirs.Account = account
	first, second := b.begin(t, b.start(t, "first")), b.begin(t, theirs)
	if first.ID == second.ID {
		t.Errorf("two setups have one billing request, %q", first.ID)
	}
	b.Complete(t, first.URL)
	mandate := b.fulfilled(t, b.Account, first.ID).MandateID
	if got := b.observe(t, account, second.ID, notBegun); got != notBegun {
		t.Errorf("%+v of a setup that only another payer completed, want %+v", got, notBegun)
	}
	b.Complete(t, second.URL)
	if got := b.fulfilled(t, account, second.ID).MandateID; got == mandate {
		t.Errorf("two setups have one mandate, %q", got)
	}
}

func concurrentObservations(t *testing.T, b Bench) {
	waiting, completed := b.begin(t, b.start(t, "waiting")), b.begin(t, b.start(t, "completed"))
	b.Complete(t, completed.URL)
	want := b.fulfilled(t, b.Account, completed.ID)
	together(many, func(i int) {
		id, expected := waiting.ID, checkout.BillingPending
		if i%2 == 1 {
			id, expected = completed.ID, want.BillingRequest
		}
		got, err := b.ask(t, b.Account, checkout.Setup{Try: 1, BillingRequestID: id, Observation: notBegun})
		if err != nil || got.BillingRequest != expected {
			t.Errorf("Observe of billing request %q, one of %d at once: %+v, %v; want it %s", id, many, got, err, expected)
		}
	})
}
