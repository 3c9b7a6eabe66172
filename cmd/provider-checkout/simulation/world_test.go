// Package simulation_test has one simulation of everything: processes with clocks of their own over one store, with a CRM, a processor,
// mail and receivers, providers' backends, payers and operators. Everything goes wrong, by one seed, and the
// model judges every answer, every change and what there is in the end.
package simulation_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/memcrm"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// plan is the kind of a world.
type plan struct {
	processes int
	crm       bool           // a CRM follows the store
	far       bool           // the processor is GoCardless
	mail      bool           // payers are notified
	server    bool           // the clock of the store decides, and every process has its own; otherwise all have one machine's
	clocks    bool           // clocks are wrong
	orders    int            // of each provider
	era       int            // until which time passes at the end
	rates     map[string]int // of faults
}

// world is one schedule, in a bubble of testing/synctest.
type world struct {
	turns
	seed              uint64
	began, storm      time.Time // no fault before the storm
	calm              time.Time // nor after
	plan              plan
	left              map[string]bool // decisions that are left out
	store             *memory.Store
	crm               *memcrm.CRM
	bank              bank
	ring              checkout.Keyring
	model             *model
	actors, processes sync.WaitGroup

	// The lock of the turns guards everything below.
	slots      []*process
	machine    clock
	lenient    bool // the CRM has no rules of its own any more
	partitions []partition
	draws      map[string]drawn
	made       []string // decisions
	struck     map[string]int
	seen       map[string]int
	traced     uint64
	telling    bool
	told       []string
}

func newWorld(seed uint64, left map[string]bool, telling bool) *world {
	w := &world{seed: seed, left: left, telling: telling, began: time.Now(), crm: memcrm.New(catalogue.Sandbox),
		draws: map[string]drawn{}, struck: map[string]int{}, seen: map[string]int{}}
	w.store = memory.New(w.now)
	w.arrived = make(chan struct{}, 1)
	var err error
	if w.ring, err = checkout.NewKeyring([]byte(strings.Repeat("s", 32))); err != nil {
		panic(err) // of the constant above
	}
	r, _ := w.chance("plan")
	w.plan = plan{processes: 1 + r.IntN(3), crm: r.IntN(3) > 0, mail: r.IntN(2) == 0, server: r.IntN(2) == 0, clocks: r.IntN(3) == 0,
		orders: 1 + r.IntN(2), rates: drawRates(r)}
	w.plan.far, w.bank = r.IntN(8) == 0, newNearBank()
	if r, _ := w.chance("retention"); r.IntN(40) == 0 && !w.plan.far { // whose simulator never sleeps
		w.plan.era = 1 + r.IntN(len(eras)-1)
	}
	if w.plan.far {
		w.bank = w.newFarBank()
	}
	w.storm = w.began.Add(2 * time.Second)
	w.calm = w.storm.Add(between(r, 5*time.Second, 60*time.Second))
	w.drawPartitions(r)
	w.drawLongOutage(r)
	w.model = newModel(w)
	w.configure()
	for slot := range w.plan.processes {
		w.slots = append(w.slots, nil)
		w.start(slot, 0)
	}
	return w
}

// configure has the store know two providers: one with a catalogue and one without.
func (w *world) configure() {
	err := w.store.ReplaceProviders(context.Background(), func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		return []catalogue.Configuration{kowhai(), rata()}, nil, nil
	})
	if err != nil {
		panic(err) // memory
	}
}

// now is the clock of the store.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.plan.server {
		return time.Now()
	}
	return w.machine.now()
}

// clock is a clock that may be wrong.
type clock struct {
	ahead  time.Duration
	frozen time.Time // zero while it goes on
}

func (c clock) now() time.Time {
	if !c.frozen.IsZero() {
		return c.frozen
	}
	return time.Now().Add(c.ahead)
}

// process is a service with its background work, or an operator's command. A process that was killed makes no call any more, and no
// client gets its answers.
type process struct {
	*service.Service
	world *world
	name  string
	slot  int
	end   context.CancelFunc
	gone  chan struct{} // closed once the process was killed

	// The lock of the turns guards everything below.
	dead    bool
	stopped time.Time // until then
	random  *rand.Rand
	own     clock // if every process has one
}

