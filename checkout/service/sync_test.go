package service_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// crm is a CRM that keeps what it was told, and answers as the test says.
type crm struct {
	environment catalogue.Environment

	mu     sync.Mutex
	asked  int
	told   []checkout.Enrolment                            // that it took
	answer func(context.Context, checkout.Enrolment) error // nil takes everything
}

func (c *crm) Info() checkout.CRMInfo {
	env := c.environment
	if env == "" {
		env = catalogue.Sandbox
	}
	return checkout.CRMInfo{Name: "scripted", Environment: env, Company: "CRM Ltd"}
}

func (c *crm) Check(e checkout.Enrolment) (faults []checkout.Fault) {
	if len(e.Checkout.Student.LastName) > 40 {
		faults = append(faults, checkout.Fault{Field: checkout.FieldLastName, Message: "must be at most 40 characters"})
	}
	if len(e.Checkout.Intent.CourseName) > 80 {
		faults = append(faults, checkout.Fault{Field: checkout.FieldCourseName, Message: "must be at most 80 characters"})
	}
	return faults
}

func (c *crm) Sync(ctx context.Context, e checkout.Enrolment) error {
	c.mu.Lock()
	c.asked++
	answer := c.answer
	c.mu.Unlock()
	var err error
	if answer != nil {
		err = answer(ctx, e)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.told = append(c.told, e)
	}
	return err
}

func (c *crm) Ready(context.Context) error { return nil }

// answers has the CRM answer so from now on.
func (c *crm) answers(answer func(context.Context, checkout.Enrolment) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
}

// says has the CRM answer every call with an error.
func (c *crm) says(err error) {
	c.answers(func(context.Context, checkout.Enrolment) error { return err })
}

// calls returns how often the CRM was called, and forgets it.
func (c *crm) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.asked
	c.asked = 0
	return n
}

// latest returns what the CRM was told last.
func (c *crm) latest(t *testing.T) checkout.Enrolment {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.told) == 0 {
		t.Fatal("the CRM was told nothing")
	}
	return c.told[len(c.told)-1]
}

// inWorldWithCRM is inWorld with a CRM outside of the store.
func inWorldWithCRM(t *testing.T, test func(*testing.T, *world, *crm), change ...func(*service.Config)) {
	t.Helper()
	c := &crm{}
	inWorld(t, func(t *testing.T, w *world) { test(t, w, c) }, append(change, func(config *service.Config) { config.CRM = c })...)
}

// wantToday checks whether an order is among the troubles with the CRM.
func (w *world) wantToday(t *testing.T, reason string, orders ...string) {
	t.Helper()
	hits, err := w.store.Find(t.Context(), checkout.Query{Trouble: checkout.TroubleCRM, Now: w.clock.now().Add(time.Millisecond)}, 100)
	must(t, err)
	var got []string
	for _, h := range hits {
		if got = append(got, h.Checkout.OrderID); !strings.Contains(h.Reason, reason) {
			t.Errorf("%s is in today for %q, want %q", h.Checkout.OrderID, h.Reason, reason)
		}
	}
	if slices.Sort(got); !slices.Equal(got, orders) {
		t.Errorf("today has %q, want %q", got, orders)
	}
}

// What a CRM cannot take by its limits is a fault of the request that has it, and of no request that has not.
func TestWhatACRMCannotTakeIsRefusedAtTheCreate(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		cmd := create("ORDER-1")
		cmd.LastName = checkout.Some(strings.Repeat("a", 41))
		_, err := w.Create(t.Context(), caller, cmd)
		if !checkout.Refused(err, checkout.CodeValidation) || !strings.Contains(err.Error(), checkout.FieldLastName+" must be") {
			t.Errorf("a last name that is too long: %v", err)
		}
		if n := c.calls() + len(w.records(t)); n != 0 {
			t.Errorf("a create that is refused makes %d calls and records", n)
		}
		long := kowhai()
		long.Courses[0].Name = strings.Repeat("a", 81)
		w.configure(t, long)
		w.opened(t, "ORDER-2")
	})
}

// A refusal stays in today with its reason and is tried every ten minutes: the operator mends it.
func TestARefusedSyncWaitsForTheOperator(t *testing.T) {
	n, count := counted()
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		c.says(&checkout.CRMRefusal{Code: "FIELD_CUSTOM_VALIDATION_EXCEPTION", Faults: []checkout.Fault{{Field: "Stage__c", Message: "is wrong"}}})
		w.confirmed(t, "ORDER-1")
		w.opened(t, "ORDER-2")
		w.wantToday(t, "the CRM refuses the enrolment: FIELD_CUSTOM_VALIDATION_EXCEPTION (Stage__c is wrong)", "ORDER-1", "ORDER-2")
		reported := w.reports.take()
		if len(reported) != 3 || reported[0].Operation != service.OperationCRM || reported[0].Severity != service.Error || reported[0].Attempt != 1 {
			t.Errorf("reported %+v, want an error of each call", reported)
		}
		c.calls()
		w.runFor(t, 31*time.Minute)
		if calls := c.calls(); calls != 6 {
			t.Errorf("two refused enrolments make %d calls in half an hour, want three each", calls)
		}
		var refused checkout.Moment
		for _, m := range w.records(t)["ORDER-1"].Moments {
			if m.Kind == checkout.MomentCRMRefused {
				refused = m
			}
		}
		if refused.Times != 5 || refused.Actor != checkout.ActorCRM || !strings.Contains(refused.Detail, "Stage__c is wrong") {
			t.Errorf("the timeline has %+v, want the refusal five times", refused)
		}
		c.answers(nil)
		w.runFor(t, 10*time.Minute)
		w.wantToday(t, "")
		if n.all[service.CountSyncRefused] != 9 {
			t.Errorf("counted %v, want nine refusals", n.all)
		}
	}, count)
}

