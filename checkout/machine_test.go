package checkout_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// life is one checkout, and all that was decided of it.
type life struct {
	checkout.Checkout
	ring   checkout.Keyring
	now    time.Time
	latest time.Time // of an event, or of a moment of a change
	at     int64     // the highest position
	events []checkout.Job
	agreed int  // agreements
	ended  int  // decisions that ended it
	ending bool // a job to end the setup was armed
}

// Whatever happens to a checkout, in whatever order.
func TestALifeKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opened := openedNow(t).Numbered(checkout.Checkout{})
		l := &life{Checkout: opened.Next, ring: keyring(t), now: noon, at: opened.Jobs[1].Position, events: opened.Jobs[:1]}
		l.walk(t)
	})
}

// anyObservation generates what a processor might report, in time or late.
func anyObservation(t *rapid.T) checkout.Observation {
	o := checkout.Observation{
		BillingRequest: rapid.SampledFrom([]checkout.BillingRequestStatus{checkout.BillingPending, checkout.BillingReadyToFulfil,
			checkout.BillingFulfilling, checkout.BillingFulfilled, checkout.BillingFulfilled, checkout.BillingCancelled}).Draw(t, "billing request"),
		Mandate: rapid.SampledFrom([]checkout.MandateStatus{checkout.MandateNone, checkout.MandatePendingSubmission, checkout.MandateSubmitted,
			checkout.MandateActive, checkout.MandateFailed, checkout.MandateCancelled, "paused"}).Draw(t, "mandate"),
		Authorisation: checkout.CustomerInProgress,
	}
	if rapid.Bool().Draw(t, "account is known") {
		o.AccountHolder, o.AccountMask, o.CompletedAt = rapid.SampledFrom([]string{"A NGATA", "B"}).Draw(t, "holder"), "01-0902-•••••89-00", noon
	}
	return o
}

// walk makes decisions of a checkout in a random order.
func (l *life) walk(t *rapid.T) {
	// payer makes a decision that a payer's page or the processor leads to.
	payer := func(t *rapid.T, decide func() checkout.Change) {
		before := l.Checkout
		before.Tokens = slices.Clone(before.Tokens)
		change := decide()
		if !same(l.Checkout, before) {
			t.Fatalf("a decision changed its argument: %+v, want %+v", l.Checkout, before)
		}
		l.keep(t, change)
	}
	moves := map[string]func(*rapid.T){
		"time": func(t *rapid.T) {
			l.now = l.now.Add(time.Duration(rapid.Int64Range(0, (40*day).Milliseconds()).Draw(t, "time")) * time.Millisecond)
		},
		"begin": func(t *rapid.T) {
			try := l.NextTry() + rapid.IntRange(-1, 1).Draw(t, "other try")
			payer(t, func() checkout.Change {
				return l.Begun(try, rapid.StringMatching(`BR[1-3]`).Draw(t, "billing request"), agreement.Consent{At: l.now})
			})
		},
		"observe": func(t *rapid.T) {
			seen := anyObservation(t)
			payer(t, func() checkout.Change { return l.Observe(seen, l.now) })
		},
		"renew": func(t *rapid.T) {
			payer(t, func() checkout.Change { return l.Renew(l.ring, l.now, 7*day, "provider:key", "req_1") })
		},
		"mail a link": func(t *rapid.T) {
			epoch := rapid.IntRange(0, 3).Draw(t, "epoch")
			payer(t, func() checkout.Change {
				change, _ := l.MailLink(l.ring, checkout.LinkRequest{Actor: checkout.ActorPayer, Epoch: epoch, Now: l.now, Lifetime: 7 * day})
				return change
			})
		},
		"confirm":  l.confirm,
		"cancel":   l.cancel,
		"withdraw": l.withdraw,
		"":         l.check,
	}
	t.Repeat(moves)
}

