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
	fields []column
	where  func(*record) bool
	seek   func() []*record // the records that can be in the result
	order  []func(a, b *record) int
	limit  int
	offset int
}

// column is a field of the object, or of a record that it refers to.
type column struct {
	reference *Field // nil for the object's own
	field     *Field
}

// plan looks up the names of a query.
func (g *org) plan(q *query) (*plan, *apiError) {
	p := &plan{org: g, table: g.table(q.object), limit: q.limit, offset: q.offset, where: func(*record) bool { return true }}
	if p.table == nil {
		return nil, failure(http.StatusBadRequest, codeInvalidType, "sObject type '%s' is not supported.", q.object)
	}
	p.seek = func() []*record { return p.table.records }
	for _, path := range q.fields {
		c, err := p.column(path)
		if err != nil {
			return nil, err
		}
		p.fields = append(p.fields, c)
	}
	if q.where != nil {
		where, err := p.condition(q.where)
		if err != nil {
			return nil, err
		}
		p.where = where
		p.narrow(q.where)
	}
	if p.table.Name == objectContentLink && !p.filteredLinks(q.where) {
		return nil, malformed("Implementation restriction: ContentDocumentLink requires a filter by a single Id on ContentDocumentId or " +
			"LinkedEntityId using the equals operator or multiple Id's using the IN operator.")
	}
	for _, o := range q.order {
		c, err := p.column(o.path)
		if err != nil {
			return nil, err
		}
		p.order = append(p.order, p.comparer(c, o))
	}
	return p, nil
}

// column looks up a path: a name, or the name of a relationship and one of a field in it.
func (p *plan) column(path string) (column, *apiError) {
	before, name, isParent := strings.Cut(path, ".")
	if !isParent {
		if f := p.table.field(before); f != nil {
			return column{field: f}, nil
		}
		return column{}, p.noColumn(path)
	}
	reference := p.table.relations[strings.ToLower(before)]
	if reference == nil || len(reference.ReferenceTo) != 1 || p.org.table(reference.ReferenceTo[0]) == nil {
		return column{}, failure(http.StatusBadRequest, codeInvalidField, "Didn't understand relationship '%s' in field path.", before)
	}
	f := p.org.table(reference.ReferenceTo[0]).field(name)
	if f == nil {
		return column{}, p.noColumn(path)
	}
	return column{reference, f}, nil
}

func (p *plan) noColumn(path string) *apiError {
	return failure(http.StatusBadRequest, codeInvalidField, "No such column '%s' on entity '%s'. If you are attempting to use a custom field, "+
		"be sure to append the '__c' after the custom field name.", path, p.table.Name)
}

// parent returns the record in which a column has its value, or nil.
func (p *plan) parent(r *record, c column) *record {
	if c.reference == nil {
		return r
	}
	return p.org.records[r.values[c.reference.Name]]
}

// value returns the value of a column.
func (p *plan) value(r *record, c column) string {
	if in := p.parent(r, c); in != nil {
		return in.values[c.field.Name]
	}
	return ""
}

// condition makes a test of a condition.
func (p *plan) condition(c condition) (func(*record) bool, *apiError) {
	switch c := c.(type) {
	case negation:
		of, err := p.condition(c.of)
		return func(r *record) bool { return !of(r) }, err
	case junction:
		var parts []func(*record) bool
		for _, inner := range c.parts {
			part, err := p.condition(inner)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
		return func(r *record) bool {
			for _, part := range parts {
				if part(r) == c.or {
					return c.or
				}
			}
			return !c.or
		}, nil
	default:
		return p.comparison(c.(comparison))
	}
}

// comparison makes a test of a comparison.
func (p *plan) comparison(c comparison) (func(*record) bool, *apiError) {
	col, err := p.column(c.path)
	if err != nil {
		return nil, err
	}
	if col.field.Type == TypeBase64 || col.field.Type == TypeTextArea {
		return nil, failure(http.StatusBadRequest, codeInvalidField, "field '%s' can not be filtered in a query call", c.path)
	}
	var values []string
	for _, l := range c.literals {
		value, err := col.field.literal(l)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	test, ok := tests(col.field)[c.operator]
	if !ok {
		return nil, malformed("invalid operator on " + c.path)
	}
	return func(r *record) bool { return test(p.value(r, col), values) }, nil
}

// tests has, for each operator, whether the value of a field and literals fulfil it. Nothing is smaller or larger than
// a value that is not given.
func tests(f *Field) map[string]func(value string, literals []string) bool {
	in := func(value string, literals []string) bool {
		return slices.ContainsFunc(literals, func(l string) bool { return f.compare(value, l) == 0 })
	}
	ordered := func(fits func(int) bool) func(string, []string) bool {
		return func(value string, literals []string) bool {
			return value != "" && literals[0] != "" && fits(f.compare(value, literals[0]))
		}
	}
	list := map[string]func(string, []string) bool{
		"=": in, "IN": in,
		"!=":     func(value string, literals []string) bool { return !in(value, literals) },
		"NOT IN": func(value string, literals []string) bool { return !in(value, literals) },
		"<":      ordered(func(n int) bool { return n < 0 }),
		"<=":     ordered(func(n int) bool { return n <= 0 }),
		">":      ordered(func(n int) bool { return n > 0 }),
		">=":     ordered(func(n int) bool { return n >= 0 }),
	}
	if f.isText() {
		list["LIKE"] = func(value string, literals []string) bool {
			return value != "" && like(strings.ToLower(value), strings.ToLower(literals[0]))
		}
	}
	return list
}

// like reports whether a text matches a pattern in which % stands for any text and _ for one character. It takes time in
// proportion to the product of their lengths.
func like(text, pattern string) bool {
	runes := []rune(text)
	reached := make([]bool, len(runes)+1) // how much of the text the pattern so far can stand for
	reached[0] = true
	escaped := false
	for _, c := range pattern {
		next := make([]bool, len(runes)+1)
		switch {
		case c == '\\' && !escaped:
			escaped = true
			continue
		case c == '%' && !escaped:
			for i, any := 0, false; i < len(next); i++ {
				any = any || reached[i]
				next[i] = any
			}
		default:
			for i, r := range runes {
				next[i+1] = reached[i] && (r == c || c == '_' && !escaped)
			}
		}
		reached, escaped = next, false
	}
	return reached[len(runes)]
}

// literal returns the value that a literal stands for, as records keep it.
func (f *Field) literal(l literal) (string, *apiError) {
	quoted, advice := f.isText() || f.Type == TypeReference || f.Type == TypeID, "should not be enclosed in quotes"
	if quoted {
		advice = "be enclosed in quotes"
	}
	wrong := malformed("value of filter criterion for field '" + f.Name + "' must be of type " + string(f.Type) + " and " + advice)
	switch {
	case l.kind == literalNull:
		return "", nil
	case f.Type == TypeBoolean:
		if l.kind != literalBool {
			return "", wrong
		}
		return truth(l.text), nil
	case quoted != (l.kind == literalText) || l.kind == literalBool:
		return "", wrong
	case f.Type == TypeReference || f.Type == TypeID:
		id, ok := parseID(l.text)
		if !ok {
			return "", failure(http.StatusBadRequest, "INVALID_QUERY_FILTER_OPERATOR", "invalid ID field: %s", l.text)
		}
		return id, nil
	case quoted:
		return l.text, nil
	}
	if f.isNumber() {
		if _, ok := parseRat(l.text); !ok {
			return "", wrong
		}
		return l.text, nil
	}
	value, fault := f.parseText(l.text)
	if fault != nil {
		return "", wrong
	}
	return value, nil
}

// narrow looks a condition's records up in indexes, where it asks for some values of indexed fields.
func (p *plan) narrow(where condition) {
	if found, ok := p.candidates(where); ok {
		p.seek = func() []*record { return found }
	}
}

// candidates returns the records that can meet a condition, if indexes tell.
func (p *plan) candidates(where condition) (found []*record, ok bool) {
	switch where := where.(type) {
	case comparison:
		return p.indexed(where)
	case junction:
		for _, part := range where.parts {
			some, narrowed := p.candidates(part)
			switch {
			case where.or && !narrowed:
				return nil, false
			case where.or:
				found, ok = add(found, some), true
			case narrowed && (!ok || len(some) < len(found)):
				found, ok = some, true
			}
		}
	}
	return found, ok
}

// indexed returns the records with one of the values that a comparison asks for, if there is an index of its field.
func (p *plan) indexed(c comparison) (found []*record, ok bool) {
	in, err := p.column(c.path)
	if c.operator != "=" && c.operator != "IN" || err != nil {
		return nil, false
	}
	table := p.table
	if in.reference != nil {
		table = p.org.table(in.reference.ReferenceTo[0])
	}
	if table.indexes[in.field.Name] == nil {
		return nil, false
	}
	for _, l := range c.literals {
		value, err := in.field.literal(l)
		if err != nil || value == "" {
			return nil, false // no index has what is not given
		}
		some := table.with(in.field.Name, value)
		if in.reference != nil {
			parents := some
			some = nil
			for _, parent := range parents {
				some = append(some, p.table.with(in.reference.Name, parent.id)...)
			}
		}
		found = add(found, some)
	}
	return found, true
}

// add returns a list with those records of another that it does not have.
func add(list, more []*record) []*record {
	for _, r := range more {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

// filteredLinks reports whether a query for links of documents names documents or what they are linked to.
func (p *plan) filteredLinks(where condition) bool {
	if all, ok := where.(junction); ok && !all.or {
		return slices.ContainsFunc(all.parts, p.filteredLinks)
	}
	c, ok := where.(comparison)
	return ok && (c.operator == "=" || c.operator == "IN") &&
		(strings.EqualFold(c.path, "ContentDocumentId") || strings.EqualFold(c.path, "LinkedEntityId"))
}

// comparer orders records by a column.
func (p *plan) comparer(c column, o ordering) func(a, b *record) int {
	return func(a, b *record) int {
		x, y := p.value(a, c), p.value(b, c)
		switch {
		case x == y:
			return 0
		case x == "" || y == "":
			if (x == "") == o.nullsLast {
				return 1
			}
			return -1
		case o.descending:
			return c.field.compare(y, x)
		}
		return c.field.compare(x, y)
	}
}

// run returns the records of the result, by default in the order in which they were made.
func (p *plan) run() []*record {
	var found []*record
	for _, r := range p.seek() {
		if p.where(r) {
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
	found = found[min(p.offset, len(found)):]
	if p.limit >= 0 {
		found = found[:min(p.limit, len(found))]
	}
	return found
}

// row gives a record of the result the form of an answer.
func (p *plan) row(r *record, version string) map[string]any {
	row := map[string]any{attributes: attributesWire{Type: p.table.Name, URL: r.url(version)}}
	for _, c := range p.fields {
		in := p.parent(r, c)
		switch {
		case c.reference == nil:
			row[c.field.Name] = c.field.toJSON(r.values[c.field.Name], version, r)
		case in == nil:
			row[c.reference.relationship()] = nil
		default:
			parent, ok := row[c.reference.relationship()].(map[string]any)
			if !ok {
				parent = map[string]any{attributes: attributesWire{Type: in.table.Name, URL: in.url(version)}}
				row[c.reference.relationship()] = parent
			}
			parent[c.field.Name] = c.field.toJSON(in.values[c.field.Name], version, in)
		}
	}
	return row
}
