package listen

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The pauses after a failure of the service that says nothing about it.
const (
	firstPause = time.Second
	lastPause  = time.Minute

	longestWait = 3600 // seconds, whatever the service says
)

// get asks the service for a path until it is answered, and says once why it waits. The error is that of ctx, or of a question that is
// wrong.
func (l *listener) get(ctx context.Context, path string) (apiclient.Response, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		key, err := l.Key() // which may be a new one
		if err != nil {
			return apiclient.Response{}, err
		}
		l.api.Keys = map[string]string{"": key}
		r, err := l.api.Call(ctx, "", http.MethodGet, path, "")
		failure := r.StatusLine() + " " + r.String("error.code")
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err != nil:
			failure = err.Error()
		case r.Status == http.StatusOK && r.JSON != nil:
			l.failed = ""
			return r, nil
		case !passes(r.Status):
			return r, fmt.Errorf("%s answers %s: is it a Provider Checkout? %s", l.BaseURL, failure, r.String("error.message"))
		}
		seconds, _ := strconv.Atoi(r.Header.Get("Retry-After")) // 0 where it does not say
		wait := cmp.Or(time.Duration(min(max(0, seconds), longestWait))*time.Second, pause)
		if failure != l.failed {
			l.failed = failure
			l.Say(fmt.Sprintf("%s: %s; asks again, next in %v", l.BaseURL, failure, wait))
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
func (l *listener) now(ctx context.Context) (time.Time, error) {
	r, err := l.get(ctx, apiclient.EnvironmentPath)
	if err != nil {
		return time.Time{}, err
	}
	if environment := r.String("environment"); environment != "sandbox" {
		return time.Time{}, fmt.Errorf("%s is no sandbox: its environment is %q", l.BaseURL, environment)
	}
	at, _ := http.ParseTime(r.Header.Get("Date")) // without one the list is read from its beginning
	return at, nil
}

// page returns the events behind a cursor, 100 at most.
func (l *listener) page(ctx context.Context, after string) (p page, err error) {
	r, err := l.get(ctx, "/v1/events?after="+url.QueryEscape(after))
	if err == nil {
		err = json.Unmarshal([]byte(r.Body), &p)
	}
	if err == nil && p.Next == "" {
		err = fmt.Errorf("%s answers a list of events without a cursor", l.BaseURL)
	}
	return p, err
}

// search returns the event behind a cursor that has an id, or else the end of the list, which has no event behind it.
func (l *listener) search(ctx context.Context, after, id string) (found entry, end string, err error) {
	for {
		p, err := l.page(ctx, after)
		if err != nil || len(p.Events) == 0 {
			return entry{}, after, err
		}
		if i := slices.IndexFunc(p.Events, func(e entry) bool { return e.event.ID == id }); i >= 0 {
			return p.Events[i], "", nil
		}
		after = p.Next
	}
}

// before returns the cursor behind which the events of a time are.
func before(t time.Time) string { return (max(1, checkout.CursorAt(t)) - 1).String() }
