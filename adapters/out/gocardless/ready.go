package gocardless

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// creditorsLife is the time for which the answer about the account's creditors is kept.
const creditorsLife = time.Minute

// Ready implements ports.Processor: a creditor of the account may collect by BECS NZ.
func (p *Processor) Ready(ctx context.Context) error {
	all, err := p.allCreditors(ctx)
	if err != nil {
		return err
	}
	reason := errors.New("the GoCardless account has no creditor")
	for _, creditor := range all {
		if _, reason = creditor.creditor(); reason == nil {
			return nil
		}
	}
	return reason
}

// CheckAccount implements ports.AccountChecker. An account that is no creditor's id stands for the only creditor: GoCardless takes
// no billing request without a creditor from an account with several.
func (p *Processor) CheckAccount(ctx context.Context, a checkout.Account) (checkout.Creditor, error) {
	all, err := p.allCreditors(ctx)
	switch at := slices.IndexFunc(all, func(c creditorWire) bool { return c.ID == a.ID }); {
	case err != nil:
		return checkout.Creditor{}, err
	case at >= 0:
		return all[at].creditor()
	case strings.HasPrefix(a.ID, creditorPrefix), len(all) == 0:
		return checkout.Creditor{}, fmt.Errorf("the GoCardless account has no creditor %s", a.ID)
	case len(all) > 1:
		return checkout.Creditor{}, fmt.Errorf("the GoCardless account has %d creditors, and the account id %q is none of theirs: "+
			"name one, %s…", len(all), a.ID, creditorPrefix)
	}
	return all[0].creditor()
}

// allCreditors returns the creditors of the account as they were within the last minute.
func (p *Processor) allCreditors(ctx context.Context) ([]creditorWire, error) {
	return p.creditors.Get(p.client.Now(), "", func() ([]creditorWire, error) { return get[[]creditorWire](ctx, p.client, "/creditors") })
}

// creditor returns the party that debits for the creditor, by its active identifier at BECS NZ.
func (w creditorWire) creditor() (checkout.Creditor, error) {
	status := "missing"
	for _, identifier := range w.Schemes {
		switch {
		case identifier.Scheme != scheme:
		case identifier.Status == "active":
			name := text.Normalize(identifier.Name)
			return checkout.Creditor{Notice: identifier.Notice, Authority: agreement.Authority{Initiator: name,
				AuthorisationCode: identifier.Code, Statement: name, Form: "GoCardless"}}, nil
		default:
			status = outbound.Word(identifier.Status)
		}
	}
	return checkout.Creditor{}, fmt.Errorf("no payment can be collected by BECS NZ for creditor %s of the GoCardless account: "+
		"its becs_nz scheme identifier is %s", w.ID, status)
}
