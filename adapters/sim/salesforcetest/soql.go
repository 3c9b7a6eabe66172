package salesforcetest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Limits of a query.
const (
	maxQuery  = 100_000 // characters
	maxNested = 20      // conditions in parentheses
)

// query is a query as it was written. Names are not looked up.
type query struct {
	fields []string // paths: Name, Account.Name
	count  bool     // SELECT COUNT()
	object string
	where  condition // nil if there is none
	order  []ordering
	limit  int // -1 if there is none
	offset int
}

// ordering is one field of ORDER BY.
type ordering struct {
	path       string
	descending bool
	nullsLast  bool
}

// condition is one of comparison, junction and negation.
type condition interface{}

// comparison compares a field with literals: IN has any number, the others one.
type comparison struct {
	path     string
	operator string // =, !=, <, <=, >, >=, LIKE, IN, NOT IN
	literals []literal
}

// junction joins conditions.
type junction struct {
	or    bool
	parts []condition
}

type negation struct{ of condition }

// literal is a value as it was written.
type literal struct {
	kind literalKind
	text string
}

type literalKind int

const (
	literalText  literalKind = iota
	literalPlain             // a number, date or time
	literalBool
	literalNull
)

// parser reads a query.
type parser struct {
	tokens []token
	at     int
	depth  int
}

// parseQuery reads a query. The error is one of the API.
func parseQuery(text string) (*query, *apiError) {
	if len(text) > maxQuery {
		return nil, failure(http.StatusBadRequest, "QUERY_TOO_COMPLICATED", "The query is longer than %d characters", maxQuery)
	}
	tokens, err := tokenize(text)
	if err != nil {
		return nil, malformed(err.Error())
	}
	p := &parser{tokens: tokens}
	q, err := p.query()
	if err != nil {
		return nil, malformed(err.Error())
	}
	return q, nil
}

func malformed(message string) *apiError {
	return failure(http.StatusBadRequest, codeMalformedQuery, "%s", message)
}

// peek returns the next token in capitals, or "" at the end.
func (p *parser) peek() string {
	if p.at == len(p.tokens) || p.tokens[p.at].kind == tokenText {
		return ""
	}
	return strings.ToUpper(p.tokens[p.at].text)
}

