package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Operations tests a store against what ports promises about the acts of operators, and against ports.Operations.HastenJob.
func Operations(t *testing.T, open Open) {
	run(t, open, []promise{
		{"every change is stored with its act", changesRecorded},
		{"an act comes back as it was stored, text byte for byte and times in UTC to the millisecond", actComesBack},
		{"acts come the newest first, up to the limit, and those of one time in the order in which they were stored", actsInOrder},
		{"acts are those of a subject, or with it as a word of several, and those since a time", actsFiltered},
		{"a change that is refused records nothing", refusedChange},
		{"the revocation of a revoked key records nothing, and the first revocation stays", func(t *testing.T, s ports.Admin) {
			addKeys(t, s, key(1))
			must(t, "RevokeKey", s.RevokeKey(t.Context(), key(1).ID, at(8), operation(1)))
			must(t, "RevokeKey again", s.RevokeKey(t.Context(), key(1).ID, at(9), operation(2)))
			same(t, "acts", acts(t, s), []checkout.Act{*operation(1)})
			same(t, "revoked", allKeys(t, s)[0].RevokedAt, at(8))
		}},
		{"of many concurrent revocations of one key one is recorded", concurrentRevocations},
		{"no concurrent replacement of the providers is lost, and each is recorded once", concurrentRecords},
		{"a job that is hastened is due at once, whoever has it leased or when it was due", hastened},
		{"an event that has failed is pending once it is hastened, and is leased again", hastenedFailed},
		{"a job that is settled otherwise or does not exist is not hastened, and nothing is recorded", hastenedNever},
	})
}

// operation returns the act of operation n.
func operation(n int) *checkout.Act {
	return &checkout.Act{At: at(n), Operator: "Aroha", Name: "jobs retry", Subject: fmt.Sprint("subject-", n), Reason: "it’s time",
		Changes: []string{"before", "after"}}
}

// acts returns the acts on record, the oldest first.
func acts(t *testing.T, s ports.Admin) []checkout.Act {
	t.Helper()
	list := result(s.Acts(t.Context(), checkout.ActFilter{}, 10*many))(t)
	slices.Reverse(list)
	return list
}

// operatorChange is a change that an operator makes.
type operatorChange struct {
	name string
	make func(s ports.Admin, did *checkout.Act) error
}

// operatorChanges returns changes that each can be made once to what changeable stores.
func operatorChanges(t *testing.T) []operatorChange {
	return []operatorChange{
		{"ReplaceProviders", func(s ports.Admin, did *checkout.Act) error {
			return s.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
				return append(all, legacy("RIMU")), did, nil
			})
		}},
		{"AddKey", func(s ports.Admin, did *checkout.Act) error { return s.AddKey(t.Context(), key(2), did) }},
		{"RevokeKey", func(s ports.Admin, did *checkout.Act) error { return s.RevokeKey(t.Context(), key(1).ID, at(9), did) }},
		{"UpdateCheckout", func(s ports.Admin, did *checkout.Act) error {
			return s.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
				c.Setup.Try++
				return checkout.Change{Next: c, Act: did}, nil
			})
		}},
		{"HastenJob", func(s ports.Admin, did *checkout.Act) error {
			return s.HastenJob(t.Context(), opened(1).Events[0].ID, moment(checkout.MomentOperated, 9), *did)
		}},
		{"EraseCheckouts", func(s ports.Admin, did *checkout.Act) error {
			return s.EraseCheckouts(t.Context(), []string{opened(2).Next.ID}, func(found []checkout.Checkout) (checkout.Erasure, error) {
				e, _ := erasing(found)
				e.Act = *did
				return e, nil
			})
		}},
		{"RecordAct", func(s ports.Admin, did *checkout.Act) error { return s.RecordAct(t.Context(), *did) }},
	}
}

// changeable stores what operatorChanges are made to.
func changeable(t *testing.T, s ports.Admin) {
	t.Helper()
	configure(t, s, configuration("KOWHAI"))
	addKeys(t, s, key(1))
	insert(t, s, opened(1), opened(2))
}

