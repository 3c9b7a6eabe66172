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
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Config is the configuration of a rehearsal.
type Config struct {
	Listener  net.Listener
	Site      site.Config  // except Store, Secrets, Terms, Now and the sender of events
	Providers []byte       // a provider file
	Terms     []byte       // a file with the lender's terms
	ForwardTo string       // the receiver of the integration; "" skips the situations of events
	Sender    ports.Sender // of events to it; by HTTP if nil
	Stdout    io.Writer
}

// rehearsal is the handler in front of the service, with the trials of an integration.
type rehearsal struct {
	base     string
	out      io.Writer
	operator operate.Operator
	site     *site.Site
	service  http.Handler
	payer    *http.Client
	events   *relay
	ahead    atomic.Int64 // of the service's clock, in nanoseconds
	next     []string     // Authorization headers with the next keys

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
	r.site.Handler = r
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
		trials: map[string][]*trial{}, byOrder: map[string]*trial{}, byID: map[string]*trial{}}
	r.events, r.payer = &relay{r, cfg.Sender}, http.DefaultClient
	if cfg.Sender == nil {
		r.events.sender = webhook.New(webhook.Options{AllowPrivate: true})
	}
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
	r.operator = operate.Operator{Store: store, Keyring: keyring, By: "conformance provider", Reason: "The course is full.",
		Now: r.now, Rand: rand.Reader}
	s.Store, s.Secrets, s.Now = store, [][]byte{secret}, r.now
	s.Service.Terms, s.Service.Agency, s.Service.Sender = terms.Terms, terms.Agency, r.events
	if r.site, err = site.New(s); err != nil {
		return nil, err
	}
	r.service = r.site.Handler
	return r, r.configure(ctx, cfg)
}

// now returns the time of the service.
func (r *rehearsal) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// configure stores the providers, with two keys each, and prints the guide.
func (r *rehearsal) configure(ctx context.Context, cfg Config) error {
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
	if _, _, err := r.operator.Configure(ctx, "conformance provider", operate.Change{Named: configurations}); err != nil {
		return fmt.Errorf("store the providers: %w", err)
	}
	for _, c := range configurations {
		r.next = append(r.next, "Bearer "+keyOf(c.Provider.Code, "next"))
		for _, which := range []string{"first", "next"} {
			_, key := makeKey(c.Provider.Code, which)
			if err := r.operator.Store.AddKey(ctx, key, nil); err != nil {
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
		p := c.Provider
		r.printf("provider %s, courses %s\n  key             %s\n  next key        %s\n  signing secret  %s\n", p.Code, courses(c),
			keyOf(p.Code, "first"), keyOf(p.Code, "next"), p.Destination.Secret)
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

// courses returns the codes of a provider's courses.
func courses(c catalogue.Configuration) string {
	var all []string
	for _, course := range c.Courses {
		all = append(all, course.Code)
	}
	return cmp.Or(strings.Join(all, ", "), "of its own")
}

// isNext reports whether an Authorization header has the next key of a provider.
func (r *rehearsal) isNext(authorization string) bool { return slices.Contains(r.next, authorization) }

// situationFor returns the situation of a new checkout, without a name where each has had its checkout. The lock is held.
func (r *rehearsal) situationFor(order, key string) situation {
	if named := namedBy(order, r.order); named != nil && !r.skipped(*named) {
		return *named
	}
	i := slices.IndexFunc(r.order, func(s situation) bool {
		return len(r.trials[s.name]) == 0 && !r.skipped(s) && (s.name == keyRotated) == r.isNext(key)
	})
	if i < 0 {
		return situation{setUpAt: 2}
	}
	return r.order[i]
}

// skipped reports whether a situation is skipped, for there is no receiver.
func (r *rehearsal) skipped(s situation) bool { return s.events != usual && r.skips }

// watch judges the trials until each situation has had its checkout, or ctx ends. Then it notes what is missing.
func (r *rehearsal) watch(ctx context.Context) {
	for sleep(ctx, 250*time.Millisecond) {
		if r.judge(time.Now()) {
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, trials := range r.trials {
		for _, t := range trials {
			if t.reached.IsZero() {
				t.missing()
			}
		}
	}
}

// judge judges the trials, and reports whether each situation has had its checkout.
func (r *rehearsal) judge(now time.Time) (all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = true
	for _, s := range r.order {
		for _, t := range r.trials[s.name] {
			if t.judge(now) {
				t.outcome().print(r.out)
			}
			all = all && t.state != running
		}
		all = all && (len(r.trials[s.name]) > 0 || r.skipped(s))
	}
	return all
}

// report returns the outcome so far.
func (r *rehearsal) report() (all Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.order {
		switch trials := r.trials[s.name]; {
		case len(trials) > 0:
			for _, t := range trials {
				all.Situations = append(all.Situations, t.outcome())
			}
		case r.skipped(s):
			all.Situations = append(all.Situations, Outcome{Situation: s.name, About: s.about, State: skipped})
		default:
			all.Situations = append(all.Situations, Outcome{Situation: s.name, About: s.about, State: waiting})
		}
	}
	return all
}

func (r *rehearsal) printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }
