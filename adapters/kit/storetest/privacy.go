package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Privacy tests a store against ports.Retention, ExportStudent and Scrub.
func Privacy(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a student's checkouts are found by the address in any case of A to Z, and no other's", studentFound},
		{"an erasure empties the checkout, its agreement and its document, and nothing else; no id of its setup finds it", erasureEmpties},
		{"an erasure is stored with its act", erasureRecorded},
		{"a refusal to erase is returned as it is, and erases nothing", erasureRefused},
		{"ids that do not exist are left out, and an open checkout is erased", func(t *testing.T, s ports.Admin) {
			insert(t, s, opened(1), opened(2))
			id := opened(2).Next.ID
			erase(t, s, "KOWHAI-1-none", id)
			gets(t, "the erased checkout", opened(2).Next.Erase(at(30)))(s.Checkout(t.Context(), id))
			erase(t, s)
			insert(t, s, opened(3))
			update(t, s, opened(3).Next.ID, func(c checkout.Checkout) checkout.Change { return checkout.Change{Next: completed(c)} })
			erase(t, s, opened(3).Next.ID)
			same(t, "students", foundStudents(t, s, opened(1).Next.Student.Email), []string{opened(1).Next.ID})
		}},
		{"of many concurrent erasures of one checkout each sees what the others did", concurrentErasures},
		{"an erasure takes receipts and the reasons of failures from the jobs, and adds its moment", erasedJobs},
		{"old checkouts come in one order, a page at a time, without those that are erased", oldCheckouts},
		{"no old checkout is passed over where the one before it is removed", oldCheckoutsMoved},
		{"a scrub changes nothing on record, and may be repeated", scrubChangesNothing},
	})
}

// student returns a checkout of a student with this address.
func student(n int, email string) checkout.Change {
	change := opened(n)
	change.Next.Student.Email = email
	return change
}

func foundStudents(t *testing.T, s ports.Admin, email string) (ids []string) {
	t.Helper()
	var r record
	must(t, "ExportStudent", s.ExportStudent(t.Context(), email, r.collect()))
	if len(r.Configurations)+len(r.Keys) > 0 {
		t.Errorf("the export of a student has %d configurations and %d keys", len(r.Configurations), len(r.Keys))
	}
	for _, c := range r.Checkouts {
		ids = append(ids, c.Checkout.ID)
	}
	return ids
}

func studentFound(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"))
	changes := []checkout.Change{student(1, "ana@x.example"), student(2, "ANA@X.example"), student(3, "ana@x.example.nz"),
		student(4, "ĀNA@x.example"), student(5, "āna@x.example"), student(6, "ana@x.example"), student(7, "%@x.example"), student(8, "")}
	insert(t, s, changes...)
	id := func(n int) string { return changes[n-1].Next.ID }
	done := confirm(t, s, id(6), 1)
	for email, want := range map[string][]string{
		"ana@x.example": {id(1), id(2), id(6)}, "Ana@X.Example": {id(1), id(2), id(6)},
		"ĀNA@x.example": {id(4)}, "%@x.example": {id(7)}, "ana@x.exampl": nil, "ana@x.example ": nil, "": nil,
	} {
		same(t, "checkouts of "+email, foundStudents(t, s, email), want)
	}
	var r record
	must(t, "ExportStudent", s.ExportStudent(t.Context(), "ana@x.example", r.collect()))
	all := export(t, s).Checkouts
	same(t, "the record of a confirmed checkout", r.Checkouts[2], all[5])
	if got := r.Checkouts[2]; got.Agreement == nil || got.Agreement.Number != done.Agreement.Number || got.Document == nil || len(got.Events()) != 3 {
		t.Errorf("it has %+v; want an agreement, a document and three events", got)
	}
	stop := errors.New("stop")
	calls := 0
	visit := r.collect()
	visit.Checkout = func(checkout.CheckoutRecord) error { calls++; return stop }
	refused(t, "ExportStudent", s.ExportStudent(t.Context(), "ana@x.example", visit), stop)
	same(t, "calls", calls, 1)
}

// erasing returns the erasure of every checkout.
func erasing(found []checkout.Checkout) (checkout.Erasure, error) {
	e := checkout.Erasure{Act: *operation(30), Moment: moment(checkout.MomentErased, 30)}
	for _, c := range found {
		e.Next = append(e.Next, c.Erase(at(30)))
	}
	return e, nil
}

func erase(t *testing.T, s ports.Admin, ids ...string) {
	t.Helper()
	must(t, "EraseCheckouts", s.EraseCheckouts(t.Context(), ids, erasing))
}

func erasureEmpties(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2), opened(3))
	id := opened(1).Next.ID
	done := confirm(t, s, id, 1)
	other := confirm(t, s, opened(2).Next.ID, 2)
	before := export(t, s).Checkouts
	erase(t, s, id, id)

	after := export(t, s).Checkouts
	want := before[0]
	want.Checkout = want.Checkout.Erase(at(30))
	a := want.Agreement.Erased()
	info := *want.Document
	info.Size = 0
	want.Agreement, want.Document = &a, &info
	want.Moments = journal(append(want.Moments, moment(checkout.MomentErased, 30))...)
	same(t, "the checkout", after[0], want)
	same(t, "the others", after[1:], before[1:])
	for _, c := range []string{fmt.Sprintf("%+v", after[0].Checkout), fmt.Sprintf("%+v", *after[0].Agreement)} {
		for _, canary := range []string{"Ānaru", "O’Neill", "O’NEILL", "anaru@", "2001:db8", "•••", "BRQ-", "MD-"} {
			if strings.Contains(c, canary) {
				t.Errorf("%q is still in %s", canary, c)
			}
		}
	}
	d := result(s.Document(t.Context(), done.Agreement.Number))(t)
	if d.ID != done.Document.ID || d.SHA256 != done.Document.SHA256 || len(d.Bytes) != 0 {
		t.Errorf("the document is %+v, want that of the agreement without its bytes", d)
	}
	gets(t, "another agreement's document", *other.Document)(s.Document(t.Context(), other.Agreement.Number))
	same(t, "found by its setup", bySetup(t, s, done.Next.Setup.BillingRequestID, done.Next.Setup.MandateID), [2]string{})
	same(t, "the checkout of the order", find(t, s, byOrder(done.Next.ProviderCode, done.Next.OrderID)).ID, id)
}

