package full_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// newClient returns a client of the running service.
func (w *stormWorld) newClient(t *testing.T) *apiclient.Client {
	c := apiclient.New(w.url, w.keys)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	return c
}

const (
	patientFor = 20 * time.Second      // for which a client waits for an answer
	impatient  = 50 * time.Millisecond // after which some hang up
)

// clientHabit is a client's reaction when its first try has no answer.
type clientHabit int

const (
	retriesAlways  clientHabit = iota // it sends the same request again, after a while
	hangsUp                           // it waits for the first answer too short a time, and then retries
	silentOnCreate                    // it hangs up on its first create, and is not heard of until it comes back
	silentOnConfirm
	contradictsItself // it sends another intent under the same order, and confirms another direct debit, before it confirms
)

// errSilent: the client is not heard of any more.
var errSilent = errors.New("the client went silent")

// enrolment is one order as its provider knows it. One goroutine at a time has it.
type enrolment struct {
	workload.Enrolment
	first, last string // names of the student
	email       string // of a family, which has several students
	holder      string // of the payer's account
	habit       clientHabit
	limit       int // tries of one request; 0 for no limit

	tries, most int    // of all requests, and the most of one
	setUp       string // the checkout for which the payer has done the bank setup
	restored    bool   // the store was, to a moment before some of this
}

