package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

const (
	sharedOrders = 8  // at a time
	asksEach     = 80 // of an order, until another takes its place
	readers      = 16 // clients that read everything back
)

// Run is the requests of clients about a few shared orders, and the history of each order.
type Run struct {
	began          time.Time
	clients        []*apiclient.Client // of each process
	answered, lost atomic.Int64

	mu  sync.Mutex
	all []*sharedOrder // in use now or earlier
	use [sharedOrders]*sharedOrder
}

// NewRun returns a run without requests. It has a client of each process, all on one store, whose transport makes an
// error of a 503.
func NewRun(clients []*apiclient.Client) *Run { return &Run{began: time.Now(), clients: clients} }

// Answered returns how many responses there were.
func (l *Run) Answered() int64 { return l.answered.Load() }

// Lost returns how many requests were without a response.
func (l *Run) Lost() int64 { return l.lost.Load() }

// Orders returns how many orders there were requests about.
func (l *Run) Orders() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// Ask sends a request of the numbered client: any request about any order to any process.
func (l *Run) Ask(t *testing.T, client int, rng *rand.Rand) {
	s := l.pick(rng)
	l.ask(t, client, s, l.clients[rng.IntN(len(l.clients))], s.choose(rng))
}

// sharedOrder is an order about which many clients send requests.
type sharedOrder struct {
	order string

	mu      sync.Mutex
	created sandbox.Response // a response with a setup pair, once there was one
	asked   int
	history []porcupine.Operation
}

// pick returns one of the orders in use.
func (l *Run) pick(rng *rand.Rand) *sharedOrder {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := &l.use[rng.IntN(sharedOrders)]
	if *at == nil || (*at).asked == asksEach {
		*at = &sharedOrder{order: fmt.Sprintf("SHARED-%05d", len(l.all))}
		l.all = append(l.all, *at)
	}
	(*at).asked++
	return *at
}

// intents are the plans that creates of one order ask for: the first that is stored wins.
func intents() [3]string {
	return [...]string{
		`{"payment_frequency": "Weekly", "first_payment_date": "2027-02-01"}`, // as in catalogueCreate
		`{"payment_frequency": "Weekly", "first_payment_date": "2027-03-01"}`,
		`{"payment_frequency": "Fortnightly", "first_payment_date": "2027-02-01"}`,
	}
}

// choose picks a request at random. Only a create makes sense before any response had the checkout.
func (s *sharedOrder) choose(rng *rand.Rand) request {
	plans := intents()
	percentile := rng.IntN(100)
	switch {
	case percentile < 20 || s.known().Status == 0:
		return request{toCreate, plans[rng.IntN(len(plans))]}
	case percentile < 45:
		return request{verb: toGet}
	case percentile < 55:
		return request{verb: toSetUp}
	}
	return request{verb: toConfirm}
}

// known returns a response that has the checkout's setup pair, or the zero response.
func (s *sharedOrder) known() sandbox.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created
}

