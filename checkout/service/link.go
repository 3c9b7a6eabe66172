package service

import (
	"context"
	"errors"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// MailLink returns the page that a setup token opens, as ReturnPage does. Where that is Renewable it sends a new link to the address on
// record, within the limits of checkout.MailLink: the answer does not tell whether it did. It refuses as ReturnPage does.
func (s *Service) MailLink(ctx context.Context, token, requestID string) (page SetupPage, err error) {
	defer recovered(&err)
	ctx, cancel := detached(ctx, waitLimit)
	defer cancel()
	page, err = s.ReturnPage(ctx, token)
	if err != nil || !page.Renewable {
		return page, err
	}
	c := page.Checkout
	ofPayer := checkout.JobFilter{CheckoutID: c.ID, Kinds: []checkout.JobKind{checkout.JobNotify}}
	notices, err := s.cfg.Store.Jobs(ctx, ofPayer, checkout.RecentNotices)
	if err != nil {
		return page, s.fail(ctx, "read the notices of "+c.ID, err)
	}
	_, err = s.updateLater(ctx, page.Provider, c, func(c checkout.Checkout) (checkout.Change, error) {
		return c.MailLink(s.cfg.Keyring, checkout.LinkRequest{RequestID: requestID, Actor: checkout.ActorPayer, Epoch: page.epoch,
			Now: s.now(), Lifetime: s.cfg.SetupLifetime(c.OrderID), Notices: notices})
	})
	if errors.Is(err, checkout.ErrNoLink) || errors.Is(err, checkout.ErrLinkSent) {
		err = nil
	}
	return page, err
}
