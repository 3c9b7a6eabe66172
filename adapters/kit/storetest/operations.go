package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Operations tests a store against what ports promises about the acts of operators and their evidence.
func Operations(t *testing.T, open Open) {
	run(t, open, []promise{
		{"every change is stored with its evidence", changesRecorded},
		{"a change whose evidence has an id that is taken is a duplicate, and is not made", takenEvidence},
		{"a change that is refused records nothing", refusedChange},
		{"the revocation of a revoked key records nothing, and the first revocation stays", func(t *testing.T, s ports.Admin) {
			addKeys(t, s, key(1))
			must(t, "RevokeKey", s.RevokeKey(t.Context(), key(1).ID, at(8), operation(1)))
			must(t, "RevokeKey again", s.RevokeKey(t.Context(), key(1).ID, at(9), operation(2)))
			must(t, "RevokeKey with evidence whose id is taken", s.RevokeKey(t.Context(), key(1).ID, at(9), operation(1)))
			same(t, "unsealed", unsealed(t, s), []string{operation(1).ID})
			same(t, "revoked", allKeys(t, s)[0].RevokedAt, at(8))
		}},
		{"of many concurrent revocations of one key one is recorded", concurrentRevocations},
		{"no concurrent replacement of the providers is lost, and each is recorded once", concurrentRecords},
		{"of many concurrent operations that enqueue one job one is recorded, and not one where it is on record", concurrentOperations},
		{"a job that is hastened is due at once, whoever has it leased or when it was due", hastened},
		{"a job that is settled or does not exist is not hastened, and nothing is recorded", hastenedNever},
		{"a redelivery that the receiver took makes a failed event delivered, one in vain leaves it failed with its failure, " +
			"and neither changes the state of another event", redelivered},
		{"the attempts at an event are kept as they were made, with the attempts of its redeliveries, until an erasure", attemptsLogged},
		{"a job that sends a failed event again has its attempts stored with the event, which is delivered once it is done", sentAgain},
	})
}

// operation returns the evidence of operation n.
func operation(n int) *evidence.Entry {
	e := entryAt(n, evidence.OperationID(fmt.Sprint(n)))
	return &e
}

// unsealed returns the ids of the entries that are not sealed.
func unsealed(t *testing.T, s ports.Admin) []string {
	t.Helper()
	entries := result(s.UnsealedEvidence(t.Context(), 10*many))(t)
	return entryIDs(entries)
}

// operatorChange is a change that an operator makes.
type operatorChange struct {
	name string
	make func(s ports.Admin, did *evidence.Entry) error
}

// operatorChanges returns changes that each can be made once to a store with checkout 1 and key 1.
func operatorChanges(t *testing.T) []operatorChange {
	return []operatorChange{
		{"ReplaceProviders", func(s ports.Admin, did *evidence.Entry) error {
			return s.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
				return append(all, legacy("RIMU")), did, nil
			})
		}},
		{"AddKey", func(s ports.Admin, did *evidence.Entry) error { return s.AddKey(t.Context(), key(2), did) }},
		{"RevokeKey", func(s ports.Admin, did *evidence.Entry) error { return s.RevokeKey(t.Context(), key(1).ID, at(9), did) }},
		{"UpdateCheckout", func(s ports.Admin, did *evidence.Entry) error {
			return s.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
				c.Setup.Try++
				return checkout.Change{Next: c, Evidence: did}, nil
			})
		}},
		{"HastenJob", func(s ports.Admin, did *evidence.Entry) error {
			return s.HastenJob(t.Context(), opened(1).Events[0].ID, moment(checkout.MomentOperated, 9), *did)
		}},
		{"Enqueue", func(s ports.Admin, did *evidence.Entry) error {
			_, err := s.Enqueue(t.Context(), []checkout.Job{checkout.DeliveryOf(opened(1).Events[0]), work(1)}, did)
			return err
		}},
	}
}

// changeable stores what operatorChanges are made to.
func changeable(t *testing.T, s ports.Admin) {
	t.Helper()
	configure(t, s, configuration("KOWHAI"))
	addKeys(t, s, key(1))
	insert(t, s, opened(1))
}

