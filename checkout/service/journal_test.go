package service_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

var someID = regexp.MustCompile(` ?(evt_[0-9a-f-]{36}|PPA-\d{4}-\w+)`)

// timeline returns the journal of an order as a support agent reads it: a line a moment, without ids.
func (w *world) timeline(t *testing.T, order string) (lines []string) {
	t.Helper()
	for _, m := range w.records(t)[order].Moments {
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Actor, m.Kind, someID.ReplaceAllString(m.Detail, "")))
		if m.Times > 1 {
			line += fmt.Sprintf(" ×%d", m.Times)
		}
		lines = append(lines, line)
	}
	return lines
}

// opens has the payer open the setup page, and waits until that is in the journal.
func (w *world) opens(t *testing.T, o service.Opened) {
	t.Helper()
	if _, err := w.SetupPage(t.Context(), o.Token); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
}

// comesBack has the payer come back from the processor, and waits until that is in the journal.
func (w *world) comesBack(t *testing.T, o service.Opened) {
	t.Helper()
	w.page(t, o.Token)
	time.Sleep(2 * time.Second)
}

// observes has the processor say something of the setup.
func (w *world) observes(t *testing.T, o service.Opened, seen checkout.Observation) {
	t.Helper()
	w.processor.set(seen)
	if _, err := w.Refresh(t.Context(), o.Checkout.ID); err != nil {
		t.Fatal(err)
	}
}

func died(reason string) checkout.Observation {
	o := mandate(checkout.MandateCancelled)
	o.MandateReason = reason
	return o
}

