package gocardlesstest

import (
	"cmp"
	"container/heap"
	"encoding/base32"
	"io"
	"time"
)

// state is everything that the simulator knows. Its methods are called with the simulator's lock held, and with the time
// of its clock.
type state struct {
	opened    time.Time // when the account was
	rand      io.Reader
	pace      Pace
	creditors []Creditor

	requests     map[string]*billingRequest
	requestOrder []*billingRequest // oldest first
	flows        map[string]*flow
	mandates     map[string]*mandate
	mandateOrder []*mandate
	pdfs         map[string]pdf
	keys         map[string]string // idempotency keys, with their route, to the resource that they led to

	events     []*event // oldest first
	eventAt    map[string]int
	eventsOf   map[string][]*event // of a billing request or mandate
	unsent     []*event            // that no batch has yet
	hasWebhook bool

	steps    steps
	stepsRun int
}

func newState(now time.Time, o Options) *state {
	s := &state{opened: now, rand: o.Rand, pace: o.Pace, requests: map[string]*billingRequest{}, flows: map[string]*flow{},
		mandates: map[string]*mandate{}, pdfs: map[string]pdf{}, keys: map[string]string{}, eventAt: map[string]int{},
		eventsOf: map[string][]*event{}}
	for _, c := range o.Creditors {
		s.creditors = append(s.creditors, c.complete())
	}
	if len(s.creditors) == 0 {
		s.creditors = []Creditor{Creditor{}.complete()}
	}
	return s
}

// newID returns an id of its own that begins with the prefix.
func (s *state) newID(prefix string) string {
	var entropy [10]byte
	if _, err := io.ReadFull(s.rand, entropy[:]); err != nil {
		panic("gocardlesstest: Options.Rand: " + err.Error())
	}
	return prefix + base32.StdEncoding.EncodeToString(entropy[:])[:14]
}

// creditor returns the creditor of that id.
func (s *state) creditor(id string) (Creditor, bool) {
	for _, c := range s.creditors {
		if c.ID == id {
			return c, true
		}
	}
	return Creditor{}, false
}

// emit adds an event about the resource that links name.
func (s *state) emit(now time.Time, e event) {
	e.id, e.created = s.newID("EV"), now
	e.links = withoutEmpty(e.links)
	e.links["organisation"] = organisation
	s.eventAt[e.id] = len(s.events)
	s.events = append(s.events, &e)
	for _, id := range []string{e.links["billing_request"], e.links["mandate"]} {
		if id != "" {
			s.eventsOf[id] = append(s.eventsOf[id], &e)
		}
	}
	if s.hasWebhook {
		s.unsent = append(s.unsent, &e)
	}
}

// step is something that happens at a time.
type step struct {
	at    time.Time
	order int // among the timers of one time
	do    func(now time.Time)
}

// later lets something happen when the clock has reached a time.
func (s *state) later(at time.Time, do func(now time.Time)) {
	s.stepsRun++
	heap.Push(&s.steps, step{at, s.stepsRun, do})
}

// settle lets everything happen whose time has come, each at its own time.
func (s *state) settle(now time.Time) {
	for len(s.steps) > 0 && !s.steps[0].at.After(now) {
		next := heap.Pop(&s.steps).(step)
		next.do(next.at)
	}
}

// nextStep returns the time of the next step, if there is one.
func (s *state) nextStep() (time.Time, bool) {
	if len(s.steps) == 0 {
		return time.Time{}, false
	}
	return s.steps[0].at, true
}

// steps is a heap: the next step first.
type steps []step

func (h steps) Len() int { return len(h) }
func (h steps) Less(i, j int) bool {
	return cmp.Or(h[i].at.Compare(h[j].at), cmp.Compare(h[i].order, h[j].order)) < 0
}
func (h steps) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *steps) Push(x any)   { *h = append(*h, x.(step)) }
func (h *steps) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