// confirm decides a confirm with the latest token.
func (l *life) confirm(t *rapid.T) {
	_, cmd := ready(t)
	text, _ := l.ring.Text(l.ID, l.Latest())
	cmd = confirmFor(cmd, l.Checkout)
	cmd.Token = checkout.Some(text)
	done := prepared(l.Checkout, cmd)
	done.Now = l.now
	change, err := cmd.Decide(l.Checkout, text, done)
	switch {
	case l.Status == checkout.Cancelled:
		if !checkout.Refused(err, checkout.CodeCancelled) {
			t.Fatalf("the confirm of a cancelled checkout = %v, want CHECKOUT_CANCELLED", err)
		}
	case l.Status == checkout.Confirmed:
		if !errors.Is(err, checkout.ErrAlreadyConfirmed) {
			t.Fatalf("a repeat = %v, want ErrAlreadyConfirmed", err)
		}
	case err == nil && (!l.SetupComplete() || !l.Setup.Mandate.Confirmable() || l.Setup.AccountHolder == ""):
		t.Fatalf("confirmed while %q with setup %+v", l.Status, l.Setup)
	}
	if err == nil {
		l.keep(t, change)
	}
}

func same(a, b checkout.Checkout) bool {
	tokens := slices.Equal(a.Tokens, b.Tokens)
	a.Tokens, b.Tokens = nil, nil
	return tokens && a.ID == b.ID && a.Status == b.Status && a.Setup == b.Setup && a.Intent == b.Intent &&
		a.Confirmation == b.Confirmation && a.Student == b.Student
}

// keep takes a change over, as a store would, if it may follow what was.
func (l *life) keep(t *rapid.T, change checkout.Change) {
	if !change.Changes() {
		if len(change.Jobs)+len(change.Moments) > 0 || !same(change.Next, l.Checkout) {
			t.Fatalf("a change that stores nothing has %+v", change)
		}
		return
	}
	change = change.Numbered(l.Checkout)
	for _, m := range change.Moments {
		l.follow(t, string(m.Kind), m.At)
	}
	l.keepJobs(t, change)
	was, next := l.Checkout, change.Next
	switch {
	case was.Status == checkout.Confirmed && (next.Status != checkout.Confirmed || next.Confirmation != was.Confirmation):
		t.Fatalf("a confirmed checkout becomes %q with %+v", next.Status, next.Confirmation)
	case was.Setup.Mandate.Dead() && !next.Setup.Mandate.Dead() && next.Setup.Try == was.Setup.Try:
		t.Fatalf("a dead mandate came back: %+v after %+v", next.Setup, was.Setup)
	case next.Setup.Try < was.Setup.Try, next.Setup.Try > was.Setup.Try+1:
		t.Fatalf("try %d follows %d", next.Setup.Try, was.Setup.Try)
	case next.Setup.Try != was.Setup.Try && was.SetupComplete():
		t.Fatalf("a complete setup was begun again: %+v after %+v", next.Setup, was.Setup)
	case next.Latest().Epoch < was.Latest().Epoch:
		t.Fatalf("token %d follows %d", next.Latest().Epoch, was.Latest().Epoch)
	case next.ID != was.ID, next.Intent != was.Intent, next.Student != was.Student:
		t.Fatalf("%+v is another checkout than %+v", next, was)
	}
	if change.Agreement != nil {
		l.agreed++
	}
	if was.Ended() && next.End != was.End || next.Status == checkout.Cancelled && !next.Ended() {
		t.Fatalf("the end %+v follows %+v", next.End, was.End)
	}
	l.Checkout = next
}

