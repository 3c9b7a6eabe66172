package sqlstore

import (
	"cmp"
	"slices"
	"strconv"
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
	args    []any
}

// dueQuery returns the statement that finds the jobs that a query may have, and its arguments.
func (s *Store) dueQuery(asked checkout.JobQuery) (statement string, args []any) {
	q := &dueQuery{asked: asked, dialect: s.dialect}
	switch {
	case asked.ID != "" || asked.CheckoutID != "": // which has no long backlog
		statement = q.all()
	case s.Distributed:
		statement = q.ranked()
	default:
		statement = q.first()
	}
	return statement, q.args
}

// arg adds an argument, and returns its parameter.
func (q *dueQuery) arg(v any) string {
	q.args = append(q.args, v)
	return `?`
}

// time adds the time, later by some.
func (q *dueQuery) time(later time.Duration) string {
	q.args = append(q.args, q.dialect.at(q.asked.Now, later))
	return q.dialect.time()
}

// kinds returns a parameter for each kind, within these words.
func (q *dueQuery) kinds(before, after string) string {
	var list []string
	for _, kind := range q.asked.Kinds {
		list = append(list, before+q.arg(string(kind))+after)
	}
	return strings.Join(list, `, `)
}

// except returns the condition that a job is of no partition that is left out.
func (q *dueQuery) except(kind, provider string) (condition string) {
	for _, p := range q.asked.Except {
		condition += ` AND NOT (` + kind + ` = ` + q.arg(string(p.Kind)) +
			` AND ` + provider + ` = ` + q.arg(p.ProviderCode) + `)`
	}
	return condition
}

// columns returns the columns of a job that is due. A lease that is over ended when the job became due again.
func (q *dueQuery) columns() string {
	return `j.provider_code, j.checkout_id, j.id, j.kind,
		CASE WHEN j.leased_until_ms > j.due_ms AND j.leased_until_ms <= ` + q.time(0) + ` THEN j.leased_until_ms ELSE j.due_ms END AS since_ms, j.position`
}

// due returns the condition that a job is due in one of the ways: an event behind no pending event of its checkout, and a notice
// behind no due job of its kind and checkout and beside no leased one.
func (q *dueQuery) due(way string) string {
	return `j.state = 'pending' AND ` + way + ` AND (j.kind NOT IN ('deliver', 'notify') OR NOT EXISTS (SELECT 1 FROM @.jobs AS e
		WHERE e.provider_code = j.provider_code AND e.checkout_id = j.checkout_id AND ` + q.dialect.PendingOfKind + ` AND (
		e.position < j.position AND (e.kind = 'deliver' OR ` + q.ready("e.", "e.kind") + `)
		OR e.position <> j.position AND e.kind <> 'deliver'
		AND e.leased_until_ms > ` + q.time(0) + ` AND e.leased_until_ms <= ` + q.time(checkout.MaxLease) + `)))`
}

// ready returns the condition that the time of a job has come, or is too far ahead.
func (q *dueQuery) ready(job, kind string) string {
	return `(` + job + `due_ms <= ` + q.time(0) + ` OR ` + dueTooFar(job, kind, q.now) + `)`
}

func (q *dueQuery) now() string { return q.time(0) }

// dueTooFar returns the condition that the time of a job is further ahead than any pause of its kind: a wrong clock has set it. It has
// now twice. Its first comparison is a range of the index of what is pending. Each case has a condition of its own: of CASE kind WHEN
// Citus makes a statement that no node takes.
func dueTooFar(job, kind string, now func() string) string {
	later := func(attempts int) string {
		text := job + `due_ms > ` + now() + ` + CASE`
		for _, k := range checkout.JobKinds() {
			ms := (k.LongestPause(attempts) + checkout.MaxLease).Milliseconds()
			text += ` WHEN ` + kind + ` = '` + string(k) + `' THEN ` + strconv.FormatInt(ms, 10)
		}
		return text + ` END`
	}
	return later(0) + ` AND (` + job + `attempts = 0 OR ` + later(1) + `)`
}

