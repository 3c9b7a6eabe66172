package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Same makes the same random calls on both stores, and reports the first difference between their answers or between
// what they have on record.
func Same(t *testing.T, open, other Open) {
	rapid.Check(t, func(r *rapid.T) {
		p := pair{t.Context(), open(t), other(t)}
		r.Repeat(map[string]func(*rapid.T){
			"insert":   p.insert,
			"update":   p.update,
			"lease":    p.lease,
			"settle":   p.settle,
			"resend":   p.redeliver,
			"attempt":  p.leaseNotice,
			"sent":     p.settleNotice,
			"replace":  p.replace,
			"add key":  p.addKey,
			"revoke":   p.revoke,
			"look up":  p.lookUp,
			"schedule": p.schedule,
			"read all": p.export,
		})
		p.export(r)
	})
}

// SameNotifications makes the same random calls of ports.Notifications on both stores, as [Same] does.
func SameNotifications[A, B ports.Notifications](t *testing.T, open func(t *testing.T) A, other func(t *testing.T) B) {
	rapid.Check(t, func(r *rapid.T) {
		p := notifiedPair{t.Context(), open(t), other(t)}
		r.Repeat(map[string]func(*rapid.T){
			"keep":    p.keep,
			"settle":  p.settle,
			"pending": p.pending,
			"lease":   p.lease,
			"save":    p.save,
		})
	})
}

// pair is two stores that should not differ. There are so few ids, orders and keys that calls meet the records of
// others.
type pair struct {
	ctx context.Context
	a   ports.Admin
	b   ports.Admin
}

var errNo = errors.New("no")

// both compares what a call returns on the two stores.
func (p pair) both(r *rapid.T, call string, f func(ports.Admin) (any, error)) {
	r.Helper()
	compare(r, call, p.a, p.b, f)
}

// compare compares what a call returns on two stores.
func compare[S any](r *rapid.T, call string, a, b S, f func(S) (any, error)) {
	r.Helper()
	got, err := f(a)
	want, wantErr := f(b)
	if kind(err) != kind(wantErr) || !reflect.DeepEqual(got, want) {
		r.Fatalf("%s:\none   %+v, %v\nother %+v, %v", call, got, err, want, wantErr)
	}
}

func (p pair) does(r *rapid.T, call string, f func(ports.Admin) error) {
	r.Helper()
	p.both(r, call, func(s ports.Admin) (any, error) { return nil, f(s) })
}

// kind is what an error means to the service.
func kind(err error) string {
	for _, is := range []error{ports.ErrNotFound, ports.ErrDuplicate, ports.ErrBusy, errNo} {
		if errors.Is(err, is) {
			return is.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	return ""
}

func few(r *rapid.T, what string) int { return rapid.IntRange(1, 5).Draw(r, what) }

// anyEvidence returns the evidence of one of few operations, or nil.
func anyEvidence(r *rapid.T) *evidence.Entry {
	if n := rapid.IntRange(0, 5).Draw(r, "operation"); n > 0 {
		return operation(n)
	}
	return nil
}

func anyEnqueue(r *rapid.T) ports.Enqueue {
	return ports.Enqueue{
		Status: rapid.SampledFrom([]events.Status{events.Pending, events.NotConfigured}).Draw(r, "status"),
		Until:  at(few(r, "until")),
	}
}

func anyEvent(r *rapid.T) string {
	name := rapid.SampledFrom([]events.Name{events.CheckoutCreated, events.CheckoutConfirmed}).Draw(r, "event")
	return event(opened(few(r, "checkout")).Next, name).ID
}

func anyProvider(r *rapid.T) string {
	return rapid.SampledFrom([]string{"KOWHAI", "RIMU"}).Draw(r, "provider")
}

// anyKey is a header, or the default of any order.
func anyKey(r *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"key-1", "key-2"}),
		rapid.Custom(func(r *rapid.T) string {
			return checkout.DefaultKey(anyProvider(r), fmt.Sprint("order-", few(r, "order")))
		}),
	).Draw(r, "key")
}

