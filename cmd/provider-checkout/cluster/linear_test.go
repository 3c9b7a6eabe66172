package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/provider-checkout/provider-checkout/adapters/postgrestest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

const (
	clientsEach  = 16 // for each process
	sharedOrders = 8  // at a time
	asksEach     = 80 // of an order, until another takes its place
)

// Clients send requests about a few shared orders to random processes: competing creates, gets, the payer's
// setup, confirms and repeated confirms. Processes are killed meanwhile. The history of each order must be
// linearizable: one process that handles one request at a time could have given the same responses.
func (b suite) isLinearizable(t *testing.T) {
	runs, length := linearFigures(t)
	for n := range runs {
		t.Run(fmt.Sprintf("run %d of %v", n+1, length), func(t *testing.T) { b.isLinearizableFor(t, length) })
	}
}

// linearFigures returns the number of runs and their length. PROVIDER_CHECKOUT_TEST_LINEAR overrides both: 10x20s.
func linearFigures(t *testing.T) (runs int, length time.Duration) {
	t.Helper()
	runs, length = full(100, 1), time.Duration(full(60, 5))*time.Second
	text := os.Getenv("PROVIDER_CHECKOUT_TEST_LINEAR")
	if text == "" {
		return runs, length
	}
	count, each, _ := strings.Cut(text, "x")
	runs, countErr := strconv.Atoi(count)
	length, lengthErr := time.ParseDuration(each)
	if err := errors.Join(countErr, lengthErr); err != nil {
		t.Fatalf("PROVIDER_CHECKOUT_TEST_LINEAR: %v", err)
	}
	return runs, length
}

func (b suite) isLinearizableFor(t *testing.T, length time.Duration) {
	c := newCluster(t, b, postgrestest.URL(t))
	c.Verdicts.AcceptAll = true // with a slow receiver there are few requests
	l := &linearRun{began: time.Now()}
	for i := range clusterSize {
		l.backends = append(l.backends, c.newBackend(c.only(i)))
	}
	end := l.began.Add(length)
	var clients sync.WaitGroup
	defer clients.Wait()
	for id := range clusterSize * clientsEach {
		rng := rand.New(rand.NewPCG(c.Rand.Uint64(), 0))
		clients.Go(func() {
			for time.Now().Before(end) {
				s := l.pick(rng)
				l.ask(t, id, s, l.backends[rng.IntN(clusterSize)], s.choose(rng))
			}
		})
	}
	kills := c.killRepeatedly(t, end)
	clients.Wait()
	rate, lost := float64(l.answered.Load())/time.Since(l.began).Seconds(), l.lost.Load()
	l.readBack(t)
	c.stop(t)
	l.checkHistories(t)
	t.Logf("%.0f responses a second about %d orders; %d kills, %d responses were lost", rate, len(l.all), kills, lost)
	if least := full(100, 40); rate < float64(least) || lost == 0 {
		t.Errorf("void: there were %.0f responses a second, want %d; %d were lost, want at least one", rate, least, lost)
	}
}

// killRepeatedly kills processes and starts them again, until the end.
func (c *cluster) killRepeatedly(t *testing.T, end time.Time) (kills int) {
	t.Helper()
	for ; ; kills++ {
		<-time.After(workload.Within(c.Rand, 200*time.Millisecond, 1200*time.Millisecond))
		if time.Now().After(end) {
			return kills
		}
		i := c.Rand.IntN(clusterSize)
		c.processes[i].Kill(t)
		c.launch(t, i)
		c.awaitListening(t, i)
	}
}

// linearRun is a run and the history that it records.
type linearRun struct {
	began          time.Time
	backends       []*backend // to each process
	answered, lost atomic.Int64

	mu  sync.Mutex
	all []*sharedOrder // in use now or earlier
	use [sharedOrders]*sharedOrder
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
func (l *linearRun) pick(rng *rand.Rand) *sharedOrder {
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

// known returns a response that has the checkout's setup pair, or none.
func (s *sharedOrder) known() sandbox.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created
}

// ask sends a request once, and records it with its response and their times.
func (l *linearRun) ask(t *testing.T, client int, s *sharedOrder, over *backend, q request) {
	call := time.Since(l.began)
	r, err := s.send(t.Context(), over, q)
	switch {
	case errors.Is(err, errNotSent):
		return
	case err != nil && !workload.IsCut(err):
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
func (s *sharedOrder) send(ctx context.Context, over *backend, q request) (r sandbox.Response, err error) {
	const provider = "KOWHAI"
	path := s.known().CheckoutPath()
	switch q.verb {
	case toCreate:
		body := strings.Replace(sandbox.Order(sandbox.CatalogueCreate, s.order), intents()[0], q.intent, 1)
		r, err = over.Call(ctx, provider, http.MethodPost, "/v1/provider-checkouts", body)
	case toGet:
		r, err = over.Call(ctx, provider, http.MethodGet, path, "")
	case toConfirm:
		r, err = over.Call(ctx, provider, http.MethodPost, path+"/confirm", s.known().ConfirmBody())
	case toSetUp:
		return sandbox.Response{Status: http.StatusOK}, over.setUp(ctx, s.known().String("direct_debit.setup_url"))
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		err = errNotSent
	}
	return r, err
}

// setUp fills in the payer's forms until a page has none. Another payer of the same order may be quicker.
func (b *backend) setUp(ctx context.Context, setupURL string) error {
	payer := demo.NewBrowser(b.HTTP)
	p, err := payer.Open(ctx, http.MethodGet, setupURL, nil)
	if err != nil && workload.IsCut(err) {
		return errNotSent // a page that is opened changes nothing
	}
	for range 2 {
		if err == nil && p.Form != nil {
			p, err = payer.Open(ctx, http.MethodPost, p.Action, demo.FillIn(p.Form))
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
		setUp:     r.At("direct_debit.setup_complete") == true,
		confirmed: r.At("checkout.status") == "confirmed"}
	a.facts = facts{factCheckout: r.String("checkout.checkout_id"), factContact: r.String("records.contact_id"),
		factOpportunity: r.String("records.opportunity_id"), factDDA: r.String("direct_debit.dda_id"),
		factPair: r.String("direct_debit.token"), factAgreement: r.String("agreement.id"), factNumber: r.String("agreement.number")}
	if a.facts[factCheckout] == "" {
		a.facts[factCheckout] = r.String("checkout.id") // as a confirm calls it
	}
	return a
}

// readBack sends requests about every order once more after the last kill: what was acknowledged must still be
// there.
func (l *linearRun) readBack(t *testing.T) {
	t.Helper()
	before := l.lost.Load()
	var clients sync.WaitGroup
	for id := range clientsEach {
		clients.Go(func() {
			for i := id; i < len(l.all); i += clientsEach {
				s, over := l.all[i], l.backends[i%clusterSize]
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
		t.Errorf("after the last kill %d responses were lost", lost)
	}
}

// checkHistories checks the history of each order against the model.
func (l *linearRun) checkHistories(t *testing.T) {
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
