package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// The structs below have the flags that several commands share. A flag with a group is a setting: --ops-addr is also the variable
// PROVIDER_CHECKOUT_OPS_ADDR, and ops_addr in the file of --config.

// ConfigFlag names the file of settings.
type ConfigFlag struct {
	Config string `group:"Where settings and records are:" placeholder:"FILE" help:"settings (JSON); see serve"`
}

// StoreFlags are the flags of a command that opens the store.
type StoreFlags struct {
	ConfigFlag
	Store string `group:"Where settings and records are:" default:"sqlite:provider-checkout.db" placeholder:"STORE" help:"sqlite:PATH or postgres://USER@HOST/DATABASE (default ${default}); with a password in it only as the variable: others on this machine can read flags"`
}

// ListFlags are the flags of a command that lists records.
type ListFlags struct {
	StoreFlags
	JSON bool `name:"json" help:"print a JSON object a line"`
}

// ReasonFlag is the reason of an operator's change. It may be left out.
type ReasonFlag struct {
	Reason string `type:"reason" placeholder:"TEXT" help:"recorded as the reason; no secret, nobody's personal data"`
}

// RequiredReason is the reason of a change that cannot be taken back.
type RequiredReason struct {
	Reason string `type:"reason" required:"" placeholder:"TEXT" help:"recorded as the reason; no secret, nobody's personal data (required)"`
}

// ChangeFlags are the flags of a command that changes records.
type ChangeFlags struct {
	StoreFlags
	ReasonFlag
}

// EnvironmentFlag is the environment that is served.
type EnvironmentFlag struct {
	Environment catalogue.Environment `group:"What is served:" enum:"sandbox,production" default:"sandbox" help:"sandbox or production"`
}

// SalesforceFlags are the organisation's address and names.
type SalesforceFlags struct {
	SalesforceURL     string             `name:"salesforce-url" group:"The CRM:" placeholder:"URL" help:"of the organisation, https://NAME.my.salesforce.com"`
	SalesforceUser    string             `group:"The CRM:" placeholder:"USER" help:"as whom a JWT key signs in"`
	SalesforceMapping salesforce.Mapping `group:"The CRM:" type:"mapping" placeholder:"FILE" help:"other names of objects and fields"`
}

// ServerFlags are the settings of serve.
type ServerFlags struct {
	StoreFlags
	EnvironmentFlag
	Processor     string `group:"The direct debit processor:" enum:"fake,gocardless" default:"fake" help:"fake or gocardless; production needs gocardless"`
	GoCardlessURL string `name:"gocardless-url" group:"The direct debit processor:" placeholder:"URL" help:"of GoCardless' API (default: the environment's)"`
	CRM           string `name:"crm" group:"The CRM:" enum:"embedded,salesforce" default:"embedded" help:"embedded (in the store) or salesforce"`
	SalesforceFlags
	Addr               string                 `group:"What is served:" default:"127.0.0.1:8080" help:"to listen on"`
	BaseURL            string                 `name:"base-url" group:"What is served:" placeholder:"URL" help:"of this server from outside (default http://<addr>)"`
	TrustedProxies     []netip.Prefix         `group:"What is served:" type:"networks" placeholder:"NETWORKS" help:"whose X-Forwarded-For is believed"`
	RateLimit          float64                `group:"What is served:" type:"rate" default:"100" help:"requests a second for a key; 0: no limit"`
	AllowPrivate       bool                   `name:"allow-private-destinations" group:"What is served:" help:"send events to private addresses (sandbox)"`
	OpsAddr            string                 `group:"How it is watched and stopped:" placeholder:"HOST:PORT" help:"for /healthz, /readyz and /metrics"`
	DrainDelay         time.Duration          `group:"How it is watched and stopped:" type:"delay" default:"0s" help:"/readyz is 503 for so long before the end"`
	Terms              providerfile.TermsFile `group:"What payers agree to:" type:"terms" placeholder:"FILE" help:"the lender and the terms of new agreements"`
	SetupLifetime      time.Duration          `group:"What payers agree to:" type:"lifetime" default:"168h" help:"how long a setup page opens"`
	TSA                string                 `name:"tsa" group:"What payers agree to:" type:"authority" placeholder:"URL" help:"of a time-stamp authority (RFC 3161)"`
	SMTP               string                 `name:"smtp" group:"What payers agree to:" placeholder:"URL" help:"smtp://HOST:587, smtps://HOST:465, or none"`
	MailFrom           string                 `group:"What payers agree to:" placeholder:"ADDRESS" help:"such as \"Lender <plans@lender.example>\""`
	EraseAbandonedDays int                    `group:"What is erased:" type:"whole" default:"0" help:"days without a confirm, 31 or more; 0: never"`
	EraseAgreedYears   int                    `group:"What is erased:" type:"whole" default:"0" help:"years after the last payment, 7 or more; 0: never"`
	DeskAddr           string                 `group:"The desk:" placeholder:"HOST:PORT" help:"of the operators' web desk; none unless given"`
	DeskURL            string                 `name:"desk-url" group:"The desk:" placeholder:"URL" help:"under which browsers reach it"`
	DeskOIDCIssuer     string                 `name:"desk-oidc-issuer" group:"The desk:" placeholder:"URL" help:"of the issuer of the operators' ID tokens"`
	DeskOIDCAudience   string                 `name:"desk-oidc-audience" group:"The desk:" placeholder:"ID" help:"for which they are issued: the proxy's client"`
	DeskTokenHeader    string                 `group:"The desk:" placeholder:"HEADER" help:"with the token (default Authorization: Bearer)"`
	DeskRoles          desk.Roles             `group:"The desk:" type:"roles" placeholder:"FILE" help:"which groups of the issuer have which roles"`
}

