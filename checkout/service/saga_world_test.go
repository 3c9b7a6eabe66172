package service_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// saga is one schedule: a few processes over one store and one CRM, clients that open and confirm a few orders, and
// everything that goes wrong, until calm. It runs in a bubble of testing/synctest.
type saga struct {
	seed  uint64
	storm time.Time // no fault before
	calm  time.Time // nor after
	out   time.Time // the CRM is, until back; zero if it never is
	back  time.Time
	store *memory.Store
	crm   *memory.CRM
	ring  checkout.Keyring
	bank  *sagaBank
	model *model
	work  sync.WaitGroup // requests, restarts and late effects

	mu           sync.Mutex // guards everything below
	slots        [3]*process
	draws        map[string]int // by what they are for
	kills, stops int
	seen         map[string]int // how often something happened
	traced       uint64         // of everything that happened, in any order of what happened at once
}

func newSaga(t *testing.T, seed uint64) *saga {
	t.Helper()
	ring, err := checkout.NewKeyring([]byte(strings.Repeat("s", 32)))
	must(t, err)
	s := &saga{seed: seed, store: memory.New(), crm: memory.NewCRM(catalogue.Sandbox), ring: ring,
		bank: &sagaBank{fulfilled: map[string]bool{}, moved: map[string]checkout.Observation{}}, draws: map[string]int{}, seen: map[string]int{}}
	s.model = newModel(s)
	s.storm = time.Now().Add(5 * time.Second)
	s.calm = s.storm.Add(between(s.chance("calm"), 20*time.Second, 90*time.Second))
	if r := s.chance("outage"); r.IntN(8) == 0 {
		s.out = s.storm.Add(between(r, 0, 20*time.Second))
		s.back = s.out.Add(between(r, 10*time.Second, 5*time.Minute))
		s.calm = s.back
	}
	err = s.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		k := kowhai()
		for _, n := range events.Names() {
			k.Provider.Destination.Events = append(k.Provider.Destination.Events, string(n))
		}
		return []catalogue.Configuration{k}, nil, nil
	})
	must(t, err)
	for slot := range s.slots {
		s.start(slot, 0)
	}
	return s
}

// saw counts something that happened.
func (s *saga) saw(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[what]++
}

// trace notes what happened, so that two runs of a seed can be compared.
func (s *saga) trace(what ...string) {
	h := hashOf(append(what, strconv.FormatInt(time.Now().UnixNano(), 10))...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.traced += h
}

// process is a service with its background work. A process that was killed makes no call any more, and no client gets its
// answers.
type process struct {
	*service.Service
	saga *saga
	name string
	slot int
	end  context.CancelFunc

	mu      sync.Mutex
	dead    bool
	stopped time.Time // until then
	random  *rand.Rand
}

// start starts the next process of a slot.
func (s *saga) start(slot, generation int) {
	p := &process{saga: s, slot: slot, name: fmt.Sprintf("%d.%d", slot, generation)}
	r := s.chance("process " + p.name)
	p.random = fork(r)
	var err error
	p.Service, err = service.New(service.Config{Environment: catalogue.Sandbox, BaseURL: "https://pay.example", Keyring: s.ring,
		Store: s.storeOf(p), Processor: s.bank, CRM: sagaCRM{s.crm, p}, Printer: p, Sender: p, Notifier: p, Now: time.Now, Rand: p,
		Report: func(_ context.Context, f service.Failure) { s.model.reported(f) },
		Count:  func(o service.Count, _ string) { s.saw(string(o)) }})
	if err != nil {
		panic(err) // of the configuration above
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	s.mu.Lock()
	s.slots[slot] = p
	s.mu.Unlock()
	s.work.Go(func() {
		time.Sleep(between(r, 0, time.Second))
		p.Run(ctx)
	})
}

// killed reports whether the process was killed: then no client got its answer.
func (p *process) killed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// process returns the process of a slot.
func (s *saga) process(slot int) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[slot]
}

// drain ends a process as an operator does, after which it answers requests for a while, and starts the next one of its slot.
func (s *saga) drain() {
	r := s.chance("drain")
	_ = s.sleep(context.Background(), r, between(r, 0, 2*time.Minute))
	if p := s.process(r.IntN(len(s.slots))); !s.isCalm() && !p.killed() {
		s.saw("a process was drained")
		p.end()
		_ = s.sleep(context.Background(), r, between(r, 0, 10*time.Second))
		p.replace()
	}
}

// replace starts the next process of the slot, unless that was done.
func (p *process) replace() {
	var generation int
	fmt.Sscanf(p.name[strings.Index(p.name, ".")+1:], "%d", &generation)
	if p.saga.process(p.slot) == p {
		p.saga.start(p.slot, generation+1)
	}
}

// stop stops the process for a while, as by SIGSTOP: it makes no call until it continues.
func (p *process) stop(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = time.Now().Add(min(d, time.Until(p.saga.calm)))
}

// kill ends the process in the middle of a call, and starts the next one of its slot a little later.
func (p *process) kill(r *rand.Rand) {
	p.mu.Lock()
	again := p.dead
	p.dead = true
	p.mu.Unlock()
	if again {
		return
	}
	p.end()
	restart := fork(r)
	p.saga.work.Go(func() {
		_ = p.saga.sleep(context.Background(), restart, between(restart, 0, 10*time.Second))
		p.replace()
	})
}

// running waits while the process is stopped, and a moment longer that differs for every call, and returns an error if it
// was killed.
func (p *process) running(r *rand.Rand) error {
	for {
		p.mu.Lock()
		dead, left := p.dead, time.Until(p.stopped)
		p.mu.Unlock()
		if dead {
			return errKilled
		}
		if left <= 0 {
			return nil
		}
		time.Sleep(left + between(r, 0, time.Millisecond))
	}
}

// Read is the randomness of the process.
func (p *process) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 0; i < len(b); i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], p.random.Uint64())
		copy(b[i:], word[:])
	}
	return len(b), nil
}

