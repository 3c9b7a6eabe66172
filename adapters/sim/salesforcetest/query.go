package salesforcetest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// cursors are the results of several pages, by their ids.
type cursors struct {
	pageSize int
	open     map[string][]any
}

// maxPage is the number of records in a page of a query, unless Options.QueryPage says less.
const maxPage = 2000

// runQuery answers with the first page of a query.
func runQuery(g *org, c *call) (answer, *apiError) {
	q, err := parseQuery(c.query.Get("q"))
	if err != nil {
		return answer{}, err
	}
	found, err := g.find(q)
	if err != nil {
		return answer{}, err
	}
	if q.count {
		return answer{status: http.StatusOK, body: queryResultWire{TotalSize: len(found), Done: true, Records: []any{}}}, nil
	}
	rows := []any{}
	for _, r := range found {
		row, err := r.toJSON(c.version(), q.fields)
		if err != nil {
			return answer{}, err
		}
		rows = append(rows, row)
	}
	id := newID("01g", firstRecord+len(g.cursors.open))
	if len(rows) > g.cursors.pageSize {
		g.cursors.open[id] = rows
	}
	return g.page(c, id, rows, 0), nil
}

// page answers with the part of a result that begins at a row.
func (g *org) page(c *call, id string, rows []any, at int) answer {
	end := min(len(rows), at+g.cursors.pageSize)
	page := queryResultWire{TotalSize: len(rows), Done: end == len(rows), Records: rows[at:end]}
	if !page.Done {
		page.NextRecordsURL = fmt.Sprintf("%s/query/%s-%d", c.version(), id, end)
	}
	return answer{status: http.StatusOK, body: page}
}

// nextPage answers with a further page, which can be read again, as by a client that lost the answer.
func nextPage(g *org, c *call) (answer, *apiError) {
	id, start, _ := strings.Cut(c.params["locator"], "-")
	rows := g.cursors.open[id]
	at, err := strconv.Atoi(start)
	if err != nil || at < 0 || at > len(rows) || rows == nil {
		return answer{}, failure(http.StatusBadRequest, codeQueryLocator, "invalid query locator")
	}
	return g.page(c, id, rows, at), nil
}

// find returns the records of a query's result, by default in the order in which they were made.
func (g *org) find(q *query) ([]*record, *apiError) {
	t := g.table(q.object)
	if t == nil {
		return nil, failure(http.StatusBadRequest, codeInvalidType, "sObject type '%s' is not supported.", q.object)
	}
	for _, name := range q.fields {
		if t.field(name) == nil {
			return nil, t.noColumn(name)
		}
	}
	found := t.records
	if len(q.conditions) > 0 {
		found = nil
	}
	for i, c := range q.conditions {
		met, err := g.matching(t, c)
		switch {
		case err != nil:
			return nil, err
		case q.all && i > 0:
			found = slices.DeleteFunc(found, func(r *record) bool { return !slices.Contains(met, r) })
		default:
			found = append(found, met...)
		}
	}
	order := []func(a, b *record) int{}
	for _, o := range q.order {
		f := t.field(o.field)
		if f == nil {
			return nil, t.noColumn(o.field)
		}
		order = append(order, f.comparer(o.descending))
	}
	found = slices.SortedFunc(slices.Values(found), func(a, b *record) int {
		for _, by := range order {
			if n := by(a, b); n != 0 {
				return n
			}
		}
		return cmp.Compare(a.id, b.id)
	})
	found = slices.Compact(found) // a record may meet several conditions
	if q.limit >= 0 {
		found = found[:min(q.limit, len(found))]
	}
	return found, nil
}

func (t *table) noColumn(path string) *apiError {
	return failure(http.StatusBadRequest, codeInvalidField, "No such column '%s' on entity '%s'. If you are attempting to use a "+
		"custom field, be sure to append the '__c' after the custom field name.", path, t.Name)
}

// comparer orders records by a field: a value that is not given comes first.
func (f *Field) comparer(descending bool) func(a, b *record) int {
	return func(a, b *record) int {
		x, y := a.values[f.Name], b.values[f.Name]
		if descending && x != "" && y != "" {
			x, y = y, x
		}
		return f.compare(x, y)
	}
}

// matching returns the records of a table that meet a condition: by a field of their own, or of the record that they refer to.
func (g *org) matching(t *table, c condition) (met []*record, err *apiError) {
	holder, name := t, c.path
	var reference *Field
	if before, of, ok := strings.Cut(c.path, "."); ok {
		reference = t.relations[strings.ToLower(before)]
		if reference == nil || len(reference.ReferenceTo) != 1 || g.table(reference.ReferenceTo[0]) == nil {
			return nil, failure(http.StatusBadRequest, codeInvalidField, "Didn't understand relationship '%s' in field path.", before)
		}
		if c.null { // also of a record that refers to no other
			return nil, malformed("this simulator compares a field of another record with texts alone")
		}
		holder, name = g.table(reference.ReferenceTo[0]), of
	}
	f := holder.field(name)
	if f == nil {
		return nil, t.noColumn(c.path)
	}
	value, err := f.filter(c)
	switch {
	case err != nil:
		return nil, err
	case value != "" && holder.indexes[f.Name] != nil:
		met = holder.with(f.Name, value)
	default:
		for _, r := range holder.records {
			if has := r.values[f.Name]; c.notNull && has != "" || !c.notNull && f.compare(has, value) == 0 {
				met = append(met, r)
			}
		}
	}
	if reference == nil {
		return met, nil
	}
	var referring []*record
	for _, r := range met {
		referring = append(referring, t.with(reference.Name, r.id)...)
	}
	return referring, nil
}

// filter returns the value that a condition asks for.
func (f *Field) filter(c condition) (string, *apiError) {
	id, isID := parseID(c.text)
	switch {
	case f.Type == TypeBase64 || f.Type == TypeTextArea:
		return "", failure(http.StatusBadRequest, codeInvalidField, "field '%s' can not be filtered in a query call", c.path)
	case c.null || c.notNull:
		return "", nil
	case c.time != "" && f.Type == TypeDateTime:
		at, wrong := f.parseText(c.time)
		if wrong != nil {
			return "", malformed(wrong.message)
		}
		return at, nil
	case c.time != "":
		return "", malformed("value of filter criterion for field '" + f.Name + "' must be of its type")
	case f.isText():
		return c.text, nil
	case f.Type != TypeReference && f.Type != TypeID:
		return "", malformed("value of filter criterion for field '" + f.Name + "' must not be enclosed in quotes")
	case !isID:
		return "", failure(http.StatusBadRequest, "INVALID_QUERY_FILTER_OPERATOR", "invalid ID field: %s", c.text)
	}
	return id, nil
}