// take reads a keyword or sign if it is next.
func (p *parser) take(word string) bool {
	if p.peek() != word {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(word string) error {
	if !p.take(word) {
		return p.unexpected("expecting " + word)
	}
	return nil
}

// unexpected is the error of the next token.
func (p *parser) unexpected(hint string) error {
	if p.at == len(p.tokens) {
		return fmt.Errorf("unexpected end of query: %s", hint)
	}
	t := p.tokens[p.at]
	return fmt.Errorf("unexpected token: '%s' at column %d: %s", t.text, t.at+1, hint)
}

// name reads the name of a field or object.
func (p *parser) name() (string, error) {
	if p.at == len(p.tokens) || p.tokens[p.at].kind != tokenName || keywords[p.peek()] {
		return "", p.unexpected("expecting a name")
	}
	p.at++
	return p.tokens[p.at-1].text, nil
}

// keywords cannot be names.
var keywords = map[string]bool{"SELECT": true, "FROM": true, "WHERE": true, "AND": true, "OR": true, "NOT": true, "IN": true,
	"LIKE": true, "ORDER": true, "BY": true, "LIMIT": true, "OFFSET": true, "NULL": true, "TRUE": true, "FALSE": true}

func (p *parser) query() (*query, error) {
	q := &query{limit: -1}
	if err := p.selected(q); err != nil {
		return nil, err
	}
	if err := p.expect("FROM"); err != nil {
		return nil, err
	}
	var err error
	if q.object, err = p.name(); err != nil {
		return nil, err
	}
	if p.take("WHERE") {
		if q.where, err = p.condition(); err != nil {
			return nil, err
		}
	}
	if p.take("ORDER") {
		if q.order, err = p.ordering(); err != nil {
			return nil, err
		}
	}
	if p.take("LIMIT") {
		if q.limit, err = p.number(); err != nil {
			return nil, err
		}
	}
	if p.take("OFFSET") {
		if q.offset, err = p.number(); err != nil {
			return nil, err
		}
	}
	if p.at < len(p.tokens) {
		return nil, p.unexpected("expecting the end of the query")
	}
	return q, nil
}

// selected reads what follows SELECT.
func (p *parser) selected(q *query) error {
	if err := p.expect("SELECT"); err != nil {
		return err
	}
	if p.take("COUNT(") {
		q.count = true
		return p.expect(")")
	}
	for {
		path, err := p.name()
		if err != nil {
			return err
		}
		q.fields = append(q.fields, path)
		if !p.take(",") {
			return nil
		}
	}
}

// condition reads conditions that AND or OR joins; both only with parentheses.
func (p *parser) condition() (condition, error) {
	first, err := p.simple()
	if err != nil {
		return nil, err
	}
	word := p.peek()
	if word != "AND" && word != "OR" {
		return first, nil
	}
	all := junction{or: word == "OR", parts: []condition{first}}
	for p.take(word) {
		next, err := p.simple()
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, next)
	}
	if next := p.peek(); next == "AND" || next == "OR" {
		return nil, p.unexpected("AND and OR need parentheses")
	}
	return all, nil
}

// simple reads a comparison, a negation or a condition in parentheses.
func (p *parser) simple() (condition, error) {
	p.depth++
	defer func() { p.depth-- }()
	switch {
	case p.depth > maxNested:
		return nil, p.unexpected("too many parentheses")
	case p.take("NOT"):
		of, err := p.simple()
		return negation{of}, err
	case p.take("("):
		inner, err := p.condition()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	}
	path, err := p.name()
	if err != nil {
		return nil, err
	}
	return p.comparison(path)
}

// comparison reads what follows the field of a condition.
func (p *parser) comparison(path string) (condition, error) {
	c := comparison{path: path, operator: p.peek()}
	p.at = min(p.at+1, len(p.tokens))
	switch c.operator {
	case "=", "!=", "<", "<=", ">", ">=", "LIKE":
		value, err := p.literal()
		c.literals = []literal{value}
		return c, err
	case "<>":
		c.operator = "!="
		value, err := p.literal()
		c.literals = []literal{value}
		return c, err
	case "NOT":
		c.operator = "NOT IN"
		if err := p.expect("IN"); err != nil {
			return nil, err
		}
		fallthrough
	case "IN":
		var err error
		c.literals, err = p.list()
		return c, err
	}
	p.at--
	return nil, p.unexpected("expecting an operator")
}

// list reads literals in parentheses.
func (p *parser) list() (values []literal, err error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for {
		value, err := p.literal()
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		if !p.take(",") {
			return values, p.expect(")")
		}
	}
}

func (p *parser) literal() (literal, error) {
	if p.at == len(p.tokens) {
		return literal{}, p.unexpected("expecting a value")
	}
	t := p.tokens[p.at]
	p.at++
	switch upper := strings.ToUpper(t.text); {
	case t.kind == tokenText:
		return literal{literalText, t.text}, nil
	case t.kind == tokenPlain:
		return literal{literalPlain, t.text}, nil
	case upper == "TRUE", upper == "FALSE":
		return literal{literalBool, strings.ToLower(t.text)}, nil
	case upper == "NULL":
		return literal{literalNull, ""}, nil
	}
	p.at--
	return literal{}, p.unexpected("expecting a value")
}

// ordering reads what follows ORDER.
func (p *parser) ordering() (list []ordering, err error) {
	if err := p.expect("BY"); err != nil {
		return nil, err
	}
	for {
		o := ordering{}
		if o.path, err = p.name(); err != nil {
			return nil, err
		}
		if o.descending = p.take("DESC"); !o.descending {
			p.take("ASC")
		}
		if p.take("NULLS") {
			if o.nullsLast = p.take("LAST"); !o.nullsLast {
				if err := p.expect("FIRST"); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, o)
		if !p.take(",") {
			return list, nil
		}
	}
}

// number reads a whole number.
func (p *parser) number() (int, error) {
	if p.at < len(p.tokens) && p.tokens[p.at].kind == tokenPlain {
		if n, err := strconv.Atoi(p.tokens[p.at].text); err == nil && n >= 0 {
			p.at++
			return n, nil
		}
	}
	return 0, p.unexpected("expecting a number")
}
