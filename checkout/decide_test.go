package checkout_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// The tests of this file are the contract's table of states and transitions (section 3), row by row in its order. A case
// is named for its row; cases below a row say what goes before what.

// refusalOf returns the code and the fields of a refusal.
func refusalOf(err error) (code checkout.Code, named []string) {
	refusal, ok := errors.AsType[*checkout.Error](err)
	if !ok {
		return "", nil
	}
	return refusal.Code, fields(refusal.Faults)
}

func TestDecideCreate(t *testing.T) {
	cmd := parseCreate(t, legacyBody)
	intent := intentOf(t, cmd)
	stored := cmd.Open(intent, opening(t)).Next // its token expires after seven days
	confirmed := stored
	confirmed.Status = checkout.Confirmed
	other := stored // another order of the provider
	other.OrderID, other.IdempotencyKey = "ORDER-2", "TUI:ORDER-2"
	dearer := cmd
	dearer.Price.Value++
	dearer.Upfront.Value++

	// Of a provider with a catalogue. Where no course is given it has no intent.
	byCourse := weekly
	resolved, err := resolve(byCourse, &nzdip)
	if err != nil {
		t.Fatal(err)
	}
	enrolled := byCourse.Open(resolved, opening(t)).Next
	otherCourse := byCourse
	otherCourse.CourseCode = checkout.Some("OTHER")

	under := func(key string, c checkout.Create) checkout.Create { c.IdempotencyKey = checkout.Some(key); return c }
	keyOfOther := other
	keyOfOther.IdempotencyKey = "key-1"
	spelt := other // has bound by a header what is the default key of the request's order
	spelt.IdempotencyKey = "TUI:ORDER-1"

	const legacy, authoritative = catalogue.Legacy, catalogue.Authoritative
	var none checkout.Intent
	keyTaken := []string{"Idempotency-Key", "provider.provider_order_id"}
	course := []string{"course.course_code"}

	for _, tt := range []struct {
		name   string
		cmd    checkout.Create
		facts  checkout.Facts
		intent checkout.Intent
		code   checkout.Code
		fields []string
	}{
		{"(none), POST create", cmd, checkout.Facts{Mode: legacy}, intent, "", nil},
		{"(none), POST create of a course", byCourse, checkout.Facts{Mode: authoritative, Course: &nzdip}, resolved, "", nil},
		{"(none), POST create that has no intent", byCourse, checkout.Facts{Mode: authoritative}, none, checkout.CodeValidation, course},
		{"(none), POST create with the idempotency key of another order", under("key-1", cmd),
			checkout.Facts{Mode: legacy, ByKey: &keyOfOther}, none, checkout.CodeIntentConflict, keyTaken},
		{"(none), POST create whose default key another order has bound", cmd,
			checkout.Facts{Mode: legacy, ByKey: &spelt}, none, checkout.CodeIntentConflict, keyTaken},
		{"the key of another order goes before an intent that is missing", under("key-1", byCourse),
			checkout.Facts{Mode: authoritative, ByKey: &keyOfOther}, none, checkout.CodeIntentConflict, keyTaken},

		{"(none), POST create that only the other mode allows", cmd, checkout.Facts{Mode: authoritative, Course: &nzdip}, none, checkout.CodeValidation, course},
		{"a mode that is excluded goes before the key of another order", under("key-1", cmd),
			checkout.Facts{Mode: authoritative, ByKey: &keyOfOther}, none, checkout.CodeValidation, course},
		{"an order on record is judged by the mode in which it was opened", cmd,
			checkout.Facts{Mode: authoritative, ByOrder: &stored}, intent, "", nil},
		{"an order on record is judged by its catalogue, which was removed", byCourse,
			checkout.Facts{Mode: legacy, ByOrder: &enrolled}, resolved, "", nil},
		{"an order that was opened in the provider's mode, POST create that only the other allows", cmd,
			checkout.Facts{Mode: authoritative, ByOrder: &enrolled}, none, checkout.CodeValidation, course},

		{"direct_debit_setup_required, POST create, same order id, same canonical intent", cmd,
			checkout.Facts{Mode: legacy, ByOrder: &stored}, intent, "", nil},
		{"under another idempotency key", under("key-1", cmd),
			checkout.Facts{Mode: legacy, ByOrder: &stored}, intent, "", nil},
		{"found by its key as well", cmd,
			checkout.Facts{Mode: legacy, ByOrder: &stored, ByKey: &stored}, intent, "", nil},
		{"with the idempotency key of another order", under("key-1", cmd),
			checkout.Facts{Mode: legacy, ByOrder: &stored, ByKey: &keyOfOther}, none, checkout.CodeIntentConflict, keyTaken},

		{"direct_debit_setup_required, POST create, same order id, materially different intent", dearer,
			checkout.Facts{Mode: legacy, ByOrder: &stored}, none, checkout.CodeIntentConflict,
			[]string{"pricing.course_price", "pricing.upfront_payment"}},
		{"that has no intent", otherCourse, checkout.Facts{Mode: authoritative, ByOrder: &enrolled}, none, checkout.CodeValidation, course},
		{"the key of another order goes before a different intent", under("key-1", dearer),
			checkout.Facts{Mode: legacy, ByOrder: &stored, ByKey: &keyOfOther}, none, checkout.CodeIntentConflict, keyTaken},

		{"confirmed, POST create, same order id, same canonical intent", cmd,
			checkout.Facts{Mode: legacy, ByOrder: &confirmed}, intent, "", nil},
		{"confirmed, POST create, same order id, materially different intent", dearer,
			checkout.Facts{Mode: legacy, ByOrder: &confirmed}, none, checkout.CodeIntentConflict,
			[]string{"pricing.course_price", "pricing.upfront_payment"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.facts.Environment = catalogue.Sandbox
			intent, err := tt.cmd.Decide(tt.facts)
			code, named := refusalOf(err)
			if intent != tt.intent || code != tt.code || !slices.Equal(named, tt.fields) || (err != nil) != (code != "") {
				t.Errorf("Decide = %+v, %v; want %+v, code %q, fields %q", intent, err, tt.intent, tt.code, tt.fields)
			}
			if tt.cmd.NeedsCourse(tt.facts) {
				return
			}
			// A course that is not needed changes nothing, whatever it is.
			for _, c := range []*catalogue.Course{nil, &nzdip, {}} {
				tt.facts.Course = c
				if got, err := tt.cmd.Decide(tt.facts); got != intent || (err == nil) != (code == "") {
					t.Errorf("Decide with course %+v = %+v, %v; want %+v", c, got, err, intent)
				}
			}
		})
	}
}

