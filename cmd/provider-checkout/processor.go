package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// Names of processors.
const (
	fakeName       = "fake"
	gocardlessName = "gocardless"
)

const (
	tokenVariable   = "PROVIDER_CHECKOUT_GOCARDLESS_TOKEN"
	webhookVariable = "PROVIDER_CHECKOUT_GOCARDLESS_WEBHOOK_SECRET"
)

// processorInfo returns the description of the processor that the flags name.
func (f *SystemFlags) processorInfo() checkout.ProcessorInfo {
	if f.Processor == gocardlessName {
		return checkout.ProcessorInfo{Name: gocardlessName, Environment: f.Environment}
	}
	return (*fakeprocessor.Processor)(nil).Info()
}

// gocardless returns GoCardless as the settings describe it, or nil where the processor is another. Its
// error names everything that is missing or wrong.
func (f *SystemFlags) gocardless(c *call) (*site.GoCardless, error) {
	if f.Processor != gocardlessName {
		return nil, nil
	}
	var g site.GoCardless
	token, wrong := c.required(tokenVariable)
	if wrong == nil {
		g.Processor, wrong = gocardless.New(gocardless.Options{Environment: f.Environment, Token: strings.TrimSpace(token.text),
			URL: f.GoCardlessURL})
		wrong = about(c.names("gocardless-url", "gocardless-token"), wrong)
	}
	list, noSecret := c.required(webhookVariable)
	if noSecret == nil {
		// GoCardless' own secrets have neither of these in them.
		for part := range strings.FieldsFuncSeq(list.text, func(r rune) bool { return r == ',' || r == '\n' }) {
			if secret := strings.TrimSpace(part); secret != "" {
				g.WebhookSecrets = append(g.WebhookSecrets, []byte(secret))
			}
		}
		if noSecret = gocardless.CheckWebhookSecrets(g.WebhookSecrets); noSecret != nil {
			noSecret = fmt.Errorf("%s: %w", list.source, noSecret)
		}
	}
	if err := errors.Join(wrong, noSecret); err != nil {
		return nil, err
	}
	return &g, nil
}
