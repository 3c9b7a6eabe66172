package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// serving are the options with which a server opens its store.
var serving = postgres.Options{Environment: catalogue.Sandbox}

// soon is when a commit is given up in these tests.
const soon = time.Second

// patience is the time within which something happens at all, on a slow machine too.
const patience = 2 * time.Minute

// asked is a call that is under way.
type asked struct{ err chan error }

func ask(call func() error) asked {
	a := asked{make(chan error, 1)}
	go func() { a.err <- call() }()
	return a
}

// awaitWaiting waits until n commits wait for the standby.
func awaitWaiting(t *testing.T, shell *pgx.Conn, n int) {
	t.Helper()
	waiting := 0
	for limit := time.Now().Add(patience); waiting != n; <-time.After(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d commits wait for the standby, want %d", waiting, n)
		}
		err := shell.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// warm opens n connections of the store, which has the checkouts 1 to n.
func warm(t *testing.T, db *postgres.DB, n int) {
	t.Helper()
	if n == 0 {
		return
	}
	err := db.UpdateCheckout(t.Context(), opened(n).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		warm(t, db, n-1) // while this one is in use
		return checkout.Change{Next: c}, nil
	})
	if err != nil {
		t.Errorf("UpdateCheckout: %v", err)
	}
}

// A commit that waits for its standby is given up in time, and never cancelled: no reader sees it before the standby has it.
// While it waits, the store takes no more of the server's connections than it has.
func TestCommitIsNotCancelled(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T, url string) *postgres.DB{
		"its own pool": func(t *testing.T, url string) *postgres.DB { return open(t, url, serving) },
		"a host's":     func(t *testing.T, url string) *postgres.DB { return newStore(t, hostPool(t, url), serving) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair := postgrestest.NewPair(t)
			url := pair.URL(t)
			db := open(t, url)
			for n := range 3 {
				insert(t, db, 1+n)
			}
			warm(t, db, 3)
			db.GiveUpAfter(soon)
			shell := connect(t, pair.Primary.At(url))
			pair.Link.Cut()
			created := ask(func() error { return db.InsertCheckout(t.Context(), opened(4), pending()) })
			confirmed := ask(func() error { return confirm(t.Context(), db, 1, func() {}) })
			began := time.Now()
			for what, a := range map[string]asked{"InsertCheckout": created, "UpdateCheckout": confirmed} {
				if err := <-a.err; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ports.ErrBusy) {
					t.Errorf("%s: got error %v, want one that says that the outcome is not known", what, err)
				}
			}
			if took := testlevel.Elapsed(began); took > 10*time.Second {
				t.Errorf("they took %v", took)
			}
			// Where a connection is new, it cannot be proven now.
			c, err := db.FindCheckout(t.Context(), checkout.Reference{ProviderCode: "KOWHAI", OrderID: opened(4).Next.OrderID})
			if !errors.Is(err, ports.ErrNotFound) && !errors.Is(err, ports.ErrBusy) {
				t.Errorf("FindCheckout = %+v, %v; want nothing that the standby has not", c, err)
			}
			var more []asked
			for n := range 8 { // the first waits for the standby, the others for it
				more = append(more, ask(func() error { return db.InsertCheckout(t.Context(), opened(5+n), pending()) }))
			}
			for _, a := range more {
				if err := <-a.err; !errors.Is(err, ports.ErrBusy) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("InsertCheckout: got error %v, want ErrBusy", err)
				}
			}
			awaitWaiting(t, shell, 3)
			pair.Link.Mend()
			for limit := time.Now().Add(patience); ; <-time.After(50 * time.Millisecond) {
				err := db.Ready(t.Context())
				if err == nil {
					break
				}
				if time.Now().After(limit) {
					t.Fatalf("Ready: %v", err)
				}
			}
			if c, err := db.FindCheckout(t.Context(), checkout.Reference{ProviderCode: "KOWHAI", OrderID: opened(4).Next.OrderID}); err != nil {
				t.Errorf("FindCheckout = %+v, %v; want what the standby has now", c, err)
			}
			pair.Primary.Kill()
			if log := pair.Primary.Log(); strings.Contains(log, "canceling wait for synchronous replication") {
				t.Errorf("a commit was cancelled: %s", log)
			}
		})
	}
}

// Whoever breaks the wait for a standby, what the standby has not is not acknowledged: neither by the call that waited nor by
// a call that repeats it.
func TestBrokenWaitIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	for name, breakWait := range map[string]func(t *testing.T, pair *postgrestest.Pair, shell *pgx.Conn){
		"cancelled by an administrator": func(t *testing.T, _ *postgrestest.Pair, shell *pgx.Conn) {
			execute(t, shell, `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
		},
		"ended by an administrator": func(t *testing.T, _ *postgrestest.Pair, shell *pgx.Conn) {
			execute(t, shell, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
		},
		"ended by a restart": func(t *testing.T, pair *postgrestest.Pair, _ *pgx.Conn) {
			pair.Primary.Kill()
			pair.Primary.Start(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair := postgrestest.NewPair(t)
			url := pair.URL(t) + "&client_min_messages=error"
			db := open(t, url, serving)
			insert(t, db, 1)
			insert(t, db, 2)
			db.GiveUpAfter(soon)
			shell := connect(t, pair.Primary.At(url))
			pair.Link.Cut()
			created := ask(func() error { return db.InsertCheckout(t.Context(), opened(3), pending()) })
			confirmed := ask(func() error { return confirm(t.Context(), db, 1, func() {}) })
			cancelled := ask(func() error { return cancel(t.Context(), db, 2) })
			awaitWaiting(t, shell, 3)
			breakWait(t, pair, shell)
			shell = connect(t, pair.Primary.At(url))
			var there int
			for limit := time.Now().Add(patience); there != 1; <-time.After(5 * time.Millisecond) {
				if time.Now().After(limit) {
					t.Fatalf("void: %d checkouts are visible; want the one whose wait was broken", there)
				}
				err := shell.QueryRow(t.Context(), `SELECT count(*) FROM checkouts WHERE id = $1`, opened(3).Next.ID).Scan(&there)
				if err != nil {
					t.Fatal(err)
				}
			}
			repeated := ask(func() error {
				_, err := db.FindCheckout(t.Context(), checkout.Reference{ProviderCode: "KOWHAI", OrderID: opened(3).Next.OrderID})
				return err
			})
			again := ask(func() error {
				c, err := db.Checkout(t.Context(), opened(1).Next.ID)
				if err == nil && c.Status != checkout.Confirmed {
					err = errors.New("it is not confirmed")
				}
				return err
			})
			calls := map[string]asked{"InsertCheckout": created, "UpdateCheckout": confirmed, "UpdateCheckout to cancel": cancelled,
				"the cancel that is repeated": ask(func() error { return cancel(t.Context(), db, 2) }),
				"FindCheckout":                repeated, "Checkout of what was confirmed": again}
			if name == "ended by a restart" { // after which not even a poll is answered from it
				calls["Checkout"] = ask(func() error { _, err := db.Checkout(t.Context(), opened(3).Next.ID); return err })
			}
			for what, a := range calls {
				if err := <-a.err; !errors.Is(err, ports.ErrBusy) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: got error %v, want one that says that the outcome is not known", what, err)
				}
			}
			pair.Link.Mend()
			pair.AwaitStandby(t)
			if _, err := db.FindCheckout(t.Context(), checkout.Reference{ProviderCode: "KOWHAI", OrderID: opened(3).Next.OrderID}); err != nil {
				t.Errorf("FindCheckout: %v; want what the standby has now", err)
			}
			if err := confirm(t.Context(), db, 1, func() {}); !errors.Is(err, errAlready) {
				t.Errorf("UpdateCheckout: got error %v, want that it was confirmed", err)
			}
			if err := cancel(t.Context(), db, 2); !errors.Is(err, errAlready) {
				t.Errorf("UpdateCheckout: got error %v, want that it was cancelled", err)
			}
		})
	}
}

// cancel cancels checkout number n, or returns errAlready.
func cancel(ctx context.Context, db *postgres.DB, n int) error {
	return db.UpdateCheckout(ctx, opened(n).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		if c.Status == checkout.Cancelled {
			return checkout.Change{}, errAlready
		}
		c.Status = checkout.Cancelled
		return checkout.Change{Next: c}, nil
	})
}

// A call whose wait is broken succeeds all the same, once, as soon as the standby has everything.
func TestBrokenWaitIsMadeUpFor(t *testing.T) {
	t.Parallel()
	pair := postgrestest.NewPair(t)
	url := pair.URL(t)
	db := open(t, url, serving)
	insert(t, db, 1)
	shell := connect(t, pair.Primary.At(url))
	pair.Link.Cut()
	extended := ask(func() error { return db.Extend(t.Context(), lease(1), time.Now(), time.Second) })
	awaitWaiting(t, shell, 1)
	execute(t, shell, `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
	awaitWaiting(t, shell, 1) // for the proof
	pair.Link.Mend()
	if err := <-extended.err; err != nil {
		t.Errorf("Extend: %v", err)
	}
}
