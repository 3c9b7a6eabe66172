package scenario

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// slowFor is the time that the receiver of a slow event takes for each attempt.
const slowFor = 1500 * time.Millisecond

// errScripted is the error of a port, or of the service, whose script has it fail.
var errScripted = errors.New("a scenario of the sandbox has it fail")

// openings decorates a store: a create whose order id ends with a refusal is refused once, when it has only its commit before it, and
// an event finds no destination.
type openings struct {
	ports.Store
	scripts
}

// InsertCheckout implements ports.Checkouts. A refused order has no checkout with which its record is erased: Tidy removes that.
func (o openings) InsertCheckout(ctx context.Context, change checkout.Change, entry checkout.JobEntry) error {
	provider, order := change.Next.ProviderCode, change.Next.OrderID
	if s, _ := suffixOf(order); s.refusal(provider) != nil {
		key, now := keyOf(provider, order), o.now()
		_, err := o.records.SandboxRecord(ctx, refusedOn(now.Add(-day))+key)
		if errors.Is(err, ports.ErrNotFound) {
			var first bool
			if first, err = o.keep(ctx, refusedOn(now)+key, []byte(httpapi.RequestID(ctx))); first {
				return s.refusal(provider)
			}
		}
		if err != nil {
			return err
		}
	}
	return o.Store.InsertCheckout(ctx, change, entry)
}

// Settle implements ports.Queue. An event that by its scenario finds no destination is dropped.
func (o openings) Settle(ctx context.Context, l checkout.Lease, out checkout.Outcome, entry checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	if n := len(out.Log); n > 0 && out.Log[n-1].Answer == unconfigured {
		out = checkout.Outcome{State: checkout.JobDropped}
	}
	return o.Store.Settle(ctx, l, out, entry, decide)
}

// refusedOn begins the names of the records of creates that were refused on the day of a time, or a multiple of three days before.
func refusedOn(at time.Time) string {
	return fmt.Sprintf("refused/%d/", at.Unix()/int64(day/time.Second)%3)
}

// Tidy removes the records of creates that were refused before yesterday.
func Tidy(ctx context.Context, records Records, now time.Time) error {
	return records.DropSandboxRecords(ctx, refusedOn(now.Add(day)))
}

// printer decorates a printer.
type printer struct {
	ports.Printer
	scripts scripts
}

// Print implements ports.Printer.
func (p printer) Print(ctx context.Context, a agreement.Agreement) ([]byte, error) {
	fails, err := p.scripts.latest(ctx, a.Provider.Code, a.OrderID, PDFFails)
	switch {
	case err != nil:
		return nil, err
	case fails != "":
		return nil, errScripted
	}
	return p.Printer.Print(ctx, a)
}

// Unprintable implements ports.Charset.
func (p printer) Unprintable(text string) []rune {
	if limited, ok := p.Printer.(ports.Charset); ok {
		return limited.Unprintable(text)
	}
	return nil
}

// crm decorates a CRM. A CRM that answers within the commit is away, or refuses, when it is asked for an earlier agreement, which
// comes before the commit; only an order's suffix has it refuse to open an enrolment.
type crm struct {
	ports.CRM
	scripts scripts
}

// Open implements ports.CRM.
func (c crm) Open(ctx context.Context, e checkout.Enrolment) (checkout.Records, error) {
	if s, _ := suffixOf(e.OrderID); s == CRMRefuses {
		return checkout.Records{}, &checkout.CRMRefusal{Code: "SCENARIO"}
	}
	return c.CRM.Open(ctx, e)
}

// Agreed implements ports.CRM.
func (c crm) Agreed(ctx context.Context, k checkout.EnrolmentKey) (checkout.Agreed, error) {
	if err := c.answers(ctx, k); err != nil {
		return checkout.Agreed{}, err
	}
	return c.CRM.Agreed(ctx, k)
}

// Complete implements ports.CRM.
func (c crm) Complete(ctx context.Context, done checkout.Completion) (checkout.Completed, error) {
	if !c.Info().WithinCommit { // in which nothing may be read
		if err := c.answers(ctx, done.EnrolmentKey); err != nil {
			return checkout.Completed{}, err
		}
	}
	return c.CRM.Complete(ctx, done)
}

// UpdateAuthority implements ports.CRM.
func (c crm) UpdateAuthority(ctx context.Context, u checkout.AuthorityUpdate) error {
	if err := c.answers(ctx, u.EnrolmentKey); err != nil {
		return err
	}
	return c.CRM.UpdateAuthority(ctx, u)
}

// End implements ports.CRM.
func (c crm) End(ctx context.Context, e checkout.Ending) error {
	if err := c.answers(ctx, e.EnrolmentKey); err != nil {
		return err
	}
	return c.CRM.End(ctx, e)
}

// answers returns the error of a call about an enrolment for which the CRM is away or refuses. It is no failure of the CRM for
// any other enrolment: ports.ErrBusy opens no circuit breaker.
func (c crm) answers(ctx context.Context, k checkout.EnrolmentKey) error {
	said, err := c.scripts.latest(ctx, k.ProviderCode, k.OrderID, CRMAway, CRMRefuses, CRMBack)
	switch said {
	case CRMAway:
		return fmt.Errorf("%w: %w", errScripted, ports.ErrBusy)
	case CRMRefuses:
		return &checkout.CRMRefusal{Code: "SCENARIO"}
	}
	return err
}

// OwnAnswer is the answer to an event of a receiver that is this program's own, and no provider's.
const OwnAnswer = "taken by a receiver of provider-checkout itself"

// What the record of an answer says of an event that a scenario has changed.
const (
	mark  = "a scenario of the sandbox: " // begins each of them, and no answer of a receiver
	lost  = mark + "it was not sent"
	twice = mark + "it was sent twice. "
	// forged begins the answer to an event, of which the receiver has refused a copy.
	forged = mark + "a copy with a wrong signature was refused before. "

	unconfigured = mark + "there is no destination" // which no record keeps
)

// Received returns how often a provider's own receiver got the event whose delivery has this answer on record.
func Received(answer string) int {
	switch {
	case answer == lost, strings.Contains(answer, OwnAnswer):
		return 0
	case strings.HasPrefix(answer, twice):
		return 2
	}
	return 1
}

// RefusedForged reports whether the receiver with this answer on record refused a copy of the event whose signature was wrong.
func RefusedForged(answer string) bool {
	return strings.HasPrefix(answer, forged) && Received(answer) > 0
}

// unmarked decorates a sender, so that no receiver answers with a mark.
type unmarked struct{ ports.Sender }

// Send implements ports.Sender.
func (u unmarked) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) (checkout.Answer, error) {
	answer, err := u.Sender.Send(ctx, to, d, attempt)
	if strings.HasPrefix(answer.Masked(), mark) { // as it is stored
		answer.Body = "the receiver: " + answer.Body
	}
	return answer, err
}

// sender decorates a sender. A scenario is of the event's own delivery, to its end in whatever process, and only a forged copy also comes
// when the event is sent again.
type sender struct {
	ports.Sender
	scripts scripts
	queue   ports.Queue
}

// Send implements ports.Sender.
func (s sender) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) (checkout.Answer, error) {
	script, err := s.scripts.read(ctx, d.Event.ProviderCode, d.Event.OrderID)
	var ended []checkout.JobRecord
	if err == nil {
		ended, err = s.queue.Jobs(ctx, checkout.JobFilter{ID: d.Event.ID, ProviderCode: d.Event.ProviderCode, Settled: true}, 1)
	}
	scenarios := []Scenario{EventForged}
	if len(ended) == 0 {
		scenarios = append(scenarios, EventSlow, EventFails, EventTwice, EventLost, EventUnconfigured)
	}
	var happens entry
	if err == nil {
		happens, err = script.take(ctx, d.Event.ID, scenarios...)
	}
	if err != nil {
		return checkout.Answer{}, fmt.Errorf("%w: %w", err, ports.ErrBusy)
	}
	switch happens.Scenario {
	case EventSlow:
		select {
		case <-ctx.Done():
			return checkout.Answer{}, ctx.Err()
		case <-time.After(slowFor):
		}
	case EventFails:
		return checkout.Answer{Status: http.StatusServiceUnavailable}, fmt.Errorf("%w: %w", errScripted, ports.ErrNotAsked)
	case EventTwice:
		if answer, err := s.Sender.Send(ctx, to, d, attempt); err != nil {
			return answer, err
		}
		answer, err := s.Sender.Send(ctx, to, d, attempt)
		answer.Body = twice + answer.Body
		return answer, err
	case EventLost:
		return checkout.Answer{Status: http.StatusOK, Body: lost}, nil
	case EventForged: // before each attempt, so that nobody but a receiver that checks signatures ever gets the event
		wrong := d
		wrong.Signature = events.Sign(rand.Text(), d.Timestamp, d.Event.Body)
		switch answer, err := s.Sender.Send(ctx, to, wrong, attempt); {
		case answer.Status/100 == 2:
			return answer, fmt.Errorf("a scenario of the sandbox: it took a copy with a wrong signature, and for the right event %w",
				ports.ErrNotAsked)
		case answer.Status == 0: // and so refused nothing
			return answer, err
		}
		answer, err := s.Sender.Send(ctx, to, d, attempt)
		answer.Body = forged + answer.Body
		return answer, err
	case EventUnconfigured:
		return checkout.Answer{Body: unconfigured}, nil
	}
	return s.Sender.Send(ctx, to, d, attempt)
}