// ask sends a request once, and records it with its response and their times.
func (l *Run) ask(t *testing.T, client int, s *sharedOrder, over *apiclient.Client, q request) {
	call := time.Since(l.began)
	r, err := s.send(t.Context(), over, q)
	switch {
	case errors.Is(err, errNotSent):
		return
	case err != nil && !apiclient.IsCut(err):
		t.Errorf("%s %s: %v", s.order, q.verb, err)
	}
	op := porcupine.Operation{ClientId: client, Input: q, Call: int64(call)}
	if err != nil || r.Status >= http.StatusInternalServerError {
		l.lost.Add(1)
		if q.verb == toGet {
			return // a lost get proves nothing and changes nothing
		}
		op.Output, op.Return = response{lost: true}, endOfTime
	} else {
		l.answered.Add(1)
		op.Output, op.Return = readResponse(r), int64(time.Since(l.began))
		if q.verb == toSetUp { // a process that asked the processor just before may not report it yet
			op.Return += int64(workload.ObservationLife)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = append(s.history, op)
	if r.String("direct_debit.token") != "" {
		s.created = r
	}
}

// errNotSent means that the request did not reach the program.
var errNotSent = errors.New("not sent")

// send sends one request.
func (s *sharedOrder) send(ctx context.Context, over *apiclient.Client, q request) (r sandbox.Response, err error) {
	known := s.known()
	switch q.verb {
	case toCreate:
		body := strings.Replace(sandbox.Order(sandbox.CatalogueCreate, s.order), intents()[0], q.intent, 1)
		r, err = over.Create(ctx, "KOWHAI", body)
	case toGet:
		r, err = over.Poll(ctx, known)
	case toConfirm:
		r, err = over.Confirm(ctx, known, known.ConfirmBody())
	case toSetUp:
		return sandbox.Response{Status: http.StatusOK}, setUp(ctx, over, known.SetupURL())
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		err = errNotSent
	}
	return r, err
}

// setUp fills in the payer's forms until a page has no form. Another payer of the same order may be quicker.
func setUp(ctx context.Context, over *apiclient.Client, setupURL string) error {
	payer := apiclient.NewBrowser(over.HTTP)
	p, err := payer.Open(ctx, http.MethodGet, setupURL, nil)
	if err != nil && apiclient.IsCut(err) {
		return errNotSent // a page that is opened changes nothing
	}
	for range 2 {
		if err == nil && p.Form != nil {
			p, err = payer.Submit(ctx, p)
		}
	}
	if err == nil && p.Form != nil { // this process showed the page to another payer just before the setup
		<-time.After(workload.ObservationLife)
		p, err = payer.Open(ctx, http.MethodGet, setupURL, nil)
	}
	if err == nil && p.Form != nil {
		err = fmt.Errorf("page %q has a third form", p.Heading)
	}
	return err
}

// readResponse returns what a response reports of its order.
func readResponse(r sandbox.Response) response {
	a := response{status: r.Status, code: r.String("error.code"),
		first:     r.At("idempotent_replay") == false || r.At("already_confirmed") == false,
		setUp:     r.SetupComplete(),
		confirmed: r.At("checkout.status") == "confirmed"}
	a.facts = facts{factCheckout: r.String("checkout.checkout_id"), factContact: r.String("records.contact_id"),
		factOpportunity: r.String("records.opportunity_id"), factDDA: r.String("direct_debit.dda_id"),
		factPair: r.String("direct_debit.token"), factAgreement: r.String("agreement.id"), factNumber: r.String("agreement.number")}
	if a.facts[factCheckout] == "" {
		a.facts[factCheckout] = r.String("checkout.id") // as a confirm calls it
	}
	return a
}

// ReadBack sends requests about every order once more after the last fault: what was acknowledged must still be
// there.
func (l *Run) ReadBack(t *testing.T) {
	t.Helper()
	before := l.lost.Load()
	var clients sync.WaitGroup
	for id := range readers {
		clients.Go(func() {
			for i := id; i < len(l.all); i += readers {
				s, over := l.all[i], l.clients[i%len(l.clients)]
				for _, intent := range intents() {
					l.ask(t, id, s, over, request{toCreate, intent})
				}
				l.ask(t, id, s, over, request{verb: toGet})
				l.ask(t, id, s, over, request{verb: toConfirm})
			}
		})
	}
	clients.Wait()
	if lost := l.lost.Load() - before; lost != 0 {
		t.Errorf("after the last fault %d responses were lost", lost)
	}
}

// Check checks the history of each order against the model, when no client sends requests any more.
func (l *Run) Check(t *testing.T) {
	t.Helper()
	began, seen := time.Now(), make(map[string]int)
	for _, s := range l.all {
		switch checkHistory(s.history) {
		case porcupine.Illegal:
			t.Errorf("the history of %s is not linearizable:\n%s", s.order, formatHistory(s.history))
		case porcupine.Unknown:
			t.Errorf("void: the search has no result for %s after a minute:\n%s", s.order, formatHistory(s.history))
		}
		for _, op := range s.history {
			d := exchangeOf(op)
			seen[fmt.Sprint(d.verb, " ", d.status)]++
		}
	}
	t.Logf("responses by status, 0 where they were lost: %v; checked in %v", seen, time.Since(began))
	for _, kind := range []string{"create 201", "create 200", "create 409", "get 200", "set up 200", "confirm 409", "confirm 200"} {
		if seen[kind] == 0 {
			t.Errorf("void: there was no %s", kind)
		}
	}
}
