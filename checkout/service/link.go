package service

import (
	"context"
	"errors"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// recentLinks is the number of a checkout's latest notices that are searched for earlier links.
const recentLinks = 50

// MailLink returns the page that a setup token opens, as SetupPage does. Where that is Renewable it sends a new link to the address
// on record, within the limits of checkout.MailLink: whether it did cannot be told from the answer. It refuses as SetupPage does.
func (s *Service) MailLink(ctx context.Context, token, requestID string) (page SetupPage, err error) {
	defer recovered(&err)
	ctx, cancel := detached(withSubject(ctx), waitLimit)
	defer cancel()
	page, err = s.SetupPage(ctx, token)
	if err != nil || !page.Renewable {
		return page, err
	}
	c := page.Checkout
	ofPayer := checkout.JobFilter{CheckoutID: c.ID, Kinds: []checkout.JobKind{checkout.JobNotify}}
	notices, err := s.cfg.Store.Jobs(ctx, ofPayer, recentLinks)
	if err != nil {
		return page, s.fail(ctx, "read the notices of "+c.ID, err)
	}
	request := checkout.LinkRequest{RequestID: requestID, Epoch: page.epoch, Now: s.now(), Lifetime: s.cfg.SetupLifetime}
	for _, n := range notices {
		if checkout.NoticeKind(n.Job.Name) == checkout.NoticeOfLink {
			request.Sent = append(request.Sent, n.Job)
		}
	}
	_, err = s.update(ctx, c.ID, checkout.JobEntry{Now: request.Now}, func(c checkout.Checkout) (checkout.Change, error) {
		change := c.MailLink(s.cfg.Keyring, request)
		if len(change.Jobs) == 0 {
			return change, errNothingNew
		}
		return change, nil
	})
	if errors.Is(err, errNothingNew) {
		err = nil
	}
	s.wakeScheduler()
	return page, err
}
