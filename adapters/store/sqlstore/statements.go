package sqlstore

import (
	"strings"
	"time"
)

// insertInto returns the statement that inserts a row: the columns that are given, then the columns of a value.
func insertInto[T any](table string, columns Columns[T], given ...string) string {
	names := append(given, columns.names()...)
	return `INSERT INTO @.` + table + ` (` + strings.Join(names, ", ") + `) VALUES (` + marks(len(names)) + `)`
}

// set returns the statement that sets the columns of the rows that the condition finds.
func set[T any](table string, columns Columns[T], condition string) string {
	return `UPDATE @.` + table + ` SET (` + columns.Names() + `) = (` + columns.Marks() + `) WHERE ` + condition
}

const (
	ofCheckout = `provider_code = ? AND checkout_id = ?`
	ofJob      = ofCheckout + ` AND id = ?`
)

var (
	insertCheckout  = insertInto("checkouts", Created, "family")
	updateFamily    = `UPDATE @.checkouts SET family = ? WHERE provider_code = ? AND id = ?`
	updateState     = set("checkouts", State, `provider_code = ? AND id = ?`)
	updateLookups   = set("checkouts", Lookups, `provider_code = ? AND id = ?`)
	insertAgreement = insertInto("agreements", Agreement)
	insertMoment    = insertInto("moments", Moment, "provider_code", "checkout_id")
	insertAPIKey    = insertInto("api_keys", Key)
	insertProvider  = insertInto("providers", Provider)
)

// statements are the statements that differ between the databases.
type statements struct {
	checkout       string // read by provider and id
	lockCheckout   string
	lockCheckoutID string
	lockJob        string
	lockKey        string
	lockStamp      string

	insertEvent string
	insertJob   string
	settleJob   string
	leaseJob    string
	extendJob   string
	hastenJob   string
}

func (d Dialect) statements() (s statements) {
	s.checkout = checkouts + ` WHERE provider_code = ? AND id = ?`
	s.lockCheckout = s.checkout + d.ForUpdate
	s.lockCheckoutID = `SELECT id FROM @.checkouts WHERE provider_code = ? AND id = ?` + d.ForUpdate
	s.lockJob = selectJob + d.ForUpdate
	s.lockKey = `SELECT revoked_ms FROM @.api_keys WHERE id = ?` + d.ForUpdate
	s.lockStamp = `SELECT environment, crm, secret_fingerprint FROM @.store WHERE id = 1` + d.ForUpdate

	at := d.time()
	s.insertEvent = `INSERT INTO @.jobs (` + Job.Names() + `, state, token, settled_ms, position, due_ms, leased_until_ms)
		VALUES (` + Job.Marks() + `, ?, ?, ?, ?, ` + at + `, ` + at + `)`
	s.insertJob = s.insertEvent + ` ON CONFLICT (provider_code, checkout_id, id) DO NOTHING`
	s.settleJob = `UPDATE @.jobs SET due_ms = ` + at + `, leased_until_ms = NULL,
		(` + Outcome.Names() + `) = (` + Outcome.Marks() + `) WHERE ` + ofJob
	// A job that another process is leasing, settling or extending is left to it.
	s.leaseJob = `UPDATE @.jobs SET leased_until_ms = ` + at + `, due_ms = ` + d.Least + `(due_ms, ` + at + `), token = token + 1
		WHERE ` + ofJob + ` AND state = 'pending' AND (due_ms <= ` + at + ` OR ` + dueTooFar("", "kind", d.time) + `)
			AND (leased_until_ms IS NULL OR leased_until_ms <= ` + at + ` OR leased_until_ms > ` + at + `)
			AND id IN (SELECT id FROM @.jobs WHERE ` + ofJob + d.SkipLocked + `)
		RETURNING ` + JobRecord.Names()
	s.extendJob = `UPDATE @.jobs SET leased_until_ms = ` + at + ` WHERE ` + ofJob + ` AND state = 'pending' AND token = ?`
	s.hastenJob = `UPDATE @.jobs SET leased_until_ms = NULL, due_ms = ` + d.Least + `(due_ms, ` + at + `), state = 'pending', settled_ms = NULL
		WHERE ` + ofJob
	return s
}

// time returns the expression of a time in milliseconds, with one parameter: see at.
func (d Dialect) time() string {
	if d.Clock == "" {
		return `?`
	}
	return d.Clock + ` + CAST(? AS bigint)`
}

// at returns the parameter of the expression of a time that is later than now. The database's clock has its own now.
func (d Dialect) at(now time.Time, later time.Duration) any {
	if d.Clock == "" {
		return now.Add(later).UnixMilli()
	}
	return later.Milliseconds()
}
