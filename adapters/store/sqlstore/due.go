package sqlstore

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// queued is a job with its place in the queue.
type queued struct {
	checkout.Job
	since    int64 // when it became due, in milliseconds
	position int64
}

// scanDue scans a row of the statement that dueQuery returns.
var scanDue = Fields(func(j *queued) []any {
	return []any{&j.ProviderCode, &j.CheckoutID, &j.ID, (*string)(&j.Kind), &j.since, &j.position}
})

// fair returns the jobs that a query may have: the jobs that have been due for longest first, and of each partition no more than
// the query says.
func fair(q checkout.JobQuery, due []queued) (list []queued) {
	slices.SortStableFunc(due, func(a, b queued) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.position, b.position))
	})
	of := map[checkout.Partition]int{}
	for _, j := range due {
		p := checkout.Partition{Kind: j.Kind, ProviderCode: j.ProviderCode}
		switch {
		case len(list) == q.Limit:
			return list
		case of[p] < perPartition(q):
			of[p]++
			list = append(list, j)
		}
	}
	return list
}

// perPartition returns the largest number of jobs that are needed of one partition.
func perPartition(q checkout.JobQuery) int {
	if q.PerPartition > 0 {
		return min(q.Limit, q.PerPartition)
	}
	return q.Limit
}

// dueQuery is a query for jobs that are due. Its statement is written piece by piece, with its arguments.
type dueQuery struct {
	asked   checkout.JobQuery
	dialect Dialect
	text    strings.Builder
	args    []any
}

// dueQuery returns the statement that finds the jobs that a query may have, and its arguments.
func (s *Store) dueQuery(asked checkout.JobQuery) (statement string, args []any) {
	q := &dueQuery{asked: asked, dialect: s.dialect}
	switch {
	case asked.ID != "" || asked.CheckoutID != "": // which has no long backlog
		q.all()
	case s.Distributed:
		q.ranked()
	default:
		q.first()
	}
	return q.text.String(), q.args
}

func (q *dueQuery) say(words string, args ...any) {
	q.text.WriteString(words)
	q.args = append(q.args, args...)
}

// time adds the time, later by some.
func (q *dueQuery) time(later time.Duration) {
	q.say(q.dialect.time(), q.dialect.at(q.asked.Now, later))
}

// kinds adds a row of parameters for each kind.
func (q *dueQuery) kinds(row string) {
	for i, kind := range q.asked.Kinds {
		if i > 0 {
			q.say(`, `)
		}
		q.say(row, string(kind))
	}
}

// except adds that a job is of no partition that is left out.
func (q *dueQuery) except(kind, provider string) {
	for _, p := range q.asked.Except {
		q.say(` AND NOT (`+kind+` = ? AND `+provider+` = ?)`, string(p.Kind), p.ProviderCode)
	}
}

// columns adds the columns of a job that is due. A lease that is over ended when the job became due again.
func (q *dueQuery) columns() {
	q.say(`j.provider_code, j.checkout_id, j.id, j.kind, CASE WHEN j.leased_until_ms > j.due_ms AND j.leased_until_ms <= `)
	q.time(0)
	q.say(` THEN j.leased_until_ms ELSE j.due_ms END AS since_ms, j.position`)
}

// due adds the condition that a job is due, given how it is not leased.
func (q *dueQuery) due(notLeased func()) {
	q.say(`j.state = 'pending' AND `)
	notLeased()
	q.say(` AND j.due_ms <= `)
	q.time(0)
	q.say(` AND (j.kind <> 'deliver' OR NOT EXISTS (SELECT 1 FROM @.jobs AS e WHERE e.provider_code = j.provider_code
		AND e.checkout_id = j.checkout_id AND ` + q.dialect.PendingEvent + ` AND e.position < j.position))`)
}

// The ways in which a job is not leased, each in one range of the index of what is pending.
func (q *dueQuery) neverLeased() { q.say(`j.leased_until_ms IS NULL`) }
func (q *dueQuery) leaseEnded() {
	q.say(`j.leased_until_ms <= `)
	q.time(0)
}
func (q *dueQuery) leaseBroken() {
	q.say(`j.leased_until_ms > `)
	q.time(checkout.MaxLease)
}

func (q *dueQuery) notLeased() {
	q.say(`(`)
	q.neverLeased()
	q.say(` OR `)
	q.leaseEnded()
	q.say(` OR `)
	q.leaseBroken()
	q.say(`)`)
}

// all looks at every job that is due.
func (q *dueQuery) all() {
	q.say(`SELECT `)
	q.columns()
	q.say(` FROM @.jobs AS j WHERE `)
	q.due(q.notLeased)
	q.say(` AND j.kind IN (`)
	q.kinds(`?`)
	q.say(`)`)
	if q.asked.ID != "" {
		q.say(` AND j.id = ?`, q.asked.ID)
	}
	if q.asked.CheckoutID != "" {
		q.say(` AND j.provider_code = ? AND j.checkout_id = ?`, checkout.ProviderOf(q.asked.CheckoutID), q.asked.CheckoutID)
	}
	if q.asked.ProviderCode != "" {
		q.say(` AND j.provider_code = ?`, q.asked.ProviderCode)
	}
	q.except(`j.kind`, `j.provider_code`)
}

// ranked looks at every job that is due, and returns the first jobs of each partition.
func (q *dueQuery) ranked() {
	q.say(`SELECT provider_code, checkout_id, id, kind, since_ms, position FROM (SELECT due.*,
		row_number() OVER (PARTITION BY provider_code, kind ORDER BY since_ms, position) AS place FROM (`)
	q.all()
	q.say(`) AS due) AS ranked WHERE place <= ? ORDER BY since_ms LIMIT ?`, perPartition(q.asked), q.asked.Limit)
}

// first looks at the first jobs of each partition alone, so that a long backlog of one costs nothing: the index of what is pending
// begins with the partition, and each of its three ranges is in the order in which the jobs are due.
func (q *dueQuery) first() {
	q.say(`WITH RECURSIVE kinds (kind) AS (VALUES `)
	q.kinds(`(?)`)
	if q.asked.ProviderCode != "" {
		q.say(`), partitions (of_kind, of_provider) AS (SELECT kind, CAST(? AS text) FROM kinds)`, q.asked.ProviderCode)
	} else {
		q.say(`), partitions (of_kind, of_provider) AS (
			SELECT kind, (SELECT min(provider_code) FROM @.jobs AS j WHERE j.state = 'pending' AND j.kind = kinds.kind) FROM kinds
			UNION ALL
			SELECT of_kind, (SELECT min(provider_code) FROM @.jobs AS j
				WHERE j.state = 'pending' AND j.kind = partitions.of_kind AND j.provider_code > partitions.of_provider)
			FROM partitions WHERE of_provider IS NOT NULL)`)
	}
	columns := q.columns
	if q.dialect.Lateral {
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
		q.due(way.notLeased)
		q.say(` ORDER BY `+way.order+` LIMIT ?) AS way`, perPartition(q.asked))
	}
	q.say(`)`)
	if q.dialect.Lateral {
		q.say(` AS due`)
	}
	q.say(` WHERE partitions.of_provider IS NOT NULL`)
	q.except(`partitions.of_kind`, `partitions.of_provider`)
}