// What a support agent reads of a checkout, for each of its endings. Together they have every kind of moment but operators' acts.
func TestATimelineTellsWhatHappened(t *testing.T) {
	shown := map[checkout.MomentKind]bool{checkout.MomentOperated: true, checkout.MomentWithdrawn: true} // see package operate
	for _, tt := range []struct {
		name   string
		crm    bool // outside of the store
		happen func(t *testing.T, w *world, mail *postbox)
		want   []string
	}{
		{"done", false, func(t *testing.T, w *world, mail *postbox) {
			mail.set(func(context.Context, checkout.PayerNotice) error { // after the journal has that the payer came back
				time.Sleep(1500 * time.Millisecond)
				return nil
			})
			o := w.opened(t, "ORDER-1")
			for range 3 { // a scanner of mail opens links too
				w.opens(t, o)
			}
			w.presses(t, o)
			w.processor.set(fulfilled)
			w.comesBack(t, o)
			w.comesBack(t, o)
			w.observes(t, o, fulfilled)
			time.Sleep(2 * time.Second)
			w.opened(t, "ORDER-1") // a replay is no moment
			for range 2 {          // and neither is a repeat
				w.confirms(t, confirm(o))
			}
		}, []string{
			"provider:k1 created",
			"service event_delivered checkout.created",
			"payer opened open ×3",
			"payer pressed try 1",
			"processor setup_done mandate pending_submission",
			"payer returned done ×2",
			"service notice_sent setup",
			"provider:k1 confirmed",
			"service event_delivered checkout.confirmed",
			"service event_delivered agreement.generated",
			"service notice_sent agreement",
		}},
		{"refused", false, func(t *testing.T, w *world, _ *postbox) {
			o := w.opened(t, "ORDER-1")
			for range 5 {
				_, err := w.confirm(t, confirm(o))
				expect(t, err, checkout.CodeSetupIncomplete)
			}
			other := create("ORDER-1")
			other.Email = checkout.Some("aroha")
			_, err := w.Create(t.Context(), caller, other)
			expect(t, err, checkout.CodeValidation)
			other = create("ORDER-1")
			other.Frequency = checkout.Some("Monthly")
			_, err = w.Create(t.Context(), caller, other)
			expect(t, err, checkout.CodeIntentConflict)
			undeclared := confirm(o)
			undeclared.DepositConfirmed = checkout.Some(false)
			_, err = w.confirm(t, undeclared)
			expect(t, err, checkout.CodeValidation)
			time.Sleep(time.Hour)
			_, err = w.confirm(t, confirm(o))
			expect(t, err, checkout.CodeSetupIncomplete)
		}, []string{
			"provider:k1 created",
			"service event_delivered checkout.created",
			"provider:k1 refused DIRECT_DEBIT_SETUP_INCOMPLETE ×5",
			"provider:k1 refused IDEMPOTENCY_CONFLICT plan.instalment_amount plan.number_of_instalments plan.payment_frequency",
			"provider:k1 refused VALIDATION_ERROR payment.deposit_confirmed",
			"provider:k1 refused DIRECT_DEBIT_SETUP_INCOMPLETE",
		}},
		{"abandoned", false, func(t *testing.T, w *world, _ *postbox) {
			w.receiver.answers(func(events.Delivery, int) error { return errRefused })
			o := w.opened(t, "ORDER-1")
			w.opens(t, o)
			w.presses(t, o)
			w.observes(t, o, checkout.Observation{BillingRequest: checkout.BillingCancelled})
			w.comesBack(t, o)
			w.clock.forward(6*24*time.Hour + time.Hour)
			w.opened(t, "ORDER-1")
			w.clock.forward(2 * 24 * time.Hour)
			w.opens(t, o) // by the first link
			w.clock.forward(98 * 24 * time.Hour)
			time.Sleep(time.Minute)
		}, []string{
			"provider:k1 created",
			"service event_failed checkout.created: receiver answered 500",
			"payer opened open",
			"payer pressed try 1",
			"processor setup_failed billing request cancelled",
			"payer returned open",
			"provider:k1 link_renewed",
			"payer opened expired",
			"service erased",
		}},
		{"a dead mandate", false, func(t *testing.T, w *world, mail *postbox) {
			mail.set(func(context.Context, checkout.PayerNotice) error { return &checkout.NoticeRefusal{Answer: "550 5.1.1"} })
			o := w.opened(t, "ORDER-1")
			w.presses(t, o)
			w.observes(t, o, fulfilled)
			time.Sleep(2 * time.Second)
			w.observes(t, o, died("bank_account_closed"))
			_, err := w.confirm(t, confirm(o))
			expect(t, err, checkout.CodeSetupIncomplete)
		}, []string{
			"provider:k1 created",
			"service event_delivered checkout.created",
			"payer pressed try 1",
			"processor setup_done mandate pending_submission",
			"service notice_failed setup",
			"processor mandate_changed mandate cancelled bank_account_closed",
			"provider:k1 refused DIRECT_DEBIT_SETUP_INCOMPLETE",
		}},
		{"cancelled", false, func(t *testing.T, w *world, mail *postbox) {
			o := w.opened(t, "ORDER-1")
			w.presses(t, o)
			w.observes(t, o, fulfilled)
			time.Sleep(2 * time.Second)
			for range 2 { // a repeat is no moment
				if _, err := w.Cancel(t.Context(), caller, o.Checkout.ID, checkout.Cancel{RequestID: "req_3", Reason: checkout.Some("wrong course")}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(2 * time.Second)
			_, err := w.confirm(t, confirm(o))
			expect(t, err, checkout.CodeCancelled)
			_, err = w.Create(t.Context(), caller, create("ORDER-1"))
			expect(t, err, checkout.CodeCancelled)
		}, []string{
			"provider:k1 created",
			"service event_delivered checkout.created",
			"payer pressed try 1",
			"processor setup_done mandate pending_submission",
			"service notice_sent setup",
			"provider:k1 cancelled",
			"processor mandate_changed mandate cancelled",
			"service notice_sent cancelled",
			"provider:k1 refused CHECKOUT_CANCELLED ×2",
		}},
		{"the CRM is away", true, func(t *testing.T, w *world, mail *postbox) {
			mail.set(func(context.Context, checkout.PayerNotice) error { time.Sleep(time.Second); return nil })
			w.crm.disturb(fails, nil)
			_, err := w.Create(t.Context(), caller, create("ORDER-1"))
			expect(t, err, checkout.CodeBusy)
			w.crm.disturb(nil, nil)
			time.Sleep(time.Minute)
			o := w.opened(t, "ORDER-1")
			w.presses(t, o)
			w.observes(t, o, fulfilled)
			time.Sleep(2 * time.Second)
			w.crm.disturb(nth(2, refuses()), nil) // after the look for an agreement
			_, err = w.confirm(t, confirm(o))
			expect(t, err, checkout.CodeBusy)
			time.Sleep(11 * time.Minute)
		}, []string{
			"provider:k1 created",
			"crm crm_waits open: no answer ×5",
			"crm crm_done open",
			"service event_delivered checkout.created",
			"payer pressed try 1",
			"processor setup_done mandate pending_submission",
			"service notice_sent setup",
			"provider:k1 confirmed",
			"crm crm_waits complete: refused",
			"crm crm_done complete",
			"service event_delivered checkout.confirmed",
			"service event_delivered agreement.generated",
			"service notice_sent agreement",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := &told{}
				c, outside := withCRM()
				change := []func(*service.Config){func(c *service.Config) {
					c.Noted, c.Retention = told.add, checkout.Retention{AbandonedDays: 90}
				}}
				if tt.crm {
					change = append(change, outside)
				}
				w, mail := notifying(t, change...)
				w.crm = c
				stop := w.background(t)
				tt.happen(t, w, mail)
				time.Sleep(5 * time.Second)
				stop()
				if got := w.timeline(t, "ORDER-1"); !slices.Equal(got, tt.want) {
					t.Errorf("the timeline is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
				r := w.records(t)["ORDER-1"]
				for _, m := range r.Moments {
					shown[m.Kind] = true
				}
				told.check(t, r)
			})
		})
	}
	for _, kind := range checkout.MomentKinds() {
		if !shown[kind] {
			t.Errorf("no timeline has %q", kind)
		}
	}
}

// told is the moments that Config.Noted got.
type told struct {
	mu  sync.Mutex
	all []checkout.Noted
}

func (n *told) add(_ context.Context, m checkout.Noted) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, m)
}

// check checks that what the program was told is what is on record, as often as it happened.
func (n *told) check(t *testing.T, r checkout.CheckoutRecord) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	times := map[string]int{}
	for _, m := range n.all {
		if m.About != aboutOf(r.Checkout) {
			t.Errorf("told %+v about another checkout than %s", m, r.Checkout.ID)
		}
		times[string(m.Moment.Kind)+m.Moment.Detail]++
	}
	stored := map[string]int{}
	for _, m := range r.Moments {
		stored[string(m.Kind)+m.Detail] += m.Times
	}
	if !reflect.DeepEqual(times, stored) {
		t.Errorf("told %v, and on record is %v", times, stored)
	}
}

// A refused call is in the journal of its checkout when it is answered.
func TestARefusalIsOnRecordBeforeItIsAnswered(t *testing.T) {
	w := newWorld(t)
	o := w.opened(t, "ORDER-1")
	_, err := w.confirm(t, confirm(o))
	expect(t, err, checkout.CodeSetupIncomplete)
	w.Refused(t.Context(), caller, o.Checkout.ID, "req_9", &checkout.Error{Code: checkout.CodeValidation})
	moments := w.records(t)["ORDER-1"].Moments
	if n := len(moments); n != 4 || moments[2].RequestID != "req_2" || moments[3].RequestID != "req_9" || moments[3].Detail != "VALIDATION_ERROR" {
		t.Errorf("the journal is %+v", moments)
	}
	stranger := service.Caller{ProviderCode: "RIMU"}
	w.Refused(t.Context(), stranger, o.Checkout.ID, "req_10", &checkout.Error{Code: checkout.CodeValidation})
	w.Refused(t.Context(), caller, "KOWHAI-1-nothing", "req_11", &checkout.Error{Code: checkout.CodeValidation})
	w.Refused(t.Context(), caller, o.Checkout.ID, "req_12", checkout.Busy())
	if got := w.records(t)["ORDER-1"].Moments; len(got) != 4 {
		t.Errorf("after calls of a stranger, about nothing and while the service is busy the journal is %+v", got)
	}
}

// A journal that cannot be written refuses nothing more and delays nothing for long.
func TestAJournalThatCannotBeWrittenIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := faults["broken"]
		w := newWorld(t, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
			if method == "Note" {
				return fail()
			}
			return call(ctx)
		}))
		o := w.opened(t, "ORDER-1")
		for _, way := range []string{"broken", "busy", "panics"} {
			fail = faults[way]
			_, err := w.confirm(t, confirm(o))
			expect(t, err, checkout.CodeSetupIncomplete)
			got := w.reports.take()
			if len(got) != 1 || got[0].Operation != service.OperationJournal || got[0].Severity != service.Warning || got[0].About != aboutOf(o.Checkout) {
				t.Errorf("%s: reported %+v", way, got)
			}
		}
		fail = func() error { time.Sleep(time.Hour); return nil }
		w.opens(t, o)
		fail = faults["broken"]
		w.runFor(t, 3*time.Second)
		w.wantReport(t, "", "", "note 1 moments")
	})
}

// What is kept until the scheduler stores it takes no more memory than that of 10,000 moments.
func TestNotesThatWaitAreBounded(t *testing.T) {
	const limit, more = 10_000, 10
	inWorld(t, func(t *testing.T, w *world) {
		o := w.opened(t, "ORDER-1")
		for range limit + more {
			w.opens(t, o)
		}
		w.runFor(t, 3*time.Second)
		opened := 0
		for _, m := range w.records(t)["ORDER-1"].Moments {
			if m.Kind == checkout.MomentOpened {
				opened += m.Times
			}
		}
		if opened != limit {
			t.Errorf("%d openings of the page are on record, want %d", opened, limit)
		}
	})
}

// No moment and no report has anything of a person or a secret, whatever the ports say.
func TestNothingPersonalIsInAJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		canary := errors.New("nobody knows where this came from")
		c, change := withCRM()
		told := &told{}
		w, mail := notifying(t, change, func(c *service.Config) {
			c.Noted, c.Retention = told.add, checkout.Retention{AbandonedDays: 90}
		})
		stop := w.background(t)
		personal := []string{"Kanari", "Tīwaiwaka", "kanari@", "A KANARI", "01-0902", "203.0.113.77"}
		seen := fulfilled
		seen.AccountHolder = "A KANARI"
		cmd := create("ORDER-1")
		cmd.FirstName, cmd.LastName, cmd.Email = checkout.Some("Kanari"), checkout.Some("Tīwaiwaka"), checkout.Some("kanari@example.nz")
		w.receiver.answers(func(_ events.Delivery, attempt int) error {
			if attempt < 3 {
				return errRefused
			}
			return nil
		})
		c.disturb(once(func(context.Context) error { return canary }), nil)
		o, err := w.Create(t.Context(), caller, cmd)
		must(t, err)
		personal = append(personal, o.Token, o.SetupURL)
		w.opens(t, o)
		w.presses(t, o)
		_, err = w.confirm(t, confirm(o))
		expect(t, err, checkout.CodeSetupIncomplete)
		w.observes(t, o, seen)
		mail.set(func(_ context.Context, n checkout.PayerNotice) error { return &checkout.NoticeRefusal{Answer: "550"} })
		w.opens(t, o)
		other := cmd
		other.Email = checkout.Some("kanari@other.example")
		_, err = w.Create(t.Context(), caller, other)
		if err != nil {
			expect(t, err, checkout.CodeIntentConflict)
		}
		bad := confirm(o)
		bad.Token = checkout.Some("not the token of Kanari")
		_, err = w.confirm(t, bad)
		expect(t, err, checkout.CodeConflict)
		w.confirms(t, confirm(o))
		w.observes(t, o, died("of the bank"))
		faulty := create("ORDER-2")
		faulty.Email = checkout.Some("kanari@")
		_, err = w.Create(t.Context(), caller, faulty)
		expect(t, err, checkout.CodeValidation)
		w.clock.forward(100 * 24 * time.Hour)
		time.Sleep(5 * time.Second)
		stop()

		var said []string
		for _, r := range w.records(t) {
			for _, m := range r.Moments {
				said = append(said, fmt.Sprintf("%+v", m))
			}
			for _, j := range r.Jobs {
				if j.Job.Kind != checkout.JobDeliver { // an event's body has what the contract says
					said = append(said, fmt.Sprintf("%+v", j))
				}
			}
		}
		for _, m := range told.all {
			said = append(said, fmt.Sprintf("%+v", m))
		}
		for _, f := range w.reports.take() {
			said = append(said, fmt.Sprintf("%+v", f))
		}
		if len(said) < 30 {
			t.Errorf("only %d lines were written", len(said))
		}
		for _, line := range said {
			for _, text := range personal {
				if strings.Contains(strings.ToLower(line), strings.ToLower(text)) {
					t.Errorf("%q is in %s", text, line)
				}
			}
		}
	})
}
