package main

import (
	"cmp"
	"context"
	_ "embed"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

//go:embed demo.json
var demoProviders []byte

//go:embed demo-terms.json
var demoTerms []byte

// demonstrate serves a sandbox until ctx ends, or runs through the whole flow once.
type demonstrate struct {
	Addr    string `xor:"walk" placeholder:"HOST:PORT" help:"to listen on (default 127.0.0.1:8080)"`
	Walk    bool   `xor:"walk" help:"walk the whole flow on a free port, and end"`
	Webhook string `type:"webhook" placeholder:"URL" help:"of your own receiver on this machine or network, which gets KOWHAI's events too, signed with whsec_demonstration_only_kowhai"`
}

func (f *demonstrate) Run(ctx context.Context, c *call) error {
	at := "127.0.0.1:8080"
	if f.Walk {
		at = "127.0.0.1:0"
	}
	f.Addr = cmp.Or(f.Addr, at)
	ln, err := c.listen(ctx, "addr", f.Addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	return demo.Run(ctx, demo.Config{
		Listener: ln,
		Site: site.Config{ // as serve has it by default; the receiver is on loopback
			Service: service.Config{Environment: catalogue.Sandbox, BaseURL: localURL(f.Addr, ln),
				Retention: checkout.Retention{AbandonedDays: 90, AgreedYears: 7}},
			SetupLifetime: 7 * 24 * time.Hour, AllowPrivate: true, RateLimit: 100,
		},
		Providers: demoProviders,
		Terms:     demoTerms,
		Walk:      f.Walk,
		Webhook:   f.Webhook,
		Stdout:    c.Stdout,
		Stderr:    c.Stderr,
	})
}
