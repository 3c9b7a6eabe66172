package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/gocardless"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Names of processors.
const (
	fakeName       = "fake"
	gocardlessName = "gocardless"
)

const (
	tokenVariable   = "PROVIDER_CHECKOUT_GOCARDLESS_TOKEN"
	webhookVariable = "PROVIDER_CHECKOUT_GOCARDLESS_WEBHOOK_SECRET"

	processorHelp = "With --processor gocardless the access token comes from " + tokenVariable + "\n" +
		"and the secret of the webhook endpoint from " + webhookVariable + " (a\n" +
		"comma-separated list while it is rotated), or each from the file that the same name with _FILE names.\n" +
		"GoCardless sends its notifications to <base-url>" + gocardless.WebhookPath + "."
)

// processorInfo returns the description of the processor that the flags name.
func (c *call) processorInfo() ports.ProcessorInfo {
	if c.processor == gocardlessName {
		return ports.ProcessorInfo{Name: gocardlessName, Environment: c.environment}
	}
	return (*fakeprocessor.Processor)(nil).Info()
}

// gocardless returns GoCardless as the flags and variables say it is reached, or nil where the processor is another. Its
// error names everything that is missing or wrong.
func (c *call) gocardless() (*site.GoCardless, error) {
	if c.processor != gocardlessName {
		return nil, nil
	}
	token, err := c.secretOf(tokenVariable)
	reasons := []error{err}
	list, err := c.secretOf(webhookVariable)
	reasons = append(reasons, err)
	secrets := parseList(list)
	if len(secrets) == 0 && err == nil {
		reasons = append(reasons, fmt.Errorf("the secret of GoCardless' webhook endpoint is missing (%s or %[1]s_FILE)", webhookVariable))
	} else if err == nil {
		reasons = append(reasons, gocardless.CheckWebhookSecrets(secrets))
	}
	if token == "" && reasons[0] == nil {
		reasons = append(reasons, fmt.Errorf("GoCardless' access token is missing (%s or %[1]s_FILE)", tokenVariable))
	}
	processor, err := gocardless.New(gocardless.Options{Environment: c.environment, Token: token, URL: c.gocardlessURL,
		PageOrigins: c.gocardlessPages})
	if token != "" { // otherwise it says again that the token is missing
		reasons = append(reasons, err)
	}
	if err := errors.Join(reasons...); err != nil {
		return nil, err
	}
	return &site.GoCardless{Processor: processor, WebhookSecrets: secrets}, nil
}

// secretOf returns the value of a variable, or the content of the file that the variable with _FILE names; "" if neither is set.
func (c *call) secretOf(variable string) (string, error) {
	value, file := c.Env(variable), c.Env(variable+"_FILE")
	switch {
	case value != "" && file != "":
		return "", cli.UsageError("set only one of " + variable + " and " + variable + "_FILE")
	case file == "":
		return value, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read %s_FILE: %w", variable, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// parseList returns the secrets of a list, separated by commas or lines.
func parseList(text string) (secrets [][]byte) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		if secret := strings.TrimSpace(part); secret != "" {
			secrets = append(secrets, []byte(secret))
		}
	}
	return secrets
}
