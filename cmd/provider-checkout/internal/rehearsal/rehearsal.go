// Package rehearsal plays the service against a provider's integration. The service is real, on a store in memory, and
// a proxy is in front of it: each checkout that the integration creates gets a situation, in which calls or events go
// wrong as they do in production. The payer is played too. What the integration does about it is held to the rules of the
// documentation, and every fault quotes the sentence that it breaks.
package rehearsal

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Config is the configuration of a rehearsal.
type Config struct {
	Listener  net.Listener
	Site      site.Config // except Store, Secrets, Terms and the sender of events
	Providers []byte      // a provider file
	Terms     []byte      // a file with the lender's terms
	ForwardTo string      // the receiver of the integration; "" skips the situations of events
	Stdout    io.Writer
}

// rehearsal stands in front of the service, and sends its events. It has the trials of an integration.
type rehearsal struct {
	base    string
	out     io.Writer
	site    *site.Site
	service http.Handler
	sender  ports.Sender // to the receiver
	next    []string     // Authorization headers with the next keys

	ctx        context.Context // of the background
	background sync.WaitGroup

	mu      sync.Mutex
	order   []situation
	skips   bool                // the situations of events
	trials  map[string][]*trial // by the situation, the oldest first
	byOrder map[string]*trial
	byID    map[string]*trial // by the checkout

	slowUntil time.Time // answers, and attempts to deliver meanwhile
}

// Run plays the service until each situation has had its checkout, or ctx ends, and returns the outcome.
func Run(ctx context.Context, cfg Config) (Report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r, err := newRehearsal(ctx, cfg)
	if err != nil {
		return Report{}, err
	}
	r.site.Handler = r.handler()
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- r.site.Serve(ctx, cfg.Listener, nil)
	}()
	r.watch(ctx)
	stop()
	err = <-served
	r.background.Wait()
	return r.report(), err
}

// newRehearsal returns a rehearsal, and prints what an integration needs of it. What it does in the background ends with ctx.
func newRehearsal(ctx context.Context, cfg Config) (*rehearsal, error) {
	r := &rehearsal{base: cfg.Site.Service.BaseURL, out: cfg.Stdout, ctx: ctx, order: situations(), skips: cfg.ForwardTo == "",
		sender: webhook.New(webhook.Options{AllowPrivate: true}),
		trials: map[string][]*trial{}, byOrder: map[string]*trial{}, byID: map[string]*trial{}}
	terms, err := providerfile.ParseTerms(cfg.Terms)
	if err != nil {
		return nil, fmt.Errorf("the terms are refused: %w", err)
	}
	secret := make([]byte, checkout.MinSecret)
	rand.Read(secret)
	keyring, err := checkout.NewKeyring(secret)
	if err != nil {
		return nil, err
	}
	store, s := memory.New(), cfg.Site
	s.Store, s.Secrets = store, [][]byte{secret}
	s.Service.Terms, s.Service.Agency, s.Service.Sender = terms.Terms, terms.Agency, r
	if r.site, err = site.New(s); err != nil {
		return nil, err
	}
	r.service = r.site.Handler
	return r, r.configure(ctx, cfg, operate.Operator{Store: store, Keyring: keyring, By: "conformance provider", Now: time.Now,
		Rand: rand.Reader})
}

