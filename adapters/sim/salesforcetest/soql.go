package salesforcetest

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// The simulator reads the queries that the adapter sends, and refuses all others as malformed:
//
//	SELECT field, … | COUNT() FROM object
//	[WHERE path = 'text' OR … | WHERE path != null OR …]
//	[ORDER BY field [ASC | DESC], …] [LIMIT n]
//
// A path is a field of the object, or of a record that it refers to: Name, Account.Name.

// maxQuery is the length of the longest query, in characters.
const maxQuery = 100_000

// query is a query as it was written. Names are not looked up.
type query struct {
	fields     []string
	count      bool // SELECT COUNT()
	object     string
	conditions []condition // of which one must hold, if there are any
	order      []ordering
	limit      int // -1 without a limit
}

// condition is path = 'text', or path != null.
type condition struct {
	path    string
	text    string
	notNull bool
}

// ordering is one field of ORDER BY.
type ordering struct {
	field      string
	descending bool
}

// tokenPattern matches the next token: a text in quotes, a name or path, a number, or a sign.
var tokenPattern = regexp.MustCompile(`^[ \t\r\n]*(?:('(?:[^'\\]|\\.)*')|([A-Za-z]\w*(?:\.\w+)*)|(\d+)|(!=|[=,()]))[ \t\r\n]*`)

// Groups of tokenPattern.
const (
	tokenText = iota + 1
	tokenName
	tokenNumber
	tokenSign
)

// parser reads a query. Once a token is not as it must be, err is set, and nothing more is read.
type parser struct {
	text string
	at   int // byte at which the next token begins
	err  error
}

// parseQuery reads a query. The error is one of the API.
func parseQuery(text string) (*query, *apiError) {
	if len(text) > maxQuery {
		return nil, failure(http.StatusBadRequest, "QUERY_TOO_COMPLICATED", "The query is longer than %d characters", maxQuery)
	}
	p := &parser{text: text}
	q := p.query()
	if p.err != nil {
		return nil, malformed(p.err.Error())
	}
	return q, nil
}

func malformed(message string) *apiError {
	return failure(http.StatusBadRequest, codeMalformedQuery, "%s", message)
}

// next returns the next token of a kind, and its end; "" if the next is of another kind.
func (p *parser) next(kind int) (token string, end int) {
	m := tokenPattern.FindStringSubmatchIndex(p.text[p.at:])
	if p.err != nil || m == nil || m[2*kind] < 0 {
		return "", p.at
	}
	return p.text[p.at+m[2*kind] : p.at+m[2*kind+1]], p.at + m[1]
}

// read reads a token of a kind.
func (p *parser) read(kind int, hint string) string {
	token, end := p.next(kind)
	if token == "" || kind == tokenName && keywords[strings.ToUpper(token)] {
		p.refuse(hint)
		return ""
	}
	p.at = end
	return token
}

// keywords cannot be names.
var keywords = map[string]bool{"SELECT": true, "FROM": true, "WHERE": true, "OR": true, "ORDER": true, "BY": true, "LIMIT": true}

// refuse makes a refusal of the next token.
func (p *parser) refuse(hint string) {
	if p.err == nil {
		p.err = fmt.Errorf("unexpected token at column %d: '%.20s': %s: this simulator reads few forms of a query", p.at+1, p.text[p.at:], hint)
	}
}

// take reads the words and signs if they are next.
func (p *parser) take(words ...string) bool {
	begin := p.at
	for _, word := range words {
		name, end := p.next(tokenName)
		if name == "" {
			name, end = p.next(tokenSign)
		}
		if !strings.EqualFold(name, word) {
			p.at = begin
			return false
		}
		p.at = end
	}
	return true
}

func (p *parser) expect(words ...string) {
	if !p.take(words...) {
		p.refuse("expecting " + strings.Join(words, " "))
	}
}

// list reads parts with a separator between them.
func (p *parser) list(separator string, part func()) {
	for part(); p.take(separator); {
		part()
	}
}

func (p *parser) query() *query {
	q := &query{limit: -1}
	p.expect("SELECT")
	if q.count = p.take("COUNT", "(", ")"); !q.count {
		p.list(",", func() { q.fields = append(q.fields, p.read(tokenName, "expecting a field")) })
	}
	p.expect("FROM")
	q.object = p.read(tokenName, "expecting an object")
	if p.take("WHERE") {
		p.list("OR", func() { q.conditions = append(q.conditions, p.condition()) })
	}
	if p.take("ORDER", "BY") {
		p.list(",", func() {
			o := ordering{field: p.read(tokenName, "expecting a field")}
			if o.descending = p.take("DESC"); !o.descending {
				p.take("ASC")
			}
			q.order = append(q.order, o)
		})
	}
	if p.take("LIMIT") {
		var err error
		if q.limit, err = strconv.Atoi(p.read(tokenNumber, "expecting a number")); err != nil {
			p.refuse("expecting a number")
		}
	}
	if p.at < len(p.text) {
		p.refuse("expecting the end of the query")
	}
	return q
}

func (p *parser) condition() condition {
	c := condition{path: p.read(tokenName, "expecting a field")}
	if c.notNull = p.take("!=", "null"); c.notNull {
		return c
	}
	p.expect("=")
	quoted := p.read(tokenText, "expecting a text in quotes")
	for at := 1; at < len(quoted)-1; at++ {
		if quoted[at] == '\\' {
			if at++; !strings.Contains(`\'`, quoted[at:at+1]) {
				p.refuse("illegal character escape")
			}
		}
		c.text += quoted[at : at+1]
	}
	return c
}
