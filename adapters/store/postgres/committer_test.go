package postgres_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Some engines and poolers that speak PostgreSQL's protocol take each statement of a pipeline for a transaction of its own,
// unless there is an explicit one, and say of a duplicate that it is an internal error. Nothing that the store writes is torn by
// them, and a duplicate is still one.
func TestEngineThatCommitsEachStatement(t *testing.T) {
	server := postgrestest.URL(t)
	through := commitsEachStatement(t, server)

	shell := connect(t, through)
	execute(t, shell, `CREATE TABLE torn (n int PRIMARY KEY)`)
	for name, want := range map[string]int{"": 2, "BEGIN": 0} {
		b := &pgx.Batch{}
		if name != "" {
			b.Queue(name)
		}
		for _, n := range []int{1, 2, 2} {
			b.Queue(`INSERT INTO torn VALUES ($1)`, n)
		}
		if err := shell.SendBatch(t.Context(), b).Close(); err == nil {
			t.Fatal("a batch with a duplicate: got no error")
		}
		if name != "" {
			execute(t, shell, `ROLLBACK`)
		}
		var rows int
		if err := shell.QueryRow(t.Context(), `SELECT count(*) FROM torn`).Scan(&rows); err != nil || rows != want {
			t.Fatalf("a batch that begins with %q leaves %d rows, %v; want %d: the engine is not as it should be", name, rows, err, want)
		}
		execute(t, shell, `TRUNCATE torn`)
	}
	execute(t, shell, `DROP TABLE torn`)

	db := open(t, onItsClock(through), postgres.Options{})
	direct := connect(t, server)
	s, empty := newTimed(t, db, direct), emptier(t, direct)
	storetest.Store(t, func(t *testing.T) ports.Admin {
		empty(t)
		s.restart(t)
		return s
	})
}

// commitsEachStatement returns a connection string that leads to the server through an engine that ends each statement of the
// extended protocol as if a Sync followed it, and reports a duplicate as an internal error.
func commitsEachStatement(t *testing.T, server string) string {
	t.Helper()
	return proxy(t, server, func(client, server net.Conn) {
		defer client.Close()
		defer server.Close()
		_ = (&committer{client, server}).serve()
	}).String()
}

// committer is a connection of such an engine.
type committer struct{ client, server net.Conn }

// readMessage reads a message of the protocol, which begins with its kind but for the first one of a connection.
func readMessage(from io.Reader, first bool) (kind byte, message []byte, err error) {
	head := make([]byte, 5)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(from, head); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[len(head)-4:])
	message = append(head, make([]byte, length-4)...)
	_, err = io.ReadFull(from, message[len(head):])
	return head[0], message, err
}

var syncMessage = []byte{'S', 0, 0, 0, 4}

func (c *committer) serve() error {
	_, startup, err := readMessage(c.client, true)
	if err == nil {
		_, err = c.server.Write(startup)
	}
	if err == nil {
		_, err = c.answer(true)
	}
	failed := false // what is sent until the next Sync is skipped
	for err == nil {
		var kind byte
		var message []byte
		if kind, message, err = readMessage(c.client, false); err != nil {
			return err
		}
		switch {
		case kind == 'X':
			_, err = c.server.Write(message)
			return errors.Join(err, io.EOF)
		case kind == 'Q' || kind == 'S':
			if _, err = c.server.Write(message); err == nil {
				_, err = c.answer(true)
			}
			failed = false
		case failed:
		case kind == 'E' || kind == 'H':
			if _, err = c.server.Write(append(message, syncMessage...)); err == nil {
				failed, err = c.answer(false)
			}
		default:
			_, err = c.server.Write(message)
		}
	}
	return err
}

// answer passes what the server says on to the client, until it is ready. It reports whether it said that something failed.
func (c *committer) answer(ready bool) (failed bool, err error) {
	for {
		kind, message, err := readMessage(c.server, false)
		if err != nil {
			return failed, err
		}
		if kind == 'E' {
			failed = true
			message = bytes.Replace(message, []byte("\x00C23505\x00"), []byte("\x00CXX000\x00"), 1)
		}
		if kind != 'Z' || ready {
			if _, err := c.client.Write(message); err != nil {
				return failed, err
			}
		}
		if kind == 'Z' {
			return failed, nil
		}
	}
}