func changesRecorded(t *testing.T, s ports.Admin) {
	changeable(t, s)
	for i, change := range operatorChanges(t) {
		must(t, change.name, change.make(s, operation(i)))
		checkEntry(t, s, *operation(i), evidence.Unsealed)
	}
	got := export(t, s)
	same(t, "configurations", len(got.Configurations), 2)
	same(t, "keys", len(got.Keys), 2)
	same(t, "revoked", got.Keys[0].RevokedAt, at(9))
	same(t, "try", got.Checkouts[0].Checkout.Setup.Try, opened(1).Next.Setup.Try+1)
}

func takenEvidence(t *testing.T, s ports.Admin) {
	changeable(t, s)
	recordEvidence(t, s, *operation(1), *operation(2))
	sealAll(t, s, 1) // the id of a sealed entry is taken too
	for _, n := range []int{1, 2} {
		for _, change := range operatorChanges(t) {
			unchanged(t, s, func() { refused(t, change.name, change.make(s, operation(n)), ports.ErrDuplicate) })
		}
	}
	same(t, "unsealed", unsealed(t, s), []string{operation(2).ID})
}

func refusedChange(t *testing.T, s ports.Admin) {
	changeable(t, s)
	refusal := errors.New("no")
	refused(t, "ReplaceProviders", s.ReplaceProviders(t.Context(), by(nil, operation(1), refusal)), refusal)
	twice := []catalogue.Configuration{legacy("RIMU"), legacy("RIMU")}
	refused(t, "ReplaceProviders by a provider twice", s.ReplaceProviders(t.Context(), by(twice, operation(2), nil)), ports.ErrDuplicate)
	refused(t, "AddKey", s.AddKey(t.Context(), key(1), operation(3)), ports.ErrDuplicate)
	refused(t, "RevokeKey", s.RevokeKey(t.Context(), key(2).ID, at(9), operation(4)), ports.ErrNotFound)
	same(t, "unsealed", len(unsealed(t, s)), 0)
}

func concurrentRevocations(t *testing.T, s ports.Admin) {
	addKeys(t, s, key(1))
	allSucceed(t, "RevokeKey", many, func(i int) error { return s.RevokeKey(t.Context(), key(1).ID, at(i), operation(i)) })
	recorded := unsealed(t, s)
	same(t, "revocations on record", len(recorded), 1)
	for i := range many {
		if operation(i).ID == recorded[0] {
			same(t, "revoked", allKeys(t, s)[0].RevokedAt, at(i))
		}
	}
}

// A decide that runs again makes an entry of its own each time.
func concurrentRecords(t *testing.T, s ports.Admin) {
	var runs atomic.Int32
	allSucceed(t, "ReplaceProviders", many, func(i int) error {
		return s.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
			return append(all, legacy(fmt.Sprintf("P%d", i))), operation(int(runs.Add(1))), nil
		})
	})
	same(t, "replacements on record", len(unsealed(t, s)), many)
	counts(t, "providers", many)(s.Providers(t.Context()))
}

func concurrentOperations(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	again := job(opened(1).Next, checkout.JobLook, 1)
	enqueueBy := func(n int) ([]checkout.Job, error) {
		return s.Enqueue(t.Context(), []checkout.Job{again}, operation(n))
	}
	var fresh atomic.Int32
	allSucceed(t, "Enqueue", many, func(i int) error {
		entered, err := enqueueBy(i)
		fresh.Add(int32(len(entered)))
		return err
	})
	same(t, "fresh", int(fresh.Load()), 1)
	same(t, "operations on record", len(unsealed(t, s)), 1)
	settle(t, s, lease(t, s, again.ID), checkout.Outcome{State: checkout.JobDone})
	counts(t, "fresh of a job that is done", 0)(enqueueBy(many))
	same(t, "operations on record", len(unsealed(t, s)), 1)
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

func hastenedNever(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1), opened(2))
	for n, state := range []checkout.JobState{checkout.JobDone, checkout.JobDead} {
		settleEvent(t, s, opened(n+1), checkout.Outcome{State: state})
	}
	unchanged(t, s, func() {
		for _, id := range []string{opened(1).Events[0].ID, opened(2).Events[0].ID, "none"} {
			refused(t, "HastenJob", s.HastenJob(t.Context(), id, moment(checkout.MomentOperated, 9), *operation(1)), ports.ErrNotFound)
		}
	})
	same(t, "recorded", len(unsealed(t, s)), 0)
}

