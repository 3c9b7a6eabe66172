// Package scenario makes a sandbox behave as the end of an order id asks: the setup of the order ORDER+setup_fails fails. Nothing is
// stored for it: the behaviour follows from the order id and the time. Production has none of it.
package scenario

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Scenario is the word after the last + of an order id.
type Scenario string

// The scenarios.
const (
	SetupFails       Scenario = "setup_fails"       // the billing request of the first try is cancelled
	MandateFails     Scenario = "mandate_fails"     // the mandate fails a minute after the setup
	MandateCancelled Scenario = "mandate_cancelled" // the mandate is cancelled two minutes after the setup
	LinkExpires      Scenario = "link_expires"      // the setup link opens for five seconds
	PDFFails         Scenario = "pdf_fails"         // the agreement is not rendered
	EventFails       Scenario = "event_fails"       // attempts at an event fail for a minute
	EventTwice       Scenario = "event_twice"       // each event is sent twice
	EventForged      Scenario = "event_forged"      // a copy with a wrong signature comes before each event
	Answer503        Scenario = "answer_503"        // the first create and the first confirm are answered 503, before their commit
	AnswerLost       Scenario = "answer_lost"       // the connection closes after the commit of a create and of a confirm
)

// All returns the scenarios in the order in which an enrolment meets them.
func All() []Scenario {
	return []Scenario{Answer503, AnswerLost, LinkExpires, SetupFails, MandateFails, MandateCancelled, PDFFails, EventFails, EventTwice,
		EventForged}
}

// Of returns the scenario at the end of an order id, or "".
func Of(orderID string) Scenario {
	if at := strings.LastIndexByte(orderID, '+'); at > 0 {
		if s := Scenario(orderID[at+1:]); slices.Contains(All(), s) {
			return s
		}
	}
	return ""
}

// linkLife is the lifetime of the setup link of an order with LinkExpires.
const linkLife = 5 * time.Second

// Decorate makes a service follow the scenarios. It decorates the ports of c, which must be set.
func Decorate(c *service.Config) {
	c.Processor = processor{c.Processor, c.Now}
	c.Sender = sender{c.Sender, c.Now}
	c.Printer = printer{c.Printer}
	c.Store = &store{Store: c.Store}
	lifetime := c.SetupLifetime
	c.SetupLifetime = func(orderID string) time.Duration {
		if Of(orderID) == LinkExpires {
			return linkLife
		}
		if lifetime != nil {
			return lifetime(orderID)
		}
		return 0
	}
}

// errScenario is the error of a port that a scenario makes fail.
var errScenario = errors.New("a scenario of the sandbox makes it fail")

const (
	failsAfter     = time.Minute     // from the setup to the end of the mandate, for MandateFails
	cancelledAfter = 2 * time.Minute // for MandateCancelled
	failsFor       = time.Minute     // from an event, for EventFails
)

// processor decorates a processor.
type processor struct {
	ports.Processor
	now func() time.Time
}

func (p processor) Observe(ctx context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	seen, err := p.Processor.Observe(ctx, q)
	if err != nil {
		return seen, err
	}
	switch s := Of(q.OrderID); {
	case s == SetupFails && q.Setup.Try == 1 && seen.BillingRequest == checkout.BillingFulfilled:
		return checkout.Observation{BillingRequest: checkout.BillingCancelled, Authorisation: checkout.CustomerInProgress}, nil
	case s == MandateFails:
		return p.end(seen, failsAfter, checkout.MandateFailed, "NEGATIVE_ACKNOWLEDGEMENT-AC05"), nil
	case s == MandateCancelled:
		return p.end(seen, cancelledAfter, checkout.MandateCancelled, "DISHONOUR-AG01"), nil
	}
	return seen, nil
}

