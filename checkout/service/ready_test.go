package service_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// asked disturbs a store: it counts the calls of one method, and answers them with says.
type asked struct {
	method string
	says   func(context.Context) error
	times  atomic.Int64
}

// newAsked returns a change that has a store's readiness be what says returns.
func newAsked(says func(context.Context) error) (*asked, func(*service.Config)) {
	a := &asked{method: "Ready", says: says}
	return a, disturbing(a.through)
}

func (a *asked) through(ctx context.Context, method, _ string, call func(context.Context) error) error {
	if method != a.method {
		return call(ctx)
	}
	a.times.Add(1)
	return a.says(ctx)
}

var errReadOnly = errors.New("the disk is read-only")

func TestReadinessTellsTheTruth(t *testing.T) {
	for _, tt := range []struct {
		name      string
		store     error
		processor error
		ready     bool
		reports   string
	}{
		{"everything is there", nil, nil, true, ""},
		{"a store that cannot write", errReadOnly, nil, false, "the store is not ready: the disk is read-only"},
		{"a processor that is down", nil, errors.New("connection refused"), false, "the processor is not ready: connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, change := newAsked(func(context.Context) error { return tt.store })
			w := newWorld(t, change)
			w.processor.err = tt.processor
			for range 3 {
				if got := w.Readiness(t.Context()).ReadyForAPICalls; got != tt.ready {
					t.Errorf("ready for API calls = %v, want %v", got, tt.ready)
				}
			}
			h := w.Health(t.Context())
			if !errors.Is(h.Store, tt.store) || !errors.Is(h.Processor, tt.processor) || h.OK() != tt.ready {
				t.Errorf("health = %+v, want %v and %v", h, tt.store, tt.processor)
			}
			if got := w.reports.text(); got != tt.reports {
				t.Errorf("reported %q, want %q, once", got, tt.reports)
			}
		})
	}
}

// text joins what was reported.
func (r *reports) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := make([]string, len(r.all))
	for i, f := range r.all {
		texts[i] = f.Err.Error()
	}
	return strings.Join(texts, "\n")
}

func TestAFloodOfQuestionsIsOneCheckASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, change := newAsked(func(context.Context) error { time.Sleep(100 * time.Millisecond); return nil })
		w := newWorld(t, change)
		flood := func(want int64) {
			t.Helper()
			var all sync.WaitGroup
			for range crowd {
				all.Go(func() {
					if !w.Readiness(t.Context()).ReadyForAPICalls {
						t.Error("not ready")
					}
				})
			}
			all.Wait()
			if got := store.times.Load(); got != want {
				t.Errorf("%d checks so far, want %d", got, want)
			}
		}
		flood(1)
		time.Sleep(time.Second - time.Nanosecond)
		flood(1)
		time.Sleep(time.Nanosecond)
		flood(2)
	})
}

func TestAStoreThatHangsIsNotReadyAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, change := newAsked(func(context.Context) error { time.Sleep(5 * time.Second); return nil })
		w := newWorld(t, change)
		began := time.Now()
		for range 3 {
			if h := w.Health(t.Context()); h.Store == nil || h.Processor != nil {
				t.Errorf("health = %+v, want the store alone not to be ready", h)
			}
		}
		if took := time.Since(began); took != time.Second || store.times.Load() != 1 {
			t.Errorf("three answers took %s and %d checks, want 1 s and one check under way", took, store.times.Load())
		}
		time.Sleep(4*time.Second + time.Nanosecond) // now it has answered, too late
		if h := w.Health(t.Context()); !errors.Is(h.Store, context.DeadlineExceeded) {
			t.Errorf("a late answer counts as %v, want %v", h.Store, context.DeadlineExceeded)
		}
	})
}

func TestAConfigurationThatCannotBeReadIsNotReady(t *testing.T) {
	for name, says := range map[string]func(context.Context) error{
		"at once": func(context.Context) error { return errReadOnly }, "in time": hangs} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &asked{method: "Providers", says: says}
				w := newWorld(t, disturbing(s.through))
				began := time.Now()
				for range 3 {
					if r := w.Readiness(t.Context()); r.ReadyForAPICalls || r.WebhookDestinationsConfigured {
						t.Errorf("readiness %+v, want none", r)
					}
				}
				if took := time.Since(began); took > time.Second || s.times.Load() != 1 {
					t.Errorf("three answers took %s and %d readings, want at most 1 s and 1", took, s.times.Load())
				}
			})
		})
	}
}

func TestWhoHangsUpWaitsForNoCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, change := newAsked(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		w := newWorld(t, change)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		if h := w.Health(ctx); h.OK() || time.Since(began) != time.Millisecond {
			t.Errorf("health = %+v after %s, want no answer after 1ms", h, time.Since(began))
		}
		time.Sleep(time.Second) // the check itself has its second
	})
}

func TestNotReadyWhileAProviderGivesTooLittleNotice(t *testing.T) {
	for _, tt := range []struct {
		name   string
		given  int // days; 0 for the usual 10
		active bool
		least  int
		err    error
		want   string
	}{
		{"enough", 3, true, 3, nil, ""},
		{"the usual", 0, true, 10, nil, ""},
		{"less than the processor needs", 2, true, 3, nil, "provider KOWHAI: its notice_days are 2, and its account needs 3"},
		{"less than the usual is not enough", 0, true, 11, nil, "provider KOWHAI: its notice_days are 10"},
		{"a provider that may not be used", 2, false, 3, nil, ""},
		{"a processor that does not say", 3, true, 3, errors.New("connection reset"), "connection reset"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, func(c *service.Config) {
				c.Processor = &knowingProcessor{processor: c.Processor.(*processor), creditor: checkout.Creditor{Notice: tt.least}, failure: tt.err}
			})
			err := w.store.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
				for i := range all {
					if all[i].Provider.NoticeDays = 0; all[i].Provider.Code == "KOWHAI" {
						all[i].Provider.NoticeDays, all[i].Provider.Active = tt.given, tt.active
					} else {
						all[i].Provider.Active = false
					}
				}
				return all, nil, nil
			})
			must(t, err)
			switch err := w.Health(t.Context()).Processor; {
			case tt.want == "" && err != nil:
				t.Errorf("not ready: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("ready: %v, want %q", err, tt.want)
			}
		})
	}
}

// A store that does not answer is not taken for a processor that does not.
func TestProcessorIsReadyWhileTheStoreIsAway(t *testing.T) {
	for name, away := range map[string]func(context.Context) error{
		"refuses": func(context.Context) error { return errReadOnly },
		"hangs":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				w := newWorld(t, disturbing(func(ctx context.Context, method, _ string, call func(context.Context) error) error {
					if down.Load() && (method == "Ready" || method == "Providers") {
						return away(ctx)
					}
					return call(ctx)
				}), func(c *service.Config) {
					p := &knowingProcessor{processor: c.Processor.(*processor)}
					p.says("Rimu College", nil, 0)
					c.Processor = p
				})
				down.Store(true)
				if h := w.Health(t.Context()); h.Store == nil || h.Processor != nil || h.CRM != nil {
					t.Errorf("health = %+v, want only the store away", h)
				}
			})
		})
	}
}
