package main

import (
	"errors"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// keyVariable has the API key of a provider, for the commands of a provider's developer.
const keyVariable = "PROVIDER_CHECKOUT_KEY"

// client has the settings of a command that calls the API as a provider does.
type client struct {
	*call
	baseURL, keyFile string
}

// newClient defines the flags of a command that calls the API.
func newClient(c *call) *client {
	p := &client{call: c}
	cli.Var(c.flags, &p.baseURL, "base-url", "", parseBaseURL, "`URL` of the service")
	c.flags.Require("base-url")
	c.flags.StringVar(&p.keyFile, "key-file", "", "`FILE` with the API key, read again when it is refused")
	return p
}

// parseBaseURL parses the address of a service, which may be under a path.
func parseBaseURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.String() != u.Scheme+"://"+u.Host+u.Path {
		return "", errors.New("must be a scheme and a host, such as https://sandbox.example.nz")
	}
	return u.String(), nil
}

// key returns the API key as it is now.
func (p *client) key() (string, error) {
	key := p.Env(keyVariable)
	if p.keyFile != "" {
		text, err := readText(p.Stdin, p.keyFile)
		if err != nil {
			return "", err
		}
		key = string(text)
	}
	if key = strings.TrimSpace(key); key == "" {
		return "", cli.UsageError("the API key is missing: " + keyVariable + ", or --key-file")
	}
	return key, nil
}

// api returns a client of the API, which has the key as that of the provider "".
func (p *client) api() (*apiclient.Client, error) {
	key, err := p.key()
	return apiclient.New(p.baseURL, map[string]string{"": key}), err
}