// The rows of confirm, and their order of precedence.
func TestDecideConfirm(t *testing.T) {
	other := checkout.Some("other")
	type given = func(*checkout.Checkout, *checkout.Confirm)
	mandate := func(m checkout.MandateStatus) given {
		return func(s *checkout.Checkout, _ *checkout.Confirm) { s.Setup.Mandate = m }
	}
	all := func(all ...given) given {
		return func(s *checkout.Checkout, c *checkout.Confirm) {
			for _, f := range all {
				f(s, c)
			}
		}
	}
	confirmed := func(s *checkout.Checkout, _ *checkout.Confirm) { s.Status = checkout.Confirmed }
	notSetUp := func(s *checkout.Checkout, _ *checkout.Confirm) { s.Setup = checkout.Setup{} }
	otherOrder := func(_ *checkout.Checkout, c *checkout.Confirm) { c.OrderID = other }
	otherToken := func(_ *checkout.Checkout, c *checkout.Confirm) { c.Token = other }
	otherAccount := func(s *checkout.Checkout, _ *checkout.Confirm) { s.Setup.AccountMask = "12-3140-•••••11-00" }
	repeat := checkout.ErrAlreadyConfirmed

	for _, tt := range []struct {
		name   string
		given  given
		code   checkout.Code // "" if it is confirmed, or err is not nil
		fields []string
		err    error
	}{
		{"setup_complete true, mandate pending_submission, identifiers match", mandate(checkout.MandatePendingSubmission), "", nil, nil},
		{"setup_complete true, mandate submitted", mandate(checkout.MandateSubmitted), "", nil, nil},
		{"setup_complete true, mandate active", mandate(checkout.MandateActive), "", nil, nil},

		{"setup_complete false", notSetUp, checkout.CodeSetupIncomplete, []string{}, nil},
		{"billing request not fulfilled", func(s *checkout.Checkout, _ *checkout.Confirm) {
			s.Setup.BillingRequest = checkout.BillingFulfilling
		}, checkout.CodeSetupIncomplete, []string{}, nil},
		{"account not known", func(s *checkout.Checkout, _ *checkout.Confirm) { s.Setup.AccountHolder = "" },
			checkout.CodeSetupIncomplete, []string{}, nil},
		{"fulfilled without a mandate", mandate(checkout.MandateNone), checkout.CodeSetupIncomplete, []string{}, nil},
		{"mandate failed", mandate(checkout.MandateFailed), checkout.CodeSetupIncomplete, []string{}, nil},
		{"mandate cancelled", mandate(checkout.MandateCancelled), checkout.CodeSetupIncomplete, []string{}, nil},
		{"mandate expired", mandate(checkout.MandateExpired), checkout.CodeSetupIncomplete, []string{}, nil},
		{"mandate blocked", mandate(checkout.MandateBlocked), checkout.CodeSetupIncomplete, []string{}, nil},
		{"mandate in an unknown status", mandate("paused"), checkout.CodeSetupIncomplete, []string{}, nil},

		{"another checkout in the body", func(_ *checkout.Checkout, c *checkout.Confirm) { c.CheckoutID = other },
			checkout.CodeConflict, []string{"checkout.checkout_id"}, nil},
		{"another order", otherOrder, checkout.CodeConflict, []string{"provider.provider_order_id"}, nil},
		{"another opportunity", func(_ *checkout.Checkout, c *checkout.Confirm) { c.OpportunityID = other },
			checkout.CodeConflict, []string{"checkout.opportunity_id"}, nil},
		{"another dda", func(_ *checkout.Checkout, c *checkout.Confirm) { c.DDAID = other },
			checkout.CodeConflict, []string{"checkout.dda_id"}, nil},
		{"all of them", func(_ *checkout.Checkout, c *checkout.Confirm) {
			c.CheckoutID, c.OrderID, c.OpportunityID, c.DDAID = other, other, other, other
		}, checkout.CodeConflict, []string{"checkout.checkout_id", "provider.provider_order_id", "checkout.opportunity_id",
			"checkout.dda_id"}, nil},
		{"another token", otherToken, checkout.CodeConflict, []string{"checkout.checkout_token"}, nil},
		{"no token", func(_ *checkout.Checkout, c *checkout.Confirm) { c.Token = checkout.Optional[string]{} },
			checkout.CodeConflict, []string{"checkout.checkout_token"}, nil},

		{"confirmed, any repeat", confirmed, "", nil, repeat},
		{"confirmed, a repeat with a lost token", all(confirmed, otherToken), "", nil, repeat},
		{"confirmed, a repeat after the mandate died", all(confirmed, mandate(checkout.MandateFailed)), "", nil, repeat},

		{"other identifiers go before a repeat", all(confirmed, otherOrder), checkout.CodeConflict,
			[]string{"provider.provider_order_id"}, nil},
		{"other identifiers go before another token", all(otherOrder, otherToken), checkout.CodeConflict,
			[]string{"provider.provider_order_id"}, nil},
		{"another token goes before an incomplete setup", all(otherToken, notSetUp), checkout.CodeConflict,
			[]string{"checkout.checkout_token"}, nil},
		{"an incomplete setup goes before an agreement of another account", all(notSetUp, otherAccount),
			checkout.CodeSetupIncomplete, []string{}, nil},
		{"the agreement was prepared for another account", otherAccount, "", nil, checkout.ErrOutdated},
		{"the agreement was prepared for another consent", func(s *checkout.Checkout, _ *checkout.Confirm) {
			s.Setup.Consent.From = "192.0.2.1"
		}, "", nil, checkout.ErrOutdated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stored, cmd := ready(t)
			done := prepared(stored, cmd)
			done.Now = noon.Add(-time.Minute)
			tt.given(&stored, &cmd)
			change, err := cmd.Decide(stored, latest, done)
			code, named := refusalOf(err)
			switch {
			case tt.err != nil && !errors.Is(err, tt.err):
				t.Errorf("Decide = %v, want %v", err, tt.err)
			case code != tt.code || !slices.Equal(named, tt.fields):
				t.Errorf("Decide = %v; want code %q, fields %q", err, tt.code, tt.fields)
			case (err == nil) != (change.Next.Status == checkout.Confirmed):
				t.Errorf("Decide = %v with status %q", err, change.Next.Status)
			}
			if err != nil && (change.Next.ID != "" || change.Jobs != nil || change.Agreement != nil) {
				t.Errorf("Decide = %v changes %+v, want nothing", err, change)
			}
			// Before anything is prepared the same confirm gets the same answer, but that nothing can be outdated.
			if errors.Is(tt.err, checkout.ErrOutdated) {
				tt.err = nil
			}
			err = cmd.Ready(stored, catalogue.Sandbox, latest)
			if code, named := refusalOf(err); code != tt.code || !slices.Equal(named, tt.fields) || tt.code == "" && !errors.Is(err, tt.err) {
				t.Errorf("Ready = %v; want code %q, fields %q, or %v", err, tt.code, tt.fields, tt.err)
			}
			// Before the processor is asked, nothing can be incomplete either.
			if tt.code == checkout.CodeSetupIncomplete {
				tt.code, tt.fields = "", nil
			}
			err = cmd.Match(stored, catalogue.Sandbox, latest)
			if code, named := refusalOf(err); code != tt.code || !slices.Equal(named, tt.fields) || tt.code == "" && !errors.Is(err, tt.err) {
				t.Errorf("Match = %v; want code %q, fields %q, or %v", err, tt.code, tt.fields, tt.err)
			}
		})
	}
}

