package rehearsal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/delivery"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/events"
)

// heldEvent is an event that is sent beside the calls.
type heldEvent struct {
	to    catalogue.Destination
	event events.Event
}

// Secrets of signatures that are not the receiver's.
const (
	wrongSecret = "whsec_of_somebody_else_0123456789"
	newSecret   = "whsec_in_place_of_yours_0123456789"
)

// The times of events that are not sent at once.
const (
	repeatAfter   = 5 * time.Second
	lateBy        = 20 * time.Second
	reversedAfter = time.Second
)

// Send implements ports.Sender: it sends each event as the situation of its checkout says.
func (r *rehearsal) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) (checkout.Answer, error) {
	t, held := r.sends(heldEvent{to, d.Event})
	switch {
	case t == nil:
		return r.sender.Send(ctx, to, d, attempt)
	case held:
		return checkout.Answer{Status: http.StatusNoContent}, nil
	}
	now, broken := time.Now(), refusesEvent
	switch t.events {
	case badSignature:
		forged := d
		forged.Event.Body = bytes.Replace(d.Event.Body, []byte(`"sandbox"`), []byte(`"production"`), 1)
		r.attack(ctx, t, to, events.NewDelivery(d.Event, wrongSecret, now), takesForged, d.Event.Name, "by another secret")
		r.attack(ctx, t, to, forged, takesForged, d.Event.Name, "of another body")
	case oldTimestamp:
		r.attack(ctx, t, to, events.NewDelivery(d.Event, to.Secret, now.Add(-time.Hour)), takesOld, d.Event.Name)
	case secretRotated:
		d.Signature, broken = events.Sign(newSecret, now, d.Event.Body, to.Secret), refusesRotated
	}
	answer, err := r.sendAs(ctx, t, broken, to, d, attempt)
	if err == nil && t.events == repeated {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.later(t, repeatAfter, refusesRepeat, func() []heldEvent {
			t.twice = d.Event.Name
			return []heldEvent{{to, d.Event}}
		})
	}
	return answer, err
}

// sends notes an event in its trial, and reports whether it is held until after the enrolment.
func (r *rehearsal) sends(e heldEvent) (t *trial, held bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t = r.byOrder[e.event.OrderID]; t == nil {
		return nil, false
	}
	t.sent[e.event.Name] = true
	if t.events != late && t.events != reversed {
		return t, false
	}
	t.held = append(t.held, e)
	if !t.reached.IsZero() {
		r.release(t)
	}
	return t, true
}

// release sends the events that were held until the enrolment is over. The lock is held.
func (r *rehearsal) release(t *trial) {
	if len(t.held) == 0 || t.releasing {
		return
	}
	t.releasing = true
	after := lateBy
	if t.events == reversed {
		after = reversedAfter
	}
	r.later(t, after, refusesLate, func() (held []heldEvent) {
		held, t.held, t.releasing = t.held, nil, false
		if t.events == reversed {
			slices.Reverse(held)
		}
		return held
	})
}

// later sends events of a trial beside its calls, one after the other. They break a rule if the receiver takes them in no attempt.
// The lock is held, and also when which is called.
func (r *rehearsal) later(t *trial, after time.Duration, broken rule, which func() []heldEvent) {
	t.sending++
	r.background.Go(func() {
		var all []heldEvent
		if cli.Sleep(r.ctx, after) {
			r.mu.Lock()
			all = which()
			r.mu.Unlock()
		}
		for _, e := range all {
			d := events.NewDelivery(e.event, e.to.Secret, time.Now())
			delivery.Run{Now: time.Now, Failed: func(int, error) bool { return true },
				Send: func(ctx context.Context, attempt int) (checkout.Answer, error) {
					return r.sendAs(ctx, t, broken, e.to, d, attempt)
				}}.Attempt(r.ctx)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		t.sending--
		if !t.reached.IsZero() {
			t.reached = time.Now() // what follows from it is still to be seen
		}
	})
}

// attack sends an event that the receiver has to refuse. args are of the rule that it breaks if it takes it.
func (r *rehearsal) attack(ctx context.Context, t *trial, to catalogue.Destination, d events.Delivery, broken rule, args ...any) {
	_, err := r.sender.Send(ctx, to, d, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		t.fault(broken, args...)
	}
}

// sendAs makes an attempt to deliver an event, and notes what the receiver made of it. A site whose only worker waits for the answer
// to a call takes the event after it: so not every attempt must be taken, nor any while an answer is slow.
func (r *rehearsal) sendAs(ctx context.Context, t *trial, broken rule, to catalogue.Destination, d events.Delivery, attempt int) (
	checkout.Answer, error) {
	answer, err := r.sender.Send(ctx, to, d, attempt)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch name := d.Event.Name; {
	case err == nil || errors.Is(err, context.Canceled):
	case errors.Is(err, context.DeadlineExceeded):
		if attempt == events.MaxAttempts && time.Now().After(r.slowUntil) {
			t.fault(slowReceiver, name)
		}
	case answer.Status >= http.StatusMultipleChoices && answer.Status < http.StatusBadRequest:
		t.fault(redirects, name, answer.Status)
	case attempt == events.MaxAttempts:
		t.fault(broken, name, fmt.Sprint(err))
	}
	return answer, err
}
