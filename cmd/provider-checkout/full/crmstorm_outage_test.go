package full_test

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const (
	outageBackends = 8  // clients that enrol one student after another
	outageBurst    = 50 // creates, and as many confirms, that are under way when the organisation goes away

	openAfter     = 12 * time.Second // when the organisation is left alone, and creates are refused at once
	slowestAnswer = 10 * time.Second // answer of all
	fastAnswer    = time.Second      // answer to nine of ten creates afterwards

	callsAtOnce  = 20 + 1 // that the adapter makes, and for a token
	callsOfOpen  = 2
	retriesOfOne = 4 // tries that an adapter makes of a call
)

// TestOutage takes the organisation away under load: its answers hang. In a long run that is for as many minutes, and a call
// is given up after the five seconds of the adapter; else it is for twenty seconds, and a call is given up after one.
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=10 go test -run TestOutage -timeout 1h -v ./cmd/provider-checkout/full
func TestOutage(t *testing.T) {
	t.Parallel()
	away, giveUp, warmUp := 20*time.Second, time.Second, 4*time.Second
	if testlevel.IsLong() {
		away, giveUp, warmUp = time.Duration(testlevel.Runs(t, 0))*time.Minute, 0, 30*time.Second
	}
	store := openSQLite(t, filepath.Join(t.TempDir(), "store.db"))
	w := newStormWorld(t, store, giveUp)
	stop := w.serve(t, store)
	o := &outageWorld{stormWorld: w, client: w.newClient(t), all: enrolMany(50_000, 0, func(int) clientHabit { return retriesAlways })}

	opened, confirmed, ready, late := o.next(1)[0], o.next(1)[0], o.next(outageBurst), o.next(outageBurst)
	togetherEnrolments(t, stormClients, slices.Concat(ready, []*enrolment{opened}), func(e *enrolment) error { return e.create(t.Context(), o.client) })
	togetherEnrolments(t, stormClients, slices.Concat(ready, []*enrolment{confirmed}), func(e *enrolment) error {
		if e == confirmed {
			return e.complete(t.Context(), o.client)
		}
		return e.pay(t.Context(), o.client)
	})
	calm := w.gate.reset() + 1
	finish := o.load(t)
	<-time.After(warmUp)

	w.org.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultTimeout})
	gone := w.gate.reset()
	began := time.Now()
	var first sync.WaitGroup
	first.Go(func() { o.once(t, late, (*enrolment).create) })
	first.Go(func() { o.once(t, ready, (*enrolment).confirm) })
	var refused []*enrolment
	var times []time.Duration // of the refusals at once
	written := -1
	for n := 0; time.Since(began) < away; n++ {
		o.goesOn(t, opened, confirmed)
		since := time.Since(began)
		took := o.refuse(t, &refused)
		if took > slowestAnswer {
			t.Errorf("%v after the organisation went away a create is refused in %v", since, took)
		}
		if since > openAfter {
			times = append(times, took)
		}
		if since > openAfter && written < 0 {
			w.gate.reset()
			written = len(w.org.Journal()) // by now no call of before is under way
		}
		<-time.After(100 * time.Millisecond)
	}
	first.Wait()
	if got := len(w.org.Journal()); got != written {
		t.Errorf("void: %d records were written while the organisation was away", got-written)
	}
	o.hidden(t)
	backlogs, err := w.service.Backlogs(t.Context())
	waiting := backlogs[checkout.JobOpen].Waiting + backlogs[checkout.JobComplete].Waiting
	if err != nil || waiting < outageBurst {
		t.Errorf("void: %d checkouts wait for the organisation, %v", waiting, err)
	}

	w.org.Disarm()
	back := w.gate.reset()
	converged := o.workedOff(t)
	<-time.After(3 * time.Second)
	_, after, most := w.gate.between(back, time.Now().Unix())
	finish()
	togetherEnrolments(t, stormClients, slices.Concat(refused, late, ready, []*enrolment{opened}), func(e *enrolment) error {
		return e.complete(t.Context(), o.client)
	})
	w.settled(t)
	stop()

	all := o.all[:o.used.Load()]
	_, before, _ := w.gate.between(calm, gone)
	slices.Sort(times)
	usual := times[len(times)*9/10]
	lone := began.Add(openAfter).Unix() + 1
	probes, _, _ := w.gate.between(lone, back)
	t.Logf("checkouts              %d\ncreates refused        %d, nine of ten within %.3f s\nwaiting at the return  %d\ncalls a second before  %d at most\n"+
		"calls while away       %d in %d s\ncalls a second after   %d at most, %d at once\nconverged after        %.1f s", len(all), len(refused), usual.Seconds(),
		waiting, before, probes, back-lone, after, most, converged.Seconds())
	if usual > fastAnswer {
		t.Errorf("one of ten creates is refused in more than %v while the organisation is left alone, want %v", usual, fastAnswer)
	}
	if probes > 2*int(back-lone)+retriesOfOne {
		t.Errorf("%d calls in %d s of an organisation that does not answer, want a try now and then", probes, back-lone)
	}
	if limit := 3*before + callsOfOpen*waiting; most > callsAtOnce || after > limit {
		t.Errorf("after the return %d calls a second at most and %d at once, want %d and %d: no more than what waited takes, beside the load",
			after, most, limit, callsAtOnce)
	}
	w.check(t, all, false)
}

