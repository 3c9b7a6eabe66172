package service

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// This file tells a provider, at its address for questions, that its receiver has taken no events for an hour, and that it takes them
// again. A job watches a receiver from the first event that failed: whatever processes come and go, each is said once.

// lookEvery is the pause between two looks at a receiver whose provider was told.
const lookEvery = 5 * time.Minute

// watchReceiver has a job watch the receiver that has not taken an event, unless this process has done so since the last event that was
// taken.
func (s *Service) watchReceiver(ctx context.Context, event checkout.Job) {
	if s.cfg.Notifier == nil || s.receivers.watch(event.ProviderCode) {
		return
	}
	err := within(ctx, settleLimit, func(ctx context.Context) error {
		_, err := s.cfg.Store.Enqueue(ctx, []checkout.Job{checkout.WatchReceiver(event.ProviderCode, event.CreatedAt)}, nil)
		return err
	})
	if err != nil {
		s.receivers.unwatch(event.ProviderCode)
		s.report(ctx, Failure{Operation: OperationNotify, Severity: Warning, About: event.About(),
			Err: fmt.Errorf("watch the receiver of provider %s: %w", event.ProviderCode, err)})
	}
}

// watch notes that a job watches the receiver, and reports whether one did before.
func (r *receivers) watch(provider string) (before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = r.watched[provider]
	r.watched[provider] = true
	return before
}

func (r *receivers) unwatch(provider string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.watched, provider)
}

// told is the cursor of a job whose provider was told that its receiver takes nothing.
const told = "told"

// lookAtReceiver finds out whether a receiver has taken an event since the event that failed first, and tells its provider.
func (s *Service) lookAtReceiver(ctx context.Context, l checkout.Lease) error {
	ended := checkout.Outcome{State: checkout.JobDone}
	of := func(kind checkout.JobKind, f checkout.JobFilter) ([]checkout.JobRecord, error) {
		f.Kinds, f.ProviderCode = []checkout.JobKind{kind}, l.Job.ProviderCode
		return s.cfg.Store.Jobs(ctx, f, 1)
	}
	provider, err := s.providerOf(ctx, l.Job.ProviderCode)
	if err != nil {
		return err
	}
	first, err := of(checkout.JobReceiver, checkout.JobFilter{State: checkout.JobPending, OldestFirst: true})
	if err != nil {
		return fmt.Errorf("list the receivers that are watched: %w", err)
	}
	other := len(first) > 0 && first[0].Job.ID != l.Job.ID // which watches since an earlier time
	if other || !provider.Destination.Configured() || provider.Branding.SupportEmail == "" || l.Job.ReceiverGivenUp(s.now()) {
		return s.settleAttempt(ctx, l, ended)
	}
	taken, err := of(checkout.JobDeliver, checkout.JobFilter{State: checkout.JobDone, CreatedSince: l.Job.CreatedAt})
	if err != nil {
		return fmt.Errorf("look for an event that provider %s has taken: %w", provider.Code, err)
	}
	var notice checkout.NoticeKind
	again := checkout.Outcome{State: checkout.JobPending, Pause: lookEvery, Cursor: told}
	switch wasTold := l.Cursor == told; {
	case len(taken) > 0 && !wasTold:
		return s.settleAttempt(ctx, l, ended)
	case len(taken) > 0:
		notice, again = checkout.NoticeOfWellReceiver, ended
	case !wasTold:
		notice = checkout.NoticeOfFailingReceiver
	default:
		return s.settleAttempt(ctx, l, again)
	}
	if _, err := s.cfg.Store.Enqueue(ctx, []checkout.Job{l.Job.ReceiverNotice(notice, s.now())}, nil); err != nil {
		return fmt.Errorf("enqueue the notice to provider %s: %w", provider.Code, err)
	}
	return s.settleAttempt(ctx, l, again)
}

// writeOfReceiver writes a notice to a provider about its receiver, and reports whether it is needed.
func (s *Service) writeOfReceiver(ctx context.Context, n checkout.Job) (written checkout.PayerNotice, needed bool, err error) {
	provider, err := s.providerOf(ctx, n.ProviderCode)
	if err != nil || provider.Branding.SupportEmail == "" {
		return written, false, err
	}
	since, err := n.ReceiverFailsSince()
	if err != nil {
		return written, false, fmt.Errorf("notice %s: %w", n.ID, err)
	}
	failed, err := s.cfg.Store.Jobs(ctx, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, State: checkout.JobDead,
		ProviderCode: provider.Code}, 1)
	if err != nil {
		return written, false, fmt.Errorf("read the events of provider %s that failed: %w", provider.Code, err)
	}
	f := s.factsOf(provider, checkout.NoticeKind(n.Name))
	f.At, f.Again = since, provider.Destination.RedeliverFor
	if u, err := url.Parse(provider.Destination.URL); err == nil {
		f.Host = u.Host
	}
	if len(failed) > 0 {
		f.Reason = failed[0].Failure.Reason
	}
	written, err = s.compose(n, f, checkout.Addressee{Name: f.Provider.Name, Email: f.Provider.SupportEmail})
	return written, err == nil, err
}
