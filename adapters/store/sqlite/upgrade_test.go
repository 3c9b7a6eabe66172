package sqlite

import (
	"compress/gzip"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
)

const upgradeFolder = "../../../testdata/upgrade/"

// unzip returns what a file of testdata/upgrade holds.
func unzip(t *testing.T, name string) io.Reader {
	t.Helper()
	f, err := os.Open(upgradeFolder + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func writeFile(t *testing.T, path string, from io.Reader) {
	t.Helper()
	data, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func openUntilEnd(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestUpgradeFrom7ef5044(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	writeFile(t, path, unzip(t, "7ef5044.sqlite.gz"))
	secret, err := os.Open(upgradeFolder + "7ef5044.sqlite.secret")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	writeFile(t, path+".secret", secret)
	if err := openUntilEnd(t, path).Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	storetest.Upgraded(t, openUntilEnd(t, path), unzip(t, "7ef5044.sqlite.jsonl.gz"))
}

// A store of each earlier version is migrated, and the program of the version before this one goes on with the
// migrated store: what it writes is read by this one.
func TestRowsOfEarlierVersions(t *testing.T) {
	const checkoutRow = `INSERT INTO checkouts (id, provider_code, provider_order_id, request_id, status, first_name, last_name,
		email, course_code, course_name, price_cents, upfront_cents, principal_cents, payment_frequency, number_of_instalments,
		instalment_cents, final_instalment_cents, first_payment_date, contact_id, opportunity_id, dda_id, setup_tokens, setup_try,
		billing_request_id, billing_request_status, mandate_status, authorisation_status, account_holder, account_tail,
		confirmed_by_request_id, agreed_first_date, agreement_id, agreement_number, document_id)
		VALUES ('KOWHAI-%[1]s', 'KOWHAI', '%[1]s', '', '', '', '', '', '', '', 0, 0, 0, '', 0, 0, 0, '', '', '', '', '', 0, '', '', '', '',
		'', '', '', '', '', '', '')`
	const agreementRow = `INSERT INTO agreements (number, id, version, checkout_id, provider_order_id, provider_code,
		provider_name, support_email, first_name, last_name, email, course_code, course_name, price_cents, upfront_cents,
		principal_cents, payment_frequency, number_of_instalments, instalment_cents, final_instalment_cents,
		first_payment_date, schedule, dda_id, account_holder, account_tail)
		VALUES ('PPA-%[1]s', '', '', 'KOWHAI-%[1]s', '', '', '', '', '', '', '', '', '', 0, 0, 0, '', 0, 0, 0, '', '[]', '', '', '')`
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for version := 1; version < len(names); version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			old, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer old.Close()
			old.SetMaxOpenConns(1)
			run := func(statement string) {
				t.Helper()
				if _, err := old.Exec(statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			for _, name := range names[:version] {
				script, err := migrations.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				run(string(script))
			}
			run(fmt.Sprintf(`PRAGMA user_version = %d`, version))
			run(fmt.Sprintf(checkoutRow, "before"))
			run(fmt.Sprintf(agreementRow, "before"))
			db := openUntilEnd(t, path)
			run(fmt.Sprintf(checkoutRow, "after"))
			run(fmt.Sprintf(agreementRow, "after"))
			for _, order := range []string{"before", "after"} {
				c, err := db.CheckoutByKey(t.Context(), "KOWHAI", "KOWHAI:"+order)
				if err != nil || c.OrderID != order || c.IdempotencyKey != "KOWHAI:"+order || !c.Setup.LookAgain.IsZero() ||
					!c.Setup.MandateSince.IsZero() || c.Setup.MandateReason != "" {
					t.Errorf("CheckoutByKey = %+v, %v; want the checkout of %s", c, err, order)
				}
				if a, err := db.Agreement(t.Context(), "PPA-"+order); err != nil || !a.Terms.IsZero() {
					t.Errorf("Agreement = %+v, %v; want one without terms", a, err)
				}
			}
		})
	}
}

// On a store of a million checkouts a statement that reads them all would take seconds.
func TestNoStatementReadsEveryCheckout(t *testing.T) {
	db := openUntilEnd(t, filepath.Join(t.TempDir(), "store.db"))
	statements := append(append(hotReads(), hotWrites()...), selectByBillingRequest, selectByMandate, selectDue, selectDefaultKey,
		selectExpired, selectBacklog, selectAgreement, selectDocument, selectEvents, releaseEvent, selectRedeliveries,
		settleRedelivered, settleFailedAgain, selectUnsettled, selectTask, leaseTask, saveTask,
		selectNotices, selectDueNotices, leaseNotice, settleNotice, selectNoticeBacklog)
	for _, statement := range statements {
		if statement == begin || statement == commit || statement == rollback {
			continue
		}
		plan, err := all(t.Context(), &db.readers, scanPlan, `EXPLAIN QUERY PLAN `+statement, make([]any, strings.Count(statement, "?"))...)
		if err != nil {
			t.Errorf("explain %s: %v", statement, err)
		}
		for _, step := range plan {
			if slices.Contains([]string{"SCAN checkouts", "SCAN events", "SCAN agreements", "SCAN notifications", "SCAN notices"}, step) {
				t.Errorf("%s: %s", step, statement)
			}
		}
	}
}

func scanPlan(r row) (step string, err error) {
	err = r.Scan(new(int), new(int), new(int), &step)
	return step, err
}
