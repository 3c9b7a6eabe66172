package sqlstore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// DueJob is a job that may be leased.
type DueJob struct {
	ProviderCode, CheckoutID, ID string
	Kind                         checkout.JobKind
	Since                        int64 // when it became due, in milliseconds
	Position                     int64
}

// ScanDue scans a row of the statement that DueQuery returns.
func ScanDue(r Row) (j DueJob, err error) {
	err = r.Scan(&j.ProviderCode, &j.CheckoutID, &j.ID, (*string)(&j.Kind), &j.Since, &j.Position)
	return j, err
}

// Fair returns the jobs that a query may have: the jobs that have been due for longest first, and of each partition no more than
// the query says.
func Fair(q checkout.JobQuery, due []DueJob) (list []DueJob) {
	slices.SortStableFunc(due, func(a, b DueJob) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Position, b.Position))
	})
	of := map[checkout.Partition]int{}
	for _, j := range due {
		p := checkout.Partition{Kind: j.Kind, ProviderCode: j.ProviderCode}
		switch {
		case len(list) == q.Limit:
			return list
		case q.PerPartition > 0 && of[p] == q.PerPartition:
			continue
		}
		of[p]++
		list = append(list, j)
	}
	return list
}

// DueDialect is the difference between the stores' queries for jobs that are due.
type DueDialect struct {
	Now     string // the time in milliseconds; ? for that of the query
	Lateral bool   // whether a subquery of FROM needs that word to see the tables before it
	// Distributed says that the jobs are spread over several nodes, each of which looks at all of its own.
	Distributed bool
	// Pending is the condition that a job e is an event that is pending.
	Pending string
}

// query is a statement that is written piece by piece, with its arguments.
type query struct {
	text strings.Builder
	args []any
	now  string
	at   any // the argument of now; nil without one
}

func (q *query) say(words string, args ...any) {
	q.text.WriteString(words)
	q.args = append(q.args, args...)
}

// time adds the time, later by some milliseconds.
func (q *query) time(later int64) {
	switch {
	case q.now != "?":
		q.say(q.now)
		if later != 0 {
			q.say(` + CAST(? AS bigint)`, later)
		}
	default:
		q.say(`CAST(? AS bigint)`, q.at.(int64)+later)
	}
}

// list adds a row of parameters for each value.
func list[T any](q *query, before string, values []T, row string, args func(T) []any, after string) {
	for i, v := range values {
		if i == 0 {
			q.say(before)
		} else {
			q.say(`, `)
		}
		q.say(row, args(v)...)
	}
	if len(values) > 0 {
		q.say(after)
	}
}

func kindArgs(kind checkout.JobKind) []any     { return []any{string(kind)} }
func partitionArgs(p checkout.Partition) []any { return []any{string(p.Kind), p.ProviderCode} }

// columns adds the columns of a job that is due. A lease that is over ended when the job became due again.
func (q *query) columns() {
	q.say(`j.provider_code, j.checkout_id, j.id, j.kind, CASE WHEN j.leased_until_ms > j.due_ms AND j.leased_until_ms <= `)
	q.time(0)
	q.say(` THEN j.leased_until_ms ELSE j.due_ms END AS since_ms, j.position`)
}

// due adds the condition that a job is due, given how it is not leased.
func (q *query) due(d DueDialect, notLeased func()) {
	q.say(`j.state = 'pending' AND `)
	notLeased()
	q.say(` AND j.due_ms <= `)
	q.time(0)
	q.say(` AND (j.kind <> 'deliver' OR NOT EXISTS (SELECT 1 FROM @.jobs AS e WHERE e.provider_code = j.provider_code
		AND e.checkout_id = j.checkout_id AND ` + d.Pending + ` AND e.position < j.position))`)
}

// The ways in which a job is not leased, each in one range of the index of what is pending.
func (q *query) neverLeased() { q.say(`j.leased_until_ms IS NULL`) }
func (q *query) leaseEnded() {
	q.say(`j.leased_until_ms <= `)
	q.time(0)
}
func (q *query) leaseBroken() {
	q.say(`j.leased_until_ms > `)
	q.time(checkout.MaxLease.Milliseconds())
}

func (q *query) notLeased() {
	q.say(`(`)
	for i, way := range []func(){q.neverLeased, q.leaseEnded, q.leaseBroken} {
		if i > 0 {
			q.say(` OR `)
		}
		way()
	}
	q.say(`)`)
}

// DueQuery returns the statement that finds the jobs that a query may have, and its arguments.
func DueQuery(asked checkout.JobQuery, d DueDialect) (statement string, args []any) {
	q := &query{now: d.Now, at: asked.Now.UnixMilli()}
	switch {
	case asked.ID != "" || asked.CheckoutID != "":
		q.named(asked, d)
	case d.Distributed:
		q.ranked(asked, d)
	default:
		q.first(asked, d)
	}
	return q.text.String(), q.args
}

