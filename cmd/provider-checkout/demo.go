package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
)

//go:embed demo.json
var demoProviders []byte

//go:embed demo-terms.json
var demoTerms []byte

// demonstrate serves a sandbox until ctx ends, or runs through the whole flow once.
func demonstrate(c *call) action {
	s := newServer(&call{flags: cli.NewFlags()}) // a demonstration serves as serve does
	s.call, s.allowPrivate = c, true             // its receiver is on loopback
	s.retention = checkout.Retention{AbandonedDays: 90, AgreedYears: 7}
	s.addrFlag()
	walk := c.flags.Bool("walk", false, "walk the whole flow on a free port, and end")
	var webhook string
	cli.Var(c.flags, &webhook, "webhook", "", parseWebhook,
		"`URL` of your own receiver on this machine or network, which gets KOWHAI's events too, signed with whsec_demonstration_only_kowhai")
	return func(ctx context.Context) error {
		const free = "127.0.0.1:0"
		if *walk {
			s.addr = free
		}
		ln, err := c.listen(ctx, "addr", s.addr)
		if errors.Is(err, errTaken) && !c.flags.Changed("addr") {
			taken := s.addr
			s.addr = free
			if ln, err = c.listen(ctx, "addr", s.addr); err == nil {
				fmt.Fprintf(c.Stderr, "%s is taken: the sandbox is at %s\n", taken, ln.Addr())
			}
		}
		if err != nil {
			return err
		}
		defer ln.Close()
		return demo.Run(ctx, demo.Config{
			Listener:  ln,
			Site:      s.site(s.base(ln)),
			Providers: demoProviders,
			Terms:     demoTerms,
			Walk:      *walk,
			Webhook:   webhook,
			Stdout:    c.Stdout,
			Stderr:    c.Stderr,
		})
	}
}

// parseWebhook parses the address of a receiver. The sender of the events checks to which networks it may lead.
func parseWebhook(text string) (string, error) {
	if u, err := url.Parse(text); err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("must be a URL such as http://localhost:3000/events")
	}
	return text, nil
}
