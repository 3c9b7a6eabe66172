package golive

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/ports"
)

// newLog returns a log on a store that has the provider KOWHAI, and a function that moves its clock.
func newLog(t *testing.T) (l *Log, forward func(time.Duration)) {
	store, now := memory.New(), began
	err := store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		return []catalogue.Configuration{{Provider: catalogue.Provider{Code: "KOWHAI"}}}, nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l = NewLog(store, "", func() time.Time { return now }, func(_ string, err error) { t.Error(err) })
	return l, func(d time.Duration) { now = now.Add(d) }
}

// stored returns the requests of KOWHAI in the store.
func stored(t *testing.T, l *Log) []call {
	calls, _, err := pageOf(t.Context(), l.store, "KOWHAI", 0, 2*newest)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

var early = httpapi.Answered{ID: "req_1", Method: "POST", Route: confirmRoute, Status: 409, Code: string(checkout.CodeSetupIncomplete),
	Provider: "KOWHAI", Checkout: "KOWHAI-1-a"}

func TestWhatIsProvenIsRecordedBeforeItsRequestIsRemoved(t *testing.T) {
	l, forward := newLog(t)
	l.add(early)
	l.Flush(t.Context())
	l.tidy(t.Context())
	if got := stored(t, l); len(got) != 1 {
		t.Fatalf("the store has %v", got)
	}
	forward(kept + time.Minute)
	l.tidy(t.Context())
	if got := stored(t, l); len(got) != 0 {
		t.Errorf("after a day the store has %v", got)
	}
	check, err := l.Check(t.Context(), "KOWHAI")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range check.Steps {
		if s.Done() != (s.Name == "early_confirm") || s.Done() && (s.RequestID != "req_1" || !s.At.Equal(began)) {
			t.Errorf("%s is proven by %+v", s.Name, s.Proof)
		}
	}
}

// dropping is a store that notes which records of the sandbox are to be removed.
type dropping struct {
	Store
	dropped *[]string
}

func (d dropping) DropSandboxRecords(_ context.Context, prefix string) error {
	*d.dropped = append(*d.dropped, prefix)
	return nil
}

func TestOldRecordsOfScenariosAreRemoved(t *testing.T) {
	l, _ := newLog(t)
	var removed, want []string
	l.store = dropping{l.store, &want}
	if err := scenario.Tidy(t.Context(), l.store, l.now()); err != nil {
		t.Fatal(err)
	}
	l.store = dropping{l.store, &removed}
	if l.tidy(t.Context()); len(want) == 0 || !slices.Equal(removed, want) {
		t.Errorf("removed are the records of %q, want %q", removed, want)
	}
}

func TestTheLogIsBounded(t *testing.T) {
	l, forward := newLog(t)
	flood := early
	flood.Provider = "TUI"
	for range 3 * maxWaiting {
		l.add(flood)
	}
	for range 3 * maxWaiting {
		l.add(early)
	}
	l.Flush(t.Context())
	if n := len(stored(t, l)); n != maxWaiting {
		t.Errorf("%d requests of a burst are stored, want %d", n, maxWaiting)
	}
	for range newest / maxWaiting {
		forward(time.Second)
		for range maxWaiting {
			l.add(early)
		}
		l.Flush(t.Context())
	}
	if got := stored(t, l); len(got) != newest || !got[0].At.After(began) {
		t.Errorf("%d requests are kept, want the newest %d", len(got), newest)
	}
}

func TestNoRequestOfAProviderThatWasRemovedIsKept(t *testing.T) {
	l, _ := newLog(t)
	l.add(early)
	err := l.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		return nil, nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Flush(t.Context())
	if got := stored(t, l); len(got) != 0 {
		t.Errorf("the store has %v, which nothing would remove", got)
	}
}

// slow is a store that takes long for the requests of TUI.
type slow struct {
	Store
	begun, done chan struct{}
}

func (s slow) LoggedRequests(ctx context.Context, provider string, after checkout.Cursor, limit int) ([][]byte, checkout.Cursor, error) {
	if provider == "TUI" {
		close(s.begun)
		<-s.done
	}
	return s.Store.LoggedRequests(ctx, provider, after, limit)
}

func TestTheCheckOfAProviderHoldsUpNoOther(t *testing.T) {
	l, _ := newLog(t)
	s := slow{l.store, make(chan struct{}), make(chan struct{})}
	l.store = s
	var other sync.WaitGroup
	other.Go(func() { _, _ = l.Check(t.Context(), "TUI") })
	<-s.begun
	checked := make(chan error, 1)
	other.Go(func() { _, err := l.Check(t.Context(), "KOWHAI"); checked <- err })
	select {
	case err := <-checked:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("the check of KOWHAI waits for that of TUI")
	}
	close(s.done)
	other.Wait()
}

// stuck is a store that does not answer for the log until done is closed, also if its caller's context ends meanwhile. It says when it
// is asked.
type stuck struct {
	Store
	begun, done chan struct{}
}

func (s stuck) LogRequests(context.Context, string, time.Time, [][]byte, time.Time, int) error {
	s.begun <- struct{}{}
	<-s.done
	return nil
}

func (s stuck) LoggedRequests(ctx context.Context, _ string, _ checkout.Cursor, _ int) ([][]byte, checkout.Cursor, error) {
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	s.begun <- struct{}{}
	<-s.done
	return nil, 0, nil
}

func TestNothingWaitsForAStoreThatIsStuck(t *testing.T) {
	const gone, stays = time.Second, time.Hour
	for _, tt := range []struct {
		name    string
		holds   func(*Log)
		caller  time.Duration
		waits   func(*Log, context.Context) error
		atMost  time.Duration
		refused error
	}{
		{"a caller who goes away, and requests that are being stored", flushes, gone, flushing, time.Second, nil},
		{"the end of the process, and requests that are being stored", flushes, stays, flushing, storing, nil},
		{"a caller who goes away, and a check", checks, gone, checkingKowhai, time.Second, context.DeadlineExceeded},
		{"a check, and another one", checks, stays, checkingKowhai, checking, ports.ErrBusy},
		{"a check, and requests that are being stored", flushes, gone, checkingKowhai, time.Second, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := newLog(t)
				s := stuck{l.store, make(chan struct{}, 2), make(chan struct{})}
				l.store = s
				var first sync.WaitGroup
				first.Go(func() { tt.holds(l) })
				<-s.begun
				ctx, cancel := context.WithTimeout(t.Context(), tt.caller)
				defer cancel()
				began := time.Now()
				if err := tt.waits(l, ctx); !errors.Is(err, tt.refused) {
					t.Errorf("the error is %v, want %v", err, tt.refused)
				}
				if took := time.Since(began); took != tt.atMost {
					t.Errorf("it waits for %v, want %v", took, tt.atMost)
				}
				close(s.done)
				first.Wait()
			})
		})
	}
}

func flushes(l *Log) {
	l.add(early)
	l.Flush(context.Background())
}

func flushing(l *Log, ctx context.Context) error { l.Flush(ctx); return nil }

func checks(l *Log) { _, _ = l.Check(context.Background(), "KOWHAI") }

func checkingKowhai(l *Log, ctx context.Context) error {
	_, err := l.Check(ctx, "KOWHAI")
	return err
}

func TestOnlyTheCallsOfAProviderAreLogged(t *testing.T) {
	l, _ := newLog(t)
	for _, a := range []httpapi.Answered{
		{Provider: "KOWHAI", Route: "/api/dd-setup"}, // of a payer
		{Provider: "KOWHAI", Route: "other"},
		{Route: "/v1/events"}, // without a good key
		{Provider: "KOWHAI", Route: logRoute},
		{Provider: "KOWHAI", Route: CheckPath},
		{Provider: "KOWHAI", Route: "/sandbox/v1/checkouts/{checkoutId}/clock"},
	} {
		l.add(a)
	}
	l.Flush(t.Context())
	if got := stored(t, l); len(got) != 1 || got[0].Route != "/sandbox/v1/checkouts/{checkoutId}/clock" {
		t.Errorf("logged are %v", got)
	}
}
