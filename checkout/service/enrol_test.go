package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestAnEnrolmentIsKeptByTheCRMUnderItsIDs(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		cmd := w.ready(t, "ORDER-1")
		confirmed, err := w.confirm(t, cmd)
		if err != nil || confirmed.Already {
			t.Fatalf("Confirm = %+v, %v", confirmed, err)
		}
		stored, enrolled := c.lone(t, w)
		got := confirmed.Checkout
		if got.Records != enrolled.Records || got.Confirmation.AgreementID != enrolled.Completed.AgreementID ||
			got.Confirmation.DocumentID != enrolled.Completed.DocumentID || !stored.Checkout.Enrolled() {
			t.Errorf("confirmed %+v; the CRM has %+v", got, enrolled)
		}
		if enrolled.Completions != 1 || string(enrolled.Document) != "%PDF of "+stored.Agreement.Number || enrolled.Setup.MandateID != "MD-1" {
			t.Errorf("the CRM has %+v", enrolled)
		}
		if got, want := fmt.Sprint(w.receiver.names()), "[checkout.created checkout.confirmed agreement.generated]"; got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		for _, d := range w.receiver.got {
			for _, id := range []string{enrolled.Records.OpportunityID, enrolled.Completed.AgreementID} {
				if body := string(d.Event.Body); !strings.Contains(body, id) && (id != enrolled.Completed.AgreementID || d.Event.Name != "checkout.created") {
					t.Errorf("event %s lacks %s", body, id)
				}
			}
		}
	})
}

// While the CRM makes the records the checkout is visible to no caller.
func TestAReservedCheckoutDoesNotExist(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		c.disturb(func(ctx context.Context) error {
			for _, r := range w.records(t) {
				id := r.Checkout.ID
				_, err := w.Checkout(t.Context(), caller, id)
				expect(t, err, checkout.CodeCheckoutNotFound)
				cmd := confirm(service.Opened{Checkout: r.Checkout})
				cmd.OpportunityID, cmd.DDAID, cmd.Token = checkout.Some("x"), checkout.Some("x"), checkout.Some("x")
				_, err = w.confirm(t, cmd)
				expect(t, err, checkout.CodeCheckoutNotFound)
				token, _ := w.config.Keyring.Text(id, w.config.Keyring.Issue(1, time.Now().Add(time.Hour)))
				_, err = w.SetupPage(t.Context(), token)
				expect(t, err, checkout.CodeLinkUnknown)
				if r.Checkout.Status != checkout.Reserved || len(r.Events()) > 0 || len(w.receiver.names()) > 0 {
					t.Errorf("on record is %+v with %d events", r.Checkout, len(r.Events()))
				}
				return nil
			}
			t.Error("nothing is on record when the CRM is called")
			return nil
		}, nil)
		w.opened(t, "ORDER-1")
	})
}

func TestACallWhoseOutcomeIsUnknownIsMadeAgainWhileTheClientWaits(t *testing.T) {
	for name, disturb := range map[string]func(*crm){
		"before its effect": func(c *crm) { c.disturb(once(fails), nil) },
		"after its effect":  func(c *crm) { c.disturb(nil, once(fails)) },
		"by a panic":        func(c *crm) { c.disturb(once(func(context.Context) error { panic("boom") }), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
				disturb(c)
				if o := w.opened(t, "ORDER-1"); o.Replay {
					t.Error("a first create is a replay")
				}
				cmd := w.ready(t, "ORDER-1")
				c.disturb(nil, nil)
				disturb(c)
				w.sent(t, cmd, false)
				_, enrolled := c.lone(t, w)
				if enrolled.Completions != 1 {
					t.Errorf("completed %d times", enrolled.Completions)
				}
			})
		})
	}
}

// sent sends a confirm until it is answered.
func (w *world) sent(t *testing.T, cmd checkout.Confirm, already bool) service.Confirmed {
	t.Helper()
	for {
		confirmed, err := w.confirm(t, cmd)
		if err != nil {
			expect(t, err, checkout.CodeBusy)
			time.Sleep(time.Second)
			continue
		}
		if confirmed.Already != already {
			t.Errorf("already confirmed: %v, want %v", confirmed.Already, already)
		}
		return confirmed
	}
}

func TestAClientWaitsForALimitedTimeAndTheWorkGoesOn(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		c.disturb(once(hangs), nil)
		var err error
		if d := took(func() { _, err = w.Create(t.Context(), caller, create("ORDER-1")) }); d > 10*time.Second {
			t.Errorf("the client waited %v", d)
		}
		expect(t, err, checkout.CodeBusy)
		w.runFor(t, 4*time.Second) // a tick for the job, and one for its events
		if o := w.opened(t, "ORDER-1"); !o.Replay {
			t.Error("a create after the completer's is new")
		}
		w.setUp(t, w.opened(t, "ORDER-1").Token)
		c.disturb(after(1, hangs), nil) // the first is the look for an agreement
		cmd := confirm(w.opened(t, "ORDER-1"))
		if d := took(func() { _, err = w.confirm(t, cmd) }); d > 20*time.Second {
			t.Errorf("the client waited %v", d)
		}
		c.disturb(nil, nil)
		expect(t, err, checkout.CodeBusy)
		if got, err := w.Checkout(t.Context(), caller, cmd.CheckoutID.Value); err != nil || got.Status != checkout.SetupRequired || !got.SetupComplete() {
			t.Errorf("a poll meanwhile: %+v, %v", got, err)
		}
		w.runFor(t, 4*time.Second) // a tick for the job, and one for its events
		w.sent(t, cmd, true)
		if got, want := fmt.Sprint(w.receiver.names()), "[checkout.created checkout.confirmed agreement.generated]"; got != want {
			t.Errorf("events %s, want %s", got, want)
		}
	})
}

func refuses(faults ...checkout.Fault) func(context.Context) error {
	return func(context.Context) error { return &checkout.CRMRefusal{Code: "NO", Faults: faults} }
}

func TestACreateThatTheCRMRefusesReleasesItsOrderAndKey(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		cmd := create("ORDER-1")
		cmd.IdempotencyKey = checkout.Some("key-1")
		c.disturb(refuses(checkout.Fault{Field: "student.last_name", Message: "must have at most 80 characters"}), nil)
		_, err := w.Create(t.Context(), caller, cmd)
		expect(t, err, checkout.CodeValidation)
		if err == nil || !strings.Contains(err.Error(), "student.last_name must have at most 80 characters") {
			t.Errorf("the refusal is %v", err)
		}
		c.disturb(refuses(checkout.Fault{Field: "Contact.Region__c", Message: "is refused"}), nil)
		if _, err = w.Create(t.Context(), caller, cmd); err == nil || errors.As(err, new(*checkout.Error)) {
			t.Errorf("a create whose fields are not meant: %v, want a failure", err)
		}
		if len(w.records(t)) != 0 || len(w.receiver.names()) != 0 {
			t.Errorf("on record is %+v", w.records(t))
		}
		c.disturb(nil, nil)
		cmd.First = checkout.Some(money.Date{Year: 2027, Month: 3, Day: 1}) // another intent, for nothing is pinned
		if o, err := w.Create(t.Context(), caller, cmd); err != nil || o.Replay {
			t.Errorf("once the CRM takes it: %+v, %v", o, err)
		}
		c.lone(t, w)
	})
}

func TestAnUnknownOutcomeKeepsTheIntent(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		c.disturb(nil, once(hangs))
		_, err := w.Create(t.Context(), caller, create("ORDER-1"))
		expect(t, err, checkout.CodeBusy)
		other := create("ORDER-1")
		other.First = checkout.Some(money.Date{Year: 2027, Month: 3, Day: 1})
		_, err = w.Create(t.Context(), caller, other)
		expect(t, err, checkout.CodeIntentConflict)
		_, enrolled := c.lone(t, w)
		if enrolled.Enrolment.Intent.Plan.First != create("ORDER-1").First.Value {
			t.Errorf("the CRM has %+v", enrolled.Enrolment)
		}
	})
}

