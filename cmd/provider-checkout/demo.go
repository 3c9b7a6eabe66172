package main

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
	"syscall"
	"text/template"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/ops"
	"github.com/provider-checkout/provider-checkout/adapters/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

//go:embed demo.json
var demoProviders []byte

//go:embed demo-terms.json
var demoTerms []byte

//go:embed demo.txt
var demoGuide string

// demo serves a sandbox until ctx ends, or walks the whole flow and ends. Nothing of it stays
// but the agreement's PDF that the walk writes.
func demo(ctx context.Context, c *call) error {
	if c.walk {
		c.addr = "127.0.0.1:0"
	}
	ln, err := listen(ctx, "--addr", c.addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is taken; choose another address with --addr", c.addr)
	} else if err != nil {
		return err
	}
	defer ln.Close()
	dir, err := os.MkdirTemp("", "provider-checkout-demo-")
	if err != nil {
		return err
	}
	err = c.demonstrate(ctx, ln, filepath.Join(dir, "provider-checkout.db"))
	return errors.Join(err, os.RemoveAll(dir))
}

// demonstration is a sandbox with all that is around it.
type demonstration struct {
	Base         string
	Store        string
	Keys         map[string]string // by provider code
	FirstPayment string            // a date

	db     records
	events <-chan receipt
}

// demonstrate runs a sandbox on ln over a new store at path.
func (c *call) demonstrate(ctx context.Context, ln net.Listener, path string) error {
	log := slog.New(slog.NewJSONHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := sqlite.Open(ctx, path, sqlite.Options{Environment: c.environment, Rand: rand.Reader})
	if err != nil {
		return err
	}
	defer db.Close()
	hooks, err := listen(ctx, "--addr", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer hooks.Close()
	d := demonstration{
		Base:         c.base(ln),
		Store:        "sqlite:" + path,
		FirstPayment: time.Now().AddDate(0, 0, 14).Format(time.DateOnly),
		db:           db,
	}
	r, err := d.configure(ctx, "http://"+hooks.Addr().String())
	if err != nil {
		return err
	}
	if c.terms, err = providerfile.ParseTerms(demoTerms); err != nil {
		return fmt.Errorf("demo-terms.json is refused: %w", err)
	}
	s, err := site.New(c.site(db, d.Base), ops.NewMetrics(), log)
	if err != nil {
		return err
	}

	var running sync.WaitGroup
	defer running.Wait()
	receiving, stopReceiving := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReceiving() // after the site, which delivers to the end
	running.Go(func() { r.serve(receiving, hooks, log) })

	serving, stopServing := context.WithCancel(ctx)
	served := make(chan error, 1)
	running.Go(func() {
		defer stopServing()
		served <- s.Serve(serving, ln, nil)
	})
	show := d.guide
	if c.walk {
		show = d.walk
	}
	err = show(serving, c.Stdout)
	stopServing()
	return errors.Join(err, <-served)
}

// configure stores the demonstration's providers, each with a key, and returns the receiver
// of their events, which will answer under base.
func (d *demonstration) configure(ctx context.Context, base string) (*receiver, error) {
	configurations, err := providerfile.Parse(demoProviders)
	if err != nil {
		return nil, fmt.Errorf("demo.json is refused: %w", err)
	}
	r := newReceiver(base, configurations)
	d.events = r.got
	err = d.db.ReplaceProviders(ctx, func([]catalogue.Configuration) ([]catalogue.Configuration, error) {
		return configurations, nil
	})
	if err != nil {
		return nil, fmt.Errorf("store the providers: %w", err)
	}
	d.Keys = map[string]string{}
	for _, c := range configurations {
		if d.Keys[c.Provider.Code], err = newKey(ctx, d.db, c.Provider.Code, ""); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// guide prints what to try, and then the events, until ctx ends.
func (d *demonstration) guide(ctx context.Context, out io.Writer) error {
	guide, err := template.New("demo.txt").Parse(demoGuide)
	if err != nil {
		return err
	}
	if err := guide.Execute(out, d); err != nil {
		return fmt.Errorf("print the guide: %w", err)
	}
	for {
		select {
		case e := <-d.events:
			fmt.Fprintln(out, "#", e)
		case <-ctx.Done():
			return nil
		}
	}
}