// A CRM that knows more than the store, which was restored, is never taken back: the difference stands in today.
func TestACRMThatIsAheadStaysSo(t *testing.T) {
	for _, code := range []string{checkout.CRMAhead, checkout.CRMOtherAgreement, checkout.CRMMissing} {
		inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
			c.says(&checkout.CRMRefusal{Code: code})
			w.opened(t, "ORDER-1")
			w.runFor(t, time.Minute)
			w.wantToday(t, code, "ORDER-1")
			if n := c.calls(); n != 1 {
				t.Errorf("%s: %d calls, want one", code, n)
			}
		})
	}
}

// Two calls overtake each other: the CRM refuses the older revision because of the newer one, which is ours. That is no trouble.
func TestANewerRevisionOfOurOwnIsNoTrouble(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		changed := false
		c.answers(func(_ context.Context, e checkout.Enrolment) error {
			if changed {
				return nil
			}
			changed = true
			w.change(t, e.Checkout.OrderID, func(*checkout.Checkout) {})
			return &checkout.CRMRefusal{Code: checkout.CRMAhead}
		})
		w.crashed(t, "KOWHAI", "ORDER-1")
		w.clock.forward(time.Minute)
		w.runFor(t, 5*time.Second)
		w.wantToday(t, "")
		if e := c.latest(t); e.Checkout.Revision != w.records(t)["ORDER-1"].Checkout.Revision {
			t.Errorf("the CRM has revision %d", e.Checkout.Revision)
		}
		w.wantNoReports(t)
	})
}

// A change that is stored while the CRM is told of the one before is told of too: the CRM has the latest in the end.
func TestTheLatestRevisionIsTold(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		o := w.opened(t, "ORDER-1")
		defer w.background(t)()
		c.answers(func(context.Context, checkout.Enrolment) error { time.Sleep(3 * time.Second); return nil })
		w.setUp(t, o.Token)
		time.Sleep(11 * time.Second) // the setup is being told
		go w.confirms(t, confirm(o))
		time.Sleep(10 * time.Second)
		e := c.latest(t)
		if e.Agreement == nil || w.jobs(t, "ORDER-1", checkout.JobSync)[0].State != checkout.JobDone {
			t.Errorf("the CRM has revision %d without an agreement", e.Checkout.Revision)
		}
	})
}

// Three changes within a moment cost one call.
func TestChangesThatFollowEachOtherAreOneCall(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		w.confirmed(t, "ORDER-1")
		c.calls()
		for _, m := range []checkout.MandateStatus{checkout.MandateSubmitted, checkout.MandateActive} {
			w.processor.set(mandate(m))
			w.notified(t, "MD-1")
			w.runFor(t, time.Second)
		}
		w.runFor(t, 15*time.Second)
		if e := c.latest(t); c.calls() != 1 || e.Checkout.Setup.Mandate != checkout.MandateActive {
			t.Errorf("the CRM has %s, want it active by one call", e.Checkout.Setup.Mandate)
		}
	})
}

// The CRM has what a student asked to be erased: that is erased there by hand, and never written again.
func TestAnErasedCheckoutIsNotTold(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		c.says(errors.New("connection reset"))
		w.opened(t, "ORDER-1")
		e := service.Eraser{Store: w.store, Environment: catalogue.Sandbox, By: "operator:Ana", Now: w.clock.now}
		of := w.records(t)["ORDER-1"].Checkout
		if err := e.Erase(t.Context(), of, checkout.Act{ID: "act_1"}, false); !errors.Is(err, checkout.ErrJobsWait) {
			t.Errorf("while the CRM is to be told: %v", err)
		}
		must(t, e.Erase(t.Context(), of, checkout.Act{ID: "act_1"}, true))
		c.answers(nil)
		c.calls()
		w.runFor(t, time.Minute)
		if j := w.jobs(t, "ORDER-1", checkout.JobSync)[0]; c.calls() != 0 || j.State != checkout.JobDropped {
			t.Errorf("the job is %s", j.State)
		}
	})
}

// Where the store is the record there is no job, and an operator's end leaves no job behind.
func TestWithoutACRMNothingIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.confirmed(t, "ORDER-1")
		if jobs := w.jobs(t, "ORDER-1", checkout.JobSync); len(jobs) > 0 {
			t.Errorf("jobs %+v", jobs)
		}
		must(t, w.withdraws(t, "ORDER-1"))
		w.runFor(t, 5*time.Second)
		if jobs := w.jobs(t, "ORDER-1", checkout.JobSync); len(jobs) != 1 || jobs[0].State != checkout.JobDropped {
			t.Errorf("jobs %+v, want one that was dropped", jobs)
		}
		synctest.Wait()
	})
}