func changesRecorded(t *testing.T, s ports.Admin) {
	changeable(t, s)
	var want []checkout.Act
	for i, change := range operatorChanges(t) {
		must(t, change.name, change.make(s, operation(i)))
		want = append(want, *operation(i))
		same(t, "acts after "+change.name, acts(t, s), want)
	}
	got := export(t, s)
	same(t, "configurations", len(got.Configurations), 2)
	same(t, "keys", len(got.Keys), 2)
	same(t, "revoked", got.Keys[0].RevokedAt, at(9))
	same(t, "try", got.Checkouts[0].Checkout.Setup.Try, opened(1).Next.Setup.Try+1)
}

func actComesBack(t *testing.T, s ports.Admin) {
	var want []checkout.Act
	for i, text := range oddTexts() {
		act := checkout.Act{At: at(i).Add(999 * time.Microsecond).In(nzdt), Operator: text, Name: text, Subject: text, Reason: text}
		if i%2 == 0 {
			act.Changes = []string{"first", "Ō second", ""}
		}
		must(t, "RecordAct", s.RecordAct(t.Context(), act))
		act.At = at(i)
		want = append(want, act)
	}
	same(t, "acts", acts(t, s), want)
}

func actsInOrder(t *testing.T, s ports.Admin) {
	for n, minute := range []int{5, 3, 5, 9, 5, 3} {
		act := operation(minute)
		act.Subject = fmt.Sprint(n)
		must(t, "RecordAct", s.RecordAct(t.Context(), *act))
	}
	want := []string{"3", "4", "2", "0", "5", "1"}
	for limit := range len(want) + 2 {
		var got []string
		for _, a := range result(s.Acts(t.Context(), checkout.ActFilter{}, limit))(t) {
			got = append(got, a.Subject)
		}
		same(t, fmt.Sprint("at most ", limit), got, slices.Concat(want[:min(limit, len(want))]))
	}
}

func actsFiltered(t *testing.T, s ports.Admin) {
	for n, subject := range []string{"KOWHAI", "RIMU KOWHAI TOTARA", "KOWHAIA", "kowhai", "50%", "KOWHAI A_B", ""} {
		act := operation(n)
		act.Subject = subject
		must(t, "RecordAct", s.RecordAct(t.Context(), *act))
	}
	for _, tt := range []struct {
		name   string
		filter checkout.ActFilter
		want   []int // minutes
	}{
		{"of a subject", checkout.ActFilter{Subject: "KOWHAI"}, []int{5, 1, 0}},
		{"of a last word", checkout.ActFilter{Subject: "TOTARA"}, []int{1}},
		{"of a sign", checkout.ActFilter{Subject: "%"}, nil},
		{"of a word with a sign", checkout.ActFilter{Subject: "50%"}, []int{4}},
		{"of another word with a sign", checkout.ActFilter{Subject: "A_B"}, []int{5}},
		{"since a time", checkout.ActFilter{Since: at(5)}, []int{6, 5}},
		{"since a millisecond later", checkout.ActFilter{Since: at(5).Add(time.Millisecond)}, []int{6}},
		{"of a subject since a time", checkout.ActFilter{Subject: "KOWHAI", Since: at(1)}, []int{5, 1}},
	} {
		var got []int
		for _, a := range result(s.Acts(t.Context(), tt.filter, many))(t) {
			got = append(got, int(a.At.Sub(at(0)).Minutes()))
		}
		same(t, tt.name, got, tt.want)
	}
}

