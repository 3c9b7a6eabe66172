package contract_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Section 3, the mandate: it changes at the processor, which may be down.

// bank is the fake processor, whose answer about every setup the test can change.
type bank struct {
	ports.Processor
	mu      sync.Mutex
	says    func(context.Context) (checkout.Observation, error)
	mandate checkout.MandateStatus
	since   time.Time
	now     func() time.Time
}

func withBank(c *service.Config, _ *httpapi.Options) *bank {
	b := &bank{Processor: c.Processor, now: c.Now}
	c.Processor = b
	return b
}

// Info implements ports.Processor: what this bank is made to say comes without a notification, so polls ask it.
func (b *bank) Info() checkout.ProcessorInfo {
	info := b.Processor.Info()
	info.Notifies = false
	return info
}

func (b *bank) Observe(ctx context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	b.mu.Lock()
	says, mandate, since := b.says, b.mandate, b.since
	b.mu.Unlock()
	if says != nil {
		return says(ctx)
	}
	seen, err := b.Processor.Observe(ctx, q)
	if mandate != "" {
		seen.BillingRequest, seen.Mandate = checkout.BillingFulfilled, mandate
		seen.MandateSince = since
	}
	return seen, err
}

// say makes the bank answer with says, or as the fake processor if says is nil.
func (b *bank) say(says func(context.Context) (checkout.Observation, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.says, b.mandate = says, ""
}

// sayMandate makes the bank report that the payer is done, and this status of the mandate from now on.
func (b *bank) sayMandate(status checkout.MandateStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.says, b.mandate, b.since = nil, status, b.now().UTC().Truncate(time.Millisecond)
}

// down makes the bank fail.
func (b *bank) down() {
	b.say(func(context.Context) (checkout.Observation, error) {
		return checkout.Observation{}, errors.New("connection refused")
	})
}

func TestContract3WhileTheProcessorIsDownAPollAnswersFromTheRecord(t *testing.T) {
	for name, fail := range map[string]func(*bank){
		"it fails": (*bank).down,
		"it hangs": func(b *bank) {
			b.say(func(ctx context.Context) (checkout.Observation, error) {
				<-ctx.Done()
				return checkout.Observation{}, ctx.Err()
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "it hangs" { // for as long as the service waits
				testlevel.Full(t)
			}
			contractWith(t, withBank, func(t *testing.T, s *suite, b *bank) {
				created := s.Ready(t, "ORDER-1")
				fail(b)
				polled := s.Get(t, "KOWHAI", created.CheckoutPath())
				if polled.Status != http.StatusOK || polled.At("direct_debit.setup_complete") != true {
					t.Errorf("a poll answers %d %s", polled.Status, polled.Body)
				}
				got := s.Confirm(t, created) // the status of the mandate is not known
				refused(t, got, http.StatusServiceUnavailable, "INTERNAL_ERROR")
				if got.Header.Get("Retry-After") == "" {
					t.Error("the 503 has no Retry-After")
				}
				b.say(nil)
				if got := s.Confirm(t, created); got.At("already_confirmed") != false {
					t.Errorf("when it is back confirm answers %d %s", got.Status, got.Body)
				}
				fail(b)
				if got := s.Confirm(t, created); got.At("already_confirmed") != true {
					t.Errorf("a repeat answers %d %s", got.Status, got.Body)
				}
			})
		})
	}
}