func (p pair) insert(r *rapid.T) {
	c, enqueue := opened(few(r, "checkout")), anyEnqueue(r)
	c.Next.ProviderCode, c.Next.OrderID = anyProvider(r), fmt.Sprint("order-", few(r, "order"))
	c.Next.IdempotencyKey = checkout.DefaultKey(c.Next.ProviderCode, c.Next.OrderID)
	if rapid.Bool().Draw(r, "header") {
		c.Next.IdempotencyKey = anyKey(r)
	}
	p.does(r, "InsertCheckout", func(s ports.Admin) error { return s.InsertCheckout(p.ctx, c, enqueue) })
}

func (p pair) update(r *rapid.T) {
	id, sequence, enqueue := opened(few(r, "checkout")).Next.ID, int64(few(r, "sequence")), anyEnqueue(r)
	what := rapid.SampledFrom([]string{"complete", "look", "confirm", "agree", "render", "notice", "refuse"}).Draw(r, "what")
	later, made := at(few(r, "look again")), few(r, "made")
	decide := func(c checkout.Checkout) (checkout.Change, error) {
		done := confirmed(completed(c), sequence)
		switch what {
		case "complete":
			return checkout.Change{Next: completed(c)}, nil
		case "look":
			c.Setup.LookAgain = later
			return checkout.Change{Next: c}, nil
		case "agree":
			return checkout.Change{Next: c, Agreement: done.Agreement}, nil
		case "render":
			return checkout.Change{Next: c, Document: done.Document}, nil
		case "notice":
			return checkout.Change{Next: c, Notices: []checkout.Notice{notice(checkout.Change{Next: c}, checkout.NoticeOfSetup, made)}}, nil
		case "refuse":
			return done, errNo
		}
		return done, nil
	}
	p.does(r, "UpdateCheckout to "+what, func(s ports.Admin) error {
		return s.UpdateCheckout(p.ctx, id, enqueue, decide)
	})
}

func (p pair) lease(r *rapid.T) {
	id, epoch, until := anyEvent(r), int64(few(r, "epoch")), at(few(r, "until"))
	p.both(r, "LeaseEvent", func(s ports.Admin) (any, error) { return s.LeaseEvent(p.ctx, id, epoch, until) })
}

func (p pair) settle(r *rapid.T) {
	id, epoch := anyEvent(r), int64(few(r, "epoch"))
	outcome := ports.Settlement{Attempts: few(r, "attempts"),
		Status: rapid.SampledFrom([]events.Status{events.Failed, events.Delivered, events.Pending}).Draw(r, "status")}
	if rapid.Bool().Draw(r, "failed") {
		outcome.Failure = ports.Failure{At: at(few(r, "when")), Reason: fmt.Sprint("answered ", 500+few(r, "reason"))}
	}
	p.does(r, "SettleEvent", func(s ports.Admin) error { return s.SettleEvent(p.ctx, id, epoch, outcome) })
}

func anyNotice(r *rapid.T) string {
	return notice(opened(few(r, "checkout")), checkout.NoticeOfSetup, 0).ID
}

func (p pair) leaseNotice(r *rapid.T) {
	id, epoch, until := anyNotice(r), int64(few(r, "epoch")-1), at(few(r, "until"))
	p.both(r, "LeaseNotice", func(s ports.Admin) (any, error) { return s.LeaseNotice(p.ctx, id, epoch, until) })
}

func (p pair) settleNotice(r *rapid.T) {
	id, epoch := anyNotice(r), int64(few(r, "epoch")-1)
	o := ports.NoticeOutcome{Attempts: rapid.IntRange(0, 1).Draw(r, "attempts"),
		Status: rapid.SampledFrom([]checkout.NoticeStatus{checkout.NoticeSent, checkout.NoticeFailed, checkout.NoticePending}).Draw(r, "status")}
	switch o.Status {
	case checkout.NoticeSent:
		o.SentAt, o.Receipt = at(few(r, "sent")), ports.Receipt{Reference: "<1@x.example>", Answer: "250 queued"}
	default:
		o.Due, o.Failure = at(few(r, "due")), ports.Failure{At: at(few(r, "when")), Reason: "451"}
	}
	p.does(r, "SettleNotice", func(s ports.Admin) error { return s.SettleNotice(p.ctx, id, epoch, o) })
}

