package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Notices tests a store against ports.Notices.
func Notices(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a notice is stored with its change, due from when it was made, or not at all", noticeStored},
		{"a notice that is on record is not stored again, whatever became of it", noticeOnce},
		{"of many concurrent changes with one notice it is stored once", concurrentNotices},
		{"due notices come in the order in which they are due, up to the limit", noticesInOrder},
		{"of many concurrent leases of one notice one succeeds", concurrentNoticeLeases},
		{"a holder whose lease of a notice has ended is fenced by the epoch", lateNoticeHolder},
		{"a notice that is put off keeps its failure, and is due when it says", noticePutOff},
		{"a notice that was sent keeps the proof of it, and is pending no more", noticeSent},
		{"the backlog counts pending notices, leased or not, and has the age of the oldest", noticeBacklog},
		{"an erasure takes what was answered, and leaves that it was sent", noticeErased},
	})
}

// notice returns a notice of a checkout, made at a minute.
func notice(c checkout.Change, kind checkout.NoticeKind, minute int) checkout.Notice {
	return checkout.Notice{ID: fmt.Sprintf("ntc_%s_%s", kind, c.Next.ID), Kind: kind, CheckoutID: c.Next.ID, Try: 2, CreatedAt: at(minute)}
}

// noting stores an open checkout, and then a notice with a change of it.
func noting(t *testing.T, s ports.Admin, n, minute int) checkout.Notice {
	t.Helper()
	c := opened(n)
	insert(t, s, c)
	made := notice(c, checkout.NoticeOfSetup, minute)
	storeNotices(t, s, c.Next.ID, made)
	return made
}

func storeNotices(t *testing.T, s ports.Admin, id string, list ...checkout.Notice) {
	t.Helper()
	update(t, s, id, func(c checkout.Checkout) checkout.Change {
		return checkout.Change{Next: completed(c), Notices: list}
	})
}

// noticesOf returns what is on record of the notices of the first checkout.
func noticesOf(t *testing.T, s ports.Admin) []ports.NoticeRecord {
	t.Helper()
	return export(t, s).Checkouts[0].Notices
}

func dueNotices(t *testing.T, s ports.Admin, now time.Time, limit int) []ports.DueNotice {
	t.Helper()
	due, err := s.DueNotices(t.Context(), now, limit)
	must(t, "DueNotices", err)
	return due
}

func leaseNotice(t *testing.T, s ports.Admin, n checkout.Notice, epoch int64, until time.Time) {
	t.Helper()
	got, err := s.LeaseNotice(t.Context(), n.ID, epoch, until)
	must(t, "LeaseNotice", err)
	same(t, "epoch", got, epoch+1)
}

func noticeStored(t *testing.T, s ports.Admin) {
	c := opened(1)
	insert(t, s, c)
	first, second := notice(c, checkout.NoticeOfSetup, 5), notice(c, checkout.NoticeOfAgreement, 6)
	refusal := errors.New("no")
	err := s.UpdateCheckout(t.Context(), c.Next.ID, pending(), func(was checkout.Checkout) (checkout.Change, error) {
		return checkout.Change{Next: was, Notices: []checkout.Notice{first}}, refusal
	})
	refused(t, "UpdateCheckout", err, refusal)
	err = s.UpdateCheckout(t.Context(), c.Next.ID, pending(), func(was checkout.Checkout) (checkout.Change, error) {
		return checkout.Change{Next: was, Events: c.Events, Notices: []checkout.Notice{first}}, nil // the event is on record
	})
	refused(t, "UpdateCheckout with an event twice", err, ports.ErrDuplicate)
	same(t, "due before", len(dueNotices(t, s, at(59), many)), 0)
	storeNotices(t, s, c.Next.ID, second, first)
	same(t, "on record", noticesOf(t, s), []ports.NoticeRecord{{Notice: second, Status: checkout.NoticePending}, {Notice: first, Status: checkout.NoticePending}})
	same(t, "a millisecond too soon", len(dueNotices(t, s, at(5).Add(-time.Millisecond), many)), 0)
	same(t, "due", dueNotices(t, s, at(6), many), []ports.DueNotice{{Notice: first}, {Notice: second}})
}

