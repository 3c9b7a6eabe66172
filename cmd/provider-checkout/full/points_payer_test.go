package full_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// payer is one enrolment: its provider's backend, and the payer's browser.
type payer struct {
	*pointWorld
	enrolment *workload.Enrolment
	backend   *apiclient.Client
	browser   *http.Client
	tries     int      // the payer needs; the mandates of all but the last are cancelled
	pages     []string // at GoCardless, to which the browser was led; the latest is open
	done      int      // tries that the payer has finished there
	dead      int      // tries whose mandate was cancelled
	terms     string   // that the setup page showed first
	ends      string   // as of pointSuite
	command   func(args ...string) string
}

func newPayer(w *pointWorld, tries int) *payer {
	p := &payer{pointWorld: w, tries: tries, enrolment: w.Enrolments.Begin(), backend: apiclient.New(w.front.URL, w.Keys)}
	p.browser = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p.backend.HTTP.Transport = p.browser.Transport
	return p
}

// payerStep is a part of a payer's way. It may be taken again at any time: send sends the same request as before, and what
// note makes of the answer contradicts no earlier one.
type payerStep struct {
	name string
	send func(context.Context) (note func() error, err error)
}

// cancelStep is the step in which the mandate of the first try ends.
const cancelStep = "cancel"

// endStep is the step in which the mandate ends after the confirm.
const endStep = "end"

// Other ends of a payer's way: the operator withdraws the agreement, or the provider cancels the checkout before the confirm.
const (
	withdrawStep       = "withdraw"
	cancelCheckoutStep = "cancel the checkout"
)

// lastStep is the step in which the way ends.
func (p *payer) lastStep() string { return cmp.Or(p.ends, endStep) }

// way is the whole of a payer's way.
func (p *payer) way() []payerStep {
	way := []payerStep{{"create", p.create}}
	for try := 1; try <= p.tries; try++ {
		suffix := ""
		if try > 1 {
			suffix = fmt.Sprint(" try ", try)
		}
		if try > 1 {
			way = append(way, payerStep{cancelStep, happensHere(func() error { return p.cancel(try - 1) })}, payerStep{"poll before" + suffix, p.poll})
		}
		way = append(way, payerStep{"begin" + suffix, p.begin}, payerStep{"notify" + suffix, happensHere(func() error { return p.complete(try) })},
			payerStep{"poll" + suffix, p.poll}, payerStep{"return" + suffix, p.comeBack})
	}
	if p.ends == cancelCheckoutStep {
		for i, s := range way {
			way[i].send = p.unlessCancelled(s.send)
		}
		return append(way, payerStep{p.ends, p.cancelCheckout}, payerStep{"poll after the end", p.pollEnd("cancelled", "cancelled")})
	}
	way = append(way, payerStep{"confirm", p.confirm})
	if p.ends == withdrawStep {
		return append(way, payerStep{p.ends, happensHere(p.withdraw)}, payerStep{"poll after the end", p.pollEnd("confirmed", "cancelled")})
	}
	return append(way, payerStep{endStep, happensHere(p.end)}, payerStep{"poll after the end", p.pollEnd("confirmed", "failed")})
}

// unlessCancelled returns the sending of a step whose answer says nothing any more once the checkout is cancelled.
func (p *payer) unlessCancelled(send func(context.Context) (func() error, error)) func(context.Context) (func() error, error) {
	return func(ctx context.Context) (func() error, error) {
		note, err := send(ctx)
		if err != nil {
			return note, err
		}
		return func() error {
			err := note()
			if err == nil || p.enrolment.Created.Status == 0 {
				return err
			}
			polled, failed := p.backend.Poll(ctx, p.enrolment.Created)
			if failed == nil && polled.String("checkout.status") == "cancelled" {
				return nil
			}
			return err
		}, nil
	}
}

// withdraw has the operator withdraw the agreement, and waits until a process has seen that.
func (p *payer) withdraw() error {
	p.bank.SetWebhook(p.front.URL+gocardless.WebhookPath, bankSecret)
	p.command("withdraw", p.enrolment.Agreement[1], "--ground", "error", "--reason", "a test")
	p.enrolment.Withdrawn = true
	select {
	case <-p.gate.struck:
	case <-time.After(idleFor / 2):
	}
	return nil
}

// cancelCheckout has the provider cancel the checkout.
func (p *payer) cancelCheckout(ctx context.Context) (func() error, error) {
	p.bank.SetWebhook(p.front.URL+gocardless.WebhookPath, bankSecret)
	r, err := p.backend.Call(ctx, p.enrolment.Provider, http.MethodPost, p.enrolment.Created.CheckoutPath()+"/cancel", `{"reason": "a test"}`)
	return unlessBusy(r, func() error {
		if r.Status != http.StatusOK || r.At("checkout.status") != "cancelled" {
			return fmt.Errorf("cancel answers %d %s", r.Status, r.Body)
		}
		p.enrolment.Cancelled = true
		return nil
	}), err
}

