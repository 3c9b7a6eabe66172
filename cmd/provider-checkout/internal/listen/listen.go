// Package listen follows the list of a provider's events, and forwards each event to a receiver on the developer's own machine. A
// place, which may be kept in a file, says how far it has come. An event that the receiver refuses waits, and with it the later
// events of its checkout; of a receiver that nobody listens at everything waits. Nothing is lost or reordered within a checkout.
package listen

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
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
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/delivery"
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
	Names     []events.Name          // of the events that are not left out; nil for all
	State     string                 // the file that keeps the place; "" for no file

	Signed func(secret string)                        // takes a secret that was made, before the first event
	Taken  func(events.Event, checkout.Attempt) error // takes each event once, when its receiver took it; no attempt without a receiver
	Say    func(string)                               // takes a line about what is waited for
}

// The pauses of a listener.
const (
	pollEvery    = time.Second // at the end of the list, and up to lastPoll when there was no event for long
	lastPoll     = 10 * time.Second
	firstRetry   = time.Second
	lastRetry    = 30 * time.Second
	retriesAfter = 5 * time.Second // of events that were refused
)

// maxWaiting is the number of events that may wait: then no further event is read.
const maxWaiting = 100

// listener is a listener at work.
type listener struct {
	Config
	place   place
	api     *apiclient.Client // with one key, of the provider ""
	failed  string            // the failure of the service that was said last; "" after an answer
	sender  ports.Sender      // as the service has it
	latest  time.Time         // when there was an event
	retryAt time.Time         // when the events that wait are tried again
	pause   time.Duration     // before the retry after that
}

// Run follows the list until ctx ends, which is no error. It has the file of its place to itself.
func Run(ctx context.Context, cfg Config) error {
	lock, err := hold(cfg.State)
	if err != nil {
		return err
	}
	defer lock.Close()
	l, err := open(cfg)
	if err != nil {
		return err
	}
	return l.run(ctx)
}

