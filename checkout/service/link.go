package service

import (
	"context"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// MailLink returns the page that a setup token opens, as ReturnPage does. Where that is Renewable it sends a new link to the address
// on record, within the limits of checkout.MailLink: whether it did cannot be told from the answer. It refuses as ReturnPage does.
func (s *Service) MailLink(ctx context.Context, token, requestID string) (page SetupPage, err error) {
	defer recovered(&err)
	ctx, cancel := detached(withSubject(ctx), waitLimit)
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
	request := checkout.LinkRequest{RequestID: requestID, Actor: checkout.ActorPayer, Epoch: page.epoch,
		Lifetime: s.linkLife(c.OrderID), Notices: notices}
	_, err = s.update(ctx, c.ID, checkout.JobEntry{Now: s.now()}, func(c checkout.Checkout, now time.Time) (checkout.Change, error) {
		request.Now = now
		return c.MailLink(s.cfg.Keyring, request)
	})
	if errors.Is(err, checkout.ErrNoLink) || errors.Is(err, checkout.ErrLinkSent) {
		err = nil
	}
	s.wakeScheduler()
	return page, err
}
