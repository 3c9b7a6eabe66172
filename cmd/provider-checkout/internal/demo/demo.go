// Package demo demonstrates the service: it serves a sandbox with the demonstration's providers on a store in a
// temporary folder, and on another address the website of a provider, which receives their events. Then it prints a guide
// with the address to open first, keys and curl lines to paste, or walks the whole flow on the website itself, over HTTP.
package demo

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"text/template"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakemailbox"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/money"
)

//go:embed guide.txt
var guideText string

// Config is the configuration of a demonstration.
type Config struct {
	Listener  net.Listener // of the sandbox
	Site      site.Config  // except Store, Secrets and Terms, which the demonstration sets
	Providers []byte       // a provider file
	Terms     []byte       // a file with the lender's terms
	Walk      bool         // walk the whole flow and end, rather than print the guide and serve
	Webhook   string       // URL of a receiver that the events of the provider of the guide go on to; "" for no such receiver

	Stdout, Stderr io.Writer
}

// Run runs a demonstration until ctx ends, or until the walk has ended. It leaves no files except the agreement's
// PDF, which the walk writes.
func Run(ctx context.Context, cfg Config) error {
	dir, err := os.MkdirTemp("", "provider-checkout-demo-")
	if err != nil {
		return err
	}
	err = run(ctx, cfg, filepath.Join(dir, "provider-checkout.db"))
	return errors.Join(err, os.RemoveAll(dir))
}

// demonstration is a running sandbox with its keys and its configuration.
type demonstration struct {
	Base         string
	Store        string
	Keys         map[string]string // by provider code
	FirstPayment money.Date
	Program      string // path of this program
	Website      string // of the provider
	Desk         string // of the operator
	Webhook      string // of the developer
	Secret       string // under which the events of the guide's provider are signed

	cfg Config // with the store
	web *website
}

// run runs a demonstration on a new store at path.
func run(ctx context.Context, cfg Config, path string) error {
	log := slog.New(slog.NewJSONHandler(cfg.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := sqlite.Open(ctx, path, sqlite.Options{Environment: cfg.Site.Service.Environment, Rand: rand.Reader})
	if err != nil {
		return err
	}
	defer db.Close()
	web, err := listenWebsite(ctx)
	if err != nil {
		return err
	}
	defer web.listener.Close()
	ln, err := localListener(ctx)
	if err != nil {
		return err
	}
	defer ln.Close()
	cfg.Site.Desk = &site.Desk{Listener: ln, Settings: desk.Settings{URL: "http://" + ln.Addr().String()}}
	cfg.Site.Store, cfg.Site.Secrets = db, db.Secrets()
	terms, err := providerfile.ParseTerms(cfg.Terms)
	if err != nil {
		return fmt.Errorf("the demonstration's terms are refused: %w", err)
	}
	cfg.Site.Service.Terms, cfg.Site.Service.Agency = terms.Terms, terms.Agency
	cfg.Site.Log = log
	web.mailbox = fakemailbox.New(web.url(), log)
	program, err := os.Executable()
	if err != nil {
		return err
	}
	d := demonstration{
		Base:         cfg.Site.Service.BaseURL,
		Store:        "sqlite:" + path,
		FirstPayment: money.DateOf(time.Now()).AddDays(14),
		Program:      program,
		Website:      web.url(),
		Desk:         cfg.Site.Desk.URL,
		Webhook:      cfg.Webhook,
		cfg:          cfg,
		web:          web,
	}
	if err := d.configure(ctx); err != nil {
		return err
	}
	cfg.Site.Service.Sender, cfg.Site.Service.Notifier = web.receiver, web.mailbox
	s, err := site.New(cfg.Site)
	if err != nil {
		return err
	}
	return d.serve(ctx, s, log)
}

// serve serves the site and the provider's website until ctx ends or the walk has ended.
func (d *demonstration) serve(ctx context.Context, s *site.Site, log *slog.Logger) error {
	var running sync.WaitGroup
	defer running.Wait()
	receiving, stopReceiving := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReceiving() // after the site, which delivers events until it has stopped
	running.Go(func() { d.web.serve(receiving, log) })

	serving, stopServing := context.WithCancel(ctx)
	served := make(chan error, 1)
	running.Go(func() {
		defer stopServing()
		served <- s.Serve(serving, d.cfg.Listener, nil)
	})
	show := d.guide
	if d.cfg.Walk {
		show = d.walk
	}
	err := show(serving, d.cfg.Stdout)
	stopServing()
	return errors.Join(err, <-served)
}

// configure stores the demonstration's providers, each with a key, and puts the website together, to which their payers
// return and their events are sent.
func (d *demonstration) configure(ctx context.Context) error {
	configurations, err := providerfile.Parse(d.cfg.Providers)
	if err != nil {
		return fmt.Errorf("the demonstration's provider file is refused: %w", err)
	}
	for i := range configurations {
		d.web.host(&configurations[i].Provider)
	}
	d.web.receiver.onward, d.Secret = d.Webhook, d.web.receiver.secrets[providerCode]
	keyring, err := checkout.NewKeyring(d.cfg.Site.Secrets...)
	if err != nil {
		return err
	}
	operator := operate.Operator{Store: d.cfg.Site.Store, Keyring: keyring, By: "demo", Now: time.Now, Rand: rand.Reader}
	if _, _, err := operator.Configure(ctx, "demo", operate.Change{Named: configurations}); err != nil {
		return fmt.Errorf("store the providers: %w", err)
	}
	var offer fakeprovider.Offer
	d.Keys = map[string]string{}
	for _, c := range configurations {
		if d.Keys[c.Provider.Code], err = operator.IssueKey(ctx, c.Provider.Code, operate.KeyOptions{}); err != nil {
			return err
		}
		if c.Provider.Code == providerCode {
			offer = d.offer(c)
		}
	}
	d.web.provider = fakeprovider.New(fakeprovider.Options{BaseURL: d.Website, API: d.Base, Desk: d.Desk, Mailbox: d.Website + fakemailbox.Path,
		Key: d.Keys[providerCode], Code: providerCode, Offer: offer})
	d.web.receiver.seen = d.web.provider.Receive
	return nil
}

// guide opens a checkout on the website and prints the guide, and then the events that arrive, until ctx ends.
func (d *demonstration) guide(ctx context.Context, out io.Writer) error {
	guide, err := template.New("guide.txt").Parse(guideText)
	if err != nil {
		return err
	}
	if err := d.web.provider.Open(ctx); err != nil {
		return err
	}
	if err := guide.Execute(out, d); err != nil {
		return fmt.Errorf("print the guide: %w", err)
	}
	for {
		select {
		case e := <-d.web.receiver.got:
			fmt.Fprintln(out, "#", e)
		case <-ctx.Done():
			return nil
		}
	}
}
