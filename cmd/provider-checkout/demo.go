package main

import (
	"context"
	_ "embed"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
)

//go:embed demo.json
var demoProviders []byte

//go:embed demo-terms.json
var demoTerms []byte

// demonstrate serves a sandbox until ctx ends, or runs through the whole flow once.
func demonstrate(ctx context.Context, c *call) error {
	if c.walk {
		c.addr = "127.0.0.1:0"
	}
	ln, err := listen(ctx, "--addr", c.addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	return demo.Run(ctx, demo.Config{
		Listener:     ln,
		Site:         c.site(c.base(ln)),
		Providers:    demoProviders,
		Terms:        demoTerms,
		Walk:         c.walk,
		GoCardless:   c.processor == gocardlessName,
		Salesforce:   c.crm == salesforceName,
		AgreementPDF: readPDF,
		Stdout:       c.Stdout,
		Stderr:       c.Stderr,
	})
}