func refusedChange(t *testing.T, s ports.Admin) {
	changeable(t, s)
	refusal := errors.New("no")
	refused(t, "ReplaceProviders", s.ReplaceProviders(t.Context(), by(nil, operation(1), refusal)), refusal)
	twice := []catalogue.Configuration{legacy("RIMU"), legacy("RIMU")}
	refused(t, "ReplaceProviders by a provider twice", s.ReplaceProviders(t.Context(), by(twice, operation(2), nil)), ports.ErrDuplicate)
	refused(t, "AddKey", s.AddKey(t.Context(), key(1), operation(3)), ports.ErrDuplicate)
	refused(t, "RevokeKey", s.RevokeKey(t.Context(), key(2).ID, at(9), operation(4)), ports.ErrNotFound)
	same(t, "acts", len(acts(t, s)), 0)
}

func concurrentRevocations(t *testing.T, s ports.Admin) {
	addKeys(t, s, key(1))
	allSucceed(t, "RevokeKey", many, func(i int) error { return s.RevokeKey(t.Context(), key(1).ID, at(i), operation(i)) })
	recorded := acts(t, s)
	same(t, "revocations on record", len(recorded), 1)
	same(t, "revoked", allKeys(t, s)[0].RevokedAt, recorded[0].At)
}

// A decide that runs again makes an act of its own each time.
func concurrentRecords(t *testing.T, s ports.Admin) {
	var runs atomic.Int32
	allSucceed(t, "ReplaceProviders", many, func(i int) error {
		return s.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
			return append(all, legacy(fmt.Sprintf("P%d", i))), operation(int(runs.Add(1))), nil
		})
	})
	same(t, "replacements on record", len(acts(t, s)), many)
	counts(t, "providers", many)(s.Providers(t.Context()))
}

func hastened(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	enqueue(t, s, dueIn(1, time.Minute))
	before, other := exported(t, s, 1), exported(t, s, 2)
	event := opened(1).Events[0].ID
	l := lease(t, s, event)
	hasten(t, s, event)
	before.Jobs[0].Token, before.Moments = 1, journal(before.Moments[0], moment(checkout.MomentOperated, 9))
	same(t, "record", exported(t, s, 1), before)
	settle(t, s, l, checkout.Outcome{State: checkout.JobPending, Pause: time.Hour}) // its holder goes on
	must(t, "HastenJob", s.HastenJob(t.Context(), event, moment(checkout.MomentOperated, 9), *operation(1)))
	same(t, "token of the next holder", lease(t, s, event).Token, int64(2))
	refused(t, "Settle of the one before", s.Settle(t.Context(), l, checkout.Outcome{State: checkout.JobDone}, pending(), nil), ports.ErrNotFound)

	hasten(t, s, work(1).ID) // which has no journal
	lease(t, s, work(1).ID)
	same(t, "the other", exported(t, s, 2), other)
}

func hastenedFailed(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	settleEvent(t, s, opened(1), failed())
	want := jobOf(t, s, opened(1).Events[0].ID)
	want.State = checkout.JobPending
	hasten(t, s, want.Job.ID)
	same(t, "on record", jobOf(t, s, want.Job.ID), want)
	settle(t, s, lease(t, s, want.Job.ID), checkout.Outcome{State: checkout.JobDone, Attempts: 1})
	want.State, want.Token, want.Attempts = checkout.JobDone, 2, 4
	same(t, "once it is delivered", jobOf(t, s, want.Job.ID), want)

	enqueue(t, s, work(1)) // which is of the service itself
	settle(t, s, lease(t, s, work(1).ID), failed())
	hasten(t, s, work(1).ID)
	lease(t, s, work(1).ID)
}

func hastenedNever(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	for n, state := range []checkout.JobState{checkout.JobDone, checkout.JobDropped} {
		settleEvent(t, s, opened(n+1), checkout.Outcome{State: state})
	}
	unchanged(t, s, func() {
		for _, id := range []string{opened(1).Events[0].ID, opened(2).Events[0].ID, "none"} {
			refused(t, "HastenJob", s.HastenJob(t.Context(), id, moment(checkout.MomentOperated, 9), *operation(1)), ports.ErrNotFound)
		}
	})
	same(t, "acts", len(acts(t, s)), 0)
}
