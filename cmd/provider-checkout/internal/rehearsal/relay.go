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
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// relay is the service's sender of events. It sends each as the situation of its checkout says.
type relay struct {
	*rehearsal
	sender ports.Sender
}

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

// Send implements ports.Sender.
func (r *relay) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) (checkout.Answer, error) {
	t, held := r.sends(heldEvent{to, d.Event})
	switch {
	case t == nil:
		return r.sender.Send(ctx, to, d, attempt)
	case held:
		return checkout.Answer{Status: http.StatusNoContent}, nil
	}
	now, broken := time.Now(), refusesEvent
	genuine := events.NewDelivery(d.Event, to.Secret, now) // the clock of the service may be ahead
	genuine.Trace = d.Trace
	switch t.events {
	case badSignature:
		forged := genuine
		forged.Event.Body = bytes.Replace(d.Event.Body, []byte(`"sandbox"`), []byte(`"production"`), 1)
		r.attack(ctx, t, to, events.NewDelivery(d.Event, wrongSecret, now), takesForged, d.Event.Name, "by another secret")
		r.attack(ctx, t, to, forged, takesForged, d.Event.Name, "of another body")
	case oldTimestamp:
		r.attack(ctx, t, to, events.NewDelivery(d.Event, to.Secret, now.Add(-time.Hour)), takesOld, d.Event.Name)
	case secretRotated:
		genuine.Signature, broken = events.Sign(newSecret, now, d.Event.Body, to.Secret), refusesRotated
	}
	answer, err := r.sender.Send(ctx, to, genuine, attempt)
	r.took(t, broken, d.Event.Name, answer, err, attempt)
	if err == nil && t.events == repeated {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.later(t, repeatAfter, func(ctx context.Context) {
			r.mu.Lock()
			t.twice = d.Event.Name
			r.mu.Unlock()
			r.deliver(ctx, t, refusesRepeat, heldEvent{to, d.Event})
		})
	}
	return answer, err
}

// sends notes an event in its trial, and reports whether it is held until after the enrolment.
func (r *relay) sends(e heldEvent) (t *trial, held bool) {
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
	r.later(t, after, func(ctx context.Context) {
		r.mu.Lock()
		held := t.held
		t.held, t.releasing = nil, false
		r.mu.Unlock()
		if t.events == reversed {
			slices.Reverse(held)
		}
		for _, e := range held {
			r.events.deliver(ctx, t, refusesLate, e)
		}
	})
}

// later does something for a trial beside its calls. The lock is held.
func (r *rehearsal) later(t *trial, after time.Duration, do func(context.Context)) {
	t.sending++
	r.background.Go(func() {
		if sleep(r.ctx, after) {
			do(r.ctx)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		t.sending--
		if !t.reached.IsZero() {
			t.reached = time.Now() // what follows from it is still to be seen
		}
	})
}

// deliver makes up to three attempts to deliver an event, which break a rule if the receiver takes it in no attempt.
func (r *relay) deliver(ctx context.Context, t *trial, broken string, e heldEvent) {
	d := events.NewDelivery(e.event, e.to.Secret, time.Now())
	for attempt := 1; attempt <= events.MaxAttempts && sleep(ctx, events.Delay(attempt)); attempt++ {
		answer, err := r.sender.Send(ctx, e.to, d, attempt)
		r.took(t, broken, e.event.Name, answer, err, attempt)
		if err == nil {
			return
		}
	}
}

// attack sends an event that the receiver has to refuse. args are of the rule that it breaks if it takes it.
func (r *relay) attack(ctx context.Context, t *trial, to catalogue.Destination, d events.Delivery, broken string, args ...any) {
	_, err := r.sender.Send(ctx, to, d, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		t.fault(broken, args...)
	}
}

// took notes what the receiver made of an attempt to deliver an event. A site whose only worker waits for the answer to a call
// takes the event after it: so not every attempt must be taken, nor any while an answer is slow.
func (r *relay) took(t *trial, broken string, name events.Name, answer checkout.Answer, err error, attempt int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
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
}

// sleep waits, and reports whether the time has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
