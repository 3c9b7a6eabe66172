package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// column is a column of a table, with its declared type.
type column struct{ table, name, kind string }

// columnsOf returns every column of every table of a SQLite store, as its schema has them.
func columnsOf(t *testing.T, db *sql.DB) (all []column) {
	t.Helper()
	rows, err := db.Query(`SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY 1, c.cid`)
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
	return all
}

// edited returns the value of a column a little changed, as an expression.
func (c column) edited() string {
	switch c.kind {
	case "INTEGER":
		return fmt.Sprintf("coalesce(%s, 0) + 1000000", c.name)
	case "BLOB":
		return fmt.Sprintf("CAST('x' || coalesce(CAST(%s AS TEXT), '') AS BLOB)", c.name)
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
	"courses.position":                 "the order of the courses, which moves as one here",
	"plan_options.position":            "the order of the plans, which moves as one here",
	"evidence_chains.chain":            chainEnd,
	"evidence_chains.number":           chainEnd,
	"evidence_chains.previous":         chainEnd,
	"evidence_chains.seen":             chainEnd,
	"funnel_end.at_ms":                 onlyCounted,
	"sandbox_records.name":             "the fake processor's",
	"sandbox_records.data":             "the fake processor's",
	"provider_checkout_schema.version": "of the program that made the store",
	"store.crm":                        "a server that is configured otherwise does not start",
}

const (
	ofCreate    = "of the create; nothing of it was agreed"
	saidAgain   = "the processor's word, which it says again to every look; who is debited is held"
	lookUp      = "finds rows, and decides nothing"
	onlyCounted = "counts for the operator, and decides nothing"
	chainEnd    = "the place of the next record, which is attested there; what was at the end is shown by its receipt"
	queued      = "says when and how often work is tried; what an event of the confirm says is held"
	journal     = "tells an operator what happened; the evidence log tells it to others"
)

// unheldTables are the tables of which every column is such a column, but for the columns in heldColumns.
var unheldTables = map[string]string{"jobs": queued, "moments": journal, "funnel": onlyCounted, "refusals": onlyCounted, "lists": lookUp,
	"redeliveries": "the operator's redeliveries are in the evidence log"}

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

// T42: who may write to the tables edits each column of each table, in the rows of an agreement that is sealed, of an unsealed one,
// and in all of them. It is found with a checkpoint and a receipt that were kept elsewhere, or does not matter.
func TestEveryColumnThatMattersIsHeld(t *testing.T) {
	t.Parallel()
	a := newAcknowledged(t, 2, 0)
	a.execute(t, `DELETE FROM api_keys; DELETE FROM plan_options; DELETE FROM courses; DELETE FROM providers`) // which no operator made
	a.does(t, "apply", "-f", "demo.json", "--prune")
	a.does(t, "keys", "issue", "--provider", "TUI")
	a.does(t, "withdraw", a.numbers[1], "--ground", "hardship", "--reason", "asked for")
	original, err := os.ReadFile(a.path)
	if err != nil {
		t.Fatal(err)
	}
	verify := func() result {
		return try(t, nil, "", "agreements", "verify", "--all", "--checkpoint", a.newest, "--receipt", a.receipts[0], "--store", "sqlite:"+a.path)
	}
	if got := verify(); got.code != cli.ExitDone {
		t.Fatalf("before any edit: %+v", got)
	}
	db := a.edits(t)
	all := columnsOf(t, db)
	db.Close()
	known, tried := make(map[string]bool), 0
	for _, c := range all {
		known[c.table], known[c.table+"."+c.name] = true, true
		if !testlevel.IsFull() && rand.IntN(8) > 0 {
			continue
		}
		for _, where := range a.rows(c.table) {
			if err := os.WriteFile(a.path, original, 0o600); err != nil {
				t.Fatal(err)
			}
			db := a.edits(t)
			result, err := db.Exec(fmt.Sprintf(`UPDATE %s SET %s = %s WHERE %s`, c.table, c.name, c.edited(), where))
			db.Close()
			if err != nil { // rows that must differ would not
				continue
			}
			if n, _ := result.RowsAffected(); n == 0 {
				continue
			}
			tried++
			if got := verify(); got.code == cli.ExitDone && c.reason(!strings.Contains(where, a.numbers[2])) == "" {
				t.Errorf("an edit of %s.%s where %s is not found, and no reason is given why that does not matter", c.table, c.name, where)
			}
		}
	}
	for name := range unheldColumns {
		if !known[name] {
			t.Errorf("%s has a reason, and is no column of the store", name)
		}
	}
	for name := range unheldTables {
		if !known[name] {
			t.Errorf("%s has a reason, and is no table of the store", name)
		}
	}
	t.Logf("%d columns of %d were edited in %d ways", len(all), len(all), tried)
}

// T42: rows that are removed, or change places.
func TestEveryRowThatMattersIsHeld(t *testing.T) {
	t.Parallel()
	a := newAcknowledged(t, 2, 0)
	a.execute(t, `DELETE FROM api_keys; DELETE FROM plan_options; DELETE FROM courses; DELETE FROM providers`)
	a.does(t, "apply", "-f", "demo.json", "--prune")
	a.does(t, "keys", "issue", "--provider", "TUI")
	original, err := os.ReadFile(a.path)
	if err != nil {
		t.Fatal(err)
	}
	swap := func(table, key, column string) string {
		return fmt.Sprintf(`CREATE TEMP TABLE s AS SELECT %[2]s AS k, %[3]s AS v FROM %[1]s;
			UPDATE %[1]s SET %[3]s = (SELECT v FROM s WHERE s.k <> %[1]s.%[2]s ORDER BY k LIMIT 1)`, table, key, column)
	}
	for _, edit := range []string{
		`DELETE FROM agreements WHERE number = '` + a.numbers[0] + `'`, `DELETE FROM agreements WHERE number = '` + a.numbers[2] + `'`,
		`DELETE FROM checkouts WHERE agreement_number = '` + a.numbers[0] + `'`, `DELETE FROM checkouts WHERE agreement_number = '` + a.numbers[2] + `'`,
		`DELETE FROM documents WHERE agreement_number = '` + a.numbers[0] + `'`, `DELETE FROM documents WHERE agreement_number = '` + a.numbers[2] + `'`,
		`DELETE FROM evidence WHERE id = 'agreement/` + a.numbers[0] + `'`, `DELETE FROM evidence WHERE id = 'agreement/` + a.numbers[2] + `'`,
		`DELETE FROM evidence`, `DELETE FROM evidence_head`, `DELETE FROM api_keys`, `DELETE FROM courses`, `DELETE FROM providers WHERE code = 'TUI'`,
		`INSERT INTO api_keys SELECT 'forged', provider_code, environment, randomblob(32), created_ms, revoked_ms, label, expires_ms, '' FROM api_keys`,
		`INSERT INTO courses SELECT provider_code, 'FORGED', position + 99, name, 1, upfront_cents, active, environment, prices FROM courses LIMIT 1`,
		swap("checkouts", "agreement_number", "mandate_id"), swap("checkouts", "agreement_number", "billing_request_id"),
		swap("checkouts", "agreement_number", "contact_id"), swap("checkouts", "agreement_number", "opportunity_id"),
		swap("checkouts", "agreement_number", "receipt"), swap("agreements", "number", "details"), swap("evidence", "id", "salt"), swap("evidence", "id", "leaf"),
		swap("jobs", "checkout_id || name", "body"),
		swap("documents", "agreement_number", "bytes"), swap("providers", "code", "webhook_url"), swap("providers", "code", "webhook_secret"),
	} {
		if err := os.WriteFile(a.path, original, 0o600); err != nil {
			t.Fatal(err)
		}
		db := a.edits(t)
		_, err := db.Exec(edit)
		db.Close()
		if err != nil {
			t.Fatalf("%s: %v", edit, err)
		}
		got := try(t, nil, "", "agreements", "verify", "--all", "--checkpoint", a.newest, "--receipt", a.receipts[0], "--store", "sqlite:"+a.path)
		if got.code == cli.ExitDone {
			t.Errorf("%s is not found: %s", edit, got.stdout)
		}
	}
}

// edits opens the store to be edited, whatever its constraints.
func (a acknowledged) edits(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", a.path)
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.Exec(`PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
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
