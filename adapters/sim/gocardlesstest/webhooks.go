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
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

const (
	maxBatch    = 250 // events in one notification
	maxAttempts = 9   // the first and eight retries
	maxLog      = 1000
)

// WebhookFaults are the faults of notifications. With the zero WebhookFaults nothing goes wrong.
type WebhookFaults struct {
	Drop      float64       // probability that a notification is never sent
	Duplicate float64       // that it is sent twice
	Late      float64       // that it is sent after Delay
	Shuffle   bool          // events come in any order, within a notification and between them
	Delay     time.Duration // for Late, and the most that Shuffle holds a notification back; 200 ms if 0
}

// WebhookStatistics counts notifications by their outcome.
type WebhookStatistics struct {
	Sent      int // attempts
	Accepted  int // attempts that were answered 2xx
	Refused   int // attempts that were answered otherwise
	Failed    int // attempts without an answer
	Abandoned int // notifications that were never accepted
	Dropped   int // notifications that were never sent, by a fault
}

// Delivery is one attempt to deliver a notification.
type Delivery struct {
	WebhookID string
	Body      []byte
	Signature string
	Status    int // 0 where there was no answer
}

// webhooks are the notifications to deliver, with their receiver.
type webhooks struct {
	url, secret string
	faults      WebhookFaults
	queue       []*delivery
	sending     bool
	changed     chan struct{} // closed and replaced whenever something was sent
	log         []Delivery
	statistics  WebhookStatistics
}

// delivery is a notification that waits for its next attempt.
type delivery struct {
	id       string
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

// Deliveries returns the latest attempts, the oldest first.
func (s *Simulator) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.webhooks.log)
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
	if _, ok := s.state.nextStep(); ok {
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
		s.shuffle(events)
	}
	for batch := range slices.Chunk(events, s.options.WebhookBatch) {
		id := s.state.newID("WB")
		body := control.Encode(webhookWire{Events: toWires(batch), Meta: webhookMetaWire{WebhookID: id}})
		due := time.Now()
		switch {
		case faults.Chance(s.options.Rand) < wanted.Drop:
			s.webhooks.statistics.Dropped++
			continue
		case faults.Chance(s.options.Rand) < wanted.Late:
			due = due.Add(wanted.Delay)
		case wanted.Shuffle:
			due = due.Add(time.Duration(faults.Chance(s.options.Rand) * float64(wanted.Delay)))
		}
		s.webhooks.queue = append(s.webhooks.queue, &delivery{id: id, body: body, due: due})
		if faults.Chance(s.options.Rand) < wanted.Duplicate {
			s.webhooks.queue = append(s.webhooks.queue, &delivery{id: id, body: body, due: due.Add(time.Millisecond)})
		}
	}
}

// shuffle puts events into any order.
func (s *Simulator) shuffle(events []*event) {
	for i := len(events) - 1; i > 0; i-- {
		j := int(faults.Chance(s.options.Rand) * float64(i+1))
		events[i], events[j] = events[j], events[i]
	}
}

// next takes the delivery that has been due for longest out of the queue, or returns nil.
func (w *webhooks) next(now time.Time) *delivery {
	if len(w.queue) == 0 {
		return nil
	}
	first := 0
	for i, d := range w.queue {
		if d.due.Before(w.queue[first].due) {
			first = i
		}
	}
	d := w.queue[first]
	if d.due.After(now) {
		return nil
	}
	w.queue = slices.Delete(w.queue, first, first+1)
	return d
}

// send makes one attempt, and queues the next one where it fails.
func (s *Simulator) send(d *delivery, url, secret string) {
	signature := Sign(d.body, secret)
	status := s.post(url, signature, d.body)
	s.mu.Lock()
	defer s.mu.Unlock()
	d.attempts++
	w := &s.webhooks
	w.statistics.Sent++
	w.log = append(w.log, Delivery{d.id, d.body, signature, status})
	w.log = w.log[max(0, len(w.log)-maxLog):]
	switch {
	case status >= 200 && status < 300:
		w.statistics.Accepted++
		return
	case status == 0:
		w.statistics.Failed++
	default:
		w.statistics.Refused++
	}
	if d.attempts == maxAttempts {
		w.statistics.Abandoned++
		return
	}
	d.due = time.Now().Add(s.options.WebhookRetry << (d.attempts - 1))
	w.queue = append(w.queue, d)
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
	answer, err := s.options.HTTPClient.Do(r)
	if err != nil {
		s.options.Log.Warn("send notification", "error", err)
		return 0
	}
	_ = answer.Body.Close() // only the status counts
	return answer.StatusCode
}
