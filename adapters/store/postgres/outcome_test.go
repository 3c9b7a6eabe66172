package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// opened is what a create stores.
func opened(n int) checkout.Change {
	c := checkout.Checkout{ID: fmt.Sprint("KOWHAI-", n), ProviderCode: "KOWHAI", OrderID: fmt.Sprint("order-", n),
		RequestID: fmt.Sprint("req_", n), Status: checkout.SetupRequired}
	c.IdempotencyKey = checkout.DefaultKey(c.ProviderCode, c.OrderID)
	return checkout.Change{Next: c, Events: []events.Event{event(c, events.CheckoutCreated)}}
}

func event(c checkout.Checkout, name events.Name) events.Event {
	return events.Event{ID: fmt.Sprintf("evt_%s_%s", c.ID, name), Name: name, CheckoutID: c.ID, ProviderCode: c.ProviderCode}
}

func pending() ports.Enqueue { return ports.Enqueue{Status: events.Pending} }

func insert(t *testing.T, db *postgres.DB, n int) {
	t.Helper()
	if err := db.InsertCheckout(t.Context(), opened(n), pending()); err != nil {
		t.Fatalf("InsertCheckout: %v", err)
	}
}

// prepare stores a notification and a task for each of the calls 1 and 2.
func prepare(t *testing.T, db *postgres.DB) {
	t.Helper()
	for n := 1; n <= 2; n++ {
		if _, err := db.KeepNotifications(t.Context(), []ports.Notification{notification("old", n)}); err != nil {
			t.Fatalf("KeepNotifications: %v", err)
		}
		if _, err := db.LeaseTask(t.Context(), fmt.Sprint("task", n), time.UnixMilli(0), time.UnixMilli(5)); err != nil {
			t.Fatalf("LeaseTask: %v", err)
		}
		err := db.UpdateCheckout(t.Context(), opened(n).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			return checkout.Change{Next: c, Notices: []checkout.Notice{{ID: noticeID(n), CheckoutID: c.ID}}}, nil
		})
		if err != nil {
			t.Fatalf("UpdateCheckout: %v", err)
		}
	}
}

func key(n int) catalogue.Key {
	return catalogue.Key{ID: fmt.Sprint("key", n), Provider: "KOWHAI", Hash: [32]byte{byte(n)}}
}

func eventID(n int) string { return opened(n).Events[0].ID }

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
		a := agreement.Agreement{Number: fmt.Sprint("PPA-2026-", n), CheckoutID: c.ID}
		return checkout.Change{Next: c, Agreement: &a, Events: []events.Event{event(c, events.CheckoutConfirmed)}}, nil
	})
}

func replace(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error {
	return db.ReplaceProviders(ctx, func(all []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		beforeCommit()
		p := catalogue.Provider{Code: fmt.Sprint("P", n), Destination: catalogue.Destination{Secret: signing}}
		return append(all, catalogue.Configuration{Provider: p}), did(n), nil
	})
}

// did is the evidence of call n.
func did(n int) *evidence.Entry {
	return &evidence.Entry{ID: evidence.OperationID(fmt.Sprint(n)), Leaf: []byte("{}")}
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

// keysBefore is how many keys there are before the calls 1 and 2, to each of which one is left to revoke.
const keysBefore = 2

func revoke(ctx context.Context, db *postgres.DB, n int) error {
	return db.RevokeKey(ctx, key(n+keysBefore).ID, time.UnixMilli(int64(n)), did(n))
}

func settle(ctx context.Context, db *postgres.DB, n int) error {
	return db.SettleEvent(ctx, eventID(n), 1, ports.Settlement{Status: events.Delivered, Attempts: 2})
}

func lease(ctx context.Context, db *postgres.DB, n int) error {
	_, err := db.LeaseEvent(ctx, eventID(n), 1, time.UnixMilli(5))
	return err
}

func noticeID(n int) string { return fmt.Sprint("ntc_", n) }

// noting stores a notice with a change of its checkout.
func noting(ctx context.Context, db *postgres.DB, n int, beforeCommit func()) error {
	return db.UpdateCheckout(ctx, opened(n).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		beforeCommit()
		c.Setup.Try++
		return checkout.Change{Next: c, Notices: []checkout.Notice{{ID: fmt.Sprint("new_", c.ID), Kind: checkout.NoticeOfSetup, CheckoutID: c.ID}}}, nil
	})
}

func settleNotice(ctx context.Context, db *postgres.DB, n int) error {
	return db.SettleNotice(ctx, noticeID(n), 0, ports.NoticeOutcome{Status: checkout.NoticeSent, Attempts: 1, SentAt: time.UnixMilli(1)})
}

func postponeNotice(ctx context.Context, db *postgres.DB, n int) error {
	return db.SettleNotice(ctx, noticeID(n), 0, ports.NoticeOutcome{Status: checkout.NoticePending, Due: time.UnixMilli(int64(n))})
}

func leaseNotice(ctx context.Context, db *postgres.DB, n int) error {
	_, err := db.LeaseNotice(ctx, noticeID(n), 0, time.UnixMilli(5))
	return err
}

func notification(id string, n int) ports.Notification {
	return ports.Notification{ID: fmt.Sprint(id, n), Received: time.UnixMilli(int64(n)), Action: "a"}
}

// keep keeps two notifications, of which one comes twice, and returns an error unless both are returned as fresh.
func keep(ctx context.Context, db *postgres.DB, n int) error {
	given := []ports.Notification{notification("b", n), notification("a", n), notification("b", n)}
	fresh, err := db.KeepNotifications(ctx, given)
	if err == nil && (len(fresh) != 2 || fresh[0].ID != given[0].ID || fresh[1].ID != given[1].ID) {
		return fmt.Errorf("fresh are %+v, want two of %+v", fresh, given)
	}
	return err
}

func settleNotification(ctx context.Context, db *postgres.DB, n int) error {
	return db.SettleNotifications(ctx, []string{notification("old", n).ID}, time.UnixMilli(int64(n)))
}

func leaseTask(ctx context.Context, db *postgres.DB, n int) error {
	task, err := db.LeaseTask(ctx, fmt.Sprint("task", n), time.UnixMilli(5), time.UnixMilli(10))
	if err == nil && task.Epoch != 2 {
		return fmt.Errorf("leased %+v, want epoch 2", task)
	}
	return err
}

func saveTask(ctx context.Context, db *postgres.DB, n int) error {
	return db.SaveTask(ctx, fmt.Sprint("task", n), ports.Task{Epoch: 1, Cursor: "1"}, time.UnixMilli(10))
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
		query string // one value that the write determines
		want  int64  // once both writes are done, neither of them twice
		lost  error  // what is returned if the reply to the commit was lost
	}{
		{"a checkout inserted", simple(insertOnce), `SELECT count(*) FROM events`, 4, nil},
		{"a checkout changed", tryOnce, `SELECT sum(setup_try)::bigint FROM checkouts`, 2, nil},
		{"a checkout confirmed", confirm, `SELECT count(*) FROM events WHERE name = 'checkout.confirmed'`, 2, nil},
		{"a key added", simple(addKey), `SELECT count(*) + 10 * (SELECT count(*) FROM evidence) FROM api_keys`, 24, nil},
		{"a key revoked", simple(revoke), `SELECT sum(revoked_ms)::bigint + 10 * (SELECT count(*) FROM evidence) FROM api_keys`, 23, nil},
		{"providers replaced", replace, `SELECT count(*) + 10 * (SELECT count(*) FROM evidence) FROM providers`, 22, nil},
		{"an event settled", simple(settle), `SELECT sum(attempts)::bigint FROM events`, 4, nil},
		{"an event leased, to an unknown holder", simple(lease), `SELECT sum(epoch)::bigint FROM events`, 4, ports.ErrNotFound},
		{"a notice stored with its change", noting, `SELECT count(*) FROM notices WHERE id LIKE 'new%'`, 2, nil},
		{"a notice settled", simple(settleNotice), `SELECT sum(attempts)::bigint FROM notices`, 2, nil},
		{"a notice put off", simple(postponeNotice), `SELECT sum(due_ms)::bigint FROM notices`, 3, nil},
		{"a notice leased, to an unknown holder", simple(leaseNotice), `SELECT sum(epoch)::bigint FROM notices`, 2, ports.ErrNotFound},
		{"notifications kept", simple(keep), `SELECT count(*) FROM notifications WHERE id NOT LIKE 'old%'`, 4, nil},
		{"a notification settled", simple(settleNotification), `SELECT sum(settled_ms)::bigint FROM notifications`, 3, nil},
		{"a task leased, to an unknown holder", simple(leaseTask), `SELECT sum(epoch)::bigint FROM tasks`, 4, ports.ErrBusy},
		{"a task saved", simple(saveTask), `SELECT sum(cursor::bigint)::bigint FROM tasks`, 2, nil},
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
						wire.fail(f)
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

// While the server cannot be asked, a write that may have been committed is not reported as not stored.
func TestUnknownOutcomeIsReported(t *testing.T) {
	for _, tt := range []struct {
		name  string
		write write
	}{
		{"a checkout inserted", simple(insertOnce)},
		{"a checkout confirmed", confirm},
		{"an event settled", simple(settle)},
		{"notifications kept", simple(keep)},
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
			err := tt.write(t.Context(), db, 2, func() { wire.fail(loseAll) })
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
	other := connect(t, server)
	locked := make(chan struct{})
	err := confirm(t.Context(), db, 2, func() {
		wire.fail(loseReply)
		go func() {
			defer close(locked)
			// It waits for the confirm's commit.
			_, err := other.PgConn().Exec(t.Context(), `BEGIN; SELECT 1 FROM checkouts WHERE id = '`+opened(2).Next.ID+`' FOR UPDATE`).ReadAll()
			if err != nil {
				t.Errorf("lock: %v", err)
			}
		}()
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
