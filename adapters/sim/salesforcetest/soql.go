package salesforcetest

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// The simulator reads the queries that the adapter and jsforce send, and refuses all others as malformed:
//
//	SELECT field, … | COUNT() FROM object
//	[WHERE path = 'text' OR … | WHERE path != null OR … | WHERE path = 'text' AND field = null AND field = 2027-02-01T00:00:00Z AND …]
//	[ORDER BY field [ASC | DESC], …] [LIMIT n]
//
// A path is a field of the object, or of a record that it refers to: Name, Account.Name.
const (
	soqlPath      = `[A-Za-z][\w.]*`
	soqlCondition = `(` + soqlPath + `)\s*(?:=\s*'((?:[^'\\]|\\[\\'])*)'|=\s*(\d[\d:.T-]*Z)|(!?=)\s*(?i:null))`
	soqlOrdering  = `(\w+)(\s+(?i:ASC|DESC))?`
)

var (
	queryPattern = regexp.MustCompile(`(?is)^\s*SELECT\s+(COUNT\(\s*\)|` + several(soqlPath, `\s*,\s*`) + `)\s+FROM\s+(\w+)` +
		`(?:\s+WHERE\s+(` + several(soqlCondition, `\s+OR\s+`) + `|(` + several(soqlCondition, `\s+AND\s+`) + `)))?` +
		`(?:\s+ORDER\s+BY\s+(` + several(soqlOrdering, `\s*,\s*`) + `))?(?:\s+LIMIT\s+(\d{1,9}))?\s*$`)
	conditionPattern = regexp.MustCompile(soqlCondition)
	orderingPattern  = regexp.MustCompile(soqlOrdering)
	escapePattern    = regexp.MustCompile(`\\(.)`)
)

// several matches parts with a separator between them, without capturing anything.
func several(part, separator string) string {
	part = regexp.MustCompile(`\(([^?])`).ReplaceAllString(part, `(?:$1`)
	return `(?:` + part + `)(?:` + separator + `(?:` + part + `))*`
}

// maxQuery is the length of the longest query, in characters.
const maxQuery = 100_000

// query is a query as it was written. Names are not looked up.
type query struct {
	fields     []string
	count      bool // SELECT COUNT()
	object     string
	conditions []condition // of which one must hold, or all, if there are any
	all        bool
	order      []ordering
	limit      int // -1 without a limit
}

// condition is path = 'text', path = time, path = null or path != null.
type condition struct {
	path          string
	text          string
	time          string // as it was written
	null, notNull bool
}

// ordering is one field of ORDER BY.
type ordering struct {
	field      string
	descending bool
}

// parseQuery reads a query. The error is one of the API.
func parseQuery(text string) (*query, *apiError) {
	m := queryPattern.FindStringSubmatch(text)
	switch {
	case len(text) > maxQuery:
		return nil, failure(http.StatusBadRequest, "QUERY_TOO_COMPLICATED", "The query is longer than %d characters", maxQuery)
	case m == nil:
		return nil, malformed("this simulator reads few forms of a query: SELECT, FROM, WHERE with =, and OR or AND, ORDER BY, LIMIT")
	}
	q := &query{object: m[2], all: m[4] != "", limit: -1, count: strings.HasSuffix(m[1], ")")}
	if !q.count {
		for name := range strings.SplitSeq(m[1], ",") {
			q.fields = append(q.fields, strings.TrimSpace(name))
		}
	}
	for _, c := range conditionPattern.FindAllStringSubmatch(m[3], -1) {
		text := escapePattern.ReplaceAllString(c[2], "$1")
		q.conditions = append(q.conditions, condition{path: c[1], text: text, time: c[3], null: c[4] == "=", notNull: c[4] == "!="})
	}
	for _, o := range orderingPattern.FindAllStringSubmatch(m[5], -1) {
		q.order = append(q.order, ordering{o[1], strings.EqualFold(strings.TrimSpace(o[2]), "DESC")})
	}
	if m[6] != "" {
		q.limit, _ = strconv.Atoi(m[6]) // at most nine digits
	}
	return q, nil
}

func malformed(message string) *apiError {
	return failure(http.StatusBadRequest, codeMalformedQuery, "%s", message)
}