// redelivery returns the job of an operator's redelivery n of an event.
func redelivery(e events.Event, n int) checkout.Job {
	return checkout.SendNow(e, checkout.OperatorActor("Aroha"), fmt.Sprint(n), "", at(25))
}

// resend has an event sent again, and settles that.
func resend(t *testing.T, s ports.Admin, e events.Event, n int, o checkout.Outcome) {
	t.Helper()
	enqueue(t, s, redelivery(e, n))
	settle(t, s, lease(t, s, redelivery(e, n).ID), o)
}

func redelivered(t *testing.T, s ports.Admin) {
	m := moment(checkout.MomentEventDelivered, 30)
	run := func(state checkout.JobState, attempts int, f checkout.Failure) checkout.Outcome {
		return checkout.Outcome{State: state, Attempts: attempts, Failure: f, Moments: []checkout.Moment{m}}
	}
	took := run(checkout.JobDone, 2, checkout.Failure{At: at(30), Reason: "answered 503"})
	first := run(checkout.JobDead, 3, checkout.Failure{At: at(30), Reason: "answered 503"})
	second := run(checkout.JobDead, 0, checkout.Failure{At: at(31), Reason: "destination is not https"})
	dropped := run(checkout.JobDropped, 0, checkout.Failure{})
	done := checkout.Outcome{State: checkout.JobDone, Attempts: 1}
	insert(t, s, opened(0))
	settleEvent(t, s, opened(0), failed())
	other := exported(t, s, 0)
	for i, tt := range []struct {
		settled checkout.Outcome // without a state the event is never sent
		given   []checkout.Outcome
		want    checkout.JobRecord
	}{
		{failed(), []checkout.Outcome{took}, checkout.JobRecord{State: checkout.JobDone, Attempts: 5, Failure: took.Failure}},
		{failed(), []checkout.Outcome{first}, checkout.JobRecord{State: checkout.JobDead, Attempts: 6, Failure: first.Failure}},
		{failed(), []checkout.Outcome{first, second}, checkout.JobRecord{State: checkout.JobDead, Attempts: 6, Failure: second.Failure}},
		{failed(), []checkout.Outcome{dropped}, checkout.JobRecord{State: checkout.JobDead, Attempts: 3, Failure: failed().Failure}},
		{done, []checkout.Outcome{first}, checkout.JobRecord{State: checkout.JobDone, Attempts: 4}},
		{done, []checkout.Outcome{first, took}, checkout.JobRecord{State: checkout.JobDone, Attempts: 6}},
		{checkout.Outcome{}, []checkout.Outcome{took}, checkout.JobRecord{State: checkout.JobDropped, Attempts: 2}},
	} {
		c := opened(i + 1)
		e := c.Events[0]
		must(t, "InsertCheckout", s.InsertCheckout(t.Context(), c, checkout.JobEntry{Now: now(), Unsent: tt.settled.State == ""}))
		if tt.settled.State != "" {
			settleEvent(t, s, c, tt.settled)
		}
		want := jobOf(t, s, e.ID)
		want.State, want.Attempts, want.Failure = tt.want.State, tt.want.Attempts, tt.want.Failure
		for n, o := range tt.given {
			resend(t, s, e, n, o)
		}
		same(t, "on record", jobOf(t, s, e.ID), want)
		list := slices.Repeat([]checkout.Moment{m}, len(tt.given))
		same(t, "moments", moments(t, s, c.Next.ID), journal(append(slices.Clone(c.Moments), list...)...))
	}
	same(t, "the other", exported(t, s, 0), other)
}

