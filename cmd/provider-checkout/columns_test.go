package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// column is a column of a table, with its declared type.
type column struct{ table, name, kind string }

const (
	columnsOfFile = `SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY 1, c.cid`
	columnsOfSchema = `SELECT c.table_name, c.column_name, c.data_type
		FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_schema, table_name)
		WHERE table_schema = current_schema() AND t.table_type = 'BASE TABLE' ORDER BY 1, c.ordinal_position`
)

// columnsOf returns every column of every table of a store, as its schema has them.
func columnsOf(t *testing.T, db *sql.DB, query string) (all []column) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.table, &c.name, &c.kind); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := rows.Err(); err != nil || len(all) == 0 {
		t.Fatalf("the schema has %d columns, %v", len(all), err)
	}
	return all
}

// edited returns the value of a column a little changed, as an expression.
func (c column) edited() string {
	switch c.kind {
	case "INTEGER", "integer", "bigint":
		return fmt.Sprintf("coalesce(%s, 0) + 1000000", c.name)
	case "BLOB":
		return fmt.Sprintf("CAST('x' || coalesce(CAST(%s AS TEXT), '') AS BLOB)", c.name)
	case "bytea":
		return fmt.Sprintf(`'\x78'::bytea || coalesce(%s, '')`, c.name)
	case "boolean":
		return "NOT " + c.name
	}
	return c.name + " || 'x'"
}

// unheldColumns are the columns of which an edit is not found, each with the reason why that does not matter.
var unheldColumns = map[string]string{
	"agreements.last_day":              lookUp,
	"api_keys.last_used_day":           lookUp,
	"checkouts.idempotency_key":        ofCreate,
	"checkouts.request_id":             ofCreate,
	"checkouts.created_ms":             ofCreate,
	"checkouts.setup_tokens":           "a token is signed with the operator's secret, and opens a page for the payer",
	"checkouts.setup_try":              "counts the attempts at the bank setup; the billing request and the mandate are held",
	"checkouts.billing_request_status": saidAgain,
	"checkouts.mandate_status":         saidAgain,
	"checkouts.mandate_since_ms":       saidAgain,
	"checkouts.mandate_reason":         saidAgain,
	"checkouts.authorisation_status":   saidAgain,
	"checkouts.ended_reason":           "is erased with the personal data; the record of the operation has it",
	"checkouts.position":               "the order in which the checkouts entered",
	"checkouts.updated_ms":             lookUp,
	"checkouts.listed":                 lookUp,
	"checkouts.search_family":          lookUp,
	"checkouts.search_name":            lookUp,
	"checkouts.search_email":           lookUp,
	"checkouts.stage":                  "counts for the operator, and decides nothing",
	"checkouts.changed_ms":             "dates what is decided later, by a week at most, and each such time is held",
	"courses.position":                 "the order of the courses, which moves as one here",
	"plan_options.position":            "the order of the plans, which moves as one here",
	"evidence_chains.chain":            chainEnd,
	"evidence_chains.number":           chainEnd,
	"evidence_chains.previous":         chainEnd,
	"evidence_chains.seen":             "is put right by the server that seals, which reports it",
	"sandbox_records.name":             "the fake processor's, and of the sandbox's scripts",
	"sandbox_records.data":             "the fake processor's, and of the sandbox's scripts",
	"provider_checkout_schema.version": "of the program that made the store",
	"store.crm":                        "a server that is configured otherwise does not start",
}

// ownColumns are the columns that one kind of store has alone, each with the reason.
var ownColumns = map[string]string{
	"checkouts.position": "PostgreSQL has no order in which rows enter",
	"store.own_secret":   "beside a SQLite file it is in a file",
}

const (
	ofCreate  = "of the create; nothing of it was agreed"
	saidAgain = "the processor's word, which it says again to every look; who is debited is held"
	lookUp    = "finds rows, and decides nothing"
	chainEnd  = "the place of the next record, which is attested there; what was at the end is shown by its receipt"
	queued    = "says when and how often work is tried; what an event of the confirm says is held"
	journal   = "tells an operator what happened; the evidence log tells it to others"
)

// unheldTables are the tables of which every column is such a column, but for the columns in heldColumns.
var unheldTables = map[string]string{"jobs": queued, "moments": journal, "lists": lookUp,
	"sandbox_requests": "of a sandbox alone, for a day"}

// heldColumns are the other columns of these tables.
var heldColumns = map[string]bool{"jobs.body": true}

// sealedColumns are columns of an entry that matter until it is sealed, and unsealedColumns from then on.
var (
	sealedColumns   = map[string]bool{"evidence.chain": true, "evidence.number": true, "evidence.previous": true, "evidence.attestation": true}
	unsealedColumns = map[string]bool{"evidence.nodes": true}
)

// reason returns the reason why an edit of the column does not matter, or "".
func (c column) reason(sealed bool) string {
	name := c.table + "." + c.name
	if sealed && sealedColumns[name] || !sealed && unsealedColumns[name] {
		return "the tree holds what is sealed, and the attestation what is not"
	}
	if heldColumns[name] {
		return ""
	}
	return unheldColumns[name] + unheldTables[c.table]
}

