package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// On a store of a million checkouts a statement that reads them all would take seconds.
func TestNoStatementReadsEveryCheckout(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), Options{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	statements := append(append(hotReads(), hotWrites()...), selectByBillingRequest, selectByMandate, selectDue,
		selectExpired, selectBacklog, selectAgreement, selectDocument, selectEvents, releaseEvent, selectRedeliveries,
		settleRedelivered, settleFailedAgain, selectUnsettled, selectTask, leaseTask, saveTask,
		selectNotices, selectDueNotices, leaseNotice, settleNotice, selectNoticeBacklog)
	for _, statement := range statements {
		if statement == begin || statement == commit || statement == rollback {
			continue
		}
		plan, err := all(t.Context(), db.readers, scanPlan, `EXPLAIN QUERY PLAN `+statement, make([]any, strings.Count(statement, "?"))...)
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