// The ways in which a job is due and not leased, each in one range of the index of what is pending.
func (q *dueQuery) neverLeased(string) string {
	return `j.leased_until_ms IS NULL AND j.due_ms <= ` + q.time(0)
}
func (q *dueQuery) putOffTooFar(kind string) string {
	return `j.leased_until_ms IS NULL AND ` + dueTooFar("j.", kind, q.now)
}
func (q *dueQuery) leaseEnded(kind string) string {
	return `j.leased_until_ms <= ` + q.time(0) + ` AND ` + q.ready("j.", kind)
}
func (q *dueQuery) leaseBroken(kind string) string {
	return `j.leased_until_ms > ` + q.time(checkout.MaxLease) + ` AND ` + q.ready("j.", kind)
}

// all looks at every job that is due.
func (q *dueQuery) all() string {
	text := `SELECT ` + q.columns() + ` FROM @.jobs AS j WHERE ` + q.due(q.ready("j.", "j.kind")+` AND (j.leased_until_ms IS NULL
		OR j.leased_until_ms <= `+q.time(0)+` OR j.leased_until_ms > `+q.time(checkout.MaxLease)+`)`) +
		` AND j.kind IN (` + q.kinds(``, ``) + `)`
	if q.asked.ID != "" {
		text += ` AND j.id = ` + q.arg(q.asked.ID)
	}
	if q.asked.CheckoutID != "" {
		text += ` AND j.provider_code = ` + q.arg(checkout.ProviderOf(q.asked.CheckoutID)) +
			` AND j.checkout_id = ` + q.arg(q.asked.CheckoutID)
	}
	if q.asked.ProviderCode != "" {
		text += ` AND j.provider_code = ` + q.arg(q.asked.ProviderCode)
	}
	return text + q.except(`j.kind`, `j.provider_code`)
}

// ranked looks at every job that is due, and returns the first jobs of each partition.
func (q *dueQuery) ranked() string {
	return `SELECT provider_code, checkout_id, id, kind, since_ms, position FROM (SELECT due.*,
		row_number() OVER (PARTITION BY provider_code, kind ORDER BY since_ms, position) AS place FROM (` + q.all() +
		`) AS due) AS ranked WHERE place <= ` + q.arg(perPartition(q.asked)) + ` ORDER BY since_ms LIMIT ` + q.arg(q.asked.Limit)
}

// first looks at the first jobs of each partition alone, so that a long backlog of one costs nothing: the index of what is
// pending begins with the partition, and each of its four ranges is in the order in which the jobs are due.
func (q *dueQuery) first() string {
	text := `WITH RECURSIVE kinds (kind) AS (VALUES ` + q.kinds(`(`, `)`) + `), partitions (of_kind, of_provider) AS (`
	if q.asked.ProviderCode != "" {
		text += `SELECT kind, CAST(` + q.arg(q.asked.ProviderCode) + ` AS text) FROM kinds)`
	} else {
		text += `SELECT kind, (SELECT min(provider_code) FROM @.jobs AS j WHERE j.state = 'pending' AND j.kind = kinds.kind) FROM kinds
			UNION ALL
			SELECT of_kind, (SELECT min(provider_code) FROM @.jobs AS j
				WHERE j.state = 'pending' AND j.kind = partitions.of_kind AND j.provider_code > partitions.of_provider)
			FROM partitions WHERE of_provider IS NOT NULL)`
	}
	columns, end := q.columns, `) AS due`
	if q.dialect.Server {
		text += ` SELECT due.* FROM partitions CROSS JOIN LATERAL (`
	} else {
		text += ` SELECT ` + q.columns() + ` FROM partitions JOIN @.jobs AS j ON j.position IN (`
		columns, end = func() string { return `j.position` }, `)`
	}
	for i, way := range []struct {
		is    func(kind string) string
		order string
	}{{q.neverLeased, `j.leased_until_ms, j.due_ms`}, {q.putOffTooFar, `j.leased_until_ms, j.due_ms`},
		{q.leaseEnded, `j.leased_until_ms`}, {q.leaseBroken, `j.due_ms`}} {
		if i > 0 {
			text += ` UNION ALL `
		}
		text += `SELECT * FROM (SELECT ` + columns() + ` FROM @.jobs AS j
			WHERE j.kind = partitions.of_kind AND j.provider_code = partitions.of_provider AND ` + q.due(way.is(`partitions.of_kind`)) +
			` ORDER BY ` + way.order + ` LIMIT ` + q.arg(perPartition(q.asked)) + `) AS way`
	}
	return text + end + ` WHERE partitions.of_provider IS NOT NULL` + q.except(`partitions.of_kind`, `partitions.of_provider`)
}
