// Package listen follows the list of a provider's events, and forwards each event to a receiver on the developer's own machine. A
// Place, which may be kept in a file, says how far it has come. An event that the receiver refuses waits, and with it the later
// events of its checkout; of a receiver that nobody listens at everything waits. Nothing is lost or reordered within a checkout.
package listen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/events"
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
	pollEvery    = time.Second // at the end of the list
	firstRetry   = time.Second
	lastRetry    = 30 * time.Second
	retriesAfter = 5 * time.Second // of events that were refused
)

// listener is a listener at work.
type listener struct {
	Config
	place    Place
	source   *source
	receiver *receiver
	retryAt  time.Time     // when the events that wait are tried again
	pause    time.Duration // before the retry after that
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
	l = &listener{Config: cfg, pause: retriesAfter, place: Place{BaseURL: cfg.BaseURL},
		source: &source{api: apiclient.New(cfg.BaseURL, nil), key: cfg.Key, say: cfg.Say}}
	if cfg.State != "" {
		if began, err = l.place.load(cfg.State); err != nil {
			return nil, began, err
		}
	}
	if l.place.BaseURL != cfg.BaseURL {
		return nil, began, fmt.Errorf("%s is the place in the events of %s", cfg.State, l.place.BaseURL)
	}
	if cfg.ForwardTo == "" {
		return l, began, nil
	}
	secret := cfg.Secret
	if secret == "" {
		if l.place.Secret == "" {
			l.place.Secret = "whsec_" + rand.Text()
		}
		secret = l.place.Secret
		l.Signed(secret)
	}
	l.receiver = newReceiver(cfg.ForwardTo, secret)
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
	switch {
	case err != nil:
		return err
	case !began && l.Since.IsZero():
		_, l.place.Next, err = l.source.search(ctx, before(now), func(events.Event) bool { return false })
	case !began:
		l.place.Next = before(l.Since)
	}
	return errors.Join(err, l.save())
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
		return sleep(ctx, pollEvery)
	}
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
	case l.receiver == nil:
		if err := l.Taken(e.Event, Answer{}); err != nil {
			return err
		}
		l.place.Done(e)
		return l.save()
	case l.place.Blocked(e):
		l.place.Wait(e)
		return l.save()
	}
	a, err := l.deliver(ctx, e)
	if err != nil || a.Err == nil {
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
		a, err := l.deliver(ctx, e)
		if err != nil {
			return err
		}
		if refused[e.Event.CheckoutID] = a.Err != nil; a.Err == nil {
			l.pause = retriesAfter
		}
	}
	l.retryAt = time.Now().Add(l.pause)
	l.pause = min(2*l.pause, lastPause)
	return nil
}

// deliver forwards an event, and waits while nobody listens at the receiver's address. It notes an event that was taken.
func (l *listener) deliver(ctx context.Context, e Entry) (Answer, error) {
	down := false
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		a := l.receiver.deliver(ctx, e.Event)
		switch {
		case a.Err == nil:
			l.place.Done(e)
			if err := l.save(); err != nil {
				return a, err
			}
			return a, l.Taken(e.Event, a)
		case ctx.Err() != nil:
			return a, ctx.Err()
		case errors.Is(a.Err, ErrElsewhere):
			return a, fmt.Errorf("%s %w", l.ForwardTo, ErrElsewhere)
		case !a.Down:
			l.Say(fmt.Sprintf("%s %s of %s waits, and the later events of its checkout: %v", e.Event.ID, e.Event.Name, e.Event.OrderID, a.Err))
			return a, nil
		}
		if !down {
			l.Say(fmt.Sprintf("everything waits for the receiver: %v", a.Err))
		}
		down = true
		if err := sleep(ctx, pause); err != nil {
			return a, err
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
	a := l.receiver.deliver(ctx, found.Event)
	if a.Err != nil {
		return fmt.Errorf("the receiver did not take %s: %w", id, a.Err)
	}
	return l.Taken(found.Event, a)
}
