package full_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// stormClient is the backends of the providers, and the browsers of their payers, which follow no redirect.
type stormClient struct {
	*apiclient.Client
	base  string
	pages *http.Client
}

// newClient returns a client of the running service.
func (w *stormWorld) newClient(t *testing.T) *stormClient {
	c := &stormClient{Client: apiclient.New(w.url, w.keys), base: w.url}
	c.pages = &http.Client{Transport: c.HTTP.Transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
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
	provider, order string
	first, last     string // names of the student
	email           string // of a family, which has several students
	holder          string // of the payer's account
	body            string // of the create
	habit           clientHabit
	limit           int // tries of one request; 0 for no limit

	tries, most int // of all requests, and the most of one
	ids         [4]string
	created     sandbox.Response
	setUp       string    // the checkout for which the payer has done the bank setup
	agreement   [2]string // its id and number
	opened      int       // creates that were answered as the first
	restored    bool      // the store was, to a moment before some of this
	confirmed   int       // confirms likewise
}

// enrolMany returns enrolments at both providers, no two of which have the same student or figures.
func enrolMany(n, limit int, habitOf func(int) clientHabit) (all []*enrolment) {
	for i := range n {
		e := &enrolment{provider: "KOWHAI", order: fmt.Sprintf("ENROL-%06d", i), first: "Student", last: fmt.Sprintf("Number %d", i),
			email: fmt.Sprintf("family%d@students.example.ac.nz", i/3), holder: fmt.Sprintf("PAYER NUMBER %d", i),
			limit: limit, habit: habitOf(i)}
		student := fmt.Sprintf(`"student": {"first_name": %q, "last_name": %q, "email": %q}`, e.first, e.last, e.email)
		if i%2 == 0 {
			e.body = fmt.Sprintf(`{"provider": {"provider_code": "KOWHAI", "provider_order_id": %q}, %s,
				"course": {"course_code": "NZDIP"}, "plan": {"payment_frequency": %q, "first_payment_date": "2027-02-01"}}`,
				e.order, student, []string{"Weekly", "Fortnightly"}[i/2%2])
		} else {
			e.provider = "TUI"
			part := 333_00 + i%1000 // cents of an instalment
			dollars := func(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
			e.body = fmt.Sprintf(`{"provider": {"provider_code": "TUI", "provider_order_id": %q}, %s,
				"course": {"course_name": "Certificate %d"},
				"pricing": {"course_price": %s, "amount_to_finance": %s, "upfront_payment": 250.00},
				"plan": {"payment_type": "interest_free_payment_plan", "payment_frequency": "Weekly", "number_of_instalments": 3,
					"instalment_amount": %s, "final_instalment_amount": %s, "first_payment_date": "2027-02-01"}}`,
				e.order, student, i, dollars(3*part+250_00), dollars(3*part), dollars(part), dollars(part))
		}
		all = append(all, e)
	}
	return all
}

// complete does what is left to do, from the create to the confirm and a poll. The error is errSilent, or says what was
// answered that should not have been.
func (e *enrolment) complete(ctx context.Context, c *stormClient) error {
	if err := e.create(ctx, c); err != nil {
		return err
	}
	if e.habit == contradictsItself {
		if err := e.contradict(ctx, c); err != nil {
			return err
		}
	}
	if err := e.confirm(ctx, c); err != nil {
		return err
	}
	r, err := c.Call(ctx, e.provider, http.MethodGet, e.created.CheckoutPath(), "")
	if err == nil && (r.Status != http.StatusOK || r.String("checkout.status") != "confirmed" ||
		r.String("checkout.checkout_id") != e.ids[0] || r.String("direct_debit.dda_id") != e.ids[3]) {
		err = e.wrong("a poll", r)
	}
	return err
}

// contradict sends two requests that contradict the enrolment, and must be refused.
func (e *enrolment) contradict(ctx context.Context, c *stormClient) error {
	confirm := strings.ReplaceAll(e.created.ConfirmBody(), e.ids[3], "another")
	for path, body := range map[string]string{"": strings.ReplaceAll(e.body, "2027-02-01", "2027-03-01"), "/" + e.ids[0] + "/confirm": confirm} {
		r, err := e.send(ctx, silentOnCreate, func(ctx context.Context) (sandbox.Response, error) {
			return c.Call(ctx, e.provider, http.MethodPost, "/v1/provider-checkouts"+path, body)
		})
		if err != nil {
			return err
		}
		if r.Status != http.StatusConflict {
			return e.wrong("a contradiction", r)
		}
	}
	return nil
}

// idsOf returns the ids of the checkout and of its records in an answer.
func idsOf(r sandbox.Response) [4]string {
	return [4]string{r.String("checkout.checkout_id"), r.String("records.contact_id"), r.String("records.opportunity_id"),
		r.String("direct_debit.dda_id")}
}

// create sends the create until it is answered.
func (e *enrolment) create(ctx context.Context, c *stormClient) error {
	r, err := e.send(ctx, silentOnCreate, func(ctx context.Context) (sandbox.Response, error) {
		return c.Call(ctx, e.provider, http.MethodPost, "/v1/provider-checkouts", e.body)
	})
	if err != nil {
		return err
	}
	if r.Status == http.StatusCreated && r.At("idempotent_replay") == false {
		e.opened++
	} else if r.Status != http.StatusOK || r.At("idempotent_replay") != true {
		return e.wrong("a create", r)
	}
	if e.ids == [4]string{} {
		e.ids = idsOf(r)
	}
	if idsOf(r) != e.ids || e.opened > 1 {
		return e.wrong(fmt.Sprintf("has the ids %q, and a create", e.ids), r)
	}
	if r.String("direct_debit.token") != "" { // a confirmed checkout has no token
		e.created = r
	}
	return nil
}

// confirm has the payer set up the direct debit, and sends the confirm until it is answered.
func (e *enrolment) confirm(ctx context.Context, c *stormClient) error {
	if id := e.ids[0]; e.setUp != id {
		if err := e.pay(ctx, c); err != nil {
			return err
		}
		e.setUp = id
	}
	r, err := e.send(ctx, silentOnConfirm, func(ctx context.Context) (sandbox.Response, error) {
		return c.Call(ctx, e.provider, http.MethodPost, e.created.CheckoutPath()+"/confirm", e.created.ConfirmBody())
	})
	if err != nil {
		return err
	}
	got := [2]string{r.String("agreement.id"), r.String("agreement.number")}
	if e.agreement == [2]string{} {
		e.agreement = got
	}
	if r.At("already_confirmed") == false {
		e.confirmed++
	}
	if r.Status != http.StatusOK || got != e.agreement || got[0] == "" || got[1] == "" || e.confirmed > 1 ||
		r.At("agreement.pdf_generated") != true {
		return e.wrong(fmt.Sprintf("has the agreement %q, and a confirm", e.agreement), r)
	}
	return nil
}

// pay sends the forms of the setup page and of the fake processor, unless the setup is done.
func (e *enrolment) pay(ctx context.Context, c *stormClient) error {
	if e.restored {
		r, err := c.Call(ctx, e.provider, http.MethodGet, e.created.CheckoutPath(), "")
		if err != nil || r.At("direct_debit.setup_complete") == true {
			return err
		}
	}
	r, err := c.form(ctx, c.base+sandbox.SetupPagePath, url.Values{"token": {e.created.String("direct_debit.token")}})
	at := r.Header.Get("Location")
	if err == nil && (r.Status != http.StatusSeeOther || !strings.Contains(at, sandbox.BankFormPath)) {
		return e.wrong("the setup page's form", r)
	}
	if err == nil {
		r, err = c.form(ctx, at, url.Values{"account_holder_name": {e.holder}, "account_number": {"01-0902-0068389-00"},
			"authority_confirmed": {"yes"}})
	}
	if err == nil && r.Status != http.StatusSeeOther {
		return e.wrong("the processor's form", r)
	}
	return err
}

// form sends a form.
func (c *stormClient) form(ctx context.Context, address string, values url.Values) (sandbox.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(values.Encode()))
	if err != nil {
		return sandbox.Response{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return apiclient.Send(c.pages.Do, req)
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
			return r, e.wrong("without Retry-After, a request", r)
		case e.habit == silent:
			return r, errSilent
		case try == e.limit:
			return r, fmt.Errorf("%s %s: no success in %d tries: the last is %d %s %v", e.provider, e.order, try, r.Status, r.Body, err)
		}
		<-time.After(max(time.Duration(after)*time.Second, min(time.Duration(try)*400*time.Millisecond, 4*time.Second)))
	}
}

func (e *enrolment) wrong(what string, r sandbox.Response) error {
	return fmt.Errorf("%s %s: %s answers %d %s", e.provider, e.order, what, r.Status, r.Body)
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
