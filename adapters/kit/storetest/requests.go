package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// RequestStore keeps the log of each provider's requests to a sandbox, where every process finds it.
type RequestStore interface {
	ports.Configurer // that removes a provider removes its log

	// LogRequests adds requests to the end of a provider's log at a time, and then removes the requests from before since, and all
	// but the newest. Requests of one call stay together, in their order.
	LogRequests(ctx context.Context, provider string, at time.Time, requests [][]byte, since time.Time, newest int) error
	// LoggedRequests returns the first requests behind a cursor, at most limit, and where the log goes on: the given cursor without
	// any. Once a call in any process has returned a cursor, every request that is added later comes behind it.
	LoggedRequests(ctx context.Context, provider string, after checkout.Cursor, limit int) ([][]byte, checkout.Cursor, error)
}

// Requests tests a store against RequestStore.
func Requests[S RequestStore](t *testing.T, open func(t *testing.T) S) {
	for _, promise := range []struct {
		name  string
		check func(t *testing.T, s RequestStore)
	}{
		{"requests come back byte for byte, in their order and page by page", requestsInPages},
		{"old requests are removed, and all but the newest, of this provider only", requestsRemoved},
		{"readers beside writers see every request once", requestsBeside},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.check(t, open(t)) })
	}
}

// log adds requests at a time, and keeps all of a day.
func logRequests(s RequestStore, provider string, at time.Time, requests ...string) error {
	var data [][]byte
	for _, r := range requests {
		data = append(data, []byte(r))
	}
	return s.LogRequests(context.Background(), provider, at, data, at.AddDate(0, 0, -1), 1000)
}

// loggedRequests returns what a provider's log has behind a cursor, in pages of a size.
func loggedRequests(t *testing.T, s RequestStore, provider string, after checkout.Cursor, size int) (all []string, next checkout.Cursor) {
	t.Helper()
	for next = after; ; {
		page, cursor, err := s.LoggedRequests(t.Context(), provider, next, size)
		must(t, "LoggedRequests", err)
		if len(page) > size || len(page) == 0 && cursor != next || len(page) > 0 && cursor <= next {
			t.Fatalf("a page of %d has %d requests, and goes on from %d at %d", size, len(page), next, cursor)
		}
		if len(page) == 0 {
			return all, next
		}
		for _, data := range page {
			all = append(all, string(data))
		}
		next = cursor
	}
}

func requestsInPages(t *testing.T, s RequestStore) {
	want := oddTexts()
	must(t, "LogRequests", logRequests(s, "KOWHAI", at(1), want...))
	must(t, "LogRequests", logRequests(s, "RIMU", at(1), "of another"))
	must(t, "LogRequests", logRequests(s, "KOWHAI", at(0), "\x00\xff", "by a clock that is behind"))
	want = append(slices.Clone(want), "\x00\xff", "by a clock that is behind")
	var end checkout.Cursor
	for _, size := range []int{1, 2, 1000} {
		var got []string
		got, end = loggedRequests(t, s, "KOWHAI", 0, size)
		same(t, fmt.Sprint("the log in pages of ", size), got, want)
	}
	must(t, "LogRequests", logRequests(s, "KOWHAI", at(2), "later"))
	got, _ := loggedRequests(t, s, "KOWHAI", end, 10)
	same(t, "the log behind its end", got, []string{"later"})
	got, _ = loggedRequests(t, s, "TUI", 7, 10)
	same(t, "the log of a provider that made no request", len(got), 0)
}

func requestsRemoved(t *testing.T, s RequestStore) {
	for minute := range 5 {
		must(t, "LogRequests", logRequests(s, "KOWHAI", at(minute), fmt.Sprint(minute)))
	}
	must(t, "LogRequests", logRequests(s, "RIMU", at(0), "of another"))
	must(t, "LogRequests", s.LogRequests(t.Context(), "KOWHAI", at(5), nil, at(1), 1000))
	got, _ := loggedRequests(t, s, "KOWHAI", 0, 10)
	same(t, "the log since the second minute", got, []string{"1", "2", "3", "4"})
	must(t, "LogRequests", s.LogRequests(t.Context(), "KOWHAI", at(5), [][]byte{[]byte("5")}, at(1), 2))
	got, end := loggedRequests(t, s, "KOWHAI", 0, 10)
	same(t, "the two newest", got, []string{"4", "5"})
	must(t, "LogRequests", s.LogRequests(t.Context(), "KOWHAI", at(6), nil, at(6), 2))
	must(t, "LogRequests", logRequests(s, "KOWHAI", at(0), "6"))
	got, _ = loggedRequests(t, s, "KOWHAI", end, 10)
	same(t, "the log after it was empty", got, []string{"6"})
	got, _ = loggedRequests(t, s, "RIMU", 0, 10)
	same(t, "the log of the other", got, []string{"of another"})
	both := []catalogue.Configuration{configuration("KOWHAI"), legacy("RIMU")}
	must(t, "ReplaceProviders", s.ReplaceProviders(t.Context(), by(both, nil, nil)))
	must(t, "ReplaceProviders", s.ReplaceProviders(t.Context(), by(both[:1], nil, nil)))
	got, _ = loggedRequests(t, s, "RIMU", 0, 10)
	same(t, "the log of a provider that was removed", len(got), 0)
	got, _ = loggedRequests(t, s, "KOWHAI", end, 10)
	same(t, "the log of the provider that stays", got, []string{"6"})
}

func requestsBeside(t *testing.T, s RequestStore) {
	written := make(chan error)
	go func() {
		errs := make(chan error)
		for i := range many {
			go func() { errs <- logRequests(s, "KOWHAI", at(i%3), fmt.Sprint(i, "a"), fmt.Sprint(i, "b")) }()
		}
		var first error
		for range many {
			if err := <-errs; err != nil {
				first = err
			}
		}
		written <- first
	}()
	var got []string
	var next checkout.Cursor
	for done := false; ; {
		var more []string
		more, next = loggedRequests(t, s, "KOWHAI", next, 3)
		got = append(got, more...)
		if done {
			break
		}
		select {
		case err := <-written:
			must(t, "LogRequests", err)
			done = true
		default:
		}
	}
	for i := range many {
		a := slices.Index(got, fmt.Sprint(i, "a"))
		if a < 0 || a+1 == len(got) || got[a+1] != fmt.Sprint(i, "b") {
			t.Fatalf("the requests of one call are not together: %q", got)
		}
	}
	same(t, "the number of requests that were read", len(got), 2*many)
}