// end has the mandate end after the confirm, which GoCardless notifies.
func (p *payer) end() error {
	if p.enrolment.Ended {
		return nil
	}
	request, err := p.latestRequest()
	if err == nil {
		p.bank.SetWebhook(p.front.URL+gocardless.WebhookPath, bankSecret)
		err = p.bank.MoveMandate(request.Text("id"), "failed", "DISHONOUR-AC04")
	}
	p.enrolment.Ended = err == nil
	return err
}

// pollEnd asks for the checkout, which must say that it has a status, and that the mandate ended.
func (p *payer) pollEnd(status, mandate string) func(context.Context) (func() error, error) {
	return func(ctx context.Context) (func() error, error) {
		r, err := p.backend.Call(ctx, p.enrolment.Provider, http.MethodGet, p.enrolment.Created.CheckoutPath(), "")
		return unlessBusy(r, func() error {
			switch {
			case r.Status != http.StatusOK || r.At("checkout.status") != status:
				return fmt.Errorf("poll answers %d %s", r.Status, r.Body)
			case r.At("direct_debit.mandate_status") != mandate:
				return errNotYet
			}
			return nil
		}), err
	}
}

// happensHere returns the sending of a step that sends the process nothing.
func happensHere(happens func() error) func(context.Context) (func() error, error) {
	return func(context.Context) (func() error, error) { return happens, nil }
}

var errNotYet = errors.New("the service has not seen yet what is so at GoCardless")

// triedAgain reports whether a step is to be taken again after this error.
func triedAgain(err error) bool {
	return apiclient.IsCut(err) || errors.Is(err, errBusy) || errors.Is(err, errNotYet)
}

// unlessBusy returns note, or what notes that an answer says nothing.
func unlessBusy(r sandbox.Response, note func() error) func() error {
	if r.Status == http.StatusServiceUnavailable {
		return func() error { return errBusy }
	}
	return note
}

func (p *payer) create(ctx context.Context) (func() error, error) {
	r, err := p.enrolment.SendCreate(ctx, p.backend)
	return unlessBusy(r, func() error { return p.enrolment.NoteCreate(r) }), err
}

// begin sends the form of the setup page, which leads to GoCardless, or back if there is nothing to do there.
func (p *payer) begin(ctx context.Context) (func() error, error) {
	if p.terms == "" {
		query := url.Values{"token": {p.enrolment.Created.String("direct_debit.token")}}.Encode()
		open, err := p.browse(ctx, http.MethodGet, p.front.URL+sandbox.SetupPagePath+"?"+query, nil)
		if err != nil || open.Status != http.StatusOK {
			return unlessBusy(open, func() error { return fmt.Errorf("the setup page answers %d: %s", open.Status, open.Body) }), err
		}
		p.terms = sandbox.ShownTerms(open)
	}
	form := url.Values{"token": {p.enrolment.Created.String("direct_debit.token")}, "terms": {p.terms}}
	r, err := p.browse(ctx, http.MethodPost, p.front.URL+sandbox.SetupPagePath, form)
	return unlessBusy(r, func() error {
		page := r.Header.Get("Location")
		switch {
		case r.Status != http.StatusSeeOther:
			return fmt.Errorf("begin answers %d to %q: %s", r.Status, page, r.Body)
		case strings.HasPrefix(page, p.api):
			p.pages = append(p.pages, page)
		case p.done == p.dead: // the store was busy, and what it had before said that there is a mandate
			return errNotYet
		}
		return nil
	}), err
}

// complete has the payer finish a try at GoCardless, which notifies the service.
func (p *payer) complete(try int) error {
	if p.done >= try {
		return nil
	}
	p.bank.SetWebhook(p.front.URL+gocardless.WebhookPath, bankSecret)
	err := errors.New("begin has led to no page of GoCardless")
	for _, page := range slices.Backward(p.pages) {
		if _, err = p.bank.Complete(page, gocardlesstest.Payer{}); err == nil {
			p.done = try
			break
		}
	}
	return err
}

// cancel has the payer's bank cancel the mandate of a try, which GoCardless notifies too.
func (p *payer) cancel(try int) error {
	if p.dead >= try {
		return nil
	}
	request, err := p.latestRequest()
	if err == nil {
		p.bank.SetWebhook(p.front.URL+gocardless.WebhookPath, bankSecret)
		err = p.bank.MoveMandate(request.Text("id"), "cancelled", "DISHONOUR-AG01")
	}
	if err == nil {
		p.dead = try
	}
	return err
}

