package listen

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// source is the service, as the listener asks it.
type source struct {
	api    *apiclient.Client // with one key, of the provider ""
	key    func() (string, error)
	say    func(string)
	failed string // the failure that was said last; "" after an answer
}

// The pauses after a failure of the service that says nothing about it.
const (
	firstPause = time.Second
	lastPause  = time.Minute

	longestWait = 3600 // seconds, whatever the service says
)

// get asks for a path until it is answered, and says once why it waits. The error is that of ctx, or of a question that is wrong.
func (s *source) get(ctx context.Context, path string) (apiclient.Response, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		key, err := s.key() // which may be a new one
		if err != nil {
			return apiclient.Response{}, err
		}
		s.api.Keys = map[string]string{"": key}
		r, err := s.api.Call(ctx, "", http.MethodGet, path, "")
		failure := r.StatusLine() + " " + r.String("error.code")
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err != nil:
			failure = err.Error()
		case r.Status == http.StatusOK && r.JSON != nil:
			s.failed = ""
			return r, nil
		case !passes(r.Status):
			return r, fmt.Errorf("%s answers %s: is it a Provider Checkout? %s", s.api.Base, failure, r.String("error.message"))
		}
		seconds, _ := strconv.Atoi(r.Header.Get("Retry-After")) // 0 where it does not say
		wait := cmp.Or(time.Duration(min(max(0, seconds), longestWait))*time.Second, pause)
		if failure != s.failed {
			s.failed = failure
			s.say(fmt.Sprintf("%s: %s; asks again, next in %v", s.api.Base, failure, wait))
		}
		if err := sleep(ctx, wait); err != nil {
			return r, err
		}
	}
}

// passes reports whether an answer may be another one later: a key may be replaced, and a provider enabled.
func passes(status int) bool {
	return status >= 500 ||
		slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}, status)
}

// sleep waits, and returns the error of ctx, at once where that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// now returns the service's time, to the second, and an error if the service is not a sandbox.
func (s *source) now(ctx context.Context) (time.Time, error) {
	r, err := s.get(ctx, apiclient.EnvironmentPath)
	if err != nil {
		return time.Time{}, err
	}
	if environment := r.String("environment"); environment != "sandbox" {
		return time.Time{}, fmt.Errorf("%s is no sandbox: its environment is %q", s.api.Base, environment)
	}
	at, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		at = time.Now()
	}
	return at, nil
}

// page returns the events behind a cursor, 100 at most, and the cursor to go on from.
func (s *source) page(ctx context.Context, after checkout.Cursor) (entries []Entry, next checkout.Cursor, err error) {
	r, err := s.get(ctx, "/v1/events?after="+after.String())
	if err != nil {
		return nil, after, err
	}
	var w pageWire
	if err = json.Unmarshal([]byte(r.Body), &w); err == nil {
		entries, next, err = toEntries(w.Events, w.Next)
	}
	if err != nil {
		err = fmt.Errorf("the list of events: %w", err)
	}
	return entries, next, err
}

// search returns the first event behind a cursor that matches, or else the end of the list, which has no event behind it.
func (s *source) search(ctx context.Context, after checkout.Cursor, matches func(events.Event) bool) (
	Entry, checkout.Cursor, error) {
	for {
		page, next, err := s.page(ctx, after)
		if err != nil || len(page) == 0 {
			return Entry{}, after, err
		}
		if i := slices.IndexFunc(page, func(e Entry) bool { return matches(e.Event) }); i >= 0 {
			return page[i], page[i].Cursor, nil
		}
		after = next
	}
}

// before returns the cursor behind which the events of a time are.
func before(t time.Time) checkout.Cursor { return max(1, checkout.CursorAt(t)) - 1 }
