package postgres_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// soon is when a commit is given up in these tests.
	soon = time.Second
	// patience is the time within which something happens at all, on a slow machine too.
	patience = 2 * time.Minute
)

// serving are the options with which a server opens its store.
var serving = postgres.Options{Environment: catalogue.Sandbox}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !is(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("not in time: " + what)
		}
	}
}

// call is a call that is under way.
type call chan error

func start(f func() error) call {
	c := make(call, 1)
	go func() { c <- f() }()
	return c
}

// wire is a proxy in front of a server, which breaks a connection once.
type wire struct {
	mu    sync.Mutex
	loses func(request []byte) (before, after bool) // breaks before the server has the request, or before its answer passes
}

// through returns a wire, and the address of a store behind it.
func through(t *testing.T, place string) (*wire, string) {
	t.Helper()
	u, err := url.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	w, server := &wire{}, u.Host
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			if onward, err := net.Dial("tcp", server); err == nil {
				go w.pass(client, onward)
			} else {
				client.Close()
			}
		}
	}()
	u.Host = ln.Addr().String()
	return w, u.String() + "&pool_max_conns=1&default_query_exec_mode=exec" // a batch is one request, with its text
}

func (w *wire) pass(client, server net.Conn) {
	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
		server.Close()
	}()
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		before, after := true, false // where the client has closed it
		if err == nil {
			before, after = w.lose(buf[:n])
		}
		if before || after {
			client.Close()
		}
		if before {
			server.Close()
			return
		}
		if _, err := server.Write(buf[:n]); err != nil || after {
			return
		}
	}
}

func (w *wire) lose(request []byte) (before, after bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.loses == nil {
		return false, false
	}
	if before, after = w.loses(request); before || after {
		w.loses = nil
	}
	return before, after
}

