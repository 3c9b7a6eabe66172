package providers

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

const every = 5 * time.Minute

func named(code, name string) catalogue.Configuration {
	return catalogue.Configuration{Provider: catalogue.Provider{Code: code, Name: name, Environment: catalogue.Sandbox, Mode: catalogue.Legacy}}
}

// organisation is what a CRM says.
type organisation struct {
	reads atomic.Int32

	mu   sync.Mutex
	says []catalogue.Configuration
	err  error
}

func (o *organisation) set(err error, says ...catalogue.Configuration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.says, o.err = says, err
}

func (o *organisation) read(context.Context) ([]catalogue.Configuration, error) {
	o.reads.Add(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.says, o.err
}

// puller is a Puller over a store, with its log.
func puller(store Records, read func(context.Context) ([]catalogue.Configuration, error)) (Puller, *bytes.Buffer) {
	var log bytes.Buffer
	return Puller{Read: read, Records: store, Record: record, Every: every, Log: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now}, &log
}

// record is the Record of a change of which nothing is tested.
func record(string, []string) (evidence.Entry, error) {
	return evidence.Entry{ID: evidence.OperationID(rand.Text())}, nil
}

// running runs pullers until the returned function is called, which waits for them.
func running(t *testing.T, pullers ...Puller) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, p := range pullers {
		all.Go(func() { p.Run(ctx) })
	}
	return func() { cancel(); all.Wait() }
}

// names returns the names of the providers on record.
func names(t *testing.T, store *memory.Store) (all []string) {
	t.Helper()
	err := store.ReplaceProviders(t.Context(), func(before []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		for _, c := range before {
			all = append(all, c.Provider.Name)
		}
		return before, nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPullerFollowsTheCRM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, crm := memory.New(), &organisation{}
		crm.set(nil, named("KOWHAI", "Kōwhai"))
		p, log := puller(store, crm.read)
		stop := running(t, p)
		synctest.Wait()
		if got := names(t, store); !slices.Equal(got, []string{"Kōwhai"}) {
			t.Errorf("at the start: %q", got)
		}
		crm.set(nil, named("RATA", "Rata"))
		time.Sleep(every)
		synctest.Wait()
		if got := names(t, store); !slices.Equal(got, []string{"Kōwhai", "Rata"}) {
			t.Errorf("after an interval: %q, want the provider that the CRM no longer has too", got)
		}
		crm.set(errors.New("out of order"), named("RATA", "Other"))
		time.Sleep(2 * every)
		synctest.Wait()
		if got := names(t, store); !slices.Equal(got, []string{"Kōwhai", "Rata"}) {
			t.Errorf("after failures: %q", got)
		}
		stop()
		if said := log.String(); strings.Count(said, "providers changed") != 2 || strings.Count(said, "read the CRM: out of order") != 2 || crm.reads.Load() != 4 {
			t.Errorf("%d reads, and the log says\n%s", crm.reads.Load(), said)
		}
	})
}

func TestPullersAskTheCRMOnceAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, crm := memory.New(), &organisation{}
		crm.set(nil, named("KOWHAI", "Kōwhai"))
		first, _ := puller(store, crm.read)
		second, log := puller(store, crm.read)
		stopFirst := running(t, first)
		time.Sleep(every / 4)
		stopSecond := running(t, second)
		time.Sleep(4 * every)
		synctest.Wait()
		if crm.reads.Load() != 5 {
			t.Errorf("%d reads by two processes in %v, want one each %v", crm.reads.Load(), 4*every+every/4, every)
		}
		stopFirst() // its work is the other's
		time.Sleep(2 * every)
		synctest.Wait()
		if stopSecond(); crm.reads.Load() < 6 || log.Len() > 0 {
			t.Errorf("%d reads once the first process ended; the log says %s", crm.reads.Load(), log)
		}
	})
}

// A process that was suspended while it read has lost its lease: what it read is old.
func TestPullerThatLostItsLeaseStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		p, log := puller(store, func(ctx context.Context) ([]catalogue.Configuration, error) {
			_, err := store.LeaseTask(ctx, pullTask, time.Now().Add(pullLease), time.Now().Add(2*pullLease))
			return []catalogue.Configuration{named("KOWHAI", "Kōwhai")}, err
		})
		stop := running(t, p)
		synctest.Wait()
		if got := names(t, store); len(got) > 0 {
			t.Errorf("%q were stored", got)
		}
		if stop(); !strings.Contains(log.String(), "keep the lease") {
			t.Errorf("the log says %s", log)
		}
	})
}

func TestPullerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		p, log := puller(memory.New(), func(ctx context.Context) ([]catalogue.Configuration, error) {
			<-ctx.Done()
			ended.Store(true)
			return nil, ctx.Err()
		})
		stop := running(t, p)
		synctest.Wait()
		if stop(); !ended.Load() || log.Len() > 0 {
			t.Errorf("the read ended: %v; the log says %s", ended.Load(), log)
		}
	})
}

func TestPullerStopsAReadThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, log := puller(memory.New(), func(ctx context.Context) ([]catalogue.Configuration, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		stop := running(t, p)
		time.Sleep(pullLimit)
		synctest.Wait()
		if stop(); !strings.Contains(log.String(), "read the CRM: context deadline exceeded") {
			t.Errorf("the log says %s", log)
		}
	})
}

// recorder counts what is written.
type recorder struct {
	*memory.Store
	writes int
}

func (r *recorder) ReplaceProviders(ctx context.Context, decide func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error)) error {
	err := r.Store.ReplaceProviders(ctx, decide)
	if err == nil {
		r.writes++
	}
	return err
}

func TestAChangeOfNothingWritesNothing(t *testing.T) {
	store := &recorder{Store: memory.New()}
	with := named("KOWHAI", "Kōwhai")
	with.Provider.Destination = catalogue.Destination{URL: "https://hooks.example", Secret: "whsec_0123456789abcdefgh"}
	for _, tt := range []struct {
		name   string
		change Change
		lines  int
		writes int
	}{
		{"a dry run", Change{Named: []catalogue.Configuration{with}, DryRun: true}, 1, 0},
		{"the first time", Change{Named: []catalogue.Configuration{with}, Record: record}, 1, 1},
		{"the second time", Change{Named: []catalogue.Configuration{with}, Record: record}, 0, 1},
		{"without the destination, which is kept", Change{Named: []catalogue.Configuration{named("KOWHAI", "Kōwhai")}, KeepDestinations: true, Record: record}, 0, 1},
		{"without the destination, which is not", Change{Named: []catalogue.Configuration{named("KOWHAI", "Kōwhai")}, Record: record}, 1, 2},
	} {
		lines, err := tt.change.Store(t.Context(), store)
		if err != nil || len(lines) != tt.lines || store.writes != tt.writes {
			t.Errorf("%s: %q, %v, %d writes; want %d lines and %d writes", tt.name, lines, err, store.writes, tt.lines, tt.writes)
		}
	}
}

func TestAChangeIsRecordedWithItsProvidersAndItsLines(t *testing.T) {
	store := memory.New()
	var subjects []string
	var lines [][]string
	recorded := func(subject string, differences []string) (evidence.Entry, error) {
		subjects, lines = append(subjects, subject), append(lines, differences)
		return record(subject, differences)
	}
	for _, change := range []Change{
		{Named: []catalogue.Configuration{named("TUI", "Tūī"), named("KOWHAI", "Kōwhai"), named("RATA", "Rata")}},
		{Named: []catalogue.Configuration{named("RATA", "Rātā"), named("MOA", "Moa"), named("KOWHAI", "Kōwhai")}, Prune: true},
	} {
		change.Record = recorded
		printed, err := change.Store(t.Context(), store)
		if err != nil || !slices.Equal(printed, lines[len(lines)-1]) {
			t.Errorf("recorded are %q, and returned %q, %v", lines, printed, err)
		}
	}
	if want := []string{"KOWHAI RATA TUI", "MOA RATA TUI"}; !slices.Equal(subjects, want) {
		t.Errorf("the subjects are %q, want %q", subjects, want)
	}
	if entries, err := store.UnsealedEvidence(t.Context(), 10); err != nil || len(entries) != 2 {
		t.Errorf("on record are %d entries, %v", len(entries), err)
	}
}

func TestAChangeThatCannotBeRecordedIsNotMade(t *testing.T) {
	store := memory.New()
	failing := errors.New("no randomness")
	_, err := Change{Named: []catalogue.Configuration{named("KOWHAI", "Kōwhai")},
		Record: func(string, []string) (evidence.Entry, error) { return evidence.Entry{}, failing }}.Store(t.Context(), store)
	if got := names(t, store); !errors.Is(err, failing) || len(got) != 0 {
		t.Errorf("%q are on record, %v", got, err)
	}
}
