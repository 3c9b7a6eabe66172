package salesforcetest

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The double reads these forms of a query, and refuses all others as malformed:
//
//	SELECT field, … FROM object [WHERE test AND … ] [ORDER BY CreatedDate, Id] [LIMIT n]
//
// A test is field = 'text', with =, != or <=, and a text, number, time or null; or several with OR between them, in parentheses.
// Records always come in the order in which they were created.
var (
	queryPattern = regexp.MustCompile(`(?is)^SELECT\s+(.+?)\s+FROM\s+(\w+)(?:\s+WHERE\s+(.+?))?(?:\s+ORDER\s+BY\s+CreatedDate,\s*Id)?` +
		`(?:\s+LIMIT\s+(\d{1,9}))?$`)
	testPattern = regexp.MustCompile(`^\s*\(?\s*(\w+)\s*(=|!=|<=)\s*(?:'([^'\\]*)'|([\w.:-]+))\s*\)?\s*$`)
	andPattern  = regexp.MustCompile(`(?i)\s+AND\s+`)
	orPattern   = regexp.MustCompile(`(?i)\s+OR\s+`)
)

func malformed() *apiError {
	return failure(http.StatusBadRequest, "MALFORMED_QUERY", "this double reads few forms of a query")
}

// query answers a query with its first page.
func (g *Org) query(c request) (answer, *apiError) {
	m := queryPattern.FindStringSubmatch(c.query.Get("q"))
	if m == nil {
		return answer{}, malformed()
	}
	of := g.table(m[2])
	if of == nil {
		return answer{}, failure(http.StatusBadRequest, "INVALID_TYPE", "sObject type '%s' is not supported.", m[2])
	}
	found, err := of.find(m[3])
	if err != nil {
		return answer{}, err
	}
	if limit, wrong := strconv.Atoi(m[4]); wrong == nil {
		found = found[:min(limit, len(found))]
	}
	rows, names := []any{}, strings.Split(m[1], ",")
	for _, r := range append(found, &record{table: of}) { // a column that does not exist is an error though nothing is found
		row, err := r.toJSON(c.version(), names)
		if err != nil {
			return answer{}, err
		}
		rows = append(rows, row)
	}
	id := newID("01g", len(g.cursors))
	g.cursors[id] = rows[:len(found)]
	return g.nextPage(c, id+"-0")
}

// find returns the records that meet the tests of a query.
func (t *table) find(where string) (found []*record, err *apiError) {
	found = slices.Clone(t.records)
	if where == "" {
		return found, nil
	}
	for i, clause := range andPattern.Split(where, -1) {
		var any []func(*record) bool
		for _, text := range orPattern.Split(clause, -1) {
			m := testPattern.FindStringSubmatch(text)
			if m == nil {
				return nil, malformed()
			}
			f, value := t.field(m[1]), m[3]+m[4]
			if f == nil {
				return nil, t.noColumn(m[1])
			}
			if strings.EqualFold(m[4], "null") {
				value = ""
			}
			if i == 0 && clause == text && m[2] == "=" && t.indexes[f.Name] != nil && value != "" {
				found = t.with(f.Name, value)
			}
			any = append(any, func(r *record) bool {
				has := r.values[f.Name]
				n := f.compare(has, value)
				return m[2] == "=" && n == 0 || m[2] == "!=" && n != 0 || m[2] == "<=" && has != "" && n <= 0
			})
		}
		found = slices.DeleteFunc(found, func(r *record) bool {
			return !slices.ContainsFunc(any, func(test func(*record) bool) bool { return test(r) })
		})
	}
	return found, nil
}

func (t *table) noColumn(name string) *apiError {
	return failure(http.StatusBadRequest, "INVALID_FIELD", "No such column '%s' on entity '%s'.", name, t.Name)
}

// nextPage answers with the part of a result that begins at a row. It can be read again, as by a client that lost the answer.
func (g *Org) nextPage(c request, locator string) (answer, *apiError) {
	id, start, _ := strings.Cut(locator, "-")
	rows := g.cursors[id]
	at, err := strconv.Atoi(start)
	if err != nil || at < 0 || at > len(rows) || rows == nil {
		return answer{}, failure(http.StatusBadRequest, "INVALID_QUERY_LOCATOR", "invalid query locator")
	}
	end := min(len(rows), at+g.options.QueryPage)
	w := map[string]any{"totalSize": len(rows), "done": end == len(rows), "records": rows[at:end]}
	if end < len(rows) {
		w["nextRecordsUrl"] = c.version() + "/query/" + id + "-" + strconv.Itoa(end)
	}
	return answer{status: http.StatusOK, body: w}, nil
}
