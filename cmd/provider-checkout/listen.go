package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/listen"
	"github.com/provider-checkout/provider-checkout/events"
)

// signingVariable has the secret that listen signs with.
const signingVariable = "PROVIDER_CHECKOUT_SIGNING_SECRET"

// followEvents prints and forwards a provider's events until ctx ends, or sends one again.
func followEvents(c *call) action {
	p := newClient(c)
	cfg := listen.Config{}
	cli.Var(c.flags, &cfg.ForwardTo, "forward-to", "", parseReceiver,
		"`URL` of a receiver on this machine, such as http://localhost:3000/events")
	c.sinceFlag(&cfg.Since, "begin with the events that were made at this `TIME` or later (default now)")
	cli.Var(c.flags, &cfg.Names, "events", "", parseEventNames,
		"`NAMES` of the events to print and forward, comma-separated (default all)")
	c.flags.StringVar(&cfg.State, "state", "",
		"`FILE` that keeps the place, and a secret that was made; where it exists, --since is not looked at")
	resend := c.flags.String("resend", "", "forward the event with this `ID` again, and end; the place stays")
	c.check = func([]string) error {
		if *resend != "" && cfg.ForwardTo == "" {
			return cli.UsageError("--resend needs --forward-to")
		}
		return nil
	}
	return func(ctx context.Context) error {
		if _, err := p.key(); err != nil {
			return err
		}
		cfg.BaseURL, cfg.Key, cfg.Secret = p.baseURL, p.key, c.Env(signingVariable)
		cfg.Signed = func(secret string) { fmt.Fprintln(c.Stdout, "# signing secret:", secret) }
		cfg.Say = func(line string) { fmt.Fprintf(c.Stderr, "%s listen: %s\n", program, oneLine(line)) }
		cfg.Taken = func(e events.Event, a checkout.Attempt) error {
			line := strings.Join([]string{formatTime(e.CreatedAt), string(e.Name), e.OrderID, e.CheckoutID, e.ID}, " ")
			if a.Status != 0 {
				line += fmt.Sprintf(" %d in %v", a.Status, a.Took.Round(time.Millisecond/10))
			}
			_, err := fmt.Fprintln(c.Stdout, oneLine(line))
			return err
		}
		if *resend != "" {
			return listen.Resend(ctx, cfg, *resend)
		}
		return listen.Run(ctx, cfg)
	}
}

// parseReceiver parses the address of a receiver on this machine.
func parseReceiver(text string) (string, error) {
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		ip, _ := netip.ParseAddr(u.Hostname())
		if ip.IsLoopback() || u.Hostname() == "localhost" {
			return text, nil
		}
	}
	return "", errors.New("must be a URL on this machine, such as http://localhost:3000/events")
}

// parseEventNames parses names of events.
func parseEventNames(text string) (names []events.Name, err error) {
	for name := range strings.SplitSeq(text, ",") {
		n := events.Name(strings.TrimSpace(name))
		if !slices.Contains(events.Names(), n) {
			return nil, fmt.Errorf("%q is no event; there are %q", n, events.Names())
		}
		names = append(names, n)
	}
	return names, nil
}
