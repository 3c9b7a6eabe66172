package gocardless

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
)

// creditorsLife is how long an answer about the creditors is kept.
const creditorsLife = time.Minute

// creditorCache keeps what GoCardless said of the account's creditors.
type creditorCache struct {
	mu     sync.Mutex
	at     time.Time
	notice int
}

// Ready implements ports.Processor: a creditor of the account may collect by BECS NZ.
func (p *Processor) Ready(ctx context.Context) error {
	_, err := p.MinimumNotice(ctx)
	return err
}

// MinimumNotice implements ports.NoticeMinimum, by the largest minimum of the creditors. It fails if the account cannot collect by BECS NZ.
func (p *Processor) MinimumNotice(ctx context.Context) (days int, err error) {
	c := &p.creditors
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := p.client.now(); c.at.IsZero() || now.Sub(c.at) >= creditorsLife {
		all, err := p.client.creditors(ctx)
		if err != nil {
			return 0, err
		}
		if c.notice, err = minimumNotice(all); err != nil {
			return 0, err
		}
		c.at = now
	}
	return c.notice, nil
}

// minimumNotice returns the largest of the minimum notices of the creditors that may collect by BECS NZ.
func minimumNotice(creditors []creditorWire) (days int, err error) {
	status := "missing"
	for _, creditor := range creditors {
		for _, identifier := range creditor.Schemes {
			if identifier.Scheme != "becs_nz" {
				continue
			}
			if identifier.Status != "active" {
				status = outbound.Word(identifier.Status)
				continue
			}
			status, days = "active", max(days, identifier.Notice)
		}
	}
	if status != "active" {
		return 0, errors.New("no creditor of the GoCardless account can collect by BECS NZ: its becs_nz scheme identifier is " + status)
	}
	return days, nil
}
