package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
)

const (
	keyVariable     = "PROVIDER_CHECKOUT_KEY"            // the API key of a provider
	signingVariable = "PROVIDER_CHECKOUT_SIGNING_SECRET" // the secret that listen signs with
)

const (
	listenEvery  = time.Second // between two questions at the end of the list
	longestRetry = 30 * time.Second
)

// followEvents prints and forwards a provider's events until ctx ends.
type followEvents struct {
	BaseURL   string    `name:"base-url" type:"service" required:"" placeholder:"URL" help:"of the service (required)"`
	ForwardTo string    `type:"receiver" placeholder:"URL" help:"of a receiver on this machine, such as http://localhost:3000/events"`
	Since     time.Time `type:"since" placeholder:"TIME" help:"begin with the events that were made at this time or later (default now): 2026-12-01 (UTC), 2026-12-01T03:00:00+13:00, or 2h for two hours ago"`
}

func (f *followEvents) Run(ctx context.Context, c *call) error {
	key := strings.TrimSpace(c.Env(keyVariable))
	if key == "" {
		return usageError("the API key is missing: " + keyVariable)
	}
	l := &listener{call: c, followEvents: *f, api: apiclient.New(strings.TrimSuffix(f.BaseURL, "/"), map[string]string{"": key})}
	if l.ForwardTo != "" {
		l.sender = webhook.New(webhook.Options{AllowPrivate: true})
		defer l.sender.Close()
		if l.secret = c.Env(signingVariable); l.secret == "" {
			l.secret = "whsec_" + rand.Text()
			fmt.Fprintln(c.Stdout, "# signing secret:", l.secret)
		}
	}
	if err := l.follow(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// listener follows the list of a provider's events. Every event is taken in the order of the list: an event that the receiver
// refuses is sent again until it is taken.
type listener struct {
	*call
	followEvents
	api    *apiclient.Client // the key is that of the provider ""
	secret string
	sender *webhook.Sender
}

// follow takes the events of the list until ctx ends.
func (l *listener) follow(ctx context.Context) error {
	answer, err := l.get(ctx, apiclient.EnvironmentPath)
	if err != nil {
		return err
	}
	if environment := answer.String("environment"); environment != "sandbox" {
		return fmt.Errorf("%s is no sandbox: its environment is %q", l.BaseURL, environment)
	}
	if l.Since.IsZero() {
		l.Since, _ = http.ParseTime(answer.Header.Get("Date")) // without one the list is read from its beginning
	}
	for after := "0"; ; {
		page, err := l.get(ctx, "/v1/events?after="+url.QueryEscape(after))
		if err != nil {
			return err
		}
		list := page.List("events")
		for _, entry := range list {
			e, err := events.Read([]byte(entry.Text("body")))
			if err != nil {
				return fmt.Errorf("the event with the cursor %q: %w", entry.Text("cursor"), err)
			}
			if e.CreatedAt.Before(l.Since) {
				continue
			}
			if err := l.take(ctx, e); err != nil {
				return err
			}
		}
		if next := page.String("next"); len(list) > 0 && next != "" {
			after = next
		} else if !sleep(ctx, listenEvery) {
			return ctx.Err()
		}
	}
}

// take forwards an event until the receiver takes it, and prints it.
func (l *listener) take(ctx context.Context, e events.Event) error {
	for pause := time.Second; l.ForwardTo != ""; pause = min(2*pause, longestRetry) {
		signed, to := events.NewDelivery(e, l.secret, time.Now()), catalogue.Destination{URL: l.ForwardTo}
		fault := l.sender.Send(ctx, to, signed, 1)
		if fault == nil {
			break
		}
		l.say("%s %s of %s waits, and everything behind it: %v", e.ID, e.Name, e.OrderID, fault)
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
	_, err := fmt.Fprintln(l.Stdout, oneLine(strings.Join([]string{formatTime(e.CreatedAt), string(e.Name), e.OrderID, e.CheckoutID, e.ID}, " ")))
	return err
}

// get asks the service for a path until it is answered. The error is that of ctx, or of a question that is wrong.
func (l *listener) get(ctx context.Context, path string) (apiclient.Response, error) {
	for pause, said := time.Second, ""; ; pause = min(2*pause, longestRetry) {
		r, err := l.api.Call(ctx, "", http.MethodGet, path, "")
		failure := r.StatusLine() + " " + r.String("error.code")
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err != nil:
			failure = err.Error()
		case r.Status == http.StatusOK && r.JSON != nil:
			return r, nil
		case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
			return r, fmt.Errorf("%s answers %s: %s", l.BaseURL, failure, r.String("error.message"))
		case r.Status < 500 && r.Status != http.StatusTooManyRequests:
			return r, fmt.Errorf("%s answers %s: is it a Provider Checkout? %s", l.BaseURL, failure, r.String("error.message"))
		}
		seconds, _ := strconv.Atoi(r.Header.Get("Retry-After")) // 0 where it does not say
		if failure != said {
			l.say("%s: %s; asks again", l.BaseURL, failure)
			said = failure
		}
		if !sleep(ctx, max(pause, min(time.Duration(seconds)*time.Second, time.Hour))) {
			return r, ctx.Err()
		}
	}
}

// say prints a line about what is waited for.
func (l *listener) say(format string, args ...any) {
	fmt.Fprintf(l.Stderr, "%s listen: %s\n", program, oneLine(fmt.Sprintf(format, args...)))
}

// sleep waits, and reports whether the time has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