func noticeOnce(t *testing.T, s ports.Admin) {
	n := noting(t, s, 1, 5)
	leaseNotice(t, s, n, 0, at(10))
	must(t, "SettleNotice", s.SettleNotice(t.Context(), n.ID, 1, ports.NoticeOutcome{Status: checkout.NoticeSent, SentAt: at(6)}))
	want := noticesOf(t, s)
	later := n
	later.CreatedAt = at(9)
	storeNotices(t, s, n.CheckoutID, later)
	same(t, "on record", noticesOf(t, s), want)
	same(t, "due", len(dueNotices(t, s, at(59), many)), 0)
}

func concurrentNotices(t *testing.T, s ports.Admin) {
	c := opened(1)
	insert(t, s, c)
	for _, err := range concurrently(8, func(int) error {
		return s.UpdateCheckout(t.Context(), c.Next.ID, pending(), func(was checkout.Checkout) (checkout.Change, error) {
			return checkout.Change{Next: was, Notices: []checkout.Notice{notice(c, checkout.NoticeOfSetup, 5)}}, nil
		})
	}) {
		must(t, "UpdateCheckout", err)
	}
	same(t, "notices", len(noticesOf(t, s)), 1)
}

func noticesInOrder(t *testing.T, s ports.Admin) {
	c, a, b, same9 := noting(t, s, 3, 9), noting(t, s, 1, 5), noting(t, s, 2, 7), noting(t, s, 4, 9)
	ids := func(now time.Time, limit int) (ids []string) {
		for _, d := range dueNotices(t, s, now, limit) {
			ids = append(ids, d.Notice.ID)
		}
		return ids
	}
	same(t, "all", ids(at(9), many), []string{a.ID, b.ID, c.ID, same9.ID})
	same(t, "at most two", ids(at(9), 2), []string{a.ID, b.ID})
	leaseNotice(t, s, a, 0, at(12))
	same(t, "with one leased", ids(at(11), many), []string{b.ID, c.ID, same9.ID})
	same(t, "when its lease has ended", ids(at(12), many), []string{b.ID, c.ID, same9.ID, a.ID})
}

func concurrentNoticeLeases(t *testing.T, s ports.Admin) {
	n := noting(t, s, 1, 5)
	errs := concurrently(8, func(int) error {
		_, err := s.LeaseNotice(t.Context(), n.ID, 0, at(10))
		return err
	})
	oneWins(t, "LeaseNotice", errs, ports.ErrNotFound)
	same(t, "attempts", noticesOf(t, s)[0].Attempts, 0)
}

func lateNoticeHolder(t *testing.T, s ports.Admin) {
	n := noting(t, s, 1, 5)
	leaseNotice(t, s, n, 0, at(10))
	leaseNotice(t, s, n, 1, at(20))
	sent := ports.NoticeOutcome{Status: checkout.NoticeSent, SentAt: at(11)}
	unchanged(t, s, func() {
		for _, epoch := range []int64{0, 1, 3} {
			refused(t, "SettleNotice of another epoch", s.SettleNotice(t.Context(), n.ID, epoch, sent), ports.ErrNotFound)
		}
		_, err := s.LeaseNotice(t.Context(), n.ID, 1, at(30))
		refused(t, "LeaseNotice of another epoch", err, ports.ErrNotFound)
		refused(t, "SettleNotice of another id", s.SettleNotice(t.Context(), "ntc_none", 2, sent), ports.ErrNotFound)
	})
	must(t, "SettleNotice", s.SettleNotice(t.Context(), n.ID, 2, sent))
	refused(t, "SettleNotice again", s.SettleNotice(t.Context(), n.ID, 2, sent), ports.ErrNotFound)
	_, err := s.LeaseNotice(t.Context(), n.ID, 2, at(30))
	refused(t, "LeaseNotice of a notice that was sent", err, ports.ErrNotFound)
}

