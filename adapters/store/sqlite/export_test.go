package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// Reader returns the connections that read.
func Reader(db *DB) *sql.DB { return db.readers.db }

// CheckPlace returns an error unless the files of the store are in the place where they were opened.
func CheckPlace(db *DB) error { return db.writer.place.check() }

// Next returns the options of the program of the next version, which has one more migration.
func (o Options) Next(script string) Options {
	own, err := ownMigrations()
	if err != nil {
		panic(err)
	}
	o.migrations = append(own, migration.New(len(own)+1, script))
	return o
}

// Plans returns the plan of each statement that the store has run and keeps.
func Plans(ctx context.Context, db *DB) (map[string][]string, error) {
	plans := map[string][]string{}
	for _, s := range []*statements{&db.readers.statements, &db.writer.statements} {
		s.mu.RLock()
		texts := slices.Collect(maps.Keys(s.prepared))
		s.mu.RUnlock()
		for _, text := range texts {
			if text == begin || text == commit || text == rollback {
				continue
			}
			steps, err := sqlstore.All(ctx, engine{db}, func(r sqlstore.Row) (step string, err error) {
				err = r.Scan(new(int), new(int), new(int), &step)
				return step, err
			}, `EXPLAIN QUERY PLAN `+text, make([]any, parameters(text))...)
			if err != nil {
				return nil, fmt.Errorf("explain %s: %w", text, err)
			}
			plans[text] = steps
		}
	}
	return plans, nil
}

// parameters returns how many parameters a statement has: each question mark, or the highest number behind one.
func parameters(statement string) (n int) {
	if !strings.Contains(statement, "?1") {
		return strings.Count(statement, "?")
	}
	for strings.Contains(statement, fmt.Sprint("?", n+1)) {
		n++
	}
	return n
}
