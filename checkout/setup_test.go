package checkout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func observed(b checkout.BillingRequestStatus, m checkout.MandateStatus) checkout.Observation {
	return checkout.Observation{BillingRequest: b, Mandate: m, Authorisation: checkout.CustomerInProgress}
}

func TestObservationsMayComeLate(t *testing.T) {
	const pending, fulfilled = checkout.BillingPending, checkout.BillingFulfilled
	tests := []struct {
		name        string
		known, seen checkout.Observation
		taken       bool
	}{
		{"a mandate goes on", observed(fulfilled, checkout.MandatePendingSubmission), observed(fulfilled, checkout.MandateSubmitted), true},
		{"a mandate skips a status", observed(fulfilled, checkout.MandatePendingSubmission), observed(fulfilled, checkout.MandateActive), true},
		{"a mandate does not go back", observed(fulfilled, checkout.MandateActive), observed(fulfilled, checkout.MandateSubmitted), false},
		{"a mandate does not vanish", observed(fulfilled, checkout.MandateActive), observed(fulfilled, ""), false},
		{"a mandate dies from any status", observed(fulfilled, checkout.MandateActive), observed(fulfilled, checkout.MandateCancelled), true},
		{"a dead mandate stays dead", observed(fulfilled, checkout.MandateFailed), observed(fulfilled, checkout.MandateActive), false},
		{"an unknown word is taken as news", observed(fulfilled, checkout.MandateActive), observed(fulfilled, "suspended_by_payer"), true},
		{"and may be taken back", observed(fulfilled, "suspended_by_payer"), observed(fulfilled, checkout.MandateActive), true},
		{"a fulfilled request is not pending again", observed(fulfilled, checkout.MandatePendingSubmission), observed(pending, checkout.MandatePendingSubmission), false},
		{"a cancelled request is not pending again", observed(checkout.BillingCancelled, ""), observed(pending, ""), false},
		{"nor is it about to be fulfilled", observed(checkout.BillingCancelled, ""), observed(checkout.BillingReadyToFulfil, ""), false},
		{"nor is it being fulfilled", observed(checkout.BillingCancelled, ""), observed(checkout.BillingFulfilling, ""), false},
		{"a mandate counts whatever was said before", observed(checkout.BillingCancelled, ""), observed(fulfilled, checkout.MandateSubmitted), true},
		{"a request is fulfilled", observed(pending, ""), observed(fulfilled, checkout.MandatePendingSubmission), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := checkout.Checkout{Setup: checkout.Setup{BillingRequestID: "BR1", Observation: tt.known}}
			want := tt.known
			if tt.taken {
				want = tt.seen
			}
			if got := c.Observe(tt.seen, noon).Next.Setup.Observation; got != want {
				t.Errorf("Observe = %+v, want %+v", got, want)
			}
		})
	}
}

// Another mandate in the place of a known one is a moment, also where its status is the same. Its id is not in it, which an erasure takes.
func TestAMandateThatIsReplacedIsOnRecord(t *testing.T) {
	known := observed(checkout.BillingFulfilled, checkout.MandateActive)
	known.MandateID = "MD1"
	c := checkout.Checkout{Setup: checkout.Setup{BillingRequestID: "BR1", Observation: known}}
	for id, replaces := range map[string]bool{"MD1": false, "MD2": true} {
		seen := known
		seen.MandateID, seen.MandateSince = id, noon
		change := c.Observe(seen, noon)
		if got := slices.ContainsFunc(change.Moments, checkout.Moment.Replaces); got != replaces || strings.Contains(fmt.Sprint(change.Moments), id) {
			t.Errorf("of mandate %s after MD1 the moments are %+v", id, change.Moments)
		}
	}
}

