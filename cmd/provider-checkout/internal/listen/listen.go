// Package listen follows the list of a provider's events, and forwards each event to a receiver on the developer's own machine. A
// Place, which may be kept in a file, says how far it has come. An event that the receiver refuses waits, and with it the later
// events of its checkout; of a receiver that nobody listens at everything waits. Nothing is lost or reordered within a checkout.
package listen

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Config is the configuration of a listener.
type Config struct {
	BaseURL   string
	Key       func() (string, error) // asked before each call
	ForwardTo string                 // URL of the receiver; "" to print events only
	Secret    string                 // to sign with; "" makes one
	Since     time.Time              // when the first events were made; zero for the events from now on
	Wants     func(events.Name) bool // whether an event is not left out
	State     string                 // the file that keeps the place; "" for no file

	Signed func(secret string)              // takes a secret that was made, before the first event
	Taken  func(events.Event, Answer) error // takes each event once, when its receiver took it
	Say    func(string)                     // takes a line about what is waited for
}

// The pauses of a listener.
const (
	pollEvery    = time.Second // at the end of the list, and up to lastPoll when there was no event for long
	lastPoll     = 10 * time.Second
	firstRetry   = time.Second
	lastRetry    = 30 * time.Second
	retriesAfter = 5 * time.Second // of events that were refused
)

// listener is a listener at work.
type listener struct {
	Config
	place   Place
	source  *source
	sender  ports.Sender  // as the service has it
	latest  time.Time     // when there was an event
	retryAt time.Time     // when the events that wait are tried again
	pause   time.Duration // before the retry after that
}

// Run follows the list until ctx ends, which is no error.
func Run(ctx context.Context, cfg Config) error {
	l, began, err := open(cfg)
	if err != nil {
		return err
	}
	return l.run(ctx, began)
}