// forgedStore is a store whose tables take every edit, whatever their constraints.
type forgedStore struct {
	acknowledged
	columns []column
	// edit puts the tables back as they were, executes statements, and returns how many rows the last one has changed.
	edit func(statements string) (rows int64, err error)
}

// forgeable returns a store of agreements that are sealed, withdrawn and not sealed, and of what an operator has configured.
func (o operator) forgeable(t *testing.T) forgedStore {
	t.Helper()
	a := o.acknowledges(t, 2, 0)
	db := a.edits(t)
	defer db.Close()
	changed(t, db, `DELETE FROM api_keys; DELETE FROM plan_options; DELETE FROM courses; DELETE FROM providers`) // which no operator made
	a.does(t, "apply", "-f", "demo.json", "--prune")
	a.does(t, "keys", "issue", "--provider", "TUI")
	a.does(t, "withdraw", a.numbers[1], "--ground", "hardship", "--reason", "asked for")
	return forgedStore{acknowledged: a}
}

// forgedFile returns such a store in a file.
func forgedFile(t *testing.T) forgedStore {
	t.Helper()
	f := newOperator(t).forgeable(t)
	db := f.edits(t)
	f.columns = columnsOf(t, db, columnsOfFile)
	db.Close()
	original, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	f.edit = func(statements string) (int64, error) {
		f.putBack(t, original)
		db := f.edits(t)
		defer db.Close()
		return rowsOf(db.Exec(statements))
	}
	return f
}

// forgedSchema returns such a store in PostgreSQL.
func forgedSchema(t *testing.T) forgedStore {
	t.Helper()
	o := newOperator(t)
	o.url = postgrestest.URL(t)
	f := o.forgeable(t)
	db := f.edits(t)
	t.Cleanup(func() { db.Close() })
	f.columns = columnsOf(t, db, columnsOfSchema)
	back, seen := "DROP TABLE IF EXISTS s;", make(map[string]bool)
	for _, c := range f.columns {
		if !seen[c.table] {
			changed(t, db, fmt.Sprintf("CREATE TEMP TABLE before_%[1]s AS TABLE %[1]s", c.table))
			back += fmt.Sprintf("DELETE FROM %[1]s; INSERT INTO %[1]s TABLE before_%[1]s;", c.table)
			seen[c.table] = true
		}
	}
	f.edit = func(statements string) (int64, error) {
		changed(t, db, back)
		return rowsOf(db.Exec(statements))
	}
	return f
}

// edits opens the store to be edited, whatever its constraints. Only the check constraints of PostgreSQL stay: they refuse the edits of
// evidence_head.one and store.environment. Of SQLite a row that breaks one is found when the file is opened.
func (a acknowledged) edits(t *testing.T) *sql.DB {
	t.Helper()
	driver, place, loosen := "sqlite", a.path, `PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON`
	if a.url != "" {
		driver, place, loosen = "pgx", a.url, `SET session_replication_role = replica`
	}
	db, err := sql.Open(driver, place)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	changed(t, db, loosen)
	return db
}