// keepJobs checks the jobs that follow from a change: the events of the contract, and the jobs for the CRM and the processor.
func (l *life) keepJobs(t *rapid.T, change checkout.Change) {
	was, next := l.Checkout, change.Next
	var names []events.Name
	switch {
	case was.Status != checkout.Confirmed && next.Status == checkout.Confirmed && next.Confirmation.PDFGenerated():
		names = []events.Name{events.CheckoutConfirmed, events.AgreementGenerated}
	case was.Status != checkout.Confirmed && next.Status == checkout.Confirmed:
		names = []events.Name{events.CheckoutConfirmed}
	case was.Status == checkout.Cancelled && next.Status != checkout.Cancelled:
		t.Fatalf("%q follows %q", next.Status, was.Status)
	}
	if got := eventNames(change); !slices.Equal(got, names) {
		t.Fatalf("from %q to %q with events %q, want %q", was.Status, next.Status, got, names)
	}
	syncs := false
	for _, j := range change.Jobs {
		if j.Position <= l.at || j.Position/1000 != next.Revision {
			t.Fatalf("job %s of revision %d has position %d after %d", j.ID, next.Revision, j.Position, l.at)
		}
		l.at = j.Position
		switch j.Kind {
		case checkout.JobDeliver:
			l.follow(t, j.Name, j.CreatedAt)
			l.events = append(l.events, j)
		case checkout.JobSync:
			syncs = true
		case checkout.JobEnd:
			l.ending = true
		}
	}
	tells := was.Status != next.Status || was.End != next.End || was.SetupComplete() != next.SetupComplete() ||
		next.Status == checkout.Confirmed && was.Setup.Observation != next.Setup.Observation
	if tells && !syncs {
		t.Fatalf("the CRM is not told of %q %+v after %q %+v", next.Status, next.Setup, was.Status, was.Setup)
	}
	if next.ToEnd() && !l.ending {
		t.Fatalf("nobody ends the setup %+v of a checkout that has ended", next.Setup)
	}
	l.ending = l.ending && next.ToEnd() // the job is done once it has ended
}

// follow checks that something that is recorded is not dated before what was recorded earlier.
func (l *life) follow(t *rapid.T, what string, at time.Time) {
	if at.Before(l.latest) || at.Before(l.CreatedAt) {
		t.Fatalf("%s is dated %s, after what is of %s, in a checkout of %s", what, at, l.latest, l.CreatedAt)
	}
	l.latest = at
}

// cancel decides a cancel before the confirm.
func (l *life) cancel(t *rapid.T) {
	cmd := checkout.Cancel{RequestID: "req_3", By: checkout.PartyProvider, Reason: checkout.Some("wrong course")}
	change, err := cmd.Decide(l.Checkout, l.now)
	l.end(t, change, err, l.Status == checkout.SetupRequired)
}

// withdraw decides a withdrawal.
func (l *life) withdraw(t *rapid.T) {
	change, err := checkout.Withdraw{Ground: checkout.GroundError}.Decide(l.Checkout, l.now)
	l.end(t, change, err, l.Status == checkout.Confirmed)
}

// end takes over a decision that ends the checkout, which must be taken once, and only where that may be.
func (l *life) end(t *rapid.T, change checkout.Change, err error, may bool) {
	if got, want := err == nil, may && !l.Ended(); got != want {
		t.Fatalf("the end of a checkout that is %s, %+v: %v", l.Status, l.End, err)
	}
	if err == nil {
		l.ended++
		l.keep(t, change)
	}
}

func (l *life) check(t *rapid.T) {
	seen := map[string]bool{}
	for _, e := range l.events {
		if seen[e.ID] {
			t.Fatalf("event %s happened twice", e.Name)
		}
		seen[e.ID] = true
	}
	if want := map[bool]int{true: 1}[l.Ended()]; l.ended != want {
		t.Fatalf("%d ends of a checkout that is %s, %+v", l.ended, l.Status, l.End)
	}
	decided := l.Confirmation.AgreementNumber != ""
	if want := map[bool]int{true: 1}[decided]; l.agreed != want {
		t.Fatalf("%d agreements of a checkout that is %s", l.agreed, l.Status)
	}
	if l.SetupComplete() && !decided && (l.Setup.BillingRequestID == "" || l.Setup.Mandate.Dead()) {
		t.Fatalf("complete with setup %+v", l.Setup)
	}
	if _, again := l.NextLook(true, l.now); again && l.Setup.BillingRequestID == "" {
		t.Fatal("a setup that was not begun is looked at")
	}
}
