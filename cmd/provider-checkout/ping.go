package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// originTimeout bounds the wait for a provider's page.
const originTimeout = 5 * time.Second

// pingProvider sends a test event to a provider's receiver, and asks whether its pages answer.
func pingProvider(c *call) action {
	c.changeFlags()
	var allowPrivate bool
	c.allowPrivateFlag(&allowPrivate)
	c.flags.AllowVariable("allow-private-destinations")
	return c.operating(func(ctx context.Context, db records, operator operate.Operator) error {
		code := c.Args[0]
		result, err := operator.Ping(ctx, code, pingSender(allowPrivate))
		switch {
		case errors.Is(err, operate.ErrNoProvider):
			return noProvider(code)
		case err != nil:
			return err
		}
		p, err := db.Provider(ctx, code)
		if err != nil {
			return err
		}
		c.warnOfOrigins(ctx, p)
		if _, err := fmt.Fprintf(c.Stdout, "%s attempt %s\n", formatTime(result.Attempt.At), attempted(result.Attempt)); err != nil {
			return err
		}
		if result.Unverified {
			fmt.Fprintf(c.Stderr, "provider %s: its receiver takes events whose signature is wrong: anybody can send it events\n", code)
		}
		if p.Environment == catalogue.Sandbox && !allowPrivate && strings.HasPrefix(result.Attempt.Failure, ports.ErrProhibited.Error()) {
			return errors.New("the test event was not sent; a sandbox may use --allow-private-destinations")
		}
		if result.Attempt.Failure != "" {
			return errors.New("the test event was not taken")
		}
		return nil
	})
}

// pingSender returns the senders of test events: private addresses are for sandboxes, whatever the flag says.
func pingSender(allowPrivate bool) func(catalogue.Environment) ports.Sender {
	strict, asAsked := webhook.New(webhook.Options{}), webhook.New(webhook.Options{AllowPrivate: allowPrivate})
	return func(env catalogue.Environment) ports.Sender {
		if env == catalogue.Sandbox {
			return asAsked
		}
		return strict
	}
}

// warnOfOrigins prints the origins of a provider's pages at which nothing answers. Pages on this machine are not asked for.
func (c *call) warnOfOrigins(ctx context.Context, p catalogue.Provider) {
	ctx, cancel := context.WithTimeout(ctx, originTimeout)
	defer cancel()
	faults := make([]error, len(p.EnrolmentOrigins))
	var all sync.WaitGroup
	for i, origin := range p.EnrolmentOrigins {
		if strings.HasPrefix(origin, "https://") {
			all.Go(func() { faults[i] = answers(ctx, origin) })
		}
	}
	all.Wait()
	for i, origin := range p.EnrolmentOrigins {
		if faults[i] != nil {
			fmt.Fprintf(c.Stderr, "provider %s: nothing answers at its origin %s: %v\n", p.Code, origin, faults[i])
		}
	}
}

// answers returns why there is no page at an origin, or nil for an answer of any status.
func answers(ctx context.Context, origin string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, origin+"/", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}