var _ io.Reader = (*process)(nil)

// Print is the printer of the process.
func (p *process) Print(_ context.Context, a agreement.Agreement) ([]byte, error) {
	r := p.saga.chance("print " + a.CheckoutID + p.name)
	time.Sleep(between(r, time.Millisecond, time.Second))
	if r.IntN(5) == 0 {
		p.saga.saw("an agreement was not rendered")
		return nil, errors.New("out of ink")
	}
	return []byte("%PDF of " + a.Number), p.running(r)
}

// Send is the sender of the process.
func (p *process) Send(_ context.Context, _ catalogue.Destination, d events.Delivery, attempt int) (answer checkout.Answer, err error) {
	r := p.saga.chance("send " + d.Event.ID)
	time.Sleep(between(r, time.Millisecond, 500*time.Millisecond))
	if err := p.running(r); err != nil {
		return answer, err
	}
	p.saga.model.sent(d.Event)
	if attempt == 1 && r.IntN(10) == 0 {
		return answer, errors.New("receiver answered 500")
	}
	return answer, nil
}

// sagaBank is the processor, at which a payer has finished or not.
type sagaBank struct {
	mu        sync.Mutex
	fulfilled map[string]bool                 // by billing request
	moved     map[string]checkout.Observation // of the mandates that ended or live again
}

func (b *sagaBank) Info() checkout.ProcessorInfo {
	return checkout.ProcessorInfo{Name: "saga", Environment: catalogue.Sandbox, PageOrigins: []string{"https://bank.example"}}
}

func (b *sagaBank) Ready(ctx context.Context) error { return ctx.Err() }

func (b *sagaBank) Begin(_ context.Context, s checkout.SetupStart) (checkout.BillingRequest, error) {
	return checkout.BillingRequest{ID: "BR-" + s.Key, URL: "https://bank.example/BR-" + s.Key}, nil
}

func (b *sagaBank) Observe(_ context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if moved, ok := b.moved[q.Setup.BillingRequestID]; ok {
		return moved, nil
	}
	if b.fulfilled[q.Setup.BillingRequestID] {
		return fulfilled, nil
	}
	return notBegun, nil
}

func (b *sagaBank) Cancel(_ context.Context, q checkout.SetupQuery) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := q.Setup.BillingRequestID
	seen, ok := b.moved[id]
	switch {
	case ok:
	case b.fulfilled[id]:
		seen = fulfilled
	default:
		seen = notBegun
	}
	if seen.BillingRequest == checkout.BillingFulfilled {
		seen.Mandate = checkout.MandateCancelled
	} else {
		seen.BillingRequest = checkout.BillingCancelled
	}
	b.moved[id] = seen
	return nil
}

// finish is a payer who gives the authority on the page with this address.
func (b *sagaBank) finish(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fulfilled[strings.TrimPrefix(url, "https://bank.example/")] = true
}

// prepare has some orders opened before anything goes wrong, and the direct debit of some set up.
func (m *model) prepare() {
	for n, order := range sagaOrders {
		if how := m.chance("prepare " + order).IntN(4); how > 0 {
			cmd := create(order)
			cmd.RequestID = "req_first_" + order
			m.createAt(context.Background(), m.process(n), cmd)
			if o := m.answered(order); how > 1 && o != nil {
				m.setUpAt(context.Background(), m.process(n), *o)
			}
		}
	}
}

// client opens and confirms one order as its script says, which is drawn from the seed. Some clients give up waiting, or
// never come back.
type client struct {
	*saga
	order string
	*rand.Rand
}