// end returns an observation in which the mandate ended some time after the setup, unless it is too early for that.
func (p processor) end(seen checkout.Observation, after time.Duration, status checkout.MandateStatus, reason string) checkout.Observation {
	at := seen.CompletedAt.Add(after)
	if seen.BillingRequest != checkout.BillingFulfilled || seen.Mandate.Dead() || p.now().Before(at) {
		return seen
	}
	seen.Mandate, seen.MandateSince, seen.MandateReason = status, at, reason
	seen.Authorisation = checkout.CustomerInProgress
	return seen
}

func (p processor) CheckAccount(ctx context.Context, a checkout.Account) (checkout.Creditor, error) {
	if checker, ok := p.Processor.(ports.AccountChecker); ok {
		return checker.CheckAccount(ctx, a)
	}
	return checkout.Creditor{}, nil
}

func (p processor) EraseSetups(ctx context.Context, keys []string) error {
	if eraser, ok := p.Processor.(ports.SetupEraser); ok {
		return eraser.EraseSetups(ctx, keys)
	}
	return nil
}

// printer decorates a printer.
type printer struct{ ports.Printer }

func (p printer) Print(ctx context.Context, a agreement.Agreement) ([]byte, error) {
	if Of(a.OrderID) == PDFFails {
		return nil, errScenario
	}
	return p.Printer.Print(ctx, a)
}

// sender decorates a sender.
type sender struct {
	ports.Sender
	now func() time.Time
}

func (s sender) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error {
	order := ""
	if read, err := events.Read(d.Event.Body); err == nil {
		order = read.OrderID
	}
	switch Of(order) {
	case EventFails:
		if s.now().Before(d.Event.CreatedAt.Add(failsFor)) {
			return errScenario
		}
	case EventTwice:
		if err := s.Sender.Send(ctx, to, d, attempt); err != nil {
			return err
		}
	case EventForged: // a receiver that accepts the copy never gets the event
		forged := d
		forged.Signature = events.Sign(rand.Text(), d.Timestamp, d.Event.Body)
		if err := s.Sender.Send(ctx, to, forged, attempt); err == nil {
			return errors.New("a scenario of the sandbox: the receiver accepted a wrong signature")
		}
	}
	return s.Sender.Send(ctx, to, d, attempt)
}

// store decorates a store. It refuses the first create and the first confirm of an order with Answer503.
type store struct {
	ports.Store
	refused refusals
}

func (s *store) InsertCheckout(ctx context.Context, change checkout.Change, hold time.Duration) ([]checkout.Lease, error) {
	if s.refused.first(change.Next) {
		return nil, ports.ErrBusy
	}
	return s.Store.InsertCheckout(ctx, change, hold)
}

func (s *store) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (checkout.Change, []checkout.Lease, error) {
	return s.Store.UpdateCheckout(ctx, known, hold, func(c checkout.Checkout) (checkout.Change, error) {
		change, err := decide(c)
		if err == nil && change.Agreement != nil && s.refused.first(change.Next) {
			return change, ports.ErrBusy
		}
		return change, err
	})
}

// maxRefusals is the largest number of refused calls that are remembered. After it the scenarios of forgotten orders happen once more.
const maxRefusals = 1000

// refusals remembers which request was the first create or confirm of an order.
type refusals struct {
	mu   sync.Mutex
	made map[refusal]string // the id of the request that was refused
}

// refusal is a call that was refused: the create of an order, or its confirm.
type refusal struct {
	provider, order string
	confirm         bool
}

// first reports whether a create or a confirm is to be refused: it is of the first request, which may try several times.
func (r *refusals) first(next checkout.Checkout) bool {
	if Of(next.OrderID) != Answer503 {
		return false
	}
	call, request := refusal{next.ProviderCode, next.OrderID, false}, next.RequestID
	if !next.Confirmation.At.IsZero() {
		call.confirm, request = true, next.Confirmation.RequestID
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused, known := r.made[call]; known {
		return refused == request
	}
	if r.made == nil || len(r.made) >= maxRefusals {
		r.made = map[refusal]string{}
	}
	r.made[call] = request
	return true
}