// A processor may report the end of a mandate before its time. A later report with a time counts again.
func TestAnEndSinceAnUnknownTimeIsNotForEver(t *testing.T) {
	at := func(m checkout.MandateStatus, since time.Time) checkout.Observation {
		o := observed(checkout.BillingFulfilled, m)
		o.MandateSince = since
		return o
	}
	ended := at(checkout.MandateCancelled, time.Time{})
	for _, seen := range []checkout.Observation{at(checkout.MandateCancelled, noon), at(checkout.MandateActive, noon), at(checkout.MandateFailed, noon)} {
		c := checkout.Checkout{Setup: checkout.Setup{BillingRequestID: "BR1", Observation: ended}}
		if got := c.Observe(seen, noon).Next.Setup.Observation; got != seen {
			t.Errorf("after an end since an unknown time, Observe(%s) = %+v", seen.Mandate, got)
		}
	}
}

// Where the processor says since when a mandate has its status, the order of the times counts, not that of the answers.
func TestMandateIsReinstatedByALaterStatusOnly(t *testing.T) {
	c, _ := ready(t)
	since := func(m checkout.MandateStatus, at time.Time) checkout.Observation {
		seen := c.Setup.Observation
		seen.Mandate, seen.MandateSince = m, at
		return seen
	}
	active, cancelled := since(checkout.MandateActive, noon), since(checkout.MandateCancelled, noon.Add(time.Hour))
	reinstated := since(checkout.MandateActive, noon.Add(2*time.Hour))
	unknown := since(checkout.MandateActive, time.Time{})
	for _, tt := range []struct {
		name string
		seen []checkout.Observation
		want checkout.Observation
	}{
		{"an answer from before the cancellation", []checkout.Observation{active, cancelled, active}, cancelled},
		{"a reinstatement", []checkout.Observation{active, cancelled, reinstated}, reinstated},
		{"an answer from before the reinstatement", []checkout.Observation{active, cancelled, reinstated, cancelled}, reinstated},
		{"an answer without a time does not bring a dead mandate back", []checkout.Observation{active, cancelled, unknown}, cancelled},
		{"another status of the same moment", []checkout.Observation{cancelled, since(checkout.MandateActive, noon.Add(time.Hour))}, cancelled},
		{"the first answer with a time", []checkout.Observation{unknown, active}, active},
	} {
		next := c
		for _, seen := range tt.seen {
			next = next.Observe(seen, noon).Next
		}
		if got := next.Setup.Observation; got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestConsentIsThatOfThePayerWhoLastWentOn(t *testing.T) {
	at := time.Date(2027, 1, 20, 21, 0, 0, 0, time.UTC)
	known := agreement.Consent{At: at, From: "192.0.2.1", Terms: "2026-11-21/2/0123456789abcdef", Period: agreement.NoticePeriod{Days: 2}}
	with := func(change func(*agreement.Consent)) agreement.Consent { c := known; change(&c); return c }
	for _, tt := range []struct {
		name    string
		next    agreement.Consent
		replace bool
	}{
		{"another payer's", with(func(c *agreement.Consent) { c.At, c.From = at.Add(time.Second), "2001:db8::1" }), true},
		{"other terms", with(func(c *agreement.Consent) { c.At, c.Terms = at.Add(time.Second), "2026-11-21/3/fedcba9876543210" }), true},
		{"another plan", with(func(c *agreement.Consent) { c.At, c.Disclosed.SHA256 = at.Add(time.Second), "9f86d081" }), true},
		{"the same again, a minute later", with(func(c *agreement.Consent) { c.At = at.Add(time.Minute) }), true},
		{"the same again, at once", with(func(c *agreement.Consent) { c.At = at.Add(time.Minute - 1) }), false},
		{"an earlier one, that was overtaken", with(func(c *agreement.Consent) { c.At, c.From = at.Add(-1), "2001:db8::1" }), false},
		{"one to terms that are not known", agreement.Consent{At: at.Add(time.Hour), From: "2001:db8::1"}, false},
	} {
		open := checkout.Checkout{}.Begun(1, "BR1", known).Next
		open.Setup.Authorisation = "Customer Called" // what the processor said meanwhile
		want := open.Setup
		if tt.replace {
			want.Consent = tt.next
		}
		if got := open.Begun(1, "BR1", tt.next).Next.Setup; got != want {
			t.Errorf("%s: setup = %+v, want %+v", tt.name, got, want)
		}
	}
	c, _ := ready(t)
	if got := c.Begun(c.NextTry(), "BR9", known).Next; got.Setup != c.Setup {
		t.Errorf("setup = %+v after its completion, want %+v", got.Setup, c.Setup)
	}
	dead := c.Observe(observed(checkout.BillingFulfilled, checkout.MandateFailed), noon).Next
	if got := dead.Begun(2, "BR2", known).Next.Setup.Consent; got != known {
		t.Errorf("consent of the second try = %+v, want %+v", got, known)
	}
}

// A processor may give a try another billing request, if the payer's former one cannot be used any more: what was known
// of that one is forgotten.
func TestAnotherBillingRequestOfATryReplacesTheFormer(t *testing.T) {
	open := begunAt(t).Observe(checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: "Customer Called"}, noon).Next
	later := agreement.Consent{At: noon.Add(time.Hour), From: "192.0.2.2"}
	again := open.Begun(1, "BR1b", later).Next.Setup
	if again.BillingRequestID != "BR1b" || again.Try != 1 || again.Authorisation != checkout.CustomerInProgress || again.Consent != later {
		t.Errorf("setup %+v, want BR1b at its start", again)
	}
	same := open.Begun(1, "BR1", later).Next.Setup
	if same.BillingRequestID != "BR1" || same.Authorisation != "Customer Called" || same.Consent != later {
		t.Errorf("setup %+v, want BR1 as it is known", same)
	}
	cancelled := open.Observe(checkout.Observation{BillingRequest: checkout.BillingCancelled}, noon).Next
	next := cancelled.Begun(2, "BR1", later).Next.Setup
	if next.Try != 2 || next.BillingRequest != checkout.BillingPending {
		t.Errorf("setup %+v, want the second try at its start, whatever its billing request is called", next)
	}
}

// begunAt returns a checkout whose setup was begun at noon.
func begunAt(t *testing.T) checkout.Checkout {
	t.Helper()
	return openedNow(t).Next.Begun(1, "BR1", agreement.Consent{At: noon}).Next
}

func TestWhenASetupIsLookedAtAgain(t *testing.T) {
	mandate := func(m checkout.MandateStatus) checkout.Observation { return observed(checkout.BillingFulfilled, m) }
	later := noon.Add(10 * time.Hour)
	for _, tt := range []struct {
		name string
		seen checkout.Observation
		now  time.Time
		want time.Duration // after now; 0 for never
	}{
		{"the payer has finished", observed(checkout.BillingReadyToFulfil, checkout.MandateNone), later, 5 * time.Hour},
		{"the mandate is not submitted yet", mandate(checkout.MandatePendingSubmission), later, 5 * time.Hour},
		{"the mandate is submitted", mandate(checkout.MandateSubmitted), later, 5 * time.Hour},
		{"a mandate that is slow is not abandoned", mandate(checkout.MandateSubmitted), noon.Add(100 * day), day},
		{"an unknown word may change", mandate("paused"), later, 5 * time.Hour},
		{"the mandate is active", mandate(checkout.MandateActive), later, 0},
		{"the mandate failed", mandate(checkout.MandateFailed), later, 0},
		{"the mandate was cancelled", mandate(checkout.MandateCancelled), later, 0},
		{"the mandate expired", mandate(checkout.MandateExpired), later, 0},
		{"the mandate is blocked", mandate(checkout.MandateBlocked), later, 0},
		{"the billing request was cancelled", observed(checkout.BillingCancelled, checkout.MandateNone), later, 0},
		{"the payer took thirty days", observed(checkout.BillingReadyToFulfil, checkout.MandateNone), noon.Add(30 * day), day},
		{"the payer took longer", observed(checkout.BillingReadyToFulfil, checkout.MandateNone), noon.Add(30*day + 1), 0},
	} {
		pause, again := begunAt(t).Observe(tt.seen, tt.now).Next.NextLook(true, tt.now)
		if again != (tt.want > 0) || pause != tt.want {
			t.Errorf("%s: looked at again after %s (%v), want %s", tt.name, pause, again, tt.want)
		}
	}
}

func TestEachWayToTheProcessorIsLookedAtAfterAMinute(t *testing.T) {
	c := begunAt(t)
	at := noon.Add(time.Hour)
	dead := c.Observe(observed(checkout.BillingFulfilled, checkout.MandateFailed), noon).Next
	for name, change := range map[string]checkout.Change{"the same again": c.Begun(1, "BR1", agreement.Consent{At: at}),
		"a second try": dead.Begun(2, "BR2", agreement.Consent{At: at})} {
		if looks := change.Jobs; len(looks) != 1 || looks[0].Kind != checkout.JobLook || !looks[0].Due.Equal(at.Add(time.Minute)) {
			t.Errorf("%s has the jobs %+v", name, looks)
		}
	}
	if _, again := c.Erase(noon, checkout.ActorService, nil).Next.NextLook(true, at); again {
		t.Error("a setup of which the personal data was erased is looked at")
	}
}

func TestAProviderPollsLessTheLongerThePayerIsAway(t *testing.T) {
	created := time.Date(2026, time.November, 20, 4, 0, 0, 0, time.UTC)
	c := checkout.Checkout{Status: checkout.SetupRequired, CreatedAt: created, Tokens: []checkout.Token{{Epoch: 1, Expires: created.Add(time.Hour)}}}
	left := c
	left.Setup.Consent.At = created.Add(48 * time.Hour)
	replayed := func(at time.Duration) checkout.Checkout {
		return left.Renew(keyring(t), created.Add(at), 7*24*time.Hour, "provider:key", "req_1").Next
	}
	confirmed := c
	confirmed.Status = checkout.Confirmed
	setUp := func(mandate checkout.MandateStatus) checkout.Checkout {
		done := c
		done.Setup.Observation = checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: mandate,
			AccountHolder: "Aroha Ngata", AccountMask: "01-****-*****89-00", CompletedAt: created}
		return done
	}
	for _, tt := range []struct {
		name  string
		c     checkout.Checkout
		after time.Duration
		want  time.Duration
	}{
		{"at once", c, 0, 2 * time.Second},
		{"by a clock that is behind", c, -time.Hour, 2 * time.Second},
		{"after a quarter of an hour", c, 15 * time.Minute, time.Minute},
		{"after a day", c, 24 * time.Hour, 15 * time.Minute},
		{"once the payer went on to the processor days later", left, 48*time.Hour + time.Minute, 2 * time.Second},
		{"once a create has renewed the link", replayed(96 * time.Hour), 96*time.Hour + time.Minute, 2 * time.Second},
		{"a quarter of an hour after a create has renewed the link", replayed(96 * time.Hour), 96*time.Hour + 15*time.Minute, time.Minute},
		{"once it is confirmed", confirmed, 0, 0},
		{"once it can be confirmed", setUp(checkout.MandatePendingSubmission), 0, 0},
		{"while the mandate is suspended", setUp("suspended_by_payer"), 0, 15 * time.Minute},
		{"once the mandate is consumed", setUp("consumed"), 0, 15 * time.Minute},
		{"while the mandate awaits an approval", setUp("pending_customer_approval"), 0, 15 * time.Minute},
		{"once the mandate has failed", setUp(checkout.MandateFailed), 0, 2 * time.Second},
	} {
		if got := tt.c.NextPoll(created.Add(tt.after)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if got := c.LinkExpires(); !got.Equal(created.Add(time.Hour)) {
		t.Errorf("the link expires at %s", got)
	}
	if got := confirmed.LinkExpires(); !got.IsZero() {
		t.Errorf("the link of a confirmed checkout expires at %s", got)
	}
}
