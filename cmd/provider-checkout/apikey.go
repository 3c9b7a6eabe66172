package main

import (
	"errors"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// keyVariable has the API key of a provider, for the commands of a provider's developer.
const keyVariable = "PROVIDER_CHECKOUT_KEY"

// ClientFlags are the flags of a command that calls the API as a provider does.
type ClientFlags struct {
	BaseURL string `name:"base-url" type:"service" required:"" placeholder:"URL" help:"of the service (required)"`
	KeyFile string `placeholder:"FILE" help:"with the API key, read again when it is refused"`
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
func (f *ClientFlags) key(c *call) (string, error) {
	key := c.Env(keyVariable)
	if f.KeyFile != "" {
		text, err := readText(c.Stdin, f.KeyFile)
		if err != nil {
			return "", err
		}
		key = string(text)
	}
	if key = strings.TrimSpace(key); key == "" {
		return "", usageError("the API key is missing: " + keyVariable + ", or --key-file")
	}
	return key, nil
}

// api returns a client of the API, which has the key as that of the provider "".
func (f *ClientFlags) api(c *call) (*apiclient.Client, error) {
	key, err := f.key(c)
	return apiclient.New(f.BaseURL, map[string]string{"": key}), err
}
