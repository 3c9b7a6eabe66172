package simulation_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing/synctest"
	"time"
)

// turns has the goroutines of a world go on one at a time: whoever calls something outside waits for a turn, and the driver gives the
// next turn once every goroutine waits. Turns come by their times and, at the same instant, by their names, so that a seed leads to the
// same schedule whenever it is played.
type turns struct {
	mu      sync.Mutex // guards the whole world, but for the model
	waiting []*turn
	arrived chan struct{} // there is a new turn, or a turn has another time, or all is over
	over    bool
}

// turn is the wait of a goroutine.
type turn struct {
	at   time.Time
	name string
	of   *process // nil of an actor outside of the processes
	go_  chan struct{}
}

// await returns when it is the turn of the caller, after a time, or once ctx has ended: a process that is stopped waits until it goes
// on. The error is errKilled if the process was killed.
func (w *world) await(ctx context.Context, of *process, name string, after time.Duration) error {
	t := &turn{time.Now().Add(after), name, of, make(chan struct{})}
	w.mu.Lock()
	w.waiting = append(w.waiting, t)
	w.mu.Unlock()
	w.arrive()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if now := time.Now(); t.at.After(now) {
				t.at = now
			}
			w.arrive()
		})()
	}
	<-t.go_
	if of != nil && of.killed() {
		return errKilled
	}
	return nil
}

func (w *world) arrive() {
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// drive gives turns until the world is over.
func (w *world) drive() {
	for {
		synctest.Wait()
		next, at, over := w.next()
		switch now := time.Now(); {
		case next == nil && over:
			return
		case next == nil:
			select {
			case <-w.arrived:
			case <-time.After(time.Hour):
				w.model.hangs()
				return
			}
		case at.After(now):
			select {
			case <-w.arrived:
			case <-time.After(at.Sub(now)):
			}
		default:
			w.take(next)
			close(next.go_)
		}
	}
}

// next returns the turn that comes next, or nil, and its time.
func (w *world) next() (first *turn, at time.Time, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.waiting {
		switch {
		case t.of == nil:
		case t.of.dead:
			t.at = time.Time{}
		case t.at.Before(t.of.stopped):
			t.at = t.of.stopped.Add(time.Duration(hashOf(t.name) % uint64(time.Millisecond)))
		}
		if first == nil || t.at.Before(first.at) || t.at.Equal(first.at) && t.name < first.name {
			first, at = t, t.at
		}
	}
	return first, at, w.over
}

// take takes a turn off the list.
func (w *world) take(t *turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, t)
	w.waiting = slices.Delete(w.waiting, i, i+1)
	w.trace(t.name)
}

// trace notes what happens, so that two runs of a seed can be compared. The lock is held.
func (w *world) trace(what string) {
	at := time.Since(w.began)
	w.traced = w.traced*31 + hashOf(what, strconv.FormatInt(int64(at), 10))
	if w.telling {
		w.told = append(w.told, fmt.Sprintf("%10.6f %s", at.Seconds(), what))
	}
}

func hashOf(texts ...string) uint64 {
	h := fnv.New64a()
	for _, text := range texts {
		_, _ = io.WriteString(h, text)
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// drawn counts the draws for a purpose.
type drawn struct {
	times int
	at    time.Time // the latest
}

// chance returns a generator for the next draw for a purpose, and the name of the draw, which says how many there were before. Draws
// at the same instant are the same: which goroutine comes first is not known.
func (w *world) chance(what string) (r *rand.Rand, name string) {
	w.mu.Lock()
	d, now := w.draws[what], time.Now()
	if d.times == 0 || !d.at.Equal(now) {
		d = drawn{d.times + 1, now}
		w.draws[what] = d
	}
	w.mu.Unlock()
	if name = what; d.times > 1 {
		name += " #" + strconv.Itoa(d.times)
	}
	return rand.New(rand.NewPCG(w.seed*0x9e3779b97f4a7c15, hashOf(name))), name
}

// decides reports whether a decision is made, and not left out of a schedule that is being shortened.
func (w *world) decides(decision string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left[decision] {
		return false
	}
	w.made = append(w.made, decision)
	return true
}

// saw counts something that happened.
func (w *world) saw(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[what]++
}

func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}