// The row of the bank setup: the status stays, and a poll sees setup_complete.
func TestDecideSetup(t *testing.T) {
	opened := openedNow(t).Next
	done := checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission,
		MandateID: "MD1", Authorisation: checkout.CustomerInProgress, AccountHolder: "A NGATA", AccountMask: "01-0902-•••••89-00", CompletedAt: noon}
	without := func(change func(*checkout.Observation)) checkout.Observation { o := done; change(&o); return o }
	begun := opened.Begun(1, "BR1", agreement.Consent{At: noon}).Next
	for _, tt := range []struct {
		name     string
		stored   checkout.Checkout
		seen     checkout.Observation
		complete bool
		nextTry  int
	}{
		{"payer has not begun", opened, done, false, 1},
		{"payer has not finished", begun, checkout.Observation{BillingRequest: checkout.BillingPending,
			Authorisation: checkout.CustomerInProgress}, false, 1},
		{"payer completes hosted bank setup", begun, done, true, 2},
		{"the processor has not finished", begun, without(func(o *checkout.Observation) {
			o.BillingRequest, o.Mandate = checkout.BillingReadyToFulfil, checkout.MandateNone
		}), false, 2},
		{"account holder not known", begun, without(func(o *checkout.Observation) { o.AccountHolder = "" }), false, 2},
		{"account not known", begun, without(func(o *checkout.Observation) { o.AccountMask = "" }), false, 2},
		{"time of completion not known", begun, without(func(o *checkout.Observation) { o.CompletedAt = time.Time{} }), false, 2},
		{"the mandate died at once", begun, without(func(o *checkout.Observation) { o.Mandate = checkout.MandateFailed }), false, 2},
		{"the billing request was cancelled", begun, checkout.Observation{BillingRequest: checkout.BillingCancelled}, false, 2},
		{"the mandate becomes active and the authority Authorised", begun.Observe(done, noon).Next,
			without(func(o *checkout.Observation) {
				o.Mandate, o.Authorisation = checkout.MandateActive, checkout.Authorised
			}), true, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.stored.Observe(tt.seen, noon)
			got := change.Next
			if got.Status != checkout.SetupRequired || eventNames(change) != nil || change.Agreement != nil {
				t.Errorf("status %q, events %v; want the status as it was and no event", got.Status, eventNames(change))
			}
			if got.SetupComplete() != tt.complete || got.NextTry() != tt.nextTry {
				t.Errorf("setup_complete %v, next try %d; want %v, %d", got.SetupComplete(), got.NextTry(), tt.complete, tt.nextTry)
			}
		})
	}
}