func (w *wire) breaks(loses func(request []byte) (before, after bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loses = loses
}

// A request that the server never had is made again. A commit whose answer is lost is not: its outcome is unknown, and is on record.
func TestOutcomeOfALostConnection(t *testing.T) {
	w, place := through(t, postgrestest.URL(t))
	db := open(t, place, serving)
	insert(t, db, 1)
	commits := func(request []byte) bool { return bytes.Contains(request, []byte("COMMIT")) }

	w.breaks(func(request []byte) (before, after bool) { return false, commits(request) })
	if _, err := db.InsertCheckout(t.Context(), storetest.Opened(2), 0); !errors.Is(err, ports.ErrUnknown) {
		t.Errorf("InsertCheckout whose answer is lost: got error %v, want ErrUnknown", err)
	}
	eventually(t, "what was committed is there", func() bool {
		_, err := db.Checkout(t.Context(), storetest.Opened(2).Next.ID)
		return err == nil
	})
	if _, err := db.InsertCheckout(t.Context(), storetest.Opened(2), 0); !errors.Is(err, ports.ErrDuplicate) {
		t.Errorf("InsertCheckout once more: got error %v, want ErrDuplicate", err)
	}
	w.breaks(func([]byte) (before, after bool) { return true, false })
	if _, err := db.Checkout(t.Context(), storetest.Opened(1).Next.ID); err != nil {
		t.Errorf("Checkout over a connection that was lost: %v", err)
	}
	w.breaks(func(request []byte) (before, after bool) {
		return bytes.Contains(request, []byte("ROLLBACK")) || commits(request), false
	})
	_, err := db.InsertCheckout(t.Context(), storetest.Opened(3), 0)
	c, readErr := db.Checkout(t.Context(), storetest.Opened(3).Next.ID)
	switch {
	case err == nil && readErr == nil:
	case errors.Is(err, ports.ErrUnknown) && errors.Is(readErr, ports.ErrNotFound):
	default:
		t.Errorf("InsertCheckout that the server never had: %v; on record is %+v, %v", err, c, readErr)
	}
}

// unknown reports an error unless a call says that it was not done, or may have been, which it returns.
func (c call) unknown(t *testing.T, what string) (maybe bool) {
	t.Helper()
	err := <-c
	if !errors.Is(err, ports.ErrUnknown) && !errors.Is(err, ports.ErrBusy) {
		t.Errorf("%s: got error %v, want ErrUnknown or ErrBusy", what, err)
	}
	return errors.Is(err, ports.ErrUnknown)
}

// confirms changes checkout number n.
func confirms(t *testing.T, db *postgres.DB, n int) call {
	return start(func() error {
		_, _, err := db.UpdateCheckout(t.Context(), storetest.Opened(n).Next, 0, func(c checkout.Checkout) (checkout.Change, error) {
			c.Setup.Try++
			return checkout.Change{At: c.CreatedAt, Next: c}, nil
		})
		return err
	})
}

func inserts(t *testing.T, db *postgres.DB, n int) call {
	return start(func() error { _, err := db.InsertCheckout(t.Context(), storetest.Opened(n), 0); return err })
}

// A commit that waits for its standby is given up in time, and never cancelled: no reader sees it before the standby has it. While it
// waits, the store takes no more of the server's connections than it has.
func TestCommitIsNotCancelled(t *testing.T) {
	testlevel.Full(t)
	t.Parallel()
	pair := postgrestest.NewPair(t)
	place := pair.URL(t)
	db := open(t, place, serving)
	insert(t, db, 1)
	db.GiveUpAfter(soon)
	conn := shell(t, pair.Primary.At(place))
	pair.Link.Cut()
	began := time.Now()
	created, confirmed := inserts(t, db, 4), confirms(t, db, 1)
	stored := created.unknown(t, "InsertCheckout")
	confirmed.unknown(t, "UpdateCheckout")
	if took := testlevel.Elapsed(began); took > 10*time.Second {
		t.Errorf("they took %v", took)
	}
	if c, err := db.Checkout(t.Context(), storetest.Opened(4).Next.ID); !errors.Is(err, ports.ErrNotFound) && !errors.Is(err, ports.ErrBusy) {
		t.Errorf("Checkout = %+v, %v; want nothing that the standby has not", c, err)
	}
	var more []call
	for n := range 8 { // the first waits for the standby, the others for it
		more = append(more, inserts(t, db, 5+n))
	}
	for _, c := range more {
		c.unknown(t, "InsertCheckout")
	}
	if n := ask[int](t, conn, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`); n > 3 {
		t.Errorf("%d commits wait", n)
	}
	pair.Link.Mend()
	eventually(t, "it is ready", func() bool { return db.Ready(t.Context()) == nil })
	if _, err := db.Checkout(t.Context(), storetest.Opened(4).Next.ID); stored && err != nil {
		t.Errorf("Checkout: %v; want what the standby has now", err)
	}
	pair.Primary.Kill()
	if log := pair.Primary.Log(); strings.Contains(log, "canceling wait for synchronous replication") {
		t.Errorf("a commit was cancelled: %s", log)
	}
}

// A row that another session locks makes the store busy, but for reads, and no longer than it is locked.
func TestRowsThatAnotherSessionLocks(t *testing.T) {
	testlevel.Full(t) // it waits for the lock
	t.Parallel()
	place := postgrestest.URL(t)
	db := open(t, place, serving)
	insert(t, db, 1)
	other, err := shell(t, place).Begin(t.Context())
	if err == nil {
		_, err = other.Exec(t.Context(), `SELECT 1 FROM checkouts FOR UPDATE`)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Checkout(t.Context(), storetest.Opened(1).Next.ID); err != nil {
		t.Errorf("Checkout: %v", err)
	}
	if err := <-confirms(t, db, 1); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("UpdateCheckout: got error %v, want ErrBusy", err)
	}
	if err := other.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-confirms(t, db, 1); err != nil {
		t.Errorf("UpdateCheckout: %v", err)
	}
}

// Events are listed in the order of the numbers of their transactions, also where a number has more digits than the one before. Of a store
// that was restored from a copy of its tables they are listed again, from a minute before the cursor on.
func TestCursors(t *testing.T) {
	place := postgrestest.URL(t)
	db := open(t, place, serving)
	insert(t, db, 1)
	insert(t, db, 2)
	execute(t, place, `UPDATE jobs SET entered = CASE WHEN checkout_id = '`+storetest.Opened(1).Next.ID+`' THEN '99'::xid8 ELSE '100'::xid8 END`)
	page := func(after checkout.Cursor, limit int) []checkout.JobRecord {
		t.Helper()
		events, err := db.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, ProviderCode: "KOWHAI", After: &after}, limit)
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	first := page("", 1)
	if len(first) != 1 || first[0].CheckoutID != storetest.Opened(1).Next.ID {
		t.Fatalf("Jobs = %+v; want the first", first)
	}
	next := page(first[0].Cursor, 9)
	if len(next) != 1 || next[0].CheckoutID != storetest.Opened(2).Next.ID {
		t.Fatalf("Jobs after the first = %+v; want the second", next)
	}
	if rest := page(next[0].Cursor, 9); len(rest) != 0 {
		t.Errorf("Jobs after the last = %+v; want nothing", rest)
	}
	_, behind, _ := strings.Cut(string(next[0].Cursor), ".")
	if again := page(checkout.Cursor("another."+behind), 9); len(again) == 0 || again[len(again)-1].ID != next[0].ID {
		t.Errorf("Jobs after a cursor of another server = %+v; want the last once more", again)
	}
}

// Whatever the settings of its sessions are, a write of the store is on the disk when it is acknowledged, and no process that hangs
// keeps a lock.
func TestWritesSetWhatTheyNeed(t *testing.T) {
	for set, durable := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"} {
		t.Run("over synchronous_commit = "+set, func(t *testing.T) {
			place := postgrestest.URL(t)
			db := open(t, place+"&lock_timeout=0&client_min_messages=error&default_transaction_isolation=serializable&synchronous_commit="+set,
				postgres.Options{})
			execute(t, place, noteSettings)
			insert(t, db, 1)
			known := storetest.Opened(1).Next
			_, _, err := db.UpdateCheckout(t.Context(), known, 0, func(c checkout.Checkout) (checkout.Change, error) {
				c.Setup.Try++
				return checkout.Change{At: c.CreatedAt, Next: c}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Enqueue(t.Context(), []checkout.Job{checkout.StoreJob(checkout.JobRetain, known.CreatedAt)}, nil); err != nil {
				t.Fatal(err)
			}
			rows, _ := shell(t, place).Query(t.Context(), `SELECT settings FROM seen`)
			seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil || len(seen) < 4 {
				t.Fatalf("seen %q, %v; want each statement", seen, err)
			}
			want := durable + " 3s 5s 5s warning read committed"
			if slices.ContainsFunc(seen, func(got string) bool { return got != want }) {
				t.Errorf("statements ran with %q, want %s", seen, want)
			}
		})
	}
}

// noteSettings notes under which settings each statement ran that wrote.
const noteSettings = `CREATE TABLE seen (settings text);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO seen VALUES (concat_ws(' ', current_setting('synchronous_commit'), current_setting('lock_timeout'),
			current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout'),
			current_setting('client_min_messages'), current_setting('transaction_isolation')));
		RETURN NULL;
	END $$;
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON checkouts EXECUTE FUNCTION note();
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON jobs EXECUTE FUNCTION note()`