func noticePutOff(t *testing.T, s ports.Admin) {
	n := noting(t, s, 1, 5)
	leaseNotice(t, s, n, 0, at(10))
	failure := ports.Failure{At: at(6), Reason: "451 4.7.1 try “later”"}
	put := ports.NoticeOutcome{Status: checkout.NoticePending, Attempts: 1, Due: at(20), Failure: failure}
	must(t, "SettleNotice", s.SettleNotice(t.Context(), n.ID, 1, put))
	want := ports.NoticeRecord{Notice: n, Status: checkout.NoticePending, Attempts: 1, Failure: failure}
	same(t, "on record", noticesOf(t, s), []ports.NoticeRecord{want})
	same(t, "due too soon", len(dueNotices(t, s, at(20).Add(-time.Millisecond), many)), 0)
	same(t, "due", dueNotices(t, s, at(20), many), []ports.DueNotice{{Notice: n, Attempts: 1, Epoch: 1}})
	leaseNotice(t, s, n, 1, at(30))
	must(t, "SettleNotice", s.SettleNotice(t.Context(), n.ID, 2, ports.NoticeOutcome{Status: checkout.NoticeDropped}))
	want.Status = checkout.NoticeDropped
	same(t, "dropped", noticesOf(t, s), []ports.NoticeRecord{want})
}

func noticeSent(t *testing.T, s ports.Admin) {
	n := noting(t, s, 1, 5)
	leaseNotice(t, s, n, 0, at(10))
	failed := ports.NoticeOutcome{Status: checkout.NoticePending, Attempts: 1, Due: at(10), Failure: ports.Failure{At: at(6), Reason: "421"}}
	must(t, "SettleNotice", s.SettleNotice(t.Context(), n.ID, 1, failed))
	leaseNotice(t, s, n, 1, at(20))
	sent := ports.NoticeOutcome{Status: checkout.NoticeSent, Attempts: 1, SentAt: at(11),
		Receipt: ports.Receipt{Reference: "<ntc_1@lender.example>", Answer: "250 2.0.0 Ok: queued as 4F1A"}}
	must(t, "SettleNotice", s.SettleNotice(t.Context(), n.ID, 2, sent))
	same(t, "on record", noticesOf(t, s), []ports.NoticeRecord{{Notice: n, Status: checkout.NoticeSent, Attempts: 2, SentAt: at(11),
		Receipt: sent.Receipt, Failure: failed.Failure}})
	same(t, "due", len(dueNotices(t, s, at(59), many)), 0)
}

func noticeBacklog(t *testing.T, s ports.Admin) {
	check := func(what string, pending int, oldest time.Time) {
		t.Helper()
		n, at, err := s.NoticeBacklog(t.Context())
		must(t, "NoticeBacklog", err)
		same(t, what, []any{n, at}, []any{pending, oldest})
	}
	check("none", 0, time.Time{})
	late, early := noting(t, s, 1, 8), noting(t, s, 2, 5)
	leaseNotice(t, s, early, 0, at(20))
	check("two, one of them leased", 2, at(5))
	must(t, "SettleNotice", s.SettleNotice(t.Context(), early.ID, 1, ports.NoticeOutcome{Status: checkout.NoticeFailed}))
	check("one", 1, at(8))
	leaseNotice(t, s, late, 0, at(20))
	must(t, "SettleNotice", s.SettleNotice(t.Context(), late.ID, 1, ports.NoticeOutcome{Status: checkout.NoticeSent, SentAt: at(9)}))
	check("none again", 0, time.Time{})
}

func noticeErased(t *testing.T, s ports.Admin) {
	n, other := noting(t, s, 1, 5), noting(t, s, 2, 5)
	for _, n := range []checkout.Notice{n, other} {
		leaseNotice(t, s, n, 0, at(10))
		must(t, "SettleNotice", s.SettleNotice(t.Context(), n.ID, 1, ports.NoticeOutcome{Status: checkout.NoticePending, Due: at(10),
			Failure: ports.Failure{At: at(6), Reason: "451 for Aroha"}}))
		leaseNotice(t, s, n, 1, at(20))
		must(t, "SettleNotice", s.SettleNotice(t.Context(), n.ID, 2, ports.NoticeOutcome{Status: checkout.NoticeSent, SentAt: at(11),
			Receipt: ports.Receipt{Reference: "<1@x.example>", Answer: "250 for Aroha"}}))
	}
	before := export(t, s).Checkouts
	erase(t, s, "operation/1", n.CheckoutID)
	want := before[0].Notices
	want[0].Receipt.Answer, want[0].Failure.Reason = "", ""
	after := export(t, s).Checkouts
	same(t, "erased", after[0].Notices, want)
	same(t, "the other", after[1].Notices, before[1].Notices)
}
