package simulation_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// What becomes of a call of a process depends on the seed, the process, the name of the call and how often it was made.

var errKilled, errLost = errors.New("the process was killed"), errors.New("the connection was reset")

// The faults that a call may meet.
const (
	busy      = "busy"             // it is refused
	broken    = "broken"           // it fails before its effect
	slow      = "slow"             // before its effect
	hang      = "hang"             // it has no effect
	lost      = "lost"             // its answer is
	lateLost  = "lost in a hang"   // the same, after a while
	stale     = "stale"            // its answer comes late
	late      = "late"             // its effect comes long after the caller has given up
	twice     = "twice"            // it takes effect twice
	stop      = "stop"             // the process stops before it
	stopAfter = "stop after"       // or after its effect
	kill      = "kill"             // the process is killed before it
	killAfter = "kill after"       // or after its effect
	outage    = "outage"           // nothing gets there for a while
	refused   = "refused for good" // of notices
)

// kinds are the faults of the calls of each system. A store answers whether a write took effect unless its answer is lost.
var kinds = map[string][]string{
	"store":    {busy, broken, slow, hang, lost, stale, stop, stopAfter, kill, killAfter},
	"crm":      {busy, broken, slow, hang, lost, lateLost, stale, late, twice, stop, stopAfter, kill, killAfter},
	"bank":     {busy, broken, slow, hang, lost, lateLost, stale, late, twice, stop, stopAfter, kill, killAfter},
	"mail":     {busy, broken, slow, hang, lost, late, twice, refused, stop, stopAfter, kill, killAfter},
	"receiver": {busy, broken, hang, lost, late, stop, stopAfter, kill, killAfter},
	"printer":  {busy, broken, slow, hang, kill},
}

// systems are the names in kinds, in an order.
var systems = []string{"store", "crm", "bank", "mail", "receiver", "printer"}

// mostStrikes limits the kills of a world, and the stops, or it would do little else.
const mostStrikes = 4

// drawRates draws how many of a thousand calls meet each fault: half of the faults do not exist in a world, so that others are not
// hidden by them.
func drawRates(r *rand.Rand) map[string]int {
	rates, heat := map[string]int{}, []int{10, 40, 90}[r.IntN(3)]
	for _, to := range systems {
		for _, kind := range kinds[to] {
			rate := r.IntN(2) * (1 + r.IntN(heat))
			if slices.Contains([]string{stop, stopAfter, kill, killAfter}, kind) {
				rate = min(rate, 20)
			}
			rates[to+" "+kind] = rate
		}
	}
	return rates
}

// call is a call of a process to something outside of it.
type call struct {
	to, name string
	says     []byte        // what tells it from other calls of its name at the same instant
	takes    time.Duration // at most, if nothing is wrong
	limit    time.Duration // the longest time that it hangs
	reads    bool
	job      string // for which it is made, and which its process must have until it takes effect; "" for any other call
	effect   func(context.Context) error
}

// fault draws what becomes of a call: "" if it is as it should be.
func (p *process) fault(r *rand.Rand, id string, c call) string {
	w := p.world
	w.saw("calls")
	if w.isOut(p, c.to) {
		return outage
	}
	n := r.IntN(1000)
	for _, kind := range kinds[c.to] {
		if n -= w.plan.rates[c.to+" "+kind]; n >= 0 {
			continue
		}
		switch {
		case c.reads && slices.Contains([]string{lost, lateLost, late, twice, killAfter, stopAfter}, kind):
			kind = broken
		case kind == stop, kind == stopAfter, kind == kill, kind == killAfter:
			if !p.mayStrike(kind) {
				return ""
			}
		}
		if !w.decides(kind + " at " + id) {
			return ""
		}
		return kind
	}
	return ""
}

// mayStrike reports whether there may be one more kill, or stop.
func (p *process) mayStrike(kind string) bool {
	w := p.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.struck[kind[:4]]++
	return w.struck[kind[:4]] <= mostStrikes
}