// Where the processor works on what the payer finished, a second billing request would be a second mandate.
func TestNothingIsBegunWhileTheProcessorWorks(t *testing.T) {
	begun := openedNow(t).Next.Begun(1, "BR1", agreement.Consent{At: noon}).Next
	for _, seen := range []checkout.Observation{
		{BillingRequest: checkout.BillingReadyToFulfil},
		{BillingRequest: checkout.BillingFulfilling},
		{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission}, // the account is not known yet
	} {
		settling := begun.Observe(seen, noon).Next
		if got := settling.Begun(settling.NextTry(), "BR2", agreement.Consent{At: noon}).Next; got.Setup != settling.Setup {
			t.Errorf("%s: Begun = %+v, want %+v", seen.BillingRequest, got.Setup, settling.Setup)
		}
		if page := settling.Page(facts(usable(), noon)); page != checkout.PageSettling {
			t.Errorf("%s: page %q, want %q", seen.BillingRequest, page, checkout.PageSettling)
		}
	}
}

func usable() catalogue.Provider {
	return catalogue.Provider{Code: "TUI", Name: "Tūī College", AccountID: "acc-1", Environment: catalogue.Sandbox,
		Active: true, APIEnabled: true}
}

// facts are the facts about the page of the first token.
func facts(p catalogue.Provider, now time.Time) checkout.PageFacts {
	return checkout.PageFacts{Environment: catalogue.Sandbox, Provider: p, Epoch: 1, Now: now, Today: money.DateOf(now.In(zone))}
}

