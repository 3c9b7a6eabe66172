package storetest

import (
	"cmp"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Journal tests a store against ports.Journal.
func Journal(t *testing.T, open Open) {
	run(t, open, []promise{
		{"moments come in the order in which they were appended, counted from 1, those of each checkout", momentsInOrder},
		{"a moment comes back as it was appended, text byte for byte and times in UTC to the millisecond", momentComesBack},
		{"the moments of a change are appended with it or not at all", momentsOfChange},
		{"a moment that is appended once counts how often it came again", momentsOnce},
		{"a note is of several checkouts, without those that do not exist", momentsNoted},
		{"of many concurrent moments each has a position of its own, and each that came again is counted", inOne(concurrentMoments)},
	})
}

func moments(t *testing.T, s ports.Admin, checkoutID string) []checkout.Moment {
	t.Helper()
	return result(s.Moments(t.Context(), checkoutID))(t)
}

// note notes moments of checkout number n.
func note(t *testing.T, s ports.Admin, n int, list ...checkout.Moment) {
	t.Helper()
	var noted []checkout.Noted
	for _, m := range list {
		noted = append(noted, notedOf(opened(n).Next.ID, m))
	}
	must(t, "Note", s.Note(t.Context(), noted))
}

func momentsInOrder(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	created := moment(checkout.MomentCreated, 1)
	late, early := moment(checkout.MomentOpened, 9), moment(checkout.MomentPressed, 3)
	late.Position = 7 // which the store gives
	note(t, s, 1, late, early)
	confirm(t, s, opened(1).Next.ID, 1)
	want := journal(created, late, early, moment(checkout.MomentConfirmed, 6))
	same(t, "moments", moments(t, s, opened(1).Next.ID), want)
	same(t, "exported", exported(t, s, 1).Moments, want)
	same(t, "moments of the other", moments(t, s, opened(2).Next.ID), journal(moment(checkout.MomentCreated, 2)))
	same(t, "moments of a checkout that does not exist", len(moments(t, s, "KOWHAI-1-x")), 0)
}

func momentComesBack(t *testing.T, s ports.Admin) {
	insert(t, s, checkout.Change{Next: opened(1).Next})
	var want []checkout.Moment
	for i, text := range oddTexts() {
		m := checkout.Moment{At: oddTimes()[i%len(oddTimes())], Kind: checkout.MomentKind(text), Actor: checkout.Actor(text), RequestID: text,
			Detail: text, Once: text, Times: 1}
		note(t, s, 1, m)
		m.At = m.At.UTC().Truncate(time.Millisecond)
		want = append(want, m)
	}
	bare := checkout.Moment{At: at(1), Kind: checkout.MomentOpened, Actor: checkout.ActorPayer}
	note(t, s, 1, bare)
	bare.Times = 1
	same(t, "moments", moments(t, s, opened(1).Next.ID), journal(append(want, bare)...))
}

func momentsOfChange(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	c := opened(3)
	c.Next.OrderID = opened(1).Next.OrderID
	unchanged(t, s, func() {
		refused(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, pending()), ports.ErrDuplicate)
		for _, refusal := range []error{errNo, nil} {
			err := s.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(was checkout.Checkout) (checkout.Change, error) {
				return checkout.Change{Next: was, Events: opened(1).Events, Moments: []checkout.Moment{moment(checkout.MomentPressed, 1)}}, refusal
			})
			refused(t, "UpdateCheckout with an event on record", err, cmp.Or(refusal, ports.ErrDuplicate))
		}
	})
	same(t, "moments", len(moments(t, s, c.Next.ID)), 0)
}

func momentsOnce(t *testing.T, s ports.Admin) {
	insert(t, s, checkout.Change{Next: opened(1).Next}, checkout.Change{Next: opened(2).Next})
	once := func(text string, minute int) checkout.Moment {
		m := moment(checkout.MomentRefused, minute)
		m.Once = text
		return m
	}
	first := once("refused X", 1)
	note(t, s, 1, first, once("refused x", 2), once("refused X", 3), moment(checkout.MomentOpened, 4), moment(checkout.MomentOpened, 4))
	note(t, s, 2, once("refused X", 5))
	again := once("refused X", 6)
	again.Times = 3
	note(t, s, 1, again)
	change(t, s, 1, checkout.Change{Moments: []checkout.Moment{once("refused X", 7), once("new", 8)},
		Jobs: []checkout.Job{job(opened(1).Next, checkout.JobNotify, 1)}})
	settle(t, s, lease(t, s, job(opened(1).Next, checkout.JobNotify, 1).ID), checkout.Outcome{State: checkout.JobDone, Moments: []checkout.Moment{once("refused X", 9)}})
	first.Times = 7
	same(t, "moments", moments(t, s, opened(1).Next.ID),
		journal(first, once("refused x", 2), moment(checkout.MomentOpened, 4), moment(checkout.MomentOpened, 4), once("new", 8)))
	same(t, "moments of the other", moments(t, s, opened(2).Next.ID), journal(once("refused X", 5)))
}

func momentsNoted(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	var noted []checkout.Noted
	for i, id := range []string{opened(2).Next.ID, opened(3).Next.ID, opened(1).Next.ID, opened(2).Next.ID} {
		noted = append(noted, notedOf(id, moment(checkout.MomentOpened, i)))
	}
	must(t, "Note", s.Note(t.Context(), noted))
	must(t, "Note of nothing", s.Note(t.Context(), nil))
	same(t, "moments of 1", moments(t, s, opened(1).Next.ID), journal(opened(1).Moments[0], noted[2].Moment))
	same(t, "moments of 2", moments(t, s, opened(2).Next.ID), journal(opened(2).Moments[0], noted[0].Moment, noted[3].Moment))
	insert(t, s, opened(3))
	same(t, "moments of a checkout that came later", moments(t, s, opened(3).Next.ID), journal(opened(3).Moments...))
}

func concurrentMoments(t *testing.T, s processes) {
	insert(t, s[0], checkout.Change{Next: opened(1).Next}, checkout.Change{Next: opened(2).Next})
	allSucceed(t, "Note", many, func(i int) error {
		again := moment(checkout.MomentRefused, i)
		again.Once = "refused"
		of := []string{opened(1).Next.ID, opened(2).Next.ID} // in either order
		return s[i/2%2].Note(t.Context(), []checkout.Noted{notedOf(of[i%2], again), notedOf(of[1-i%2], moment(checkout.MomentOpened, i)),
			notedOf(of[0], again)})
	})
	for n, times := range map[int]int{1: many + many/2, 2: many / 2} {
		list := moments(t, s[1], opened(n).Next.ID)
		same(t, "moments", len(list), 1+many/2)
		for i, m := range list {
			same(t, "position", m.Position, i+1)
			if m.Once != "" {
				same(t, "times", m.Times, times)
			}
		}
	}
}

// notedOf returns a moment of the checkout with an id, as Note takes it.
func notedOf(id string, m checkout.Moment) checkout.Noted {
	return checkout.Noted{About: checkout.About{CheckoutID: id}, Moment: m}
}
