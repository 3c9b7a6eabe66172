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

// Clients ask whichever process they like about a few orders that they share: competing creates, gets, the
// payer's setup, confirms and more confirms. Processes are killed meanwhile. The history of each order must
// be linearizable: one process that handles one request after the other could have given the same answers.
func (b suite) isOneToItsClients(t *testing.T) {
	runs, length := linearFigures(t)
	for n := range runs {
		t.Run(fmt.Sprintf("run %d of %v", n+1, length), func(t *testing.T) { b.isOneFor(t, length) })
	}
}

// linearFigures returns how many runs there are, and of what length: PROVIDER_CHECKOUT_TEST_LINEAR sets others, such as 10x20s.
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

func (b suite) isOneFor(t *testing.T, length time.Duration) {
	c := newCluster(t, b, postgrestest.URL(t))
	c.Verdicts.AcceptAll = true // for a slow receiver makes few requests
	l := &linearRun{began: time.Now()}
	for i := range clusterSize {
		l.roads = append(l.roads, c.newBackend(c.only(i)))
	}
	end := l.began.Add(length)
	var clients sync.WaitGroup
	defer clients.Wait()
	for id := range clusterSize * clientsEach {
		rng := rand.New(rand.NewPCG(c.Rand.Uint64(), 0))
		clients.Go(func() {
			for time.Now().Before(end) {
				s := l.pick(rng)
				l.ask(t, id, s, l.roads[rng.IntN(clusterSize)], s.choose(rng))
			}
		})
	}
	kills := c.killNowAndThen(t, end)
	clients.Wait()
	rate, lost := float64(l.answered.Load())/time.Since(l.began).Seconds(), l.lost.Load()
	l.lookBack(t)
	c.stop(t)
	l.judge(t)
	t.Logf("%.0f answers a second of %d orders; %d kills, %d answers were lost", rate, len(l.all), kills, lost)
	if least := full(100, 40); rate < float64(least) || lost == 0 {
		t.Errorf("void: there were %.0f answers a second, want %d; %d were lost, want one at least", rate, least, lost)
	}
}

// killNowAndThen kills a process and starts it again, until the end.
func (c *cluster) killNowAndThen(t *testing.T, end time.Time) (kills int) {
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

// linearRun is a history in the making.
type linearRun struct {
	began          time.Time
	roads          []*backend // to each process
	answered, lost atomic.Int64

	mu  sync.Mutex
	all []*sharedOrder // that there ever were
	use [sharedOrders]*sharedOrder
}

// sharedOrder is an order that many clients ask about.
type sharedOrder struct {
	order string

	mu      sync.Mutex
	created sandbox.Response // an answer that has a setup pair, once there was one
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

// choose picks a question at random: before any answer had the checkout, only a create makes sense.
func (s *sharedOrder) choose(rng *rand.Rand) question {
	plans := intents()
	draw := rng.IntN(100)
	switch {
	case draw < 20 || s.known().Status == 0:
		return question{toCreate, plans[rng.IntN(len(plans))]}
	case draw < 45:
		return question{verb: toGet}
	case draw < 55:
		return question{verb: toSetUp}
	}
	return question{verb: toConfirm}
}

// known returns an answer that has the checkout's setup pair, or none.
func (s *sharedOrder) known() sandbox.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created
}

// ask asks a question once, and notes it with its answer and their times.
func (l *linearRun) ask(t *testing.T, client int, s *sharedOrder, over *backend, q question) {
	call := time.Since(l.began)
	r, err := s.send(t.Context(), over, q)
	switch {
	case errors.Is(err, errNotAsked):
		return
	case err != nil && !workload.IsCut(err):
		t.Errorf("%s %s: %v", s.order, q.verb, err)
	}
	op := porcupine.Operation{ClientId: client, Input: q, Call: int64(call)}
	if err != nil || r.Status >= http.StatusInternalServerError {
		l.lost.Add(1)
		if q.verb == toGet {
			return // it says nothing and does nothing
		}
		op.Output, op.Return = told{lost: true}, endOfTime
	} else {
		l.answered.Add(1)
		op.Output, op.Return = readTold(r), int64(time.Since(l.began))
		if q.verb == toSetUp { // a process that asked the processor just before may not know of it yet
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

// errNotAsked says that what was to be asked did not reach the program.
var errNotAsked = errors.New("not asked")

// send asks one question.
func (s *sharedOrder) send(ctx context.Context, over *backend, q question) (r sandbox.Response, err error) {
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
		err = errNotAsked
	}
	return r, err
}

// setUp fills in the payer's forms until a page has none: another payer of the same order may be quicker.
func (b *backend) setUp(ctx context.Context, setupURL string) error {
	payer := demo.NewBrowser(b.HTTP)
	p, err := payer.Open(ctx, http.MethodGet, setupURL, nil)
	if err != nil && workload.IsCut(err) {
		return errNotAsked // a page that is opened changes nothing
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

// readTold returns what an answer tells of its order.
func readTold(r sandbox.Response) told {
	a := told{status: r.Status, code: r.String("error.code"),
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

// lookBack asks once more about every order when no process is killed any more: what was acknowledged is
// still there.
func (l *linearRun) lookBack(t *testing.T) {
	t.Helper()
	before := l.lost.Load()
	var clients sync.WaitGroup
	for id := range clientsEach {
		clients.Go(func() {
			for i := id; i < len(l.all); i += clientsEach {
				s, over := l.all[i], l.roads[i%clusterSize]
				for _, intent := range intents() {
					l.ask(t, id, s, over, question{toCreate, intent})
				}
				l.ask(t, id, s, over, question{verb: toGet})
				l.ask(t, id, s, over, question{verb: toConfirm})
			}
		})
	}
	clients.Wait()
	if lost := l.lost.Load() - before; lost != 0 {
		t.Errorf("in peace, %d answers were lost", lost)
	}
}

// judge checks the history of each order against the model.
func (l *linearRun) judge(t *testing.T) {
	t.Helper()
	began, seen := time.Now(), make(map[string]int)
	for _, s := range l.all {
		switch verdictOn(s.history) {
		case porcupine.Illegal:
			t.Errorf("nobody who does one thing after the other tells this of %s:\n%s", s.order, tale(s.history))
		case porcupine.Unknown:
			t.Errorf("void: whether this is allowed of %s is not known after a minute:\n%s", s.order, tale(s.history))
		}
		for _, op := range s.history {
			d := deedOf(op)
			seen[fmt.Sprint(d.verb, " ", d.status)]++
		}
	}
	t.Logf("answers by status, 0 where they were lost: %v; judged in %v", seen, time.Since(began))
	for _, kind := range []string{"create 201", "create 200", "create 409", "get 200", "set up 200", "confirm 409", "confirm 200"} {
		if seen[kind] == 0 {
			t.Errorf("void: there was no %s", kind)
		}
	}
}