func attemptsLogged(t *testing.T, s ports.Admin) {
	c := opened(1)
	e := c.Events[0]
	insert(t, s, c)
	insert(t, s, opened(2))
	tried := func(n int) checkout.Attempt {
		return checkout.Attempt{At: at(20 + n), Number: n, Took: time.Duration(n) * time.Second, Status: 500, Answer: "Ō\u2028\x01\n\"no\"", Failure: "answered 500"}
	}
	settle(t, s, lease(t, s, e.ID), checkout.Outcome{State: checkout.JobPending, Attempts: 1, Log: []checkout.Attempt{tried(1)}})
	gets(t, "Attempts", []checkout.Attempt{tried(1)})(s.Attempts(t.Context(), e))
	again := checkout.Outcome{State: checkout.JobDead, Attempts: 2, Log: []checkout.Attempt{tried(2), tried(3)}}
	settle(t, s, lease(t, s, e.ID), again)
	took := checkout.Attempt{At: at(31), Number: 1, Took: 3 * time.Millisecond, Status: 204, AskedBy: checkout.OperatorActor("Aroha")}
	resend(t, s, e, 0, checkout.Outcome{State: checkout.JobDone, Attempts: 1, Log: []checkout.Attempt{took}})
	gets(t, "Attempts", []checkout.Attempt{tried(1), tried(2), tried(3), took})(s.Attempts(t.Context(), e))
	gets(t, "Attempts of the other", []checkout.Attempt(nil))(nilIfEmpty(s.Attempts(t.Context(), opened(2).Events[0])))
	erase(t, s, "operation/1", c.Next.ID)
	gets(t, "Attempts after the erasure", []checkout.Attempt(nil))(nilIfEmpty(s.Attempts(t.Context(), e)))
	if _, err := s.Attempts(t.Context(), opened(3).Events[0]); !errors.Is(err, ports.ErrNotFound) {
		t.Errorf("Attempts of an event that does not exist: %v, want %v", err, ports.ErrNotFound)
	}
	for n := range 200 { // a receiver that is asked again for ever
		made := checkout.Attempt{At: at(40 + n), Number: 1, Answer: strings.Repeat("x", 1024)}
		resend(t, s, e, n+1, checkout.Outcome{State: checkout.JobDone, Attempts: 1, Log: []checkout.Attempt{made}})
	}
	log, err := s.Attempts(t.Context(), e)
	if must(t, "Attempts", err); len(log) == 0 || len(log) > 100 || !log[len(log)-1].At.Equal(at(239)) {
		t.Errorf("of 201 attempts %d are kept, want the newest hundred at most", len(log))
	}
}

func sentAgain(t *testing.T, s ports.Admin) {
	c, failed := opened(1), checkout.Outcome{State: checkout.JobDead, Attempts: 3, Failure: checkout.Failure{At: at(25), Reason: "answered 500"}}
	e := c.Events[0]
	again := checkout.SendAgain(e, now(), time.Hour)
	insert(t, s, c)
	insert(t, s, opened(2))
	must(t, "Settle", s.Settle(t.Context(), lease(t, s, e.ID), failed, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		return checkout.Change{Next: c, Jobs: []checkout.Job{again}}, nil
	}))
	want, other := jobOf(t, s, e.ID), exported(t, s, 2)
	same(t, "leases before it is due", len(leases(t, s, func(q *checkout.JobQuery) { q.ID = again.ID })), 0)
	tried := func(n int, failure string) []checkout.Attempt {
		return []checkout.Attempt{{At: at(100 + n), Number: n, Took: time.Second, Failure: failure}}
	}
	must(t, "HastenJob", s.HastenJob(t.Context(), again.ID, moment(checkout.MomentOperated, 27), *operation(1)))
	vain := checkout.Failure{At: at(101), Reason: "answered 503"}
	settle(t, s, lease(t, s, again.ID), checkout.Outcome{State: checkout.JobPending, Attempts: 1, Failure: vain, Log: tried(1, "answered 503")})
	want.Attempts, want.Failure = 4, vain
	same(t, "the event after a run in vain", jobOf(t, s, e.ID), want)
	settle(t, s, lease(t, s, again.ID), checkout.Outcome{State: checkout.JobDone, Attempts: 1, Log: tried(2, "")})
	want.Attempts, want.State = 5, checkout.JobDone
	same(t, "the event that was taken", jobOf(t, s, e.ID), want)
	gets(t, "Attempts", append(tried(1, "answered 503"), tried(2, "")...))(s.Attempts(t.Context(), e))
	same(t, "the other", exported(t, s, 2), other)
}
