package gocardlesstest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"
)

const (
	maxBatch       = 250 // events in one notification
	maxAttempts    = 9   // the first and eight retries
	firstRetry     = 50 * time.Millisecond
	webhookTimeout = 10 * time.Second
)

// webhook has the notifications to deliver, and their receiver.
type webhook struct {
	url, secret string
	unsent      []*event // that no notification has yet
	sending     []*event // of the notification that is under way
	attempts    int      // of it
}

// SetWebhook changes the receiver of notifications and the secret that signs them. An empty address ends them, and events that
// happen without an address are not sent.
func (s *Simulator) SetWebhook(url, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.webhook.url, s.webhook.secret = url, secret
	if url == "" {
		s.webhook = webhook{}
	}
}

// Flush waits until all notifications are accepted or given up.
func (s *Simulator) Flush(ctx context.Context) error {
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for {
		idle := false
		s.do(func(time.Time) { idle = len(s.webhook.unsent) == 0 && len(s.webhook.sending) == 0 })
		if idle {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
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
	for s.closing.Err() == nil {
		wait, retry := s.deliver()
		wake := s.wake
		if retry {
			wake = nil
		}
		select {
		case <-s.closing.Done():
		case <-wake:
		case <-time.After(wait):
		}
	}
}

// deliver makes the next attempt of a notification, and returns the time until the one after it, which may be a retry.
func (s *Simulator) deliver() (wait time.Duration, retry bool) {
	const lookAgain = 200 * time.Millisecond // the clock may be moved without a word
	w := &s.webhook
	var batch []*event
	var body []byte
	var url, secret string
	wait = time.Hour
	s.do(func(time.Time) {
		if len(w.sending) == 0 {
			n := min(len(w.unsent), maxBatch)
			w.sending, w.unsent, w.attempts = w.unsent[:n:n], w.unsent[n:], 0
		}
		if len(s.steps) > 0 {
			wait = lookAgain
		}
		if batch, url, secret = w.sending, w.url, w.secret; len(batch) > 0 {
			body = encode(object{"events": batch, "meta": object{"webhook_id": s.newID("WB")}})
		}
	})
	if len(batch) == 0 {
		return wait, false
	}
	accepted := s.post(url, Sign(body, secret), body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.attempts++; accepted || w.attempts >= maxAttempts {
		w.sending = nil
		return 0, false
	}
	return firstRetry << (w.attempts - 1), true
}

// post sends a notification, and reports whether it was accepted.
func (s *Simulator) post(url, signature string, body []byte) (accepted bool) {
	ctx, cancel := context.WithTimeout(s.closing, webhookTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Signature", signature)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // only the status counts
	return resp.StatusCode >= 200 && resp.StatusCode < 300
}