// outageWorld is a service under load whose organisation goes away.
type outageWorld struct {
	*stormWorld
	client *apiclient.Client
	all    []*enrolment
	used   atomic.Int64 // of all
}

// next returns enrolments that are new.
func (o *outageWorld) next(n int) []*enrolment {
	to := o.used.Add(int64(n))
	return slices.Clone(o.all[to-int64(n) : to])
}

// load has backends enrol students until finish is called, which waits until they have completed what they began.
func (o *outageWorld) load(t *testing.T) (finish func()) {
	var group sync.WaitGroup
	ending := make(chan struct{})
	for range outageBackends {
		group.Go(func() {
			for {
				if err := o.next(1)[0].complete(t.Context(), o.client); err != nil {
					t.Error(err)
				}
				select {
				case <-ending:
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	return func() { close(ending); group.Wait() }
}

// once sends one request for each enrolment, all together; the clients go silent if it is refused.
func (o *outageWorld) once(t *testing.T, all []*enrolment, request func(*enrolment, context.Context, *apiclient.Client) error) {
	togetherEnrolments(t, len(all), all, func(e *enrolment) error {
		e.limit = 1
		err := request(e, t.Context(), o.client)
		if e.limit = 0; err == nil {
			t.Errorf("void: %s succeeds though the organisation is away", e.Order)
		}
		return nil
	})
}

// goesOn checks what needs no organisation: polls, replays, the payer's page, and repeats of a confirm.
func (o *outageWorld) goesOn(t *testing.T, opened, confirmed *enrolment) {
	t.Helper()
	for _, e := range []*enrolment{opened, confirmed} {
		for what, r := range map[string]func() (sandbox.Response, error){
			"poll": func() (sandbox.Response, error) {
				return o.client.Poll(t.Context(), e.Created)
			},
			"replay": func() (sandbox.Response, error) {
				return e.SendCreate(t.Context(), o.client)
			},
			"page": func() (sandbox.Response, error) {
				return o.client.Call(t.Context(), e.Provider, http.MethodGet, strings.TrimPrefix(e.Created.SetupURL(), o.url), "")
			},
			"confirm": func() (sandbox.Response, error) {
				return o.client.Confirm(t.Context(), e.Created, e.Created.ConfirmBody())
			},
		} {
			if e == opened && what == "confirm" {
				continue
			}
			began := time.Now()
			if got, err := r(); err != nil || got.Status != http.StatusOK || testlevel.Elapsed(began) > slowestAnswer {
				t.Errorf("a %s is answered %d %v after %v while the organisation is away: %s", what, got.Status, err, time.Since(began), got.Body)
			}
		}
	}
}

// refuse sends a new create, and returns how long it took to be refused.
func (o *outageWorld) refuse(t *testing.T, refused *[]*enrolment) time.Duration {
	t.Helper()
	e := o.next(1)[0]
	*refused = append(*refused, e)
	began := time.Now()
	r, err := e.SendCreate(t.Context(), o.client)
	after, noNumber := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || r.Status != http.StatusServiceUnavailable || noNumber != nil || after < 1 {
		t.Errorf("a create while the organisation is away is answered %d %v %s, Retry-After %q", r.Status, err, r.Body, r.Header.Get("Retry-After"))
	}
	return testlevel.Elapsed(began)
}

// workedOff waits until nothing is left of what waited for the organisation when it came back, and returns how long that took.
func (o *outageWorld) workedOff(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		backlogs, err := o.service.Backlogs(t.Context())
		open, complete := backlogs[checkout.JobOpen], backlogs[checkout.JobComplete]
		waiting, age, took := open.Waiting+complete.Waiting, max(open.Age, complete.Age), time.Since(began)
		if err != nil || testlevel.Elapsed(began) > patience {
			t.Errorf("%d checkouts wait for the organisation %v after its return, the oldest for %v, %v", waiting, took, age, err)
			return took
		}
		if age < took {
			return took
		}
		<-time.After(20 * time.Millisecond)
	}
}

// hidden checks that what was not opened cannot be seen.
func (o *outageWorld) hidden(t *testing.T) {
	t.Helper()
	for name, r := range o.stored(t) {
		if r.Checkout.Status != checkout.Reserved {
			continue
		}
		got, err := o.client.Call(t.Context(), r.Checkout.ProviderCode, http.MethodGet, "/v1/provider-checkouts/"+r.Checkout.ID, "")
		if err != nil || got.Status != http.StatusNotFound || len(r.Events()) > 0 {
			t.Errorf("%s, which is reserved, is answered %d %v and has %d events", name, got.Status, err, len(r.Events()))
		}
	}
}