func TestPage(t *testing.T) {
	open := openedNow(t).Next // its token expires after seven days
	complete, _ := ready(t)
	dead := complete.Observe(observed(checkout.BillingFulfilled, checkout.MandateFailed), noon).Next
	confirmed := dead
	confirmed.Status = checkout.Confirmed
	off := usable()
	off.Active = false
	_, _, agreed := confirmedNow(t)
	payments := agreed.Agreement.Payments()
	last := payments[len(payments)-1].Taken
	night := func(d money.Date) time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, zone) }
	ends := night(money.Date{Year: last.Year, Month: last.Month + 3, Day: last.Day + 1})
	for _, tt := range []struct {
		name     string
		checkout checkout.Checkout
		provider catalogue.Provider
		epoch    int
		now      time.Time
		want     checkout.PageState
	}{
		{"a new checkout", open, usable(), 1, noon, checkout.PageOpen},
		{"in the last millisecond of the token", open, usable(), 1, noon.Add(7*day - time.Millisecond), checkout.PageOpen},
		{"when the token's time is over", open, usable(), 1, noon.Add(7 * day), checkout.PageExpired},
		{"a token that was never issued", open, usable(), 2, noon, checkout.PageExpired},
		{"set up", complete, usable(), 1, noon, checkout.PageDone},
		{"set up, when the token's time is over", complete, usable(), 1, noon.Add(8 * day), checkout.PageDone},
		{"the mandate died", dead, usable(), 1, noon, checkout.PageOpen},
		{"the mandate died after the confirm", confirmed, usable(), 1, noon, checkout.PageDone},
		{"the provider may not be used", complete, off, 1, noon, checkout.PageNotEnabled},
		{"the provider may not be used after the confirm", agreed.Next, off, 1, noon, checkout.PageDone},
		{"confirmed, by a token of long ago", agreed.Next, usable(), 1, ends.Add(-30 * day), checkout.PageDone},
		{"at the end of the day three months after the last payment", agreed.Next, usable(), 1, ends.Add(-time.Millisecond), checkout.PageDone},
		{"the day after that", agreed.Next, usable(), 1, ends, checkout.PageEnded},
		{"the day after that, of a provider that may not be used", agreed.Next, off, 1, ends, checkout.PageEnded},
		{"erased after the confirm", agreed.Next.Erase(noon, checkout.ActorService, nil).Next, off, 1, noon, checkout.PageExpired},
	} {
		f := facts(tt.provider, tt.now)
		f.Epoch = tt.epoch
		if tt.checkout.Confirmation.AgreementNumber != "" {
			f.Agreement = agreed.Agreement
		}
		if got := tt.checkout.Page(f); got != tt.want {
			t.Errorf("%s: page %q, want %q", tt.name, got, tt.want)
		}
	}
	elsewhere := facts(usable(), noon)
	elsewhere.Environment = catalogue.Production
	if got := complete.Page(elsewhere); got != checkout.PageNotEnabled {
		t.Errorf("in another environment: page %q, want %q", got, checkout.PageNotEnabled)
	}
}

