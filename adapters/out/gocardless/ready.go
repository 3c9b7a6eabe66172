package gocardless

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// creditorsLife is the time for which an answer about the creditors is kept.
const creditorsLife = time.Minute

// creditorCache keeps what GoCardless said of the account's creditors.
type creditorCache struct {
	mu  sync.Mutex
	at  time.Time
	all []creditorWire
}

// Ready implements ports.Processor: a creditor of the account may collect by BECS NZ.
func (p *Processor) Ready(ctx context.Context) error {
	_, err := p.CheckAccount(ctx, checkout.Account{})
	return err
}

// CheckAccount implements ports.AccountChecker. An account that is no creditor's uses any of them: then the largest of
// their minima counts.
func (p *Processor) CheckAccount(ctx context.Context, a checkout.Account) (checkout.Creditor, error) {
	all, err := p.allCreditors(ctx)
	if err != nil {
		return checkout.Creditor{}, err
	}
	if strings.HasPrefix(a.ID, creditorPrefix) {
		at := slices.IndexFunc(all, func(c creditorWire) bool { return c.ID == a.ID })
		if at < 0 {
			return checkout.Creditor{}, fmt.Errorf("the GoCardless account has no creditor %s", a.ID)
		}
		all = all[at : at+1]
	}
	return creditorOf(all)
}

// allCreditors returns the creditors of the account as they were within the last minute.
func (p *Processor) allCreditors(ctx context.Context) ([]creditorWire, error) {
	c := &p.creditors
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := p.client.now(); c.at.IsZero() || now.Sub(c.at) >= creditorsLife {
		all, err := p.client.creditors(ctx)
		if err != nil {
			return nil, err
		}
		c.all, c.at = all, now
	}
	return c.all, nil
}

// creditorOf returns the creditor that may collect by BECS NZ. Several such creditors together have the largest of their minimum
// notices and no name: which of them debits is not known before the payer authorises.
func creditorOf(creditors []creditorWire) (found checkout.Creditor, err error) {
	active, status := 0, "missing"
	for _, creditor := range creditors {
		for _, identifier := range creditor.Schemes {
			switch {
			case identifier.Scheme != scheme:
			case identifier.Status == "active":
				active++
				found.Notice = max(found.Notice, identifier.Notice)
				found.Authority = agreement.Authority{Initiator: identifier.Name, AuthorisationCode: identifier.Code,
					Statement: identifier.Name, Form: "GoCardless"}
			default:
				status = outbound.Word(identifier.Status)
			}
		}
	}
	switch active {
	case 0:
		return checkout.Creditor{}, errors.New("no creditor of the GoCardless account can collect by BECS NZ: its becs_nz scheme identifier is " + status)
	case 1:
		return found, nil
	}
	found.Authority = agreement.Authority{Form: "GoCardless"}
	return found, nil
}
