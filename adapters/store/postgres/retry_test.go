package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A sequence counts what a trigger refuses, because it is not part of the transaction.
const refuse = `CREATE SEQUENCE refused;
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('refused') <= %d THEN RAISE EXCEPTION 'refused' USING ERRCODE = '%s'; END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON checkouts
		DEFERRABLE INITIALLY %s FOR EACH ROW EXECUTE FUNCTION refuse()`

func TestConflictsAreRetried(t *testing.T) {
	place := postgrestest.URL(t)
	single, cluster, shell := open(t, place, postgres.Options{}), open(t, place, postgres.Options{}), connect(t, place)
	postgres.AsDistributed(cluster)
	empty := emptier(t, shell)
	for _, tt := range []struct {
		name     string
		times    int
		code     string
		deferred string
		want     error
		db       *postgres.DB
	}{
		{"a serialisation failure", 1, "40001", "IMMEDIATE", nil, single},
		{"a serialisation failure of the commit", 1, "40001", "DEFERRED", nil, single},
		{"a deadlock", 1, "40P01", "IMMEDIATE", nil, single},
		{"a pooler's loss of the server", 1, "08006", "IMMEDIATE", nil, single},
		{"a pooler's loss of the server during the commit", 1, "08006", "DEFERRED", nil, single},
		{"a node's loss of another", 1, "XX000", "IMMEDIATE", nil, cluster},
		{"a node's loss of another during the commit", 1, "XX000", "DEFERRED", nil, cluster},
		{"five in a row", 5, "40001", "IMMEDIATE", nil, single},
		{"six in a row, which is too busy", 6, "40001", "DEFERRED", ports.ErrBusy, single},
	} {
		for name, write := range map[string]write{"insert": simple(insertOnce), "update": tryOnce} {
			t.Run(name+", "+tt.name, func(t *testing.T) {
				execute(t, shell, `DROP FUNCTION IF EXISTS refuse CASCADE; DROP SEQUENCE IF EXISTS refused`)
				empty(t)
				insert(t, tt.db, 1)
				execute(t, shell, fmt.Sprintf(refuse, tt.times, tt.code, tt.deferred))
				if err := write(t.Context(), tt.db, 1, func() {}); !errors.Is(err, tt.want) {
					t.Errorf("got error %v, want %v", err, tt.want)
				}
				var refused int
				if err := shell.QueryRow(t.Context(), `SELECT last_value FROM refused`).Scan(&refused); err != nil {
					t.Fatal(err)
				}
				if want := min(tt.times+1, 6); refused != want {
					t.Errorf("tried %d times, want %d", refused, want)
				}
			})
		}
	}
}

// What a cluster commits with a warning may be invisible on a node. A trigger leaves the first change out.
func TestCommitWithAWarningOfAClusterIsLookedFor(t *testing.T) {
	place := postgrestest.URL(t)
	db, shell := open(t, place, postgres.Options{}), connect(t, place)
	postgres.AsDistributed(db)
	insert(t, db, 1)
	execute(t, shell, `CREATE SEQUENCE warned;
		CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('warned') > 1 THEN RETURN NEW; END IF;
			RAISE WARNING 'failed to commit transaction';
			RETURN OLD;
		END $$;
		CREATE TRIGGER warn BEFORE UPDATE ON checkouts FOR EACH ROW EXECUTE FUNCTION warn()`)
	err := tryOnce(t.Context(), db, 1, func() {})
	c, readErr := db.Checkout(t.Context(), opened(1).Next.ID)
	if err != nil || readErr != nil || c.Setup.Try != 1 {
		t.Errorf("tries on record = %d, %v, %v; want 1", c.Setup.Try, err, readErr)
	}
}

func TestRowsThatAnotherProcessLocks(t *testing.T) {
	place := postgrestest.URL(t)
	db := open(t, place, postgres.Options{})
	insert(t, db, 1)
	other := connect(t, place)
	execute(t, other, `BEGIN; SELECT 1 FROM checkouts FOR UPDATE`)
	update := func(ctx context.Context) error { return tryOnce(ctx, db, 1, func() {}) }

	t.Run("do not block reads", func(t *testing.T) {
		if _, err := db.Checkout(t.Context(), opened(1).Next.ID); err != nil {
			t.Errorf("Checkout: %v", err)
		}
	})
	t.Run("are waited for no longer than the context", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := update(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("UpdateCheckout: got error %v, want that of the context", err)
		}
	})
	t.Run("make the store busy while they are locked", func(t *testing.T) {
		if err := update(t.Context()); !errors.Is(err, ports.ErrBusy) {
			t.Errorf("UpdateCheckout: got error %v, want ErrBusy", err)
		}
	})
	t.Run("are locked once they are released", func(t *testing.T) {
		execute(t, other, `ROLLBACK`)
		if err := update(t.Context()); err != nil {
			t.Errorf("UpdateCheckout: %v", err)
		}
	})
}

func TestProcessThatHangsLosesItsLock(t *testing.T) {
	place := postgrestest.URL(t)
	db := open(t, place, postgres.Options{})
	insert(t, db, 1)
	runs := 0
	err := db.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		if runs++; runs == 1 {
			execute(t, connect(t, place), terminate) // as the server does when its time-out has passed
		}
		c.Setup.Try++
		return checkout.Change{Next: c}, nil
	})
	c, readErr := db.Checkout(t.Context(), opened(1).Next.ID)
	if err != nil || readErr != nil || c.Setup.Try != 1 || runs != 2 {
		t.Errorf("tries on record = %d after %d runs, %v, %v; want 1 after 2", c.Setup.Try, runs, err, readErr)
	}
}

// terminate ends every other connection of this test, which have the same application name.
const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE pid <> pg_backend_pid() AND application_name = current_setting('application_name')`

func TestSessionsHaveTheirSettings(t *testing.T) {
	place := postgrestest.URL(t) + "&statement_timeout=0&lock_timeout=0&default_transaction_isolation=serializable&client_min_messages=error"
	for set, want := range durability {
		db := open(t, place+"&synchronous_commit="+set, postgres.Options{})
		for name, want := range map[string]string{
			"statement_timeout": "5s", "lock_timeout": "3s", "idle_in_transaction_session_timeout": "5s", "synchronous_commit": want,
			"transaction_isolation": "read committed", "client_min_messages": "warning",
		} {
			if got := db.Setting(t.Context(), name); got != want {
				t.Errorf("%s = %s under synchronous_commit = %s, want %s", name, got, set, want)
			}
		}
	}
}

// durability is the store's setting for each synchronous_commit of a session: it raises a weaker one than on, and leaves a stronger one.
var durability = map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"}

// After a restart of the server, every connection of the pool is lost. A request must not find that out for each of
// them, one after another.
func TestRequestAfterARestartIsAnsweredSoon(t *testing.T) {
	const connections = 20
	place := postgrestest.URL(t)
	db, shell := open(t, place, postgres.Options{}), connect(t, place)
	var waiting, done sync.WaitGroup
	waiting.Add(connections)
	for n := range connections {
		insert(t, db, n)
		done.Go(func() {
			err := db.UpdateCheckout(t.Context(), opened(n).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
				waiting.Done()
				waiting.Wait() // until every connection is in use
				return checkout.Change{Next: c}, nil
			})
			if err != nil {
				t.Errorf("UpdateCheckout: %v", err)
			}
		})
	}
	done.Wait()
	execute(t, shell, terminate)
	began := time.Now()
	insert(t, db, connections)
	if took := testlevel.Elapsed(began); took > time.Second {
		t.Errorf("the first request took %v", took)
	}
}

// A request that finds every connection in use is refused as busy, rather than left to wait.
func TestNoFreeConnectionIsBusy(t *testing.T) {
	db := open(t, postgrestest.URL(t)+"&pool_max_conns=1", postgres.Options{})
	insert(t, db, 1)
	err := db.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		if _, err := db.Checkout(t.Context(), c.ID); !errors.Is(err, ports.ErrBusy) {
			t.Errorf("Checkout: got error %v, want ErrBusy", err)
		}
		return checkout.Change{Next: c}, nil
	})
	if err != nil {
		t.Errorf("UpdateCheckout: %v", err)
	}
}