func TestDecideAcceptance(t *testing.T) {
	terms := agreement.DebitTerms{Provider: "Tūī College"}
	usual := agreement.Disclosure{DebitTerms: terms, Course: "Diploma"}
	other, short := usual, usual
	short.DebitTerms.Period.Days, other.Course = 2, "Certificate"
	const path = "/api/dd-setup"
	for _, tt := range []struct {
		name    string
		terms   string
		page    string
		state   checkout.PageState
		shown   agreement.Disclosure
		consent agreement.Consent
		code    checkout.Code
		err     error
	}{
		{"the terms and the plan that the page shows", usual.Name(), path, checkout.PageOpen, usual,
			agreement.Consent{At: noon, From: "192.0.2.1", Terms: terms.Name(), Period: agreement.NoticePeriod{Days: 10},
				Disclosed: agreement.Disclosed{SHA256: usual.SHA256(), Page: path}}, "", nil},
		{"terms with a shorter notice, on a page of the host's own", short.Name(), "", checkout.PageOpen, short,
			agreement.Consent{At: noon, From: "192.0.2.1", Terms: short.DebitTerms.Name(), Period: agreement.NoticePeriod{Days: 2},
				Disclosed: agreement.Disclosed{SHA256: short.SHA256()}}, "", nil},
		{"a host's own words", "", "", checkout.PageOpen, short, agreement.Consent{At: noon, From: "192.0.2.1"}, "", nil},
		{"a page that does not name what it shows", "", path, checkout.PageOpen, usual, agreement.Consent{}, checkout.CodeTermsChanged, nil},
		{"other terms", usual.Name(), path, checkout.PageOpen, short, agreement.Consent{}, checkout.CodeTermsChanged, nil},
		{"another plan", usual.Name(), path, checkout.PageOpen, other, agreement.Consent{}, checkout.CodeTermsChanged, nil},
		{"the direct debit terms alone", terms.Name(), path, checkout.PageOpen, usual, agreement.Consent{}, checkout.CodeTermsChanged, nil},
		{"a link that has expired", usual.Name(), path, checkout.PageExpired, usual, agreement.Consent{}, checkout.CodeLinkExpired, nil},
		{"it is set up", usual.Name(), path, checkout.PageDone, usual, agreement.Consent{}, "", checkout.ErrSetUp},
		{"a page that has ended", usual.Name(), path, checkout.PageEnded, usual, agreement.Consent{}, checkout.CodeLinkExpired, nil},
		{"it is being set up", usual.Name(), path, checkout.PageSettling, usual, agreement.Consent{}, "", checkout.ErrSetUp},
		{"the provider may not be used", usual.Name(), path, checkout.PageNotEnabled, usual, agreement.Consent{},
			checkout.CodeProviderNotEnabled, nil},
		{"an expired link goes before other terms", "other", path, checkout.PageExpired, usual, agreement.Consent{},
			checkout.CodeLinkExpired, nil},
	} {
		got, err := checkout.Acceptance{From: "192.0.2.1", TermsID: tt.terms, Page: tt.page}.Decide(tt.state, tt.shown, noon)
		if code, _ := refusalOf(err); got != tt.consent || code != tt.code || (tt.code == "" && !errors.Is(err, tt.err)) {
			t.Errorf("%s: Decide = %+v, %v; want %+v, code %q or %v", tt.name, got, err, tt.consent, tt.code, tt.err)
		}
	}
}

