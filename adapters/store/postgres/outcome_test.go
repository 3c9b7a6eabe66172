package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// opened returns the change of a create.
func opened(n int) checkout.Change {
	c := checkout.Checkout{ID: fmt.Sprintf("KOWHAI-%d-a", n), ProviderCode: "KOWHAI", OrderID: fmt.Sprint("order-", n),
		RequestID: fmt.Sprint("req_", n), Status: checkout.SetupRequired}
	c.IdempotencyKey = checkout.DefaultKey(c.ProviderCode, c.OrderID)
	return checkout.Change{Next: c, Events: []events.Event{event(c, events.CheckoutCreated)}}
}

func event(c checkout.Checkout, name events.Name) events.Event {
	return events.Event{ID: fmt.Sprintf("evt_%s_%s", c.ID, name), Name: name, CheckoutID: c.ID, ProviderCode: c.ProviderCode}
}

func pending() checkout.JobEntry { return checkout.JobEntry{Now: time.Now(), Hold: 10 * time.Second} }

func insert(t *testing.T, db *postgres.DB, n int) {
	t.Helper()
	if err := db.InsertCheckout(t.Context(), opened(n), pending()); err != nil {
		t.Fatalf("InsertCheckout: %v", err)
	}
}

// work returns a job of the service's own.
func work(id string, n int) checkout.Job {
	return checkout.Job{ID: fmt.Sprint(id, n), Kind: checkout.JobNotified, Name: "BRQ", CreatedAt: time.UnixMilli(int64(n))}
}

// prepare stores jobs of the service's own for each of the calls 1 and 2, of which the first is leased.
func prepare(t *testing.T, db *postgres.DB) {
	t.Helper()
	for n := 1; n <= 2; n++ {
		if _, err := db.Enqueue(t.Context(), []checkout.Job{work("held", n), work("due", n)}); err != nil {
			t.Fatalf("Enqueue: %v", err)
		}
		if err := leaseJob(t.Context(), db, work("held", n).ID); err != nil {
			t.Fatal(err)
		}
	}
}

func leaseJob(ctx context.Context, db *postgres.DB, id string) error {
	leases, err := db.Lease(ctx, checkout.JobQuery{Now: time.Now(), For: 10 * time.Second, Kinds: checkout.JobKinds(), ID: id, Limit: 1})
	if err == nil && len(leases) == 0 {
		err = errNoLease
	}
	return err
}

var errNoLease = errors.New("no lease")

func held(n int) checkout.Lease { return checkout.Lease{Job: work("held", n), Token: 1} }

func key(n int) catalogue.Key {
	return catalogue.Key{ID: fmt.Sprint("key", n), Provider: "KOWHAI", Hash: [32]byte{byte(n)}}
}