// run follows the list, from a place that is kept if it began before.
func (l *listener) run(ctx context.Context, began bool) error {
	err := l.begin(ctx, began)
	for err == nil {
		err = l.round(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// open makes a listener, and reports whether its place was kept in the file.
func open(cfg Config) (l *listener, began bool, err error) {
	l = &listener{Config: cfg, latest: time.Now(), pause: retriesAfter, place: Place{BaseURL: cfg.BaseURL},
		source: &source{api: apiclient.New(cfg.BaseURL, nil), key: cfg.Key, say: cfg.Say},
		sender: webhook.New(webhook.Options{AllowPrivate: true})}
	if cfg.State != "" {
		if began, err = l.place.load(cfg.State); err != nil {
			return nil, began, err
		}
	}
	if l.place.BaseURL != cfg.BaseURL {
		return nil, began, fmt.Errorf("%s is the place in the events of %s", cfg.State, l.place.BaseURL)
	}
	if cfg.ForwardTo != "" && cfg.Secret == "" {
		l.place.Secret = cmp.Or(l.place.Secret, "whsec_"+rand.Text())
		l.Secret = l.place.Secret
		l.Signed(l.Secret)
	}
	return l, began, nil
}

// load reads the place from a file, and reports whether there is one.
func (p *Place) load(file string) (bool, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		*p, err = parsePlace(text)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	return true, nil
}

// save writes the place to the file.
func (l *listener) save() error {
	if l.State == "" {
		return nil
	}
	text, err := l.place.encode()
	if err != nil {
		return err
	}
	return privatefile.Replace(l.State, text)
}

// begin finds the place of a listener without a kept place.
func (l *listener) begin(ctx context.Context, began bool) error {
	now, err := l.source.now(ctx)
	if err == nil && !began && l.Since.IsZero() {
		_, l.place.Next, err = l.source.search(ctx, before(now), func(events.Event) bool { return false })
	} else if !began {
		l.place.Next = before(l.Since)
	}
	if err != nil {
		return err
	}
	return l.save()
}

// round forwards a page of events, and the events that wait.
func (l *listener) round(ctx context.Context) error {
	if err := l.retry(ctx); err != nil {
		return err
	}
	if l.place.Full() {
		return sleep(ctx, time.Until(l.retryAt))
	}
	page, next, err := l.source.page(ctx, l.place.Next)
	if err != nil {
		return err
	}
	for _, e := range page {
		if l.place.Full() {
			return nil
		}
		if err := l.follow(ctx, e); err != nil {
			return err
		}
	}
	if len(page) == 0 {
		return sleep(ctx, min(max(time.Since(l.latest)/60, pollEvery), lastPoll))
	}
	l.latest = time.Now()
	l.place.Next = max(l.place.Next, next)
	return l.save()
}

// follow has an event of the list taken, left out or wait.
func (l *listener) follow(ctx context.Context, e Entry) error {
	switch {
	case !l.place.Admits(e):
		return nil
	case !l.Wants(e.Event.Name):
		l.place.Done(e) // saved with the page
		return nil
	case l.ForwardTo == "":
		if err := l.Taken(e.Event, Answer{}); err != nil {
			return err
		}
		l.place.Done(e)
		return l.save()
	case l.place.Blocked(e):
		l.place.Wait(e)
		return l.save()
	}
	if taken, err := l.deliver(ctx, e); err != nil || taken {
		return err
	}
	if len(l.place.Waiting) == 0 {
		l.pause, l.retryAt = retriesAfter, time.Now().Add(retriesAfter)
	}
	l.place.Wait(e)
	return l.save()
}

// retry forwards the events that wait, once it is time to: of each checkout until its first is refused.
func (l *listener) retry(ctx context.Context) error {
	if len(l.place.Waiting) == 0 || time.Now().Before(l.retryAt) {
		return nil
	}
	refused := map[string]bool{}
	for _, e := range slices.Clone(l.place.Waiting) {
		if refused[e.Event.CheckoutID] {
			continue
		}
		taken, err := l.deliver(ctx, e)
		if err != nil {
			return err
		}
		if refused[e.Event.CheckoutID] = !taken; taken {
			l.pause = retriesAfter
		}
	}
	l.retryAt = time.Now().Add(l.pause)
	l.pause = min(2*l.pause, lastPause)
	return nil
}

// Answer is the answer of a receiver that took an event.
type Answer struct {
	Status int // 0 where there is no receiver
	Took   time.Duration
}

// grace is the time that a receiver has for its answer once the listener is ended.
const grace = time.Second

// attempts makes a run of attempts, as the service does. It ends with ctx, but for an answer that is due.
func (l *listener) attempts(ctx context.Context, e events.Event) (a Answer, err error) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	run, to := events.NewDelivery(e, l.Secret, time.Now()), catalogue.Destination{URL: l.ForwardTo}
	for attempt := 1; attempt <= events.MaxAttempts; attempt++ {
		if err := sleep(ctx, events.Delay(attempt)); err != nil {
			return a, err
		}
		began := time.Now()
		got, fault := l.sender.Send(sending, to, run, attempt)
		if a, err = (Answer{got.Status, time.Since(began)}), fault; err == nil || isDown(err) {
			break
		}
	}
	return a, err
}

// isDown reports whether nobody listens at the receiver's address.
func isDown(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return ok && network.Op == "dial"
}

// deliver forwards an event, and waits while nobody listens at the receiver's address. It reports whether the event was taken,
// and notes it then.
func (l *listener) deliver(ctx context.Context, e Entry) (taken bool, err error) {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		a, err := l.attempts(ctx, e.Event)
		switch {
		case err == nil:
			l.place.Done(e)
			return true, errors.Join(l.save(), l.Taken(e.Event, a))
		case ctx.Err() != nil:
			return false, ctx.Err()
		case !isDown(err):
			l.Say(fmt.Sprintf("%s %s of %s waits, and the later events of its checkout: %v",
				e.Event.ID, e.Event.Name, e.Event.OrderID, err))
			return false, nil
		case pause == firstRetry:
			l.Say(fmt.Sprintf("everything waits for the receiver: %v", err))
		}
		if err := sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}

// ErrNotListed is the error of Resend about an event that is not in the provider's list.
var ErrNotListed = errors.New("is not in the list of the provider's events")

// Resend forwards one event again, by its id, in one run of attempts. The place stays.
func Resend(ctx context.Context, cfg Config, id string) error {
	l, _, err := open(cfg)
	if err != nil {
		return err
	}
	if _, err := l.source.now(ctx); err != nil {
		return err
	}
	found, _, err := l.source.search(ctx, before(cfg.Since), func(e events.Event) bool { return e.ID == id })
	switch {
	case err != nil:
		return err
	case found.Event.ID == "":
		return fmt.Errorf("%s %w", id, ErrNotListed)
	}
	a, err := l.attempts(ctx, found.Event)
	if err != nil {
		return fmt.Errorf("the receiver did not take %s: %w", id, err)
	}
	return l.Taken(found.Event, a)
}