func TestACompletionThatTheCRMRefusesWaitsForTheOperator(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		cmd := w.ready(t, "ORDER-1")
		w.reports.take()
		c.disturb(nth(2, refuses()), nil)
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		severe := slices.ContainsFunc(w.reports.take(), func(f service.Failure) bool {
			return f.Operation == service.OperationCRM && f.Severity == service.Error
		})
		job := w.jobs(t, "ORDER-1", checkout.JobComplete)[0]
		if !severe || job.State != checkout.JobPending || job.Attempts != 1 || !strings.Contains(job.Failure.Reason, "NO") {
			t.Errorf("reported as severe: %v; on record is %+v", severe, job)
		}
		made := c.made()
		w.runFor(t, 9*time.Minute)
		if c.made() != made {
			t.Errorf("the CRM was asked %d times in nine minutes, though it refuses", c.made()-made)
		}
		w.runFor(t, 2*time.Minute)
		w.sent(t, cmd, true)
		if _, enrolled := c.lone(t, w); enrolled.Completions != 1 {
			t.Errorf("the CRM has %+v", enrolled)
		}
	})
}

func TestOfManyCreatesOfOneOrderTheCRMGetsOne(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		processes := []*world{w, w.again(t), w.again(t)}
		slow := func(context.Context) error { time.Sleep(300 * time.Millisecond); return nil }
		c.disturb(slow, slow)
		var mu sync.Mutex
		first, replays, conflicts := 0, 0, 0
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				cmd := create("ORDER-1")
				if i%2 == 1 {
					cmd.First = checkout.Some(money.Date{Year: 2027, Month: 3, Day: 1})
				}
				o, err := processes[i%3].Create(t.Context(), caller, cmd)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					expect(t, err, checkout.CodeIntentConflict)
					conflicts++
				case o.Replay:
					replays++
				default:
					first++
				}
			})
		}
		all.Wait()
		if first != 1 || replays != 31 || conflicts != 32 {
			t.Errorf("%d first, %d replays and %d conflicts; want 1, 31 and 32", first, replays, conflicts)
		}
		stored, enrolled := c.lone(t, w)
		if stored.Checkout.Intent != enrolled.Enrolment.Intent || c.made() != 1 {
			t.Errorf("%d calls; on record is %+v, in the CRM %+v", c.made(), stored.Checkout.Intent, enrolled.Enrolment.Intent)
		}
	})
}

// An order that is another enrolment in the CRM, which a restored store does not know, stays what it is.
func TestAnOrderThatIsAnotherEnrolmentInTheCRMIsAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, change := withCRM()
		newWorld(t, change).opened(t, "ORDER-1")
		restored := newWorld(t, change)
		other := create("ORDER-1")
		other.First = checkout.Some(money.Date{Year: 2027, Month: 3, Day: 1})
		_, err := restored.Create(t.Context(), caller, other)
		expect(t, err, checkout.CodeIntentConflict)
		if err == nil || !strings.Contains(err.Error(), checkout.FieldFirstPayment) || len(restored.records(t)) != 0 {
			t.Errorf("%v; on record is %+v", err, restored.records(t))
		}
		if o := restored.opened(t, "ORDER-1"); o.Checkout.Records != c.Enrolments()[0].Records {
			t.Errorf("the same intent is opened with %+v", o.Checkout.Records)
		}
	})
}

func TestARefusedOpenOfWhichSomeIsThereKeepsItsOrder(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		c.disturb(once(func(context.Context) error { return &checkout.CRMRefusal{Code: "NO", Made: true} }), nil)
		if _, err := w.Create(t.Context(), caller, create("ORDER-1")); err == nil {
			t.Fatal("a create that the CRM refuses succeeds")
		}
		stored := w.records(t)["ORDER-1"].Checkout
		job := w.jobs(t, "ORDER-1", checkout.JobOpen)[0]
		if stored.Status != checkout.Reserved || job.State != checkout.JobPending || !strings.Contains(job.Failure.Reason, "NO") {
			t.Errorf("on record is %+v with %+v", stored, job)
		}
		var err error
		if d := took(func() { _, err = w.Create(t.Context(), caller, create("ORDER-1")) }); d > time.Second {
			t.Errorf("a create waits %v for what an administrator must mend", d)
		}
		expect(t, err, checkout.CodeBusy)
		w.runFor(t, 11*time.Minute)
		if o := w.opened(t, "ORDER-1"); !o.Replay {
			t.Error("the order is new")
		}
	})
}

// A CRM that takes no more opens still takes completions, on which money waits.
func TestABusyCRMIsNotSpared(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		cmd := w.ready(t, "ORDER-1")
		c.disturb(func(context.Context) error { return fmt.Errorf("few calls are left: %w", ports.ErrBusy) }, nil)
		for n := range 20 {
			_, err := w.Create(t.Context(), caller, create(fmt.Sprint("NEW-", n)))
			expect(t, err, checkout.CodeBusy)
		}
		c.disturb(nil, nil)
		w.sent(t, cmd, false)
	})
}

// torn is a store that decides what an attempt leads to, and then cannot commit it.
type torn struct {
	ports.Store
	times *int
}

func (s torn) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, q checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	if l.Job.Kind != checkout.JobOpen || o.State != checkout.JobDone || *s.times == 0 {
		return s.Store.Settle(ctx, l, o, q, decide)
	}
	*s.times--
	return fmt.Errorf("commit: %w", errors.Join(errBroken, s.Store.Settle(ctx, l, o, q, func(c checkout.Checkout) (checkout.Change, error) {
		if _, err := decide(c); err != nil {
			return checkout.Change{}, err
		}
		return checkout.Change{}, errBroken
	})))
}

// Nothing is told, sent or counted of what was decided and is not on record.
func TestWhatCannotBeCommittedHasNotHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, change := withCRM()
		times, noted := 1, &told{}
		n, count := counted()
		w := newWorld(t, change, count, func(config *service.Config) {
			config.Store = torn{config.Store, &times}
			config.Noted = noted.add
		})
		c.disturb(once(fails), nil) // the second attempt cannot be committed
		if _, err := w.Create(t.Context(), caller, create("ORDER-1")); !errors.Is(err, errBroken) {
			t.Fatalf("create: %v, want %v", err, errBroken)
		}
		if r := w.records(t)["ORDER-1"]; r.Checkout.Status != checkout.Reserved || len(noted.all) != 2 || len(w.receiver.names()) != 0 || n.all[service.CountCreate] != 0 {
			t.Errorf("on record is %+v; told %+v, sent %q, counted %v", r.Checkout, noted.all, w.receiver.names(), n.all)
		}
		w.runFor(t, 15*time.Second)
		if o := w.opened(t, "ORDER-1"); !o.Replay || len(w.receiver.names()) != 1 || n.all[service.CountCreate] != 1 {
			t.Errorf("later: %+v; sent %q, counted %v", o, w.receiver.names(), n.all)
		}
	})
}

// What a store could not keep of a failure's text must not keep it from putting the job off.
func TestAFailureIsStoredAsTextOfBoundedLength(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		c.disturb(func(context.Context) error { return errors.New("x" + strings.Repeat("ā", 400) + "\x00") }, nil)
		_, err := w.Create(t.Context(), caller, create("ORDER-1"))
		expect(t, err, checkout.CodeBusy)
		failure := w.jobs(t, "ORDER-1", checkout.JobOpen)[0].Failure.Reason
		if !utf8.ValidString(failure) || len(failure) < 200 || len(failure) > 300 || strings.Contains(failure, "\x00") {
			t.Errorf("stored is %q", failure)
		}
	})
}
