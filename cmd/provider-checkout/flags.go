package main

import (
	"flag"
	"net/netip"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// settings are the values of every flag of every command. The functions below say which command
// has which flags, and what they are when nobody says anything.
type settings struct {
	store string

	addr           string
	opsAddr        string
	baseURL        string
	environment    catalogue.Environment
	processor      string
	setupLifetime  time.Duration
	rateLimit      float64
	trustedProxies []netip.Prefix
	allowPrivate   bool
	terms          agreement.Terms

	walk     bool
	file     string
	prune    bool
	provider string
	out      string
}

func storeFlag(fs *flags, s *settings) {
	fs.StringVar(&s.store, "store", "sqlite:provider-checkout.db",
		"where the records are kept: `STORE` is sqlite:PATH or postgres://USER@HOST:PORT/DATABASE,\n"+
			"        which with a password in it belongs into the variable, for everybody sees flags;\n"+
			"        where serve is given the operator's secret, every other command needs it too")
	fs.hasVariable("store")
}

func addrFlag(fs *flags, s *settings) {
	fs.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`HOST:PORT` to listen on")
}

func serveFlags(fs *flags, s *settings) {
	storeFlag(fs, s)
	addrFlag(fs, s)
	fs.StringVar(&s.opsAddr, "ops-addr", "", "`HOST:PORT` to answer the operator's /healthz, /readyz and /metrics on; nowhere unless given")
	fs.StringVar(&s.baseURL, "base-url", "", "`URL` under which this server is reached (default http://<addr>)")
	add(fs, &s.environment, "environment", "sandbox", readEnvironment, "`sandbox|production`")
	add(fs, &s.processor, "processor", "fake", readProcessor, "`NAME` of the direct debit processor; there is only fake")
	add(fs, &s.setupLifetime, "setup-lifetime", "168h", readLifetime, "how long a setup page opens, a `DURATION`")
	add(fs, &s.rateLimit, "rate-limit", "100", readRate,
		"`REQUESTS` a second for one key, in bursts of twice that; 0 turns off every limit")
	add(fs, &s.trustedProxies, "trusted-proxies", "", readPrefixes,
		"`ADDRESSES` or networks, comma-separated, whose X-Forwarded-For is believed")
	fs.BoolVar(&s.allowPrivate, "allow-private-destinations", false,
		"send events to loopback and private addresses too (sandbox only)")
	add(fs, &s.terms, "terms", "", readTerms,
		"`FILE` with the lender and the terms that every new agreement holds (README: The lender's terms)")
	fs.VisitAll(func(f *flag.Flag) { fs.hasVariable(f.Name) })
}

func demoFlags(fs *flags, s *settings) {
	serveFlags(newFlags(fs.Name()), s) // a demonstration serves as serve does
	s.allowPrivate = true              // its receiver is on loopback
	addrFlag(fs, s)
	fs.BoolVar(&s.walk, "walk", false, "walk the whole flow on a free port, and end")
}

func applyFlags(fs *flags, s *settings) {
	storeFlag(fs, s)
	fs.StringVar(&s.file, "f", "", "provider `FILE`; - is standard input")
	fs.require("f")
	fs.BoolVar(&s.prune, "prune", false, "remove providers that the file does not name (their keys and checkouts stay)")
}

func issueFlags(fs *flags, s *settings) {
	storeFlag(fs, s)
	fs.StringVar(&s.provider, "provider", "", "provider `CODE`")
	fs.require("provider")
	add(fs, &s.environment, "environment", "", readEnvironment, "`sandbox|production` (default the provider's)")
}

func pdfFlags(fs *flags, s *settings) {
	storeFlag(fs, s)
	fs.StringVar(&s.out, "out", "", "`FILE` to write; only its owner may read it")
	fs.require("out")
}