// enrolMany returns enrolments at both providers, no two of which have the same student or figures.
func enrolMany(n, limit int, habitOf func(int) clientHabit) (all []*enrolment) {
	for i := range n {
		e := &enrolment{Enrolment: workload.Enrolment{Provider: "KOWHAI", Order: fmt.Sprintf("ENROL-%06d", i)},
			first: "Student", last: fmt.Sprintf("Number %d", i),
			email: fmt.Sprintf("family%d@students.example.ac.nz", i/3), holder: fmt.Sprintf("PAYER NUMBER %d", i),
			limit: limit, habit: habitOf(i)}
		student := fmt.Sprintf(`"student": {"first_name": %q, "last_name": %q, "email": %q}`, e.first, e.last, e.email)
		if i%2 == 0 {
			e.Body = fmt.Sprintf(`{"provider": {"provider_code": "KOWHAI", "provider_order_id": %q}, %s,
				"course": {"course_code": "NZDIP"}, "plan": {"payment_frequency": %q, "first_payment_date": "2027-02-01"}}`,
				e.Order, student, []string{"Weekly", "Fortnightly"}[i/2%2])
		} else {
			e.Provider = "TUI"
			part := 333_00 + i%1000 // cents of an instalment
			dollars := func(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
			e.Body = fmt.Sprintf(`{"provider": {"provider_code": "TUI", "provider_order_id": %q}, %s,
				"course": {"course_name": "Certificate %d"},
				"pricing": {"course_price": %s, "amount_to_finance": %s, "upfront_payment": 250.00},
				"plan": {"payment_type": "interest_free_payment_plan", "payment_frequency": "Weekly", "number_of_instalments": 3,
					"instalment_amount": %s, "final_instalment_amount": %s, "first_payment_date": "2027-02-01"}}`,
				e.Order, student, i, dollars(3*part+250_00), dollars(3*part), dollars(part), dollars(part))
		}
		all = append(all, e)
	}
	return all
}

// complete does what is left to do, from the create to the confirm and a poll. The error is errSilent, or says what was
// answered that should not have been.
func (e *enrolment) complete(ctx context.Context, c *apiclient.Client) error {
	for _, step := range []func(context.Context, *apiclient.Client) error{e.create, e.contradict, e.confirm} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	r, err := c.Poll(ctx, e.Created)
	if err == nil && (r.Status != http.StatusOK || r.String("checkout.status") != "confirmed" ||
		r.String("checkout.checkout_id") != e.IDs[0] || r.String("direct_debit.dda_id") != e.IDs[3]) {
		err = e.Wrong("a poll", r)
	}
	return err
}

// contradict sends two requests that contradict the enrolment, and must be refused, if that is the client's habit.
func (e *enrolment) contradict(ctx context.Context, c *apiclient.Client) error {
	if e.habit != contradictsItself {
		return nil
	}
	for _, call := range []func(context.Context) (sandbox.Response, error){
		func(ctx context.Context) (sandbox.Response, error) {
			return c.Create(ctx, e.Provider, strings.ReplaceAll(e.Body, "2027-02-01", "2027-03-01"))
		},
		func(ctx context.Context) (sandbox.Response, error) {
			return c.Confirm(ctx, e.Created, strings.ReplaceAll(e.Created.ConfirmBody(), e.IDs[3], "another"))
		},
	} {
		r, err := e.send(ctx, silentOnCreate, call)
		if err != nil {
			return err
		}
		if r.Status != http.StatusConflict {
			return e.Wrong("a contradiction", r)
		}
	}
	return nil
}

// create sends the create until it is answered.
func (e *enrolment) create(ctx context.Context, c *apiclient.Client) error {
	r, err := e.send(ctx, silentOnCreate, func(ctx context.Context) (sandbox.Response, error) { return e.SendCreate(ctx, c) })
	if err != nil {
		return err
	}
	return e.NoteCreate(r)
}

// confirm has the payer set up the direct debit, and sends the confirm until it is answered.
func (e *enrolment) confirm(ctx context.Context, c *apiclient.Client) error {
	if e.setUp != e.IDs[0] {
		if err := e.pay(ctx, c); err != nil {
			return err
		}
	}
	r, err := e.send(ctx, silentOnConfirm, func(ctx context.Context) (sandbox.Response, error) {
		return c.Confirm(ctx, e.Created, e.Created.ConfirmBody())
	})
	if err != nil {
		return err
	}
	return e.NoteConfirm(r)
}

// pay has the payer go through the pages, unless the setup is done.
func (e *enrolment) pay(ctx context.Context, c *apiclient.Client) error {
	if e.restored {
		r, err := c.Poll(ctx, e.Created)
		if err != nil || r.SetupComplete() {
			return err
		}
	}
	payer := apiclient.NewBrowser(c.HTTP)
	payer.Holder = e.holder
	err := payer.SetUp(ctx, e.Created.SetupURL())
	if errors.Is(err, apiclient.ErrOpenAgain) {
		err = e.seen(ctx, c)
	}
	if err == nil {
		e.setUp = e.IDs[0]
	}
	return err
}

// seen polls until the service has seen the setup, which it could not look at when the payer returned.
func (e *enrolment) seen(ctx context.Context, c *apiclient.Client) error {
	for range 60 {
		r, err := c.Poll(ctx, e.Created)
		if err != nil || r.SetupComplete() {
			return err
		}
		<-time.After(workload.ObservationLife)
	}
	return fmt.Errorf("%s %s: the setup is not seen in 60 polls", e.Provider, e.Order)
}

// send sends a request until there is an answer that is no 503, as a good client does: the same request again, after the
// time that the answer says, or, without an answer, a little longer each time.
func (e *enrolment) send(ctx context.Context, silent clientHabit, call func(context.Context) (sandbox.Response, error)) (sandbox.Response, error) {
	for try := 1; ; try++ {
		e.tries++
		e.most = max(e.most, try)
		wait := patientFor
		if try == 1 && (e.habit == silent || e.habit == hangsUp) {
			wait = impatient
		}
		trying, cancel := context.WithTimeout(ctx, wait)
		r, err := call(trying)
		cancel()
		after, noNumber := strconv.Atoi(r.Header.Get("Retry-After"))
		switch {
		case err == nil && r.Status != http.StatusServiceUnavailable:
			return r, nil
		case err != nil && (ctx.Err() != nil || !apiclient.IsCut(err) && !errors.Is(err, context.DeadlineExceeded)):
			return r, err
		case err == nil && (noNumber != nil || after <= 0):
			return r, e.Wrong("without Retry-After, a request", r)
		case e.habit == silent:
			return r, errSilent
		case try == e.limit:
			return r, fmt.Errorf("%s %s: no success in %d tries: the last is %d %s %v", e.Provider, e.Order, try, r.Status, r.Body, err)
		}
		<-time.After(max(time.Duration(after)*time.Second, min(time.Duration(try)*400*time.Millisecond, 4*time.Second)))
	}
}

// togetherEnrolments does work with each enrolment, some at a time, and reports its errors except the errors of silent clients.
func togetherEnrolments(t *testing.T, atOnce int, all []*enrolment, work func(*enrolment) error) (silent int) {
	t.Helper()
	var mu sync.Mutex
	wrong := 0
	together(all, atOnce, func(e *enrolment) {
		err := work(e)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case errors.Is(err, errSilent):
			silent++
		case err != nil:
			if wrong++; wrong <= 10 {
				t.Error(err)
			}
		}
	})
	if wrong > 10 {
		t.Errorf("%d enrolments in all went wrong", wrong)
	}
	return silent
}