func TestAuthenticateDecides(t *testing.T) {
	_, live := catalogue.NewKey("TUI", catalogue.Sandbox, noon, [32]byte{1})
	_, foreign := catalogue.NewKey("TUI", catalogue.Production, noon, [32]byte{2})
	revoked := live
	revoked.RevokedAt = noon
	expired, expiring := live, live
	expired.ExpiresAt, expiring.ExpiresAt = noon, noon.Add(time.Millisecond)
	for _, tt := range []struct {
		name  string
		found *catalogue.Key
		code  checkout.Code
	}{
		{"a live key", &live, ""},
		{"a key in its last moment", &expiring, ""},
		{"a key that has expired", &expired, checkout.CodeInvalidAPIKey},
		{"none", nil, checkout.CodeInvalidAPIKey},
		{"a revoked one", &revoked, checkout.CodeInvalidAPIKey},
		{"one of the other environment", &foreign, checkout.CodeInvalidAPIKey},
	} {
		err := checkout.Authenticate(tt.found, catalogue.Sandbox, noon)
		if code, _ := refusalOf(err); code != tt.code || (err != nil) != (tt.code != "") {
			t.Errorf("%s: Authenticate = %v, want code %q", tt.name, err, tt.code)
		}
	}
	missing, other := checkout.Authenticate(nil, catalogue.Sandbox, noon), checkout.Authenticate(&revoked, catalogue.Sandbox, noon)
	if missing.Error() != other.Error() {
		t.Errorf("an unknown key is refused with %q, a revoked one with %q; want the same words", missing, other)
	}
}

// The schedule of a confirmed checkout is the agreed one: the create's date was a preference.
func TestTheScheduleFollowsTheAgreedDate(t *testing.T) {
	stored, cmd := ready(t)
	if got := stored.Schedule()[0].Due; got != stored.Intent.Plan.First {
		t.Errorf("before the confirm the first payment is due on %s, want %s", got, stored.Intent.Plan.First)
	}
	change, err := cmd.Decide(stored, latest, prepared(stored, cmd))
	if err != nil {
		t.Fatal(err)
	}
	plan := stored.Intent.Plan
	plan.First = cmd.FirstPayment.Value
	if got, want := change.Next.Schedule(), money.Schedule(stored.Intent.Pricing.Upfront, plan); !slices.Equal(got, want) {
		t.Errorf("after the confirm the schedule is\n%v, want\n%v", got, want)
	}
	if !slices.Equal(change.Agreement.Schedule, change.Next.Schedule()) {
		t.Errorf("the agreement has\n%v, the checkout\n%v", change.Agreement.Schedule, change.Next.Schedule())
	}
}
