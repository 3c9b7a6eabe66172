// Package salesforce is the CRM Salesforce (REST API, version 61.0): an enrolment is a contact, an opportunity with its
// contact role, and a direct debit authority; when it completes there are a payment plan agreement and its PDF too. It
// uses no SDK.
//
// Every record has a unique field, so that it is made once however often and by however many processes it is asked for.
// What exists is read first and what is missing is created: nothing is upserted, so nothing is replaced. A client that
// was not quick enough gets DUPLICATE_VALUE, and reads again.
//
// Each enrolment has a contact of its own. An organisation's duplicate rule would refuse the second contact of a student,
// so contacts are saved with Sforce-Duplicate-Rule-Header: allowSave=true.
//
// An organisation may also hold the configuration of providers with their courses and plans, which an administrator keeps
// there and ProviderFile reads. None of it is ever written.
//
// Calls are a budget that an organisation's clients share. A first Open takes two and a first Complete five; Limit says how
// many are left of a day's, and the last of them are kept for completions. Nothing is written after the deadline of a context,
// even by a process that was stopped and does not know yet.
//
// The folder metadata has what an organisation needs, as source that the Salesforce CLI deploys; Check says what one lacks.
package salesforce

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

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
	Mapping      Mapping         // DefaultMapping if it is zero

	Transport http.RoundTripper // http.DefaultTransport's settings if nil
	Retried   func(Retry)       // called with each retry, by several goroutines at once, for a metric; may be nil
	Now       func() time.Time  // time.Now if nil
	Rand      io.Reader         // crypto/rand.Reader if nil
}

// CRM implements ports.CRM. It is safe for concurrent use.
type CRM struct {
	options  Options // the Transport is used bare: an http.Client would follow redirects, and take the token along
	mapping  Mapping
	signedIn chan accessToken // holds the token, unless a call has taken it to sign in
	slots    chan struct{}    // holds a value for each call that is under way
	limit    dailyLimit
	pace     pace
	ready    atomic.Int64 // when the CRM was found ready last, in nanoseconds; 0 once a call has failed
	pause    func(context.Context, time.Duration) (lasted bool)
}

var _ ports.CRM = (*CRM)(nil)

// New returns a CRM. Its error names everything that is wrong with the options.
func New(o Options) (*CRM, error) {
	o = o.complete()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("salesforce: %w", err)
	}
	c := &CRM{options: o, mapping: o.Mapping, signedIn: make(chan accessToken, 1), slots: make(chan struct{}, maxCalls),
		pause: outbound.Pause}
	c.signedIn <- accessToken{}
	return c, nil
}

// Info implements ports.CRM.
func (c *CRM) Info() checkout.CRMInfo {
	return checkout.CRMInfo{Name: "salesforce", Company: "Salesforce", Environment: c.options.Environment}
}

func (o Options) complete() Options {
	o.URL = strings.TrimRight(o.URL, "/")
	if o.Mapping.names == nil {
		o.Mapping = DefaultMapping()
	}
	if o.Transport == nil {
		o.Transport = outbound.NewTransport(callTimeout)
	}
	if o.Retried == nil {
		o.Retried = func(Retry) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return o
}

// check returns everything that is wrong with complete options.
func (o Options) check() error {
	var reasons []error
	wrong := func(format string, args ...any) { reasons = append(reasons, fmt.Errorf(format, args...)) }
	if !o.Environment.Valid() {
		wrong("environment %q is neither sandbox nor production", o.Environment)
	}
	if _, err := baseURL(o.URL, o.Environment == catalogue.Sandbox); err != nil {
		wrong("the URL of the organisation %w", err)
	}
	if o.ClientID == "" {
		wrong("the client id is missing")
	}
	switch {
	case o.ClientSecret == "" && o.JWTKey == nil:
		wrong("the client secret is missing, and so is a JWT key")
	case o.ClientSecret != "" && o.JWTKey != nil:
		wrong("there are a client secret and a JWT key: give one of them")
	case o.JWTKey != nil && o.User == "":
		wrong("the user as whom the JWT key signs in is missing")
	case o.JWTKey != nil && o.JWTKey.N.BitLen() < 2048:
		wrong("the JWT key has %d bits, which is less than 2048", o.JWTKey.N.BitLen())
	}
	return errors.Join(reasons...)
}

// baseURL returns the origin that an address is, which must be https, or a loopback address where that may be.
func baseURL(address string, loopback bool) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return "", errors.New("is not a scheme and a host")
	case u.Scheme == "https", u.Scheme == "http" && loopback && outbound.Loopback(u.Hostname()):
		return u.Scheme + "://" + u.Host, nil
	}
	return "", errors.New("must be https")
}