// do makes a call of a process, with whatever becomes of it.
func (p *process) do(ctx context.Context, c call) (err error) {
	if p.killed() {
		return errKilled
	}
	w := p.world
	r, id := w.chance(p.name + " " + c.name)
	if len(c.says) > 0 {
		id += fmt.Sprintf(" %016x", hashOf(string(c.says)))
	}
	fault := ""
	if !w.isCalm() {
		fault = p.fault(r, id, c)
	}
	if err := w.await(context.Background(), p, id+" "+fault, between(r, time.Microsecond, c.takes)); err != nil {
		return err
	}
	owned, effect := w.model.owns(p, c.job), c.effect
	c.effect = func(ctx context.Context) error {
		if c.job != "" && owned && ctx.Err() == nil {
			w.model.outlives(p, c)
		}
		return effect(ctx)
	}
	if fault == "" {
		return c.effect(ctx)
	}
	w.saw("faults")
	w.saw(c.to + " " + fault)
	failed := [2]error{fmt.Errorf("%s: %w", c.name, errLost), fmt.Errorf("%s: %w", c.name, context.DeadlineExceeded)}
	unknown := failed[r.IntN(2)]
	if c.to == "store" {
		unknown = fmt.Errorf("%s: %w", c.name, ports.ErrUnknown)
	}
	// pause passes time, which ends with the call and with the faults, and has a turn again.
	pause := func(d time.Duration) error {
		return w.await(ctx, p, id+" goes on", min(d, time.Until(w.calm)+between(r, 0, time.Millisecond)))
	}
	switch fault {
	case busy:
		return fmt.Errorf("%s: %w", c.name, ports.ErrBusy)
	case broken:
		return failed[0]
	case refused:
		return refusal(c.name)
	case hang, outage:
		if fault == outage && r.IntN(2) == 0 {
			return failed[0]
		}
		err = pause(c.limit)
		return cmp.Or(err, failed[1])
	case late:
		w.later(id, between(r, 0, 2*c.limit), effect)
		err = pause(between(r, 0, c.limit))
		return cmp.Or(err, unknown)
	case slow:
		err = pause(between(r, 0, c.limit))
	case stop:
		p.stop(between(r, 5*time.Second, 40*time.Second))
		err = pause(0)
	case kill:
		p.kill(r)
		return errKilled
	}
	if err != nil {
		return err
	}
	err = c.effect(ctx)
	switch fault {
	case twice:
		_ = c.effect(ctx)
	case stale:
		return cmp.Or(pause(between(r, 0, c.limit)), err)
	case stopAfter:
		p.stop(between(r, 5*time.Second, 40*time.Second))
		return cmp.Or(pause(0), err)
	case killAfter:
		p.kill(r)
		return errKilled
	case lateLost:
		return cmp.Or(pause(c.limit), unknown)
	case lost:
		return cmp.Or(err, unknown)
	}
	return err
}

// later has an effect come after a time, whatever becomes of its process.
func (w *world) later(id string, after time.Duration, effect func(context.Context) error) {
	w.actors.Go(func() {
		_ = w.await(context.Background(), nil, id+" comes late", min(after, time.Until(w.calm)+time.Duration(hashOf(id)%uint64(time.Second))))
		_ = effect(context.Background())
	})
}

// partition is a time in which nothing gets through to a system, from a process or from all.
type partition struct {
	from     string // a slot of processes; "" for all
	to       string
	out, end time.Time
}

// drawPartitions draws when what is cut off.
func (w *world) drawPartitions(r *rand.Rand) {
	for _, to := range systems[:5] {
		for slot := -1; slot < w.plan.processes; slot++ {
			from, longest := "", []time.Duration{10 * time.Second, time.Minute, 3 * time.Minute}[r.IntN(3)]
			if slot >= 0 {
				from = fmt.Sprint("process ", slot)
			}
			if to == "store" {
				longest = min(longest, 20*time.Second)
			}
			out := w.storm.Add(between(r, 0, 20*time.Second))
			end := out.Add(between(r, time.Second, longest))
			if chosen := r.IntN(30) == 0; chosen && w.decides(fmt.Sprintf("%s of %s is cut off from %s for %s", from, to, out.Sub(w.began), end.Sub(out))) {
				w.partitions = append(w.partitions, partition{from, to, out, end})
				if end.After(w.calm) {
					w.calm = end
				}
			}
		}
	}
}

// drawLongOutage cuts GoCardless off for longer than the part of its list that is read again, with faults after it. What is only listed as
// it begins is older than that part once it ends.
func (w *world) drawLongOutage(r *rand.Rand) {
	out := w.storm.Add(between(r, 60*time.Second, 80*time.Second))
	end := out.Add(between(r, 125*time.Second, 180*time.Second))
	if chosen := r.IntN(6) == 0; !chosen || !w.plan.far || !w.decides("GoCardless is cut off for "+end.Sub(out).String()) {
		return
	}
	w.partitions = append(w.partitions, partition{"", "bank", out, end})
	w.calm = end.Add(between(r, 10*time.Second, 30*time.Second))
	w.plan.rates["store "+broken] = 100 // so that what was read is often not kept
	w.saw("GoCardless was cut off for long")
	w.actors.Go(func() {
		for n := range 3 {
			w.rest("the long outage", time.Until(w.storm)+time.Duration(n)*15*time.Second)
			w.enrol(fmt.Sprint("early ", n))
		}
		w.rest("the long outage", time.Until(out)-20*time.Second)
		w.onlyLists(checkout.MandateActive)
		w.rest("the long outage", time.Until(out))
		w.onlyLists(checkout.MandateCancelled)
	})
}

// isOut reports whether a system cannot be reached by a process now.
func (w *world) isOut(p *process, to string) bool {
	now, from := time.Now(), fmt.Sprint("process ", p.slot)
	return slices.ContainsFunc(w.partitions, func(o partition) bool {
		return o.to == to && (o.from == "" || o.from == from) && !now.Before(o.out) && now.Before(o.end)
	})
}

// isCalm reports whether nothing goes wrong now.
func (w *world) isCalm() bool {
	now := time.Now()
	return now.Before(w.storm) || !now.Before(w.calm)
}