// The functions below read the values of flags. An error describes the values that are allowed.

// parseAddress returns a function that parses an http or https URL that is right.
func parseAddress(right func(*url.URL) bool, must string) func(string) (string, error) {
	return func(text string) (string, error) {
		u, err := url.Parse(text)
		if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || !right(u) {
			return "", errors.New(must)
		}
		return text, nil
	}
}

// anyURL accepts every URL. The sender of events checks the networks.
func anyURL(*url.URL) bool { return true }

// withoutPassword reports whether an address has no user. Others on this machine can read flags.
func withoutPassword(u *url.URL) bool { return u.User == nil }

// onlyPlace reports whether an address is a host, perhaps with a path.
func onlyPlace(u *url.URL) bool { return u.String() == u.Scheme+"://"+u.Host+u.Path }

// onThisMachine reports whether an address leads to this machine.
func onThisMachine(u *url.URL) bool {
	ip, _ := netip.ParseAddr(u.Hostname())
	return ip.IsLoopback() || u.Hostname() == "localhost"
}

func parseWhole(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("must be a whole number, or 0")
	}
	return n, nil
}

// parseSince parses a time, a date, which begins at midnight UTC, or the duration since then.
func parseSince(text string) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return time.Now().Add(-d), nil
	}
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return date, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errors.New("must be a time such as 2026-12-01 or 2026-12-01T03:00:00+13:00, or a duration such as 2h")
	}
	return t, nil
}

// parseLastDay parses a date, and returns its end in New Zealand. No date is the zero time.
func parseLastDay(text string) (end time.Time, err error) {
	if text == "" {
		return end, nil
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return end, errors.New("must be a date such as 2027-06-30")
	}
	zone, err := service.NewZealand()
	return time.Date(date.Year(), date.Month(), date.Day()+1, 0, 0, 0, 0, zone), err
}

// parseDuration returns a function that parses a duration between two.
func parseDuration(least, most time.Duration, must string) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d < least || d > most {
			return 0, errors.New(must)
		}
		return d, nil
	}
}

func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || rate < 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
		return 0, errors.New("must be a number of requests a second, or 0")
	}
	return rate, nil
}

// parsePrefixes parses networks. A single address is a network of one address.
func parsePrefixes(text string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if addr, err := netip.ParseAddr(part); err == nil {
			prefixes = append(prefixes, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, errors.New("must be addresses or networks such as 10.0.0.0/8, comma-separated")
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

// parseFile returns a function that reads the file of a flag. An empty path stands for the zero value.
func parseFile[T any](stdin io.Reader, parse func([]byte) (T, error)) func(path string) (T, error) {
	return func(path string) (value T, err error) {
		if path == "" {
			return value, nil
		}
		data, err := readText(stdin, path)
		if err != nil {
			return value, err
		}
		if value, err = parse(data); err != nil {
			return value, fmt.Errorf("%s is refused: %w", inputName(path), err)
		}
		return value, nil
	}
}