// configure stores the providers, with two keys each, and prints the guide.
func (r *rehearsal) configure(ctx context.Context, cfg Config, o operate.Operator) error {
	configurations, err := providerfile.Parse(cfg.Providers)
	if err != nil {
		return fmt.Errorf("the provider file is refused: %w", err)
	}
	r.guide(configurations)
	for i := range configurations {
		if to := &configurations[i].Provider.Destination; r.skips {
			*to = catalogue.Destination{}
		} else {
			to.URL = cfg.ForwardTo
		}
	}
	if _, _, err := o.Configure(ctx, "conformance provider", operate.Change{Named: configurations}); err != nil {
		return fmt.Errorf("store the providers: %w", err)
	}
	for _, c := range configurations {
		r.next = append(r.next, "Bearer "+keyOf(c.Provider.Code, "next"))
		for _, which := range []string{"first", "next"} {
			_, key := makeKey(c.Provider.Code, which)
			if err := o.Store.AddKey(ctx, key, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// guide prints what an integration needs of the providers, and the situations.
func (r *rehearsal) guide(configurations []catalogue.Configuration) {
	r.printf("The service is at %s. Have your integration call it there, and enrol a student for each situation.\n\n", r.base)
	for _, c := range configurations {
		var courses []string
		for _, course := range c.Courses {
			courses = append(courses, course.Code)
		}
		p := c.Provider
		r.printf("provider %s, courses %s\n  key             %s\n  next key        %s\n  signing secret  %s\n", p.Code,
			cmp.Or(strings.Join(courses, ", "), "of its own"), keyOf(p.Code, "first"), keyOf(p.Code, "next"), p.Destination.Secret)
	}
	r.printf("\nCheckouts get the situations in this order, or the one in which the order id ends, as in ORDER-1+plain.\n" +
		"The payer is played here: your integration polls and confirms.\n\n")
	for _, s := range r.order {
		r.printf("  %-21s %s\n", s.name, s.about)
	}
	if r.skips {
		r.printf("\nWithout --forward-to the situations of events and secrets are skipped.\n")
	}
	r.printf("\n")
}

// makeKey makes a key of a provider. It is the same in every run, so that an integration can be configured before: it protects
// nothing.
func makeKey(provider, which string) (string, catalogue.Key) {
	return catalogue.NewKey(provider, catalogue.Sandbox, time.Now(), sha256.Sum256([]byte("rehearsal "+provider+" "+which)))
}

// keyOf returns the text of a key.
func keyOf(provider, which string) string {
	text, _ := makeKey(provider, which)
	return text
}

// situationFor returns the situation of a new checkout: that in which its order id ends, or else key_rotated for the next key, or
// else the first of the others that has had no checkout; without a name where each has. The lock is held.
func (r *rehearsal) situationFor(order string, q request) situation {
	for _, is := range []func(situation) bool{
		func(s situation) bool { return strings.HasSuffix(order, "+"+s.name) },
		func(s situation) bool { return s.name == keyRotated && q.next && len(r.trials[s.name]) == 0 },
		func(s situation) bool { return s.name != keyRotated && len(r.trials[s.name]) == 0 },
	} {
		if i := slices.IndexFunc(r.order, func(s situation) bool { return is(s) && !r.skipped(s) }); i >= 0 {
			return r.order[i]
		}
	}
	return situation{}
}

// skipped reports whether a situation is skipped, for there is no receiver.
func (r *rehearsal) skipped(s situation) bool { return s.events != usual && r.skips }

// watch judges the trials until each situation has had its checkout, or ctx ends. Then it notes what is missing.
func (r *rehearsal) watch(ctx context.Context) {
	for cli.Sleep(ctx, 250*time.Millisecond) {
		r.each(func(t *trial) {
			if t.judge(time.Now()) {
				t.print(r.out)
			}
		})
		if r.report().count(running, waiting) == 0 {
			return
		}
	}
	r.each(func(t *trial) {
		if t.reached.IsZero() {
			t.missing()
		}
	})
}

// each calls do with each trial that has a situation, under the lock.
func (r *rehearsal) each(do func(*trial)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.order {
		for _, t := range r.trials[s.name] {
			do(t)
		}
	}
}

// report returns the outcome so far.
func (r *rehearsal) report() (all Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.order {
		for _, t := range r.trials[s.name] {
			all.Situations = append(all.Situations, t.Outcome)
		}
		if state := waiting; len(r.trials[s.name]) == 0 {
			if r.skipped(s) {
				state = skipped
			}
			all.Situations = append(all.Situations, Outcome{Situation: s.name, About: s.about, State: state})
		}
	}
	return all
}

func (r *rehearsal) printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }
