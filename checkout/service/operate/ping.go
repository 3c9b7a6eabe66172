package operate

import (
	"context"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// ErrNoDestination: the provider has no destination of events.
var ErrNoDestination = errors.New("the provider has no destination of events")

// Pinged is the result of a test event.
type Pinged struct {
	Attempt checkout.Attempt
	// Unverified is set where the receiver also took a test event whose signature was wrong.
	Unverified bool
}

// Ping sends the receiver of a provider a test event, signed as the others are, and one with a wrong signature if it took the first.
// Nothing of it is listed. The error is ErrNoProvider, ErrNoDestination or a failure; that the receiver does not take the event is no error.
func (o Operator) Ping(ctx context.Context, code string, sender func(catalogue.Environment) ports.Sender) (result Pinged, err error) {
	p, err := o.provider(ctx, code)
	switch {
	case err != nil:
		return result, err
	case !p.Destination.Configured():
		return result, ErrNoDestination
	}
	secrets := p.Destination.Secrets(o.Now())
	send := func(secrets []string) (checkout.Attempt, error) {
		id, err := o.newID("req_")
		if err != nil {
			return checkout.Attempt{}, err
		}
		now := o.Now()
		e := events.Pinged(events.Origin{RequestID: id, Environment: string(p.Environment), CreatedAt: now}, code)
		answer, failure := sender(p.Environment).Send(ctx, p.Destination, events.NewDelivery(e, secrets[0], now, secrets[1:]...), 1)
		a := checkout.Attempt{At: now, Number: 1, Took: o.Now().Sub(now).Truncate(time.Millisecond), Status: answer.Status,
			Answer: answer.Masked(p.Destination.Secrets(now)...)}
		if failure != nil {
			a.Failure = checkout.FailureOf(failure, now).Reason
		}
		return a, nil
	}
	if result.Attempt, err = send(secrets); err != nil {
		return result, err
	}
	said := "taken"
	if result.Attempt.Failure != "" {
		said = "not taken: " + result.Attempt.Failure
	} else if forged, err := send([]string{"not the signing secret"}); err != nil {
		return result, err
	} else {
		result.Unverified = forged.Failure == ""
	}
	return result, o.Record(ctx, evidence.Operation{Name: "providers ping", Subject: code, Changes: []string{"ping: " + said}})
}