// run does what the client does until calm.
func (c client) run() {
	for range 4 + c.IntN(12) {
		_ = c.sleep(context.Background(), c.Rand, between(c.Rand, 0, 8*time.Second))
		if c.isCalm() {
			return
		}
		p, act, patience := c.process(c.IntN(3)), c.act(), between(c.Rand, time.Millisecond, 3*time.Second)
		if c.IntN(4) > 0 {
			patience = 2 * time.Minute
		}
		ctx, giveUp := context.WithTimeout(context.Background(), patience)
		done := make(chan struct{})
		c.work.Go(func() {
			defer close(done)
			act(ctx, p)
		})
		select {
		case <-done:
		case <-ctx.Done():
			c.saw("a client gave up")
		}
		giveUp()
	}
}

// act draws the next request.
func (c client) act() func(context.Context, *process) {
	opened := c.model.answered(c.order)
	switch n := c.IntN(10); {
	case opened == nil || n < 3:
		cmd := c.model.create(c.order, c.Rand)
		return func(ctx context.Context, p *process) { c.model.createAt(ctx, p, cmd) }
	case n < 5:
		return func(ctx context.Context, p *process) { c.model.setUpAt(ctx, p, *opened) }
	case n < 9:
		cmd := confirm(*opened)
		cmd.RequestID = fmt.Sprint("req_", c.Uint64())
		if c.IntN(8) == 0 {
			cmd.DDAID = checkout.Some("another")
		}
		return func(ctx context.Context, p *process) { c.model.confirmAt(ctx, p, cmd) }
	}
	return func(ctx context.Context, p *process) { c.model.lookAt(ctx, p, opened.Checkout.ID) }
}

// spy looks for reserved checkouts, of which no client has the id yet.
func (s *saga) spy() {
	r := s.chance("spy")
	for !s.isCalm() {
		_ = s.sleep(context.Background(), r, between(r, 50*time.Millisecond, 5*time.Second))
		for _, c := range s.model.stored() {
			if c.Status == checkout.Reserved {
				p := s.process(r.IntN(3))
				s.saw("a reserved checkout was looked for")
				time.Sleep(between(r, 0, time.Millisecond))
				s.work.Go(func() { s.model.lookAt(context.Background(), p, c.ID) })
			}
		}
	}
}

// create draws a create of an order: with one of two intents, of students whom the CRM takes or not, under one of two keys.
func (m *model) create(order string, r *rand.Rand) checkout.Create {
	cmd := create(order)
	cmd.RequestID = fmt.Sprint("req_", r.Uint64())
	if r.IntN(4) == 0 {
		cmd.Frequency = checkout.Some("Monthly")
	}
	if name := []string{"Ngata", "Ngata", "Ngata", "Refused", "Ruled"}[r.IntN(5)]; name != "Ngata" {
		cmd.LastName = checkout.Some(name)
	}
	if r.IntN(4) == 0 {
		cmd.IdempotencyKey = checkout.Some("key-1")
	}
	return cmd
}

// setUpAt is a payer who sets up the direct debit from start to end.
func (m *model) setUpAt(ctx context.Context, p *process, o service.Opened) {
	url, err := p.BeginSetup(ctx, o.Token, checkout.Acceptance{})
	m.noPanic(err)
	if err != nil || p.killed() || !strings.HasPrefix(url, "https://bank.example/") {
		return
	}
	m.bank.finish(url)
	m.lock.Lock()
	if order := m.orders[o.Checkout.OrderID]; order.setUp.IsZero() {
		order.setUp = time.Now()
	}
	m.lock.Unlock()
	_, err = p.Refresh(ctx, o.Checkout.ID)
	m.noPanic(err)
}

// stored returns every checkout on record, past the processes.
func (m *model) stored() (all []checkout.Checkout) {
	for _, r := range m.records() {
		all = append(all, r.Checkout)
	}
	return all
}

func (m *model) records() (all []checkout.CheckoutRecord) {
	err := m.store.Export(context.Background(), checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout:      func(r checkout.CheckoutRecord) error { all = append(all, r); return nil },
	})
	if err != nil {
		panic(err) // memory
	}
	return all
}

// finish has each order opened and confirmed where nothing goes wrong any more, and then new ones, one soon after another.
func (m *model) finish() {
	for n, order := range slices.Concat(sagaOrders, lateOrders) {
		cmd := create(order)
		cmd.RequestID = "req_create_" + order
		if o := m.answered(order); o != nil && o.Checkout.Intent.Plan.Frequency == money.Monthly {
			cmd.Frequency = checkout.Some("Monthly")
		}
		p := m.process(min(n, 2))
		m.createAt(context.Background(), p, cmd)
		if o := m.answered(order); o != nil {
			m.setUpAt(context.Background(), p, *o)
			cmd := confirm(*o)
			cmd.RequestID = "req_confirm_" + order
			m.confirmAt(context.Background(), p, cmd)
		}
	}
}