func (p pair) redeliver(r *rapid.T) {
	e := event(opened(few(r, "checkout")).Next, events.CheckoutCreated)
	again := ports.Redelivery{At: at(few(r, "at")), Delivered: rapid.Bool().Draw(r, "taken"), Attempts: few(r, "attempts"), Failure: "answered 500"}
	p.does(r, "RecordRedelivery", func(s ports.Admin) error { return s.RecordRedelivery(p.ctx, e, again) })
	p.both(r, "Redeliveries", func(s ports.Admin) (any, error) { return s.Redeliveries(p.ctx, e.ID) })
	p.both(r, "EventRecord", func(s ports.Admin) (any, error) { return s.EventRecord(p.ctx, e.ID) })
	filter := ports.EventFilter{Status: rapid.SampledFrom([]events.Status{"", events.Failed, events.Delivered}).Draw(r, "listed"),
		OldestFirst: rapid.Bool().Draw(r, "the oldest first")}
	if rapid.Bool().Draw(r, "of a time") {
		filter.Since = at(few(r, "since"))
	}
	if rapid.Bool().Draw(r, "of an order") {
		filter.OrderID = fmt.Sprint("order-", few(r, "order"))
	}
	limit := few(r, "limit")
	p.both(r, "EventRecords", func(s ports.Admin) (any, error) { return s.EventRecords(p.ctx, filter, limit) })
}

func (p pair) replace(r *rapid.T) {
	add := rapid.SampledFrom([]string{"KOWHAI", "RIMU", "A"}).Draw(r, "provider")
	what := rapid.SampledFrom([]string{"add", "legacy", "clear", "refuse"}).Draw(r, "what")
	did := anyEvidence(r)
	p.does(r, "ReplaceProviders", func(s ports.Admin) error {
		return s.ReplaceProviders(p.ctx, func(all []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
			switch what {
			case "add":
				return append(all, configuration(add)), did, nil
			case "legacy":
				return append(all, legacy(add)), did, nil
			case "clear":
				return nil, did, nil
			}
			return nil, nil, errNo
		})
	})
}

func (p pair) addKey(r *rapid.T) {
	k := key(few(r, "id"))
	k.Hash = key(few(r, "hash")).Hash
	did := anyEvidence(r)
	p.does(r, "AddKey", func(s ports.Admin) error { return s.AddKey(p.ctx, k, did) })
}

func (p pair) revoke(r *rapid.T) {
	id, when, did := key(few(r, "id")).ID, at(few(r, "at")), anyEvidence(r)
	p.does(r, "RevokeKey", func(s ports.Admin) error { return s.RevokeKey(p.ctx, id, when, did) })
}

func (p pair) lookUp(r *rapid.T) {
	n, provider, idempotencyKey := few(r, "number"), anyProvider(r), anyKey(r)
	c, k := opened(n).Next, key(n)
	a, setup := agreed(c, int64(n)), completed(c).Setup
	p.both(r, "Checkout", func(s ports.Admin) (any, error) { return s.Checkout(p.ctx, c.ID) })
	p.both(r, "CheckoutByOrder", func(s ports.Admin) (any, error) { return s.CheckoutByOrder(p.ctx, provider, c.OrderID) })
	p.both(r, "CheckoutByKey", func(s ports.Admin) (any, error) { return s.CheckoutByKey(p.ctx, provider, idempotencyKey) })
	p.both(r, "CheckoutByBillingRequest", func(s ports.Admin) (any, error) {
		return s.CheckoutByBillingRequest(p.ctx, setup.BillingRequestID)
	})
	p.both(r, "CheckoutByMandate", func(s ports.Admin) (any, error) { return s.CheckoutByMandate(p.ctx, setup.MandateID) })
	p.both(r, "Agreement", func(s ports.Admin) (any, error) { return s.Agreement(p.ctx, a.Number) })
	p.both(r, "Document", func(s ports.Admin) (any, error) { return s.Document(p.ctx, a.Number) })
	p.both(r, "Key", func(s ports.Admin) (any, error) { return s.Key(p.ctx, k.Hash) })
	p.both(r, "UnsealedEvidence", func(s ports.Admin) (any, error) { return s.UnsealedEvidence(p.ctx, many) })
	p.both(r, "Provider", func(s ports.Admin) (any, error) { return s.Provider(p.ctx, "KOWHAI") })
	p.both(r, "Course", func(s ports.Admin) (any, error) { return s.Course(p.ctx, provider, "NZDIP") })
}

