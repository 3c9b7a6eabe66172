package gocardlesstest

import (
	"encoding/base32"
	"io"
	"slices"
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
	keys         map[string]string // idempotency keys, with their path, to the resource that they led to

	events     []*event            // oldest first
	eventsOf   map[string][]*event // of a billing request or mandate
	unsent     []*event            // that no batch has yet
	hasWebhook bool

	steps []step // the next step first
}

func newState(now time.Time, o Options) *state {
	s := &state{opened: now, rand: o.Rand, pace: o.Pace, requests: map[string]*billingRequest{}, flows: map[string]*flow{},
		mandates: map[string]*mandate{}, keys: map[string]string{}, eventsOf: map[string][]*event{}}
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

// creditor returns the creditor of that id, or nil.
func (s *state) creditor(id string) *Creditor {
	for i := range s.creditors {
		if s.creditors[i].ID == id {
			return &s.creditors[i]
		}
	}
	return nil
}

// emit adds an event about the resource that links name.
func (s *state) emit(now time.Time, e event) {
	e.id, e.created = s.newID("EV"), now
	e.links = withoutEmpty(e.links)
	e.links["organisation"] = organisation
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
	at time.Time
	do func(now time.Time)
}

// later lets something happen when the clock has reached a time, after what was to happen then before.
func (s *state) later(at time.Time, do func(now time.Time)) {
	place, _ := slices.BinarySearchFunc(s.steps, at, func(other step, at time.Time) int {
		if other.at.After(at) {
			return 1
		}
		return -1
	})
	s.steps = slices.Insert(s.steps, place, step{at, do})
}

// settle lets everything happen whose time has come, each at its own time.
func (s *state) settle(now time.Time) {
	for len(s.steps) > 0 && !s.steps[0].at.After(now) {
		next := s.steps[0]
		s.steps = s.steps[1:]
		next.do(next.at)
	}
}
