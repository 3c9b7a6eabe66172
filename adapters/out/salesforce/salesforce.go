// Package salesforce is the CRM Salesforce (REST API, version 61.0): an enrolment is a contact, an opportunity with its contact role,
// and a direct debit authority; a confirmed enrolment has a payment plan agreement and its PDF too. It uses no SDK.
//
// Every record has an external id that the store derives, in a unique field. The authority has the revision of the checkout that was
// written last, and the stage and the agreement number of the enrolment: a write is conditional on them, so that an older revision never
// replaces a newer one, and the opportunity's stage, on which the organisation's payments depend, is written once when it moves.
//
// Each enrolment has a contact of its own. An organisation's duplicate rule would refuse the second contact of a student,
// so contacts are saved with Sforce-Duplicate-Rule-Header: allowSave=true.
//
// An organisation may also hold the configuration of providers with their courses and plans, which an administrator keeps
// there and ProviderFile reads. None of it is ever written.
//
// The folder metadata has what an organisation needs, as source that the Salesforce CLI deploys; CheckMetadata lists what one lacks.
package salesforce

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sony/gobreaker/v2"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Options are the options of the CRM. Environment, URL and ClientID are required, and ClientSecret or JWTKey and User.
type Options struct {
	Environment catalogue.Environment
	// URL is the address of the organisation (https://NAME.my.salesforce.com), where tokens are asked for. In the sandbox it may
	// be a loopback address over plain http.
	URL          string
	ClientID     string
	ClientSecret string          // for client credentials
	JWTKey       *rsa.PrivateKey // for JWT bearer, of which the organisation has the certificate
	User         string          // as whom JWT bearer signs in
	Mapping      Mapping         // names that differ from the names of the metadata

	Transport http.RoundTripper // a transport with bounded connections if nil
}

// CRM implements ports.CRM. It is safe for concurrent use.
type CRM struct {
	options  Options // the Transport is used bare: an http.Client would follow redirects, and take the token along
	mapping  Mapping
	signedIn chan accessToken // holds the token, unless a call has taken it to sign in
	breaker  *gobreaker.CircuitBreaker[[]byte]
	closing  context.Context // ends with Close
	close    context.CancelFunc
}

var _ ports.CRM = (*CRM)(nil)

// New returns a CRM. Close must be called when it is no longer used. The error names everything that is wrong with the options.
func New(o Options) (*CRM, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("salesforce: %w", err)
	}
	if o.URL = strings.TrimRight(o.URL, "/"); o.Transport == nil {
		o.Transport = outbound.NewTransport(callTimeout)
	}
	c := &CRM{options: o, mapping: o.Mapping, signedIn: make(chan accessToken, 1)}
	c.signedIn <- accessToken{}
	c.closing, c.close = context.WithCancel(context.Background())
	c.breaker = c.newBreaker()
	return c, nil
}

// Info implements ports.CRM.
func (c *CRM) Info() checkout.CRMInfo {
	return checkout.CRMInfo{Name: "salesforce", Company: "Salesforce", Environment: c.options.Environment}
}

// Ready implements ports.CRM: Salesforce answers, the client can sign in, and the organisation has calls left.
func (c *CRM) Ready(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, limitsPath, nil, nil)
}

// Close ends the probes of the circuit breaker.
func (c *CRM) Close() error {
	c.close()
	return nil
}

func (o Options) check() error {
	var reasons []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			reasons = append(reasons, fmt.Errorf(format, args...))
		}
	}
	_, err := baseURL(o.URL, o.Environment == catalogue.Sandbox)
	wrong(!o.Environment.Valid(), "environment %q is neither sandbox nor production", o.Environment)
	wrong(err != nil, "the URL of the organisation %w", err)
	wrong(o.ClientID == "", "the client id is missing")
	wrong((o.ClientSecret == "") == (o.JWTKey == nil), "either a client secret or a JWT key must be given")
	wrong(o.JWTKey != nil && o.User == "", "the user as whom the JWT key signs in is missing")
	wrong(o.JWTKey != nil && o.JWTKey.N.BitLen() < 2048, "the JWT key has less than 2048 bits")
	return errors.Join(reasons...)
}

// baseURL returns the origin that an address is, which must be https, or a loopback address where that may be.
func baseURL(address string, loopback bool) (string, error) {
	u, err := outbound.ParseURL(address, loopback)
	switch {
	case err != nil:
		return "", err
	case strings.Trim(u.Path, "/") != "":
		return "", errors.New("is not a scheme and a host")
	}
	return u.Scheme + "://" + u.Host, nil
}
