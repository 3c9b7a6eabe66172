package postgres_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/ports"
)

// defaults are settings that an operator may make for a role: each harms a program that does not set what it needs.
const defaults = `CREATE ROLE careful LOGIN CONNECTION LIMIT 6; GRANT pg_read_all_data, pg_write_all_data TO careful;
	ALTER ROLE careful SET default_transaction_isolation = 'serializable';
	ALTER ROLE careful SET default_transaction_deferrable = on;
	ALTER ROLE careful SET synchronous_commit = 'remote_apply';
	ALTER ROLE careful SET client_min_messages = 'error'`

// The store keeps every promise, whatever an operator sets by default. At most it is busy for longer than a call waits, on a
// machine that has much else to do.
func TestDefaultsOfAnOperator(t *testing.T) {
	pair := postgrestest.NewPair(t)
	place := pair.URL(t)
	shell := connect(t, pair.Primary.At(place))
	execute(t, shell, defaults+`; ALTER SCHEMA `+shellSetting(t, shell, "search_path")+` OWNER TO careful`)
	db := open(t, strings.Replace(onItsClock(place), "postgres@", "careful@", 1), serving)
	if got := db.Setting(t.Context(), "synchronous_commit"); got != "remote_apply" {
		t.Errorf("synchronous_commit = %s, want what the operator demands", got)
	}
	s, empty := newTimed(t, db, shell), emptier(t, shell)
	storetest.Store(t, func(t *testing.T) ports.Admin {
		empty(t)
		s.restart(t)
		return s
	})
	empty(t)
	const clients, each = 16, 20
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for n := c * each; n < (c+1)*each; n++ {
				err := patiently(func() error { return db.InsertCheckout(t.Context(), opened(n), pending()) })
				if err == nil {
					err = patiently(func() error { return confirm(t.Context(), db, n, func() {}) })
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var confirmed int
	if err := shell.QueryRow(t.Context(), `SELECT count(*) FROM agreements`).Scan(&confirmed); err != nil || confirmed != clients*each {
		t.Errorf("%d agreements on record, %v; want %d", confirmed, err, clients*each)
	}
}

// patiently makes a call again while the store is busy.
func patiently(call func() error) (err error) {
	for range 10 {
		if err = call(); !errors.Is(err, ports.ErrBusy) {
			return err
		}
	}
	return err
}