// poll asks for the checkout, which must say what is so.
func (p *payer) poll(ctx context.Context) (func() error, error) {
	r, err := p.backend.Call(ctx, p.enrolment.Provider, http.MethodGet, p.enrolment.Created.CheckoutPath(), "")
	return unlessBusy(r, func() error {
		switch {
		case r.Status != http.StatusOK:
			return fmt.Errorf("poll answers %d %s", r.Status, r.Body)
		case r.At("direct_debit.setup_complete") != (p.done > p.dead):
			return errNotYet
		}
		return nil
	}), err
}

// comeBack opens the address to which GoCardless' page leads at its end.
func (p *payer) comeBack(ctx context.Context) (func() error, error) {
	r, err := p.browse(ctx, http.MethodGet, sandbox.ReturnURL(p.enrolment.Created.SetupURL()), nil)
	return unlessBusy(r, func() error {
		if r.Status != http.StatusOK && r.Status != http.StatusSeeOther {
			return fmt.Errorf("the way back answers %d %s", r.Status, r.Body)
		}
		return nil
	}), err
}

func (p *payer) confirm(ctx context.Context) (func() error, error) {
	created := p.enrolment.Created
	r, err := p.backend.Call(ctx, p.enrolment.Provider, http.MethodPost, created.CheckoutPath()+"/confirm", created.ConfirmBody())
	return unlessBusy(r, func() error { return p.enrolment.NoteConfirm(r) }), err
}

// browse sends a request of the browser, once, and follows no redirect.
func (p *payer) browse(ctx context.Context, method, address string, form url.Values) (sandbox.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return sandbox.Response{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return apiclient.Send(p.browser.Do, req)
}

// lateAnswer is the answer to a request that is still under way.
type lateAnswer chan sent

// send sends the request of a step.
func (p *payer) send(t *testing.T, s payerStep) lateAnswer {
	answer := make(lateAnswer, 1)
	go func() {
		note, err := s.send(t.Context())
		answer <- sent{note, err}
	}()
	return answer
}

// walk goes the whole way, and rests after each step until the process has finished what that led to. It ends early where
// the gate strikes, and returns the request that was under way then.
func (p *payer) walk(t *testing.T) (under lateAnswer) {
	t.Helper()
	for _, s := range p.way() {
		if p.outside != nil && s.name == p.lastStep() { // so that what is sent then belongs to the end
			p.delivered(t)
			p.gate.quiet(t, stillFor, nil)
		}
		p.gate.enter(s.name)
		if strings.HasPrefix(s.name, "begin") { // of which GoCardless notifies what changes nothing, in one message or several
			p.bank.SetWebhook("", "")
		}
		p.take(t, s, func(answer lateAnswer) (got sent, ok bool) {
			select {
			case got = <-answer:
				return got, true
			case <-p.gate.struck:
				under = answer
				return sent{}, false
			}
		})
		if under == nil {
			p.rest(t, s.name)
		}
		if p.gate.hasStruck() {
			break
		}
	}
	p.gate.enter("")
	return under
}

// rest waits until all notifications have arrived and the process has finished what a step led to, or is struck.
func (p *payer) rest(t *testing.T, step string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		select {
		case <-p.gate.struck:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := p.bank.Flush(ctx); err != nil && !p.gate.hasStruck() {
		t.Fatalf("the notifications do not arrive: %v", err)
	}
	still := stillFor
	if step == cancelStep || step == p.lastStep() || strings.HasPrefix(step, "notify") {
		still = stillForStored
	}
	p.gate.quiet(t, still, p.gate.struck)
}

// finish goes the whole way, each step as often as it must be. Before the step called at it calls halfway.
func (p *payer) finish(t *testing.T, at string, halfway func()) {
	t.Helper()
	for _, s := range p.way() {
		if s.name == at {
			halfway()
		}
		p.take(t, s, func(answer lateAnswer) (sent, bool) { return <-answer, true })
	}
}

// take takes a step until it succeeds, or await has no answer.
func (p *payer) take(t *testing.T, s payerStep, await func(lateAnswer) (sent, bool)) {
	t.Helper()
	for limit := time.Now().Add(patience); ; <-time.After(calm) {
		got, ok := await(p.send(t, s))
		if !ok {
			return
		}
		err := got.settle()
		switch {
		case err == nil:
			return
		case !triedAgain(err):
			t.Fatalf("%s: %v", s.name, err)
		case time.Now().After(limit):
			t.Fatalf("%s: still %v after %v", s.name, err, patience)
		}
	}
}