// start starts the next process of a slot.
func (w *world) start(slot, generation int) {
	w.saw("a process was started")
	p := w.newProcess(fmt.Sprintf("process %d.%d", slot, generation), slot)
	r, _ := w.chance("start of " + p.name)
	c := service.Config{Environment: catalogue.Sandbox, BaseURL: "https://pay.example", Keyring: w.ring, Store: store{w.store, p}, Processor: processor{p},
		Retention: eras[w.plan.era].Retention, Printer: p, Sender: p, Now: p.Now, Rand: p,
		Report: func(_ context.Context, f service.Failure) { w.model.reported(p, f) },
		Count:  func(o service.Count, _ string) { w.saw(string(o)) }}
	if w.plan.crm {
		c.CRM = crm{w.crm, p}
	}
	if bank, far := w.bank.(*farBank); far {
		processor := w.gocardless(p, bank)
		c.Processor, c.Tasks = processor, []service.Task{p.reconcile(processor)}
	}
	if w.plan.mail {
		c.Notifier = p
	}
	var err error
	if p.Service, err = service.New(c); err != nil {
		panic(err) // of the configuration above
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.end = cancel
	w.mu.Lock()
	w.slots[slot] = p
	w.mu.Unlock()
	w.processes.Go(func() {
		_ = w.await(ctx, nil, p.name+" starts", between(r, 0, time.Second))
		p.Run(ctx)
	})
}

// newProcess returns a process without a service. Its clock is wrong, if clocks are and it is its own.
func (w *world) newProcess(name string, slot int) *process {
	r, _ := w.chance("process " + name)
	p := &process{world: w, name: name, slot: slot, random: r, end: func() {}, gone: make(chan struct{})}
	if w.plan.clocks && w.plan.server && w.decides("the clock of "+name+" is wrong") {
		p.own.ahead = drawStep(r)
	}
	return p
}

// drawStep draws by how much a clock is wrong.
func drawStep(r *rand.Rand) time.Duration {
	step := []time.Duration{time.Second, 5 * time.Minute, time.Hour, 24 * time.Hour}[r.IntN(4)]
	if r.IntN(2) == 0 {
		step = -step
	}
	return step
}

// Now is the clock of the process.
func (p *process) Now() time.Time {
	if !p.world.plan.server {
		return p.world.now()
	}
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.own.now()
}

// killed reports whether the process was killed: then no client got its answer.
func (p *process) killed() bool {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	return p.dead
}

// at returns the process of a slot.
func (w *world) at(slot int) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots[slot%len(w.slots)]
}

// replace starts the next process of the slot, unless that was done.
func (p *process) replace() {
	var generation int
	_, _ = fmt.Sscanf(p.name[strings.LastIndex(p.name, ".")+1:], "%d", &generation)
	if p.Service != nil && p.world.at(p.slot) == p {
		p.world.start(p.slot, generation+1)
	}
}

// stop stops the process for a while, as by SIGSTOP: it makes no call until it goes on.
func (p *process) stop(d time.Duration) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.stopped = time.Now().Add(min(d, time.Until(p.world.calm)))
}

// kill ends the process in the middle of a call, and starts the next one of its slot a little later.
func (p *process) kill(r *rand.Rand) {
	w := p.world
	w.mu.Lock()
	again := p.dead
	p.dead = true
	w.mu.Unlock()
	if again {
		return
	}
	w.saw("a process was killed")
	close(p.gone)
	p.end()
	after := between(r, 0, 10*time.Second)
	w.actors.Go(func() {
		_ = w.await(context.Background(), nil, p.name+" is replaced", min(after, max(0, time.Until(w.calm))))
		p.replace()
	})
}

// Read is the randomness of the process.
func (p *process) Read(b []byte) (int, error) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	for i := 0; i < len(b); i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], p.random.Uint64())
		copy(b[i:], word[:])
	}
	return len(b), nil
}

// played is the outcome of a schedule.
type played struct {
	faults []string // that may not be
	made   []string // decisions, in their order
	seen   map[string]int
	traced uint64
	told   []string // everything that happened, if that is told
	plan   plan
}

// run plays the schedule of a world.
func (w *world) run() played {
	go func() {
		w.play()
		for slot := range w.slots {
			w.at(slot).end()
		}
		w.processes.Wait()
		if bank, far := w.bank.(*farBank); far {
			bank.Close()
			w.seen["billing requests that GoCardless had"] += bank.conflicts()
		}
		w.mu.Lock()
		w.over = true
		w.mu.Unlock()
		w.arrive()
	}()
	w.drive()
	w.seen["worlds"], w.seen["orders"] = 1, len(w.model.orders)
	return played{w.model.faults, w.made, w.seen, w.traced, w.told, w.plan}
}

// play has everybody act, and the model judge what there is a minute after the last fault, and once everything was done again.
func (w *world) play() {
	var all sync.WaitGroup
	for _, a := range w.cast() {
		all.Go(a.act)
	}
	w.rest("the world", time.Until(w.calm))
	w.thaw()
	w.onlyLists(checkout.MandateActive)
	w.rest("the world", time.Until(w.looksAt()))
	if w.model.isBusy() { // a look that was put off until now may have found something
		w.rest("the world", aboutDone)
	}
	w.model.settled()
	all.Wait()
	w.actors.Wait()
	w.relent()
	w.onlyLists(checkout.MandateCancelled)
	w.enrol("last") // where nothing goes wrong any more
	w.model.polled = true
	w.rest("the world", 40*time.Second)
	if w.plan.far {
		w.rest("the world", time.Minute) // an event is listed late
	}
	w.model.settled()
	w.model.catchUp()
	if w.plan.era > 0 && w.decides("time passes") {
		w.ages(eras[w.plan.era])
	}
}

// looksAt is the time at which the model judges what there is after the last fault.
func (w *world) looksAt() time.Time { return w.calm.Add(time.Minute) }

// thaw has every clock go on.
func (w *world) thaw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machine.frozen = time.Time{}
	for _, p := range w.slots {
		p.own.frozen = time.Time{}
	}
}

// relent has the CRM drop its rules, and an operator have it called again.
func (w *world) relent() {
	w.mu.Lock()
	w.lenient = true
	w.mu.Unlock()
	p := w.newProcess("command of the end", -1)
	for _, j := range w.model.pending() {
		_, err := w.operator(p).Retry(context.Background(), []checkout.JobRecord{j})
		w.model.noPanic(p, err)
	}
}

// rest has an actor wait.
func (w *world) rest(name string, d time.Duration) { _ = w.await(context.Background(), nil, name, d) }
