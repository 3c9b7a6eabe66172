package salesforcetest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// plan is a query whose names have been looked up.
type plan struct {
	org    *org
	table  *table
	fields []*Field
	where  []predicate
	order  []func(a, b *record) int
	limit  int
}

// predicate is a condition whose names have been looked up: the value of a field of the object, or of the record that a
// reference names.
type predicate struct {
	reference *Field // nil for the object's own field
	field     *Field
	value     string
	notNull   bool
}

// plan looks up the names of a query.
func (g *org) plan(q *query) (p *plan, err *apiError) {
	p = &plan{org: g, table: g.table(q.object), limit: q.limit}
	if p.table == nil {
		return nil, failure(http.StatusBadRequest, codeInvalidType, "sObject type '%s' is not supported.", q.object)
	}
	for _, name := range q.fields {
		f := p.table.field(name)
		if f == nil {
			return nil, p.noColumn(name)
		}
		p.fields = append(p.fields, f)
	}
	for _, c := range q.conditions {
		where, err := p.predicate(c)
		if err != nil {
			return nil, err
		}
		p.where = append(p.where, where)
	}
	for _, o := range q.order {
		f := p.table.field(o.field)
		if f == nil {
			return nil, p.noColumn(o.field)
		}
		p.order = append(p.order, f.comparer(o.descending))
	}
	return p, nil
}

func (p *plan) noColumn(path string) *apiError {
	return failure(http.StatusBadRequest, codeInvalidField, "No such column '%s' on entity '%s'. If you are attempting to use a custom field, "+
		"be sure to append the '__c' after the custom field name.", path, p.table.Name)
}

// predicate looks up the names of a condition.
func (p *plan) predicate(c condition) (w predicate, err *apiError) {
	table, name := p.table, c.path
	if before, of, ok := strings.Cut(c.path, "."); ok {
		w.reference = p.table.relations[strings.ToLower(before)]
		if w.reference == nil || len(w.reference.ReferenceTo) != 1 || p.org.table(w.reference.ReferenceTo[0]) == nil {
			return w, failure(http.StatusBadRequest, codeInvalidField, "Didn't understand relationship '%s' in field path.", before)
		}
		table, name = p.org.table(w.reference.ReferenceTo[0]), of
	}
	if w.field = table.field(name); w.field == nil {
		return w, p.noColumn(c.path)
	}
	if w.field.Type == TypeBase64 || w.field.Type == TypeTextArea {
		return w, failure(http.StatusBadRequest, codeInvalidField, "field '%s' can not be filtered in a query call", c.path)
	}
	if w.value, w.notNull = c.text, c.notNull; w.notNull {
		return w, nil
	}
	switch w.field.Type {
	case TypeReference, TypeID:
		id, ok := parseID(c.text)
		if !ok {
			return w, failure(http.StatusBadRequest, "INVALID_QUERY_FILTER_OPERATOR", "invalid ID field: %s", c.text)
		}
		w.value = id
	default:
		if !w.field.isText() {
			return w, malformed("value of filter criterion for field '" + name + "' must be of type " + string(w.field.Type) +
				" and should not be enclosed in quotes")
		}
	}
	return w, nil
}

// holds reports whether a record meets the condition.
func (w predicate) holds(g *org, r *record) bool {
	if w.reference != nil {
		if r = g.records[r.values[w.reference.Name]]; r == nil {
			return false
		}
	}
	value := r.values[w.field.Name]
	if w.notNull {
		return value != ""
	}
	return w.field.compare(value, w.value) == 0
}

// indexed returns the records of a table that meet the condition, if indexes tell.
func (w predicate) indexed(g *org, t *table) (found []*record, ok bool) {
	in := t
	if w.reference != nil {
		in = g.table(w.reference.ReferenceTo[0])
	}
	if w.value == "" || in.indexes[w.field.Name] == nil {
		return nil, false
	}
	found = in.with(w.field.Name, w.value)
	if w.reference == nil {
		return found, true
	}
	parents := found
	found = nil
	for _, parent := range parents {
		found = append(found, t.with(w.reference.Name, parent.id)...)
	}
	return found, true
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

// candidates returns a list that has every record of the result.
func (p *plan) candidates() (all []*record) {
	for _, w := range p.where {
		some, ok := w.indexed(p.org, p.table)
		if !ok {
			return p.table.records
		}
		all = append(all, slices.DeleteFunc(some, func(r *record) bool { return slices.Contains(all, r) })...)
	}
	if len(p.where) == 0 {
		return p.table.records
	}
	return all
}

// run returns the records of the result, by default in the order in which they were made.
func (p *plan) run() []*record {
	var found []*record
	for _, r := range p.candidates() {
		if len(p.where) == 0 || slices.ContainsFunc(p.where, func(w predicate) bool { return w.holds(p.org, r) }) {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b *record) int {
		for _, by := range p.order {
			if n := by(a, b); n != 0 {
				return n
			}
		}
		return cmp.Compare(a.id, b.id)
	})
	if p.limit >= 0 {
		found = found[:min(p.limit, len(found))]
	}
	return found
}

// row gives a record of the result the form of an answer.
func (p *plan) row(r *record, version string) map[string]any {
	row := map[string]any{attributes: attributesWire{Type: p.table.Name, URL: r.url(version)}}
	for _, f := range p.fields {
		row[f.Name] = f.toJSON(r.values[f.Name], version, r)
	}
	return row
}