func erasureRecorded(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	erase(t, s, opened(1).Next.ID)
	same(t, "acts", acts(t, s), []checkout.Act{*operation(30)})
}

func erasureRefused(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	refusal := errors.New("refused")
	unchanged(t, s, func() {
		err := s.EraseCheckouts(t.Context(), []string{opened(1).Next.ID}, func(found []checkout.Checkout) (checkout.Erasure, error) {
			e, _ := erasing(found)
			return e, refusal
		})
		same(t, "error", err, refusal)
	})
	same(t, "acts", len(acts(t, s)), 0)
}

func concurrentErasures(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	done := errors.New("it is erased")
	errs := concurrently(8, func(int) error {
		return s.EraseCheckouts(t.Context(), []string{opened(1).Next.ID}, func(found []checkout.Checkout) (checkout.Erasure, error) {
			if found[0].Erased() {
				return checkout.Erasure{}, done
			}
			return erasing(found)
		})
	})
	oneWins(t, "EraseCheckouts", errs, done)
}

func erasedJobs(t *testing.T, s ports.Admin) {
	failed := checkout.Outcome{State: checkout.JobPending, Attempts: 1, Failure: checkout.Failure{At: at(6), Reason: "451 for Aroha"}}
	sent := checkout.Outcome{State: checkout.JobDone, Attempts: 1, Receipt: checkout.Receipt{Reference: "<1@x.example>", Answer: "250 for Aroha"}}
	for n := range 2 {
		insert(t, s, opened(n))
		notice := job(opened(n).Next, checkout.JobNotify, 1)
		addJobs(t, s, n, notice)
		for _, o := range []checkout.Outcome{failed, sent} {
			settle(t, s, lease(t, s, notice.ID), o)
		}
		settleEvent(t, s, opened(n), failed)
	}
	want, other := exported(t, s, 0), exported(t, s, 1)
	erase(t, s, want.Checkout.ID)
	want.Checkout = want.Checkout.Erase(at(30))
	for i := range want.Jobs {
		want.Jobs[i].Receipt, want.Jobs[i].Failure.Reason = checkout.Receipt{}, ""
	}
	want.Moments = journal(want.Moments[0], moment(checkout.MomentErased, 30))
	same(t, "erased", exported(t, s, 0), want)
	same(t, "the other", exported(t, s, 1), other)
}

func oldCheckouts(t *testing.T, s ports.Admin) {
	var ids []string
	for n := 1; n <= 7; n++ {
		c := opened(n)
		c.Next.CreatedAt = at(n)
		insert(t, s, c)
		ids = append(ids, c.Next.ID)
	}
	confirm(t, s, ids[1], 1)
	confirm(t, s, ids[4], 2)
	confirm(t, s, ids[5], 3)
	erase(t, s, ids[2], ids[4])
	for _, limit := range []int{1, 2, 3, 7, 100} {
		for _, tt := range []struct {
			confirmed, open time.Time
			want            []string
		}{
			{at(50), at(50), []string{ids[0], ids[1], ids[3], ids[5], ids[6]}},
			{time.Time{}, at(5), []string{ids[0], ids[3]}},
			{at(5), time.Time{}, []string{ids[1]}},
			{at(7), time.Time{}, []string{ids[1], ids[5]}},
			{time.Time{}, time.Time{}, nil},
		} {
			var got []string
			cursor, calls := "", 0
			for {
				page, next, err := s.OldCheckouts(t.Context(), cursor, limit, tt.confirmed, tt.open)
				must(t, "OldCheckouts", err)
				if len(page) > limit || calls > len(ids) {
					t.Fatalf("call %d with limit %d: %d ids", calls, limit, len(page))
				}
				got, calls = append(got, page...), calls+1
				if cursor = next; next == "" {
					break
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("before %v and %v, %d at a time: %q, want %q", tt.confirmed, tt.open, limit, got, tt.want)
			}
		}
	}
}

func oldCheckoutsMoved(t *testing.T, s ports.Admin) {
	insert(t, s, reserved(1), opened(2), opened(3))
	want, cursor := ids(opened(1), opened(2), opened(3)), ""
	for i, id := range want {
		page, next, err := s.OldCheckouts(t.Context(), cursor, 1, at(50), at(50))
		must(t, "OldCheckouts", err)
		same(t, "page", page, []string{id})
		if cursor = next; i == 0 {
			change(t, s, 1, checkout.Change{Remove: true})
		}
	}
}

func scrubChangesNothing(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	confirm(t, s, opened(1).Next.ID, 1)
	erase(t, s, opened(1).Next.ID)
	unchanged(t, s, func() {
		for range 2 {
			must(t, "Scrub", s.Scrub(t.Context()))
		}
	})
	insert(t, s, opened(3))
	same(t, "checkouts", len(export(t, s).Checkouts), 3)
}