// schedule reads what is to be done next.
func (p pair) schedule(r *rapid.T) {
	id, now, limit := opened(few(r, "checkout")).Next.ID, at(few(r, "now")), few(r, "limit")
	p.both(r, "PendingEvents", func(s ports.Admin) (any, error) { return s.PendingEvents(p.ctx, id) })
	p.both(r, "ExpiredLeases", func(s ports.Admin) (any, error) { return s.ExpiredLeases(p.ctx, now, limit) })
	p.both(r, "DueSetups", func(s ports.Admin) (any, error) { return s.DueSetups(p.ctx, now, limit) })
	p.both(r, "DueNotices", func(s ports.Admin) (any, error) { return s.DueNotices(p.ctx, now, limit) })
	p.both(r, "NoticeBacklog", func(s ports.Admin) (any, error) {
		pending, oldest, err := s.NoticeBacklog(p.ctx)
		return fmt.Sprint(pending, oldest), err
	})
	p.both(r, "Backlog", func(s ports.Admin) (any, error) {
		pending, oldest, err := s.Backlog(p.ctx)
		return fmt.Sprint(pending, oldest), err
	})
}

func (p pair) export(r *rapid.T) {
	p.both(r, "Export", func(s ports.Admin) (any, error) {
		var all record
		err := s.Export(p.ctx, all.collect())
		return all, err
	})
}

// notifiedPair is two stores that should not differ in what they know of notifications and tasks.
type notifiedPair struct {
	ctx context.Context
	a   ports.Notifications
	b   ports.Notifications
}

func (p notifiedPair) both(r *rapid.T, call string, f func(ports.Notifications) (any, error)) {
	r.Helper()
	compare(r, call, p.a, p.b, f)
}

// anyNotifications are up to five, of which some may have one id.
func anyNotifications(r *rapid.T) []ports.Notification {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) ports.Notification {
		return notified(notification(rapid.IntRange(1, 9).Draw(r, "id")), at(few(r, "received")))
	}), 0, 5).Draw(r, "notifications")
}

func (p notifiedPair) keep(r *rapid.T) {
	given := anyNotifications(r)
	p.both(r, "KeepNotifications", func(s ports.Notifications) (any, error) {
		fresh, err := s.KeepNotifications(p.ctx, given)
		return notificationIDs(fresh), err
	})
}

func (p notifiedPair) settle(r *rapid.T) {
	ids, when := notificationIDs(anyNotifications(r)), at(few(r, "settled"))
	p.both(r, "SettleNotifications", func(s ports.Notifications) (any, error) {
		return nil, s.SettleNotifications(p.ctx, ids, when)
	})
}

func (p notifiedPair) pending(r *rapid.T) {
	before, limit := at(few(r, "before")), few(r, "limit")
	p.both(r, "PendingNotifications", func(s ports.Notifications) (any, error) {
		return s.PendingNotifications(p.ctx, before, limit)
	})
}

func anyTask(r *rapid.T) string { return rapid.SampledFrom([]string{"one", "two"}).Draw(r, "task") }

func (p notifiedPair) lease(r *rapid.T) {
	name, now, until := anyTask(r), at(few(r, "now")), at(few(r, "until"))
	p.both(r, "LeaseTask", func(s ports.Notifications) (any, error) { return s.LeaseTask(p.ctx, name, now, until) })
}

func (p notifiedPair) save(r *rapid.T) {
	name, until := anyTask(r), at(few(r, "until"))
	task := ports.Task{Epoch: int64(few(r, "epoch")), Cursor: fmt.Sprint(few(r, "cursor"))}
	p.both(r, "SaveTask", func(s ports.Notifications) (any, error) { return nil, s.SaveTask(p.ctx, name, task, until) })
}