func (l *listener) run(ctx context.Context) error {
	err := l.begin(ctx)
	for err == nil {
		err = l.round(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// hold has no other listener go on from the place in a file, "" for no file, until its own file beside that is closed.
func hold(state string) (*os.File, error) {
	if state == "" {
		return nil, nil // which may be closed too
	}
	f, err := os.OpenFile(state+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := privatefile.Lock(f); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(fmt.Errorf("%s: another listener goes on from it: %w", state, err), f.Close())
	}
	return f, nil
}

// open makes a listener at the place that the file has.
func open(cfg Config) (*listener, error) {
	l := &listener{Config: cfg, latest: time.Now(), pause: retriesAfter, place: place{BaseURL: cfg.BaseURL},
		api: apiclient.New(cfg.BaseURL, nil), sender: webhook.New(webhook.Options{AllowPrivate: true})}
	if cfg.State != "" {
		text, err := os.ReadFile(cfg.State)
		if err == nil {
			l.place = place{}
			err = json.Unmarshal(text, &l.place)
		}
		if err == nil && (l.place.BaseURL == "" || l.place.Next == "") {
			err = errors.New("the file is there, and is not the place of a listener")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", cfg.State, err)
		}
	}
	if l.place.BaseURL != cfg.BaseURL {
		return nil, fmt.Errorf("%s is the place in the events of %s", cfg.State, l.place.BaseURL)
	}
	if cfg.ForwardTo != "" && cfg.Secret == "" {
		l.place.Secret = cmp.Or(l.place.Secret, "whsec_"+rand.Text())
		l.Secret = l.place.Secret
		l.Signed(l.Secret)
	}
	return l, nil
}

// save writes the place to the file.
func (l *listener) save() error {
	if l.State == "" {
		return nil
	}
	text, err := json.Marshal(l.place)
	if err != nil {
		return err
	}
	return privatefile.Replace(l.State, append(text, '\n'))
}

// begin finds the place of a listener without a kept place.
func (l *listener) begin(ctx context.Context) error {
	now, err := l.now(ctx)
	switch {
	case l.place.Next != "":
	case !l.Since.IsZero():
		l.place.Next = before(l.Since)
	case err == nil:
		_, l.place.Next, err = l.search(ctx, before(now), "")
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
	if len(l.place.Waiting) >= maxWaiting {
		return sleep(ctx, time.Until(l.retryAt))
	}
	p, err := l.page(ctx, l.place.Next)
	if err != nil {
		return err
	}
	for _, e := range p.Events {
		if len(l.place.Waiting) >= maxWaiting {
			return nil
		}
		if err := l.follow(ctx, e); err != nil {
			return err
		}
	}
	if len(p.Events) == 0 {
		return sleep(ctx, min(max(time.Since(l.latest)/60, pollEvery), lastPoll))
	}
	l.latest, l.place.Next = time.Now(), p.Next
	return l.save()
}

// follow has the next event of the list taken, left out or wait.
func (l *listener) follow(ctx context.Context, e entry) error {
	if l.place.Provider = cmp.Or(l.place.Provider, e.event.ProviderCode); l.place.Provider != e.event.ProviderCode {
		return fmt.Errorf("%s is the place in the events of %s, and the key is of %s", cmp.Or(l.State, "it"), l.place.Provider, e.event.ProviderCode)
	}
	l.place.Next = e.Cursor
	switch {
	case len(l.Names) > 0 && !slices.Contains(l.Names, e.event.Name):
		return nil // saved with the page
	case l.ForwardTo == "":
		return l.done(e, checkout.Attempt{})
	case !slices.ContainsFunc(l.place.Waiting, func(w entry) bool { return w.event.CheckoutID == e.event.CheckoutID }):
		if taken, err := l.deliver(ctx, e); err != nil || taken {
			return err
		}
	}
	if len(l.place.Waiting) == 0 {
		l.pause, l.retryAt = retriesAfter, time.Now().Add(retriesAfter)
	}
	l.place.Waiting = append(l.place.Waiting, e)
	return l.save()
}

// done notes that an event was taken.
func (l *listener) done(e entry, a checkout.Attempt) error {
	err := l.Taken(e.event, a)
	if err != nil && l.ForwardTo == "" {
		return err // no receiver has the event
	}
	l.place.Waiting = slices.DeleteFunc(l.place.Waiting, func(w entry) bool { return w.event.ID == e.event.ID })
	return errors.Join(l.save(), err)
}

// retry forwards the events that wait, once it is time to: of each checkout until its first is refused.
func (l *listener) retry(ctx context.Context) error {
	if len(l.place.Waiting) == 0 || time.Now().Before(l.retryAt) {
		return nil
	}
	refused := map[string]bool{}
	for _, e := range slices.Clone(l.place.Waiting) {
		if refused[e.event.CheckoutID] {
			continue
		}
		taken, err := l.deliver(ctx, e)
		if err != nil {
			return err
		}
		if refused[e.event.CheckoutID] = !taken; taken {
			l.pause = retriesAfter
		}
	}
	l.retryAt = time.Now().Add(l.pause)
	l.pause = min(2*l.pause, lastPause)
	return nil
}

// grace is the time that a receiver has for its answer once the listener is ended.
const grace = time.Second

// attempt makes a run of attempts, as the service does, and returns the attempt that was taken. It ends with ctx, but for an answer that
// is due.
func (l *listener) attempt(ctx context.Context, e events.Event) (checkout.Attempt, error) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	signed, to := events.NewDelivery(e, l.Secret, time.Now()), catalogue.Destination{URL: l.ForwardTo}
	var fault error
	outcome := delivery.Run{Now: time.Now,
		Send: func(_ context.Context, n int) (answer checkout.Answer, err error) {
			answer, fault = l.sender.Send(sending, to, signed, n)
			return answer, fault
		},
		Failed: func(_ int, err error) bool { return !isDown(err) },
	}.Attempt(ctx)
	if outcome.State != checkout.JobDone {
		return checkout.Attempt{}, cmp.Or(fault, ctx.Err())
	}
	return outcome.Log[len(outcome.Log)-1], nil
}

// isDown reports whether nobody listens at the receiver's address.
func isDown(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return ok && network.Op == "dial"
}

// deliver forwards an event, and waits while nobody listens at the receiver's address. It reports whether the event was taken,
// and notes it then.
func (l *listener) deliver(ctx context.Context, e entry) (taken bool, err error) {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		a, err := l.attempt(ctx, e.event)
		switch {
		case err == nil:
			return true, l.done(e, a)
		case ctx.Err() != nil:
			return false, ctx.Err()
		case !isDown(err):
			l.Say(fmt.Sprintf("%s %s of %s waits, and the later events of its checkout: %v",
				e.event.ID, e.event.Name, e.event.OrderID, err))
			return false, nil
		case pause == firstRetry:
			l.Say(fmt.Sprintf("everything waits for the receiver: %v", err))
		}
		if err := sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}

// Resend forwards one event again, by its id, in one run of attempts. The place stays.
func Resend(ctx context.Context, cfg Config, id string) error {
	l, err := open(cfg)
	if err == nil {
		_, err = l.now(ctx)
	}
	if err != nil {
		return err
	}
	found, _, err := l.search(ctx, before(cfg.Since), id)
	switch {
	case err != nil:
		return err
	case found.event.ID == "":
		return fmt.Errorf("%s is not in the list of the provider's events", id)
	}
	a, err := l.attempt(ctx, found.event)
	if err != nil {
		return fmt.Errorf("the receiver did not take %s: %w", id, err)
	}
	return l.Taken(found.event, a)
}