func changed(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	if _, err := db.Exec(statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func rowsOf(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// found reports whether the edit is found with a checkpoint and a receipt that were kept elsewhere.
func (f forgedStore) found(t *testing.T) bool {
	t.Helper()
	return f.try(t, "agreements", "verify", "--all", "--checkpoint", f.newest, "--receipt", f.receipts[0]).code != cli.ExitDone
}

// T42: who may write to the tables edits each column of each table, in the rows of an agreement that is sealed, of an unsealed one,
// and in all of them. It is found with a checkpoint and a receipt that were kept elsewhere, or does not matter.
func TestEveryColumnThatMattersIsHeld(t *testing.T) {
	t.Parallel()
	forgedFile(t).holdsEveryColumn(t)
}

// T42: rows that are removed, or change places.
func TestEveryRowThatMattersIsHeld(t *testing.T) {
	t.Parallel()
	forgedFile(t).holdsEveryRow(t)
}

// In PostgreSQL the same is found, in a schema that has the same columns, but for ownColumns.
func TestTablesOfPostgreSQLAreHeld(t *testing.T) {
	testlevel.Full(t)
	t.Parallel()
	f := forgedSchema(t)
	file := acknowledged{sealedStore: sealedStore{operator: newOperator(t)}}
	file.open(t)
	db := file.edits(t)
	defer db.Close()
	stores := make(map[string]int)
	for _, c := range slices.Concat(f.columns, columnsOf(t, db, columnsOfFile)) {
		stores[c.table+"."+c.name]++
	}
	for name, n := range stores {
		if _, own := ownColumns[name]; own != (n == 1) {
			t.Errorf("%s is a column of %d of the two stores", name, n)
		}
	}
	f.holdsEveryColumn(t)
	f.holdsEveryRow(t)
}

func (f forgedStore) holdsEveryColumn(t *testing.T) {
	if _, err := f.edit(`SELECT 1`); err != nil || f.found(t) {
		t.Fatalf("before any edit something is found, %v", err)
	}
	known, tried := make(map[string]bool), 0
	for _, c := range f.columns {
		known[c.table], known[c.table+"."+c.name] = true, true
		if !testlevel.IsFull() && rand.IntN(8) > 0 {
			continue
		}
		for _, where := range f.rows(c.table) {
			rows, err := f.edit(fmt.Sprintf(`UPDATE %s SET %s = %s WHERE %s`, c.table, c.name, c.edited(), where))
			if err != nil || rows == 0 { // rows that must differ would not
				continue
			}
			tried++
			if c.reason(!strings.Contains(where, f.numbers[2])) == "" && !f.found(t) {
				t.Errorf("an edit of %s.%s where %s is not found, and no reason is given why that does not matter", c.table, c.name, where)
			}
		}
	}
	for name := range unheldColumns {
		if !known[name] && ownColumns[name] == "" {
			t.Errorf("%s has a reason, and is no column of the store", name)
		}
	}
	for name := range unheldTables {
		if !known[name] {
			t.Errorf("%s has a reason, and is no table of the store", name)
		}
	}
	if t.Logf("%d columns were edited in %d ways", len(f.columns), tried); tried < testlevel.Of(1, 200) {
		t.Errorf("void: %d edits", tried)
	}
}

func (f forgedStore) holdsEveryRow(t *testing.T) {
	swap := func(table, key, column string) string {
		return fmt.Sprintf(`CREATE TEMP TABLE s AS SELECT %[2]s AS k, %[3]s AS v FROM %[1]s;
			UPDATE %[1]s SET %[3]s = (SELECT v FROM s WHERE s.k <> %[1]s.%[2]s ORDER BY k LIMIT 1)`, table, key, column)
	}
	for _, edit := range []string{
		`DELETE FROM agreements WHERE number = '` + f.numbers[0] + `'`, `DELETE FROM agreements WHERE number = '` + f.numbers[2] + `'`,
		`DELETE FROM checkouts WHERE agreement_number = '` + f.numbers[0] + `'`, `DELETE FROM checkouts WHERE agreement_number = '` + f.numbers[2] + `'`,
		`DELETE FROM documents WHERE agreement_number = '` + f.numbers[0] + `'`, `DELETE FROM documents WHERE agreement_number = '` + f.numbers[2] + `'`,
		`DELETE FROM evidence WHERE id = 'agreement/` + f.numbers[0] + `'`, `DELETE FROM evidence WHERE id = 'agreement/` + f.numbers[2] + `'`,
		`DELETE FROM evidence`, `DELETE FROM evidence_head`, `DELETE FROM api_keys`, `DELETE FROM courses`, `DELETE FROM providers WHERE code = 'TUI'`,
		`INSERT INTO api_keys SELECT 'forged', provider_code, environment, (SELECT sha256 FROM documents LIMIT 1), created_ms, revoked_ms, label, expires_ms, ''
			FROM api_keys`,
		`INSERT INTO courses SELECT provider_code, 'FORGED', position + 99, name, 1, upfront_cents, active, environment, prices FROM courses LIMIT 1`,
		swap("checkouts", "agreement_number", "mandate_id"), swap("checkouts", "agreement_number", "billing_request_id"),
		swap("checkouts", "agreement_number", "contact_id"), swap("checkouts", "agreement_number", "opportunity_id"),
		swap("checkouts", "agreement_number", "receipt"), swap("agreements", "number", "details"), swap("evidence", "id", "salt"), swap("evidence", "id", "leaf"),
		swap("jobs", "checkout_id || name", "body"),
		swap("documents", "agreement_number", "bytes"), swap("providers", "code", "webhook_url"), swap("providers", "code", "webhook_secret"),
	} {
		if rows, err := f.edit(edit); err != nil || rows == 0 {
			t.Fatalf("%s: %d rows, %v", edit, rows, err)
		}
		if !f.found(t) {
			t.Errorf("%s is not found", edit)
		}
	}
}

// rows returns conditions for rows of a table: of a sealed agreement, of a withdrawn agreement, of an agreement that is not sealed, or all rows.
func (a acknowledged) rows(table string) []string {
	condition, ok := map[string]string{"checkouts": "agreement_number = '%s'", "agreements": "number = '%s'", "documents": "agreement_number = '%s'",
		"evidence": "id = 'agreement/%s'"}[table]
	switch {
	case table == "jobs": // the events of the confirm
		return []string{"name = 'checkout.confirmed' AND checkout_id IN (SELECT id FROM checkouts WHERE agreement_number = '" + a.numbers[0] + "')"}
	case !ok:
		return []string{"true"}
	}
	return []string{fmt.Sprintf(condition, a.numbers[0]), fmt.Sprintf(condition, a.numbers[1]), fmt.Sprintf(condition, a.numbers[2])}
}