// named looks at the job or the checkout that the query names.
func (q *query) named(asked checkout.JobQuery, d DueDialect) {
	q.say(`SELECT `)
	q.columns()
	q.say(` FROM @.jobs AS j WHERE `)
	q.due(d, q.notLeased)
	list(q, ` AND j.kind IN (`, asked.Kinds, `?`, kindArgs, `)`)
	if asked.ID != "" {
		q.say(` AND j.id = ?`, asked.ID)
	}
	if asked.CheckoutID != "" {
		q.say(` AND j.provider_code = ? AND j.checkout_id = ?`, checkout.ProviderOf(asked.CheckoutID), asked.CheckoutID)
	}
	if asked.ProviderCode != "" {
		q.say(` AND j.provider_code = ?`, asked.ProviderCode)
	}
	list(q, ` AND (j.kind, j.provider_code) NOT IN (VALUES `, asked.Except, `(?, ?)`, partitionArgs, `)`)
}

// perPartition returns the largest number of jobs that are needed of one partition.
func perPartition(asked checkout.JobQuery) int {
	if asked.PerPartition > 0 {
		return min(asked.Limit, asked.PerPartition)
	}
	return asked.Limit
}

// first looks at the first jobs of each partition alone, so that a long backlog of one costs nothing: the index of what is pending
// begins with the partition, and each of its three ranges is in the order in which the jobs are due.
func (q *query) first(asked checkout.JobQuery, d DueDialect) {
	list(q, `WITH RECURSIVE kinds (kind) AS (VALUES `, asked.Kinds, `(?)`, kindArgs, `), `)
	if asked.ProviderCode != "" {
		q.say(`partitions (of_kind, of_provider) AS (SELECT kind, CAST(? AS text) FROM kinds)`, asked.ProviderCode)
	} else {
		q.say(`partitions (of_kind, of_provider) AS (
			SELECT kind, (SELECT min(provider_code) FROM @.jobs AS j WHERE j.state = 'pending' AND j.kind = kinds.kind) FROM kinds
			UNION ALL
			SELECT of_kind, (SELECT min(provider_code) FROM @.jobs AS j
				WHERE j.state = 'pending' AND j.kind = partitions.of_kind AND j.provider_code > partitions.of_provider)
			FROM partitions WHERE of_provider IS NOT NULL)`)
	}
	columns := q.columns
	if d.Lateral {
		q.say(` SELECT due.* FROM partitions CROSS JOIN LATERAL (`)
	} else {
		q.say(` SELECT `)
		q.columns()
		q.say(` FROM partitions JOIN @.jobs AS j ON j.position IN (`)
		columns = func() { q.say(`j.position`) }
	}
	for i, way := range []struct {
		notLeased func()
		order     string
	}{{q.neverLeased, `j.leased_until_ms, j.due_ms`}, {q.leaseEnded, `j.leased_until_ms`}, {q.leaseBroken, `j.due_ms`}} {
		if i > 0 {
			q.say(` UNION ALL `)
		}
		q.say(`SELECT * FROM (SELECT `)
		columns()
		q.say(` FROM @.jobs AS j WHERE j.kind = partitions.of_kind AND j.provider_code = partitions.of_provider AND `)
		q.due(d, way.notLeased)
		q.say(` ORDER BY `+way.order+` LIMIT ?) AS way`, perPartition(asked))
	}
	q.say(`)`)
	if d.Lateral {
		q.say(` AS due`)
	}
	q.say(` WHERE partitions.of_provider IS NOT NULL`)
	list(q, ` AND (partitions.of_kind, partitions.of_provider) NOT IN (VALUES `, asked.Except, `(?, ?)`, partitionArgs, `)`)
}

// ranked looks at every job that is due.
func (q *query) ranked(asked checkout.JobQuery, d DueDialect) {
	q.say(`SELECT provider_code, checkout_id, id, kind, since_ms, position FROM (SELECT due.*,
		row_number() OVER (PARTITION BY provider_code, kind ORDER BY since_ms, position) AS place FROM (SELECT `)
	q.columns()
	q.say(` FROM @.jobs AS j WHERE `)
	q.due(d, q.notLeased)
	list(q, ` AND j.kind IN (`, asked.Kinds, `?`, kindArgs, `)`)
	if asked.ProviderCode != "" {
		q.say(` AND j.provider_code = ?`, asked.ProviderCode)
	}
	for _, p := range asked.Except {
		q.say(` AND NOT (j.kind = ? AND j.provider_code = ?)`, partitionArgs(p)...)
	}
	q.say(`) AS due) AS ranked WHERE place <= ? ORDER BY since_ms LIMIT ?`, perPartition(asked), asked.Limit)
}
