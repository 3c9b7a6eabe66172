package gocardlesstest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

const (
	maxBatch    = 250 // events in one notification
	maxAttempts = 9   // the first and eight retries
)

// WebhookFaults are the faults of notifications. With the zero WebhookFaults nothing goes wrong.
type WebhookFaults struct {
	Drop      float64       // probability that a notification is never sent
	Duplicate float64       // that it is sent twice
	Late      float64       // that it is sent after Delay
	Shuffle   bool          // events come in any order, within a notification and between them
	Delay     time.Duration // for Late, and the most that Shuffle holds a notification back; 200 ms if 0
}

// webhooks are the notifications to deliver, with their receiver.
type webhooks struct {
	url, secret string
	faults      WebhookFaults
	queue       []*delivery
	sending     bool
	changed     chan struct{} // closed and replaced whenever something was sent
}

// delivery is a notification that waits for its next attempt.
type delivery struct {
	body     []byte
	attempts int
	due      time.Time // of the system's clock
}

// SetWebhook changes where notifications go and the secret that signs them; "" as the address ends them. Events that
// happened without an address are not sent.
func (s *Simulator) SetWebhook(url, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhooks.url, s.webhooks.secret = url, secret
	s.state.hasWebhook = url != ""
	if s.webhooks.changed == nil {
		s.webhooks.changed = make(chan struct{})
	}
	if url == "" {
		s.state.unsent, s.webhooks.queue = nil, nil
	}
}

// SetWebhookFaults changes what goes wrong with the notifications that are yet to be made.
func (s *Simulator) SetWebhookFaults(f WebhookFaults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Delay = cmp.Or(f.Delay, 200*time.Millisecond)
	s.webhooks.faults = f
}

// Flush waits until all notifications are accepted or given up.
func (s *Simulator) Flush(ctx context.Context) error {
	for {
		s.mu.Lock()
		idle := len(s.state.unsent) == 0 && len(s.webhooks.queue) == 0 && !s.webhooks.sending
		changed := s.webhooks.changed
		s.mu.Unlock()
		if idle {
			return nil
		}
		s.wakeUp()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing.Done():
			return errors.New("gocardlesstest: the simulator is closed")
		}
	}
}

// Sign returns the value of Webhook-Signature for a body.
func Sign(body []byte, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// run sends notifications and lets steps happen until the simulator is closed.
func (s *Simulator) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.closing.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		timer.Reset(s.work())
	}
}

// lookAgain is the longest wait while something is due later: the clock may be moved without a word.
const lookAgain = 200 * time.Millisecond

// work does the next piece of work, and returns how long the one after it can wait.
func (s *Simulator) work() time.Duration {
	s.mu.Lock()
	s.state.settle(s.clock.Now())
	s.batch()
	d := s.webhooks.next(time.Now())
	url, secret := s.webhooks.url, s.webhooks.secret
	s.webhooks.sending = d != nil
	s.mu.Unlock()
	if d != nil {
		s.send(d, url, secret)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhooks.sending = false
	close(s.webhooks.changed)
	s.webhooks.changed = make(chan struct{})
	return s.pause(time.Now())
}

// pause returns how long there is nothing to do. The lock is held.
func (s *Simulator) pause(now time.Time) time.Duration {
	wait := time.Hour
	if len(s.state.steps) > 0 {
		wait = lookAgain
	}
	for _, d := range s.webhooks.queue {
		wait = min(wait, d.due.Sub(now))
	}
	if len(s.state.unsent) > 0 {
		wait = 0
	}
	return max(wait, 0)
}

// batch makes notifications of the events without a notification. The lock is held.
func (s *Simulator) batch() {
	events := s.state.unsent
	s.state.unsent = nil
	wanted := s.webhooks.faults
	if wanted.Shuffle {
		slices.SortFunc(events, func(a, b *event) int { return strings.Compare(a.id, b.id) }) // ids are random
	}
	for batch := range slices.Chunk(events, s.options.WebhookBatch) {
		id := s.state.newID("WB")
		all := []object{}
		for _, e := range batch {
			all = append(all, e.toWire())
		}
		body := control.Encode(object{"events": all, "meta": object{"webhook_id": id}})
		due := time.Now()
		switch {
		case faults.Chance(s.options.Rand) < wanted.Drop:
			s.counts.Webhooks.Dropped++
			continue
		case faults.Chance(s.options.Rand) < wanted.Late:
			due = due.Add(wanted.Delay)
		case wanted.Shuffle:
			due = due.Add(time.Duration(faults.Chance(s.options.Rand) * float64(wanted.Delay)))
		}
		s.webhooks.queue = append(s.webhooks.queue, &delivery{body: body, due: due})
		if faults.Chance(s.options.Rand) < wanted.Duplicate {
			s.webhooks.queue = append(s.webhooks.queue, &delivery{body: body, due: due.Add(time.Millisecond)})
		}
	}
}

// next takes the delivery that has been due for longest out of the queue, or returns nil.
func (w *webhooks) next(now time.Time) *delivery {
	if len(w.queue) == 0 {
		return nil
	}
	d := slices.MinFunc(w.queue, func(a, b *delivery) int { return a.due.Compare(b.due) })
	if d.due.After(now) {
		return nil
	}
	w.queue = slices.DeleteFunc(w.queue, func(other *delivery) bool { return other == d })
	return d
}

// send makes one attempt, and queues the next one where it fails.
func (s *Simulator) send(d *delivery, url, secret string) {
	status := s.post(url, Sign(d.body, secret), d.body)
	s.mu.Lock()
	defer s.mu.Unlock()
	d.attempts++
	w := &s.counts.Webhooks
	w.Sent++
	switch {
	case status >= 200 && status < 300:
		w.Accepted++
		return
	case status == 0:
		w.Failed++
	default:
		w.Refused++
	}
	if d.attempts == maxAttempts {
		w.Abandoned++
		return
	}
	d.due = time.Now().Add(s.options.WebhookRetry << (d.attempts - 1))
	s.webhooks.queue = append(s.webhooks.queue, d)
}

// post sends a notification and returns the status of the answer, or 0 without an answer.
func (s *Simulator) post(url, signature string, body []byte) int {
	ctx, cancel := context.WithTimeout(s.closing, s.options.WebhookTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		s.options.Log.Error("make notification", "error", err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "gocardless-webhook-service/1.1")
	r.Header.Set("Webhook-Signature", signature)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		s.options.Log.Warn("send notification", "error", err)
		return 0
	}
	_ = answer.Body.Close() // only the status counts
	return answer.StatusCode
}