// write is a call that commits. n is 1 for a first call over a wire that works, which prepares the statements, and 2 for
// the call during which the wire fails. beforeCommit is called before what is sent next commits.
type write func(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error

func tryOnce(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error {
	return db.UpdateCheckout(ctx, opened(n).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		beforeCommit()
		c.Setup.Try++
		return checkout.Change{Next: c}, nil
	})
}

var errAlready = errors.New("already confirmed")

func confirm(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error {
	return db.UpdateCheckout(ctx, opened(n).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		if c.Status == checkout.Confirmed {
			return checkout.Change{}, errAlready
		}
		beforeCommit()
		c.Status = checkout.Confirmed
		a := agreement.Agreement{Number: fmt.Sprint("PPA-2026-", n), CheckoutID: c.ID, Provider: agreement.Party{Code: c.ProviderCode}}
		return checkout.Change{Next: c, Agreement: &a, Events: []events.Event{event(c, events.CheckoutConfirmed)}}, nil
	})
}

func replace(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error {
	return db.ReplaceProviders(ctx, func(all []catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
		beforeCommit()
		p := catalogue.Provider{Code: fmt.Sprint("P", n), Destination: catalogue.Destination{Secret: signing}}
		return append(all, catalogue.Configuration{Provider: p}), did(n), nil
	})
}

// did is the act of call n.
func did(n int) *checkout.Act {
	return &checkout.Act{At: time.UnixMilli(int64(n)), Operator: "Aroha", Name: "jobs retry", Subject: fmt.Sprint(n)}
}

// simple returns a write that commits with the first thing that it sends.
func simple(f func(ctx context.Context, db *postgres.DB, n int) error) write {
	return func(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error {
		beforeCommit()
		return f(ctx, db, n)
	}
}

func insertOnce(ctx context.Context, db *postgres.DB, n int) error {
	return db.InsertCheckout(ctx, opened(n+2), pending())
}

func addKey(ctx context.Context, db *postgres.DB, n int) error { return db.AddKey(ctx, key(n), did(n)) }

// keysBefore is the number of keys before the calls 1 and 2. One is left for each of them to revoke.
const keysBefore = 2

func revoke(ctx context.Context, db *postgres.DB, n int) error {
	return db.RevokeKey(ctx, key(n+keysBefore).ID, time.UnixMilli(int64(n)), did(n))
}

func done(n int) checkout.Outcome {
	return checkout.Outcome{State: checkout.JobDone, Attempts: 2, Moments: []checkout.Moment{moment(n)}}
}

func moment(n int) checkout.Moment {
	return checkout.Moment{At: time.UnixMilli(int64(n)), Kind: checkout.MomentOpened, Actor: checkout.ActorPayer}
}

func lease(n int) checkout.Lease {
	return checkout.Lease{Job: checkout.DeliveryOf(opened(n).Events[0]), Token: 1}
}

func settle(ctx context.Context, db *postgres.DB, n int) error {
	return db.Settle(ctx, lease(n), done(n), pending(), nil)
}

func putOff(ctx context.Context, db *postgres.DB, n int) error {
	o := checkout.Outcome{State: checkout.JobPending, Pause: time.Hour, Attempts: 1, Moments: []checkout.Moment{moment(n)}}
	return db.Settle(ctx, lease(n), o, pending(), nil)
}

func settleOwn(ctx context.Context, db *postgres.DB, n int) error {
	return db.Settle(ctx, held(n), checkout.Outcome{State: checkout.JobDead, Attempts: 1}, pending(), nil)
}

// settleWith settles a job with a change of its checkout.
func settleWith(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error {
	return db.Settle(ctx, lease(n), done(n), pending(), func(c checkout.Checkout) (checkout.Change, error) {
		beforeCommit()
		c.Setup.Try++
		return checkout.Change{Next: c, Jobs: []checkout.Job{{ID: "look", Kind: checkout.JobLook, ProviderCode: c.ProviderCode, CheckoutID: c.ID}}}, nil
	})
}

// noting appends a moment with a change that leaves the checkout as it is.
func noting(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error {
	return db.UpdateCheckout(ctx, opened(n).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		beforeCommit()
		return checkout.Change{Next: c, Moments: []checkout.Moment{moment(n)}}, nil
	})
}

// note appends a moment.
func note(ctx context.Context, db *postgres.DB, n int) error {
	return db.Note(ctx, []checkout.Noted{{About: checkout.About{CheckoutID: opened(n).Next.ID}, Moment: moment(n)}})
}

// count counts a moment that is appended once for each text.
func count(ctx context.Context, db *postgres.DB, n int) error {
	m := moment(n)
	m.Once = "once"
	return db.Note(ctx, []checkout.Noted{{About: checkout.About{CheckoutID: opened(n).Next.ID}, Moment: m}})
}

func leaseDue(ctx context.Context, db *postgres.DB, n int) error {
	return leaseJob(ctx, db, work("due", n).ID)
}

func extend(ctx context.Context, db *postgres.DB, n int) error {
	return db.Extend(ctx, held(n), time.Now(), time.Hour)
}

func giveBack(ctx context.Context, db *postgres.DB, n int) error {
	return db.Extend(ctx, held(n), time.Now(), 0)
}

// enqueue enqueues two jobs, of which one comes twice, and returns an error unless both are returned as fresh.
func enqueue(ctx context.Context, db *postgres.DB, n int) error {
	given := []checkout.Job{work("b", n), work("a", n), work("b", n)}
	fresh, err := db.Enqueue(ctx, given)
	if err == nil && (len(fresh) != 2 || fresh[0].ID != given[0].ID || fresh[1].ID != given[1].ID) {
		return fmt.Errorf("fresh are %+v, want two of %+v", fresh, given)
	}
	return err
}

// enqueueOf enqueues two jobs of a checkout.
func enqueueOf(ctx context.Context, db *postgres.DB, n int) error {
	c := opened(n).Next
	job := checkout.Job{ID: "a look", Kind: checkout.JobLook, ProviderCode: c.ProviderCode, CheckoutID: c.ID, CreatedAt: time.UnixMilli(int64(n))}
	more := job
	more.ID = "another"
	fresh, err := db.Enqueue(ctx, []checkout.Job{job, more})
	if err == nil && len(fresh) != 2 {
		return fmt.Errorf("fresh are %+v, want both", fresh)
	}
	return err
}

func record(ctx context.Context, db *postgres.DB, n int) error {
	return db.RecordAct(ctx, *did(n))
}

func hasten(ctx context.Context, db *postgres.DB, n int) error {
	return db.HastenJob(ctx, lease(n).Job.ID, moment(n), *did(n))
}

func erase(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error {
	return db.EraseCheckouts(ctx, []string{opened(n).Next.ID}, func(list []checkout.Checkout) (checkout.Erasure, error) {
		beforeCommit()
		e := checkout.EraseAll(list, time.UnixMilli(int64(n)), checkout.ActorService)
		e.Act = *did(n)
		return e, nil
	})
}

// Each write returns what became of it, although the connection is lost during the commit.
func TestConnectionLostDuringCommit(t *testing.T) {
	server := postgrestest.URL(t)
	open(t, server, postgres.Options{})
	shell := connect(t, server)
	empty := emptier(t, shell)
	for _, tt := range []struct {
		name  string
		write write
		later int    // requests before the commit
		query string // one value that the write determines
		want  int64  // once both writes are done, neither of them twice
		lost  error  // what is returned if the reply to the commit was lost
	}{
		{"a checkout inserted", simple(insertOnce), 0, `SELECT count(*) FROM jobs WHERE kind = 'deliver'`, 4, nil},
		{"a checkout changed", tryOnce, 0, `SELECT sum(setup_try)::bigint FROM checkouts`, 2, nil},
		{"a checkout confirmed", confirm, 1, `SELECT count(*) FROM jobs WHERE name = 'checkout.confirmed'`, 2, nil},
		{"a moment of a change", noting, 0, `SELECT count(*) FROM moments`, 2, nil},
		{"a key added", simple(addKey), 0, `SELECT count(*) + 10 * (SELECT count(*) FROM acts) FROM api_keys`, 24, nil},
		{"a key revoked", simple(revoke), 1, `SELECT sum(revoked_ms)::bigint + 10 * (SELECT count(*) FROM acts) FROM api_keys`, 23, nil},
		{"providers replaced", replace, 0, `SELECT count(*) + 10 * (SELECT count(*) FROM acts) FROM providers`, 22, nil},
		{"a job settled", simple(settle), 1, `SELECT sum(attempts)::bigint + 10 * (SELECT count(*) FROM moments) FROM jobs`, 24, nil},
		{"a job of the service's own settled", simple(settleOwn), 1, `SELECT sum(attempts)::bigint FROM jobs`, 2, nil},
		{"a job settled with a change", settleWith, 0, `SELECT sum(attempts)::bigint + 10 * (SELECT sum(setup_try)::bigint FROM checkouts)
			+ 100 * (SELECT count(*) FROM moments) + 1000 * count(*) FILTER (WHERE kind = 'look') FROM jobs`, 2224, nil},
		{"a job put off", simple(putOff), 1, `SELECT sum(attempts)::bigint + 10 * (SELECT count(*) FROM moments) FROM jobs`, 22, nil},
		{"a job leased, to an unknown holder", simple(leaseDue), 1, `SELECT sum(token)::bigint FROM jobs WHERE id LIKE 'due%'`, 2, errNoLease},
		{"a lease extended", simple(extend), 0, `SELECT count(*) FROM jobs WHERE id LIKE 'held%' AND leased_until_ms / 1000 > extract(epoch FROM now()) + 600`, 2, nil},
		{"a lease given back", simple(giveBack), 0, `SELECT count(*) FROM jobs WHERE id LIKE 'held%' AND leased_until_ms IS NULL`, 2, nil},
		{"jobs enqueued", simple(enqueue), 0, `SELECT count(*) FROM jobs WHERE id ~ '^[ab]'`, 4, nil},
		{"jobs of a checkout enqueued", simple(enqueueOf), 1, `SELECT sum(position)::bigint FROM jobs WHERE checkout_id <> ''`, 2 * (1 + 2 + 3), nil},
		{"a moment noted", simple(note), 1, `SELECT count(*) FROM moments`, 2, nil},
	} {
		for name, f := range map[string]fault{"request": loseRequest, "reply": loseReply} {
			t.Run(tt.name+", the "+name+" lost", func(t *testing.T) {
				empty(t)
				wire, url := through(t, server)
				db := open(t, url, postgres.Options{})
				insert(t, db, 1)
				insert(t, db, 2)
				for n := 1; n <= keysBefore; n++ {
					if err := db.AddKey(t.Context(), key(n+keysBefore), nil); err != nil {
						t.Fatal(err)
					}
				}
				prepare(t, db)
				if err := tt.write(t.Context(), db, 1, func() {}); err != nil {
					t.Fatalf("with a wire that works: %v", err)
				}
				want := tt.lost
				if f == loseRequest {
					want = nil
				}
				armed := false
				err := tt.write(t.Context(), db, 2, func() {
					if !armed {
						wire.failAfter(tt.later, f)
						armed = true
					}
				})
				if !errors.Is(err, want) || wire.faults() != 1 {
					t.Errorf("got error %v after %d faults, want %v after 1", err, wire.faults(), want)
				}
				var got int64
				if err := shell.QueryRow(t.Context(), tt.query).Scan(&got); err != nil || got != tt.want {
					t.Errorf("%s = %d, %v; want %d", tt.query, got, err, tt.want)
				}
			})
		}
	}
}

// A write that may have been stored is not made again where no row shows whether it was.
func TestWriteOfUnknownOutcomeIsNotRepeated(t *testing.T) {
	server := postgrestest.URL(t)
	open(t, server, postgres.Options{})
	shell := connect(t, server)
	empty := emptier(t, shell)
	for _, tt := range []struct {
		name  string
		write write
		later int    // requests before the commit
		query string // how many writes are on record
	}{
		{"a moment counted", simple(count), 1, `SELECT sum(times)::bigint FROM moments`},
		{"an act recorded", simple(record), 0, `SELECT count(*) FROM acts`},
		{"a job hastened", simple(hasten), 2, `SELECT count(*) FROM acts`},
		{"a checkout erased", erase, 0, `SELECT count(*) FROM acts`},
	} {
		for name, f := range map[string]fault{"request": loseRequest, "reply": loseReply} {
			t.Run(tt.name+", the "+name+" lost", func(t *testing.T) {
				empty(t)
				wire, url := through(t, server)
				db := open(t, url, postgres.Options{})
				insert(t, db, 1)
				for range 2 {
					if err := tt.write(t.Context(), db, 1, func() {}); err != nil {
						t.Fatal(err)
					}
				}
				err := tt.write(t.Context(), db, 1, func() { wire.failAfter(tt.later, f) })
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ports.ErrBusy) {
					t.Errorf("got error %v, want one that says that the outcome is not known", err)
				}
				var got int
				want := map[fault]int{loseRequest: 2, loseReply: 3}[f]
				if err := shell.QueryRow(t.Context(), tt.query).Scan(&got); err != nil || got != want {
					t.Errorf("%s = %d, %v; want %d", tt.query, got, err, want)
				}
			})
		}
	}
}

// A quiet server asks for jobs in one round trip, which writes nothing.
func TestLeaseOfNothingIsOneRequest(t *testing.T) {
	place := postgrestest.URL(t)
	setClock(t, connect(t, place), storetest.Began()) // so that no lease ends
	wire, url := through(t, onItsClock(place))
	db := open(t, url, postgres.Options{})
	prepare(t, db)
	ask := func() []checkout.Lease {
		leases, err := db.Lease(t.Context(), checkout.JobQuery{Now: time.Now(), For: time.Second, Kinds: checkout.JobKinds(), Limit: 9, PerPartition: 2})
		if err != nil {
			t.Fatal(err)
		}
		return leases
	}
	if got := ask(); len(got) != 2 {
		t.Fatalf("leased %+v, want two jobs", got)
	}
	before := wire.requests()
	if got := ask(); len(got) != 0 || wire.requests() != before+1 {
		t.Errorf("leased %+v in %d requests, want nothing in one", got, wire.requests()-before)
	}
}

// While the server cannot be asked, a write that may have been committed is not reported as not stored.
func TestUnknownOutcomeIsReported(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write write
		later int // requests before the commit
	}{
		{"a checkout inserted", simple(insertOnce), 0},
		{"a checkout confirmed", confirm, 1},
		{"a job settled with a change", settleWith, 0},
		{"jobs enqueued", simple(enqueue), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wire, url := through(t, postgrestest.URL(t))
			db := open(t, url, postgres.Options{})
			insert(t, db, 1)
			insert(t, db, 2)
			if err := tt.write(t.Context(), db, 1, func() {}); err != nil {
				t.Fatal(err)
			}
			err := tt.write(t.Context(), db, 2, func() { wire.failAfter(tt.later, loseAll) })
			if err == nil || errors.Is(err, ports.ErrBusy) || errors.Is(err, ports.ErrDuplicate) {
				t.Errorf("got error %v, want one that says that the outcome is not known", err)
			}
		})
	}
}

// A record that is kept may be kept again, so the caller need not know whether it was.
func TestUnknownOutcomeOfASandboxRecordIsBusy(t *testing.T) {
	wire, url := through(t, postgrestest.URL(t))
	db := open(t, url, postgres.Options{})
	keep := func() error { return db.KeepSandboxRecord(t.Context(), "a", []byte("kept")) }
	if err := keep(); err != nil {
		t.Fatal(err)
	}
	wire.fail(loseAll)
	if err := keep(); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("got error %v, want ErrBusy", err)
	}
}

// A confirm that was stored must not be reported as not stored because a row is locked when its outcome is looked up.
func TestLockDuringTheLookUpOfAnOutcome(t *testing.T) {
	server := postgrestest.URL(t)
	wire, url := through(t, server)
	db := open(t, url, postgres.Options{})
	insert(t, db, 1)
	insert(t, db, 2)
	if err := confirm(t.Context(), db, 1, func() {}); err != nil {
		t.Fatal(err)
	}
	other, shell := connect(t, server), connect(t, server)
	locked := make(chan struct{})
	err := confirm(t.Context(), db, 2, func() {
		wire.failAfter(1, loseReply) // after the agreement’s number is looked up
		go func() {
			defer close(locked)
			// It waits for the confirm's commit.
			_, err := other.PgConn().Exec(t.Context(), `BEGIN; SELECT 1 FROM checkouts WHERE id = '`+opened(2).Next.ID+`' FOR UPDATE`).ReadAll()
			if err != nil {
				t.Errorf("lock: %v", err)
			}
		}()
		for waits := false; !waits; {
			if err := shell.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted AND pid = $1)`, other.PgConn().PID()).Scan(&waits); err != nil {
				t.Error(err)
				return
			}
		}
	})
	<-locked
	if err == nil || errors.Is(err, ports.ErrBusy) || errors.Is(err, ports.ErrDuplicate) {
		t.Errorf("got error %v, want one that says that the outcome is not known", err)
	}
	execute(t, other, `ROLLBACK`)
	if c, err := db.Checkout(t.Context(), opened(2).Next.ID); err != nil || c.Status != checkout.Confirmed {
		t.Errorf("Checkout = %+v, %v; want it confirmed", c, err)
	}
}
