package salesforcetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// request is one call that is to be carried out, or one part of a composite request.
type request struct {
	method string
	path   string // escaped, without the query
	query  url.Values
	body   map[string]any
	unit   compositeWire // of a composite request
}

// answer is the result of a call.
type answer struct {
	status  int
	body    any // nil: content
	content string
	media   string // application/json if empty
}

func (a answer) bytes() []byte {
	if a.body == nil {
		return []byte(a.content)
	}
	data, _ := json.Marshal(a.body) // texts, numbers and truths
	return data
}

func (a answer) write(w http.ResponseWriter) {
	if w.Header().Set("Content-Type", "application/json;charset=UTF-8"); a.media != "" {
		w.Header().Set("Content-Type", a.media)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.bytes()) // a client that went away is no fault
}

// apiError is an answer that is not what was asked for.
type apiError struct {
	status  int
	code    string
	message string
	fields  []string // nil where it is not about a record
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

func (e *apiError) answer() answer {
	w := map[string]any{"message": e.message, "errorCode": e.code}
	if e.fields != nil {
		w["fields"] = e.fields
	}
	return answer{status: e.status, body: []any{w}}
}

func failure(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// refused is an error of a record's values.
func refused(code, message string, fields ...string) *apiError {
	return &apiError{status: http.StatusBadRequest, code: code, message: message, fields: append([]string{}, fields...)}
}

func notFound() *apiError {
	return failure(http.StatusNotFound, "NOT_FOUND", "The requested resource does not exist")
}

func invalidSession() *apiError {
	return failure(http.StatusUnauthorized, "INVALID_SESSION_ID", "Session expired or invalid")
}

func (g *Org) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Path == "/services/oauth2/token"
	c := request{method: r.Method, path: r.URL.EscapedPath(), query: r.URL.Query()}
	var unread error
	if !token {
		var data []byte
		if data, unread = io.ReadAll(io.LimitReader(r.Body, 51<<20)); unread == nil && (len(data) > 0 || c.method == http.MethodPost) {
			unread = c.parse(data)
		}
	}
	g.mu.Lock()
	made := Call{Number: len(g.calls) + 1, Method: r.Method, Path: r.URL.Path}
	g.calls = append(g.calls, made)
	f := Fault{}
	if g.faults != nil {
		f = g.faults(made)
	}
	g.mu.Unlock()
	w.Header().Set("Sforce-Limit-Info", fmt.Sprintf("api-usage=%d/100000", made.Number))
	g.suffer(w, r, f, func() answer {
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		g.mu.Lock()
		defer g.mu.Unlock()
		switch {
		case token:
			return g.serveToken(r)
		case !g.tokens[bearer]:
			return invalidSession().answer()
		case unread != nil:
			return failure(http.StatusBadRequest, "JSON_PARSER_ERROR", "The HTTP entity body could not be read: %v", unread).answer()
		}
		return g.run(c, r.Header, &f)
	})
}

// run carries out a call in a transaction of its own.
func (g *Org) run(c request, header http.Header, f *Fault) answer {
	t := &transaction{org: g, fault: f, allowDuplicates: allowsDuplicates(header.Get("Sforce-Duplicate-Rule-Header"))}
	a, err := g.carryOut(t, c)
	if err != nil {
		t.rollBack()
		return err.answer()
	}
	g.journal = append(g.journal, t.entries...)
	return a
}

// allowsDuplicates reads a Sforce-Duplicate-Rule-Header.
func allowsDuplicates(header string) bool {
	return strings.Contains(strings.ReplaceAll(header, " ", ""), "allowSave=true")
}

// parse reads the JSON of a call.
func (c *request) parse(data []byte) error {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&c.body); err != nil {
		return err
	}
	if strings.HasSuffix(c.path, "/composite") {
		return json.Unmarshal(data, &c.unit)
	}
	return nil
}

var versionPattern = regexp.MustCompile(`^/services/data/v6[1-5]\.0/`)

// carryOut carries out a call.
func (g *Org) carryOut(t *transaction, c request) (answer, *apiError) {
	segments := strings.Split(strings.Trim(c.path, "/"), "/")
	for i := range segments {
		segments[i], _ = url.PathUnescape(segments[i])
	}
	switch get := c.method == http.MethodGet; {
	case !versionPattern.MatchString(c.path):
	case segments[3] == "limits" && get:
		left := map[string]int{"Max": 100_000, "Remaining": 100_000 - len(g.calls)}
		return answer{status: http.StatusOK, body: map[string]any{"DailyApiRequests": left}}, nil
	case segments[3] == "query" && get && len(segments) == 4:
		return g.query(c)
	case segments[3] == "query" && get:
		return g.nextPage(c, segments[4])
	case segments[3] == "composite" && c.method == http.MethodPost:
		return g.composite(t, c)
	case segments[3] == "sobjects" && len(segments) > 4 && g.table(segments[4]) != nil:
		return g.sobject(t, c, g.table(segments[4]), segments[5:])
	}
	return answer{}, notFound()
}

// sobject carries out a call about the records of an object.
func (g *Org) sobject(t *transaction, c request, of *table, rest []string) (answer, *apiError) {
	switch {
	case len(rest) == 0 && c.method == http.MethodPost:
		r, err := t.create(of, c.body, nil)
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusCreated, body: saved(r)}, nil
	case len(rest) == 1 && rest[0] == "describe":
		return answer{status: http.StatusOK, body: of.describe()}, nil
	case len(rest) == 1 && c.method == http.MethodPatch:
		r := g.records[rest[0]]
		switch {
		case r == nil || r.table != of:
			return answer{}, notFound()
		case r.deleted:
			return answer{}, failure(http.StatusNotFound, "ENTITY_IS_DELETED", "entity is deleted")
		}
		return answer{status: http.StatusNoContent}, t.update(r, c.body)
	case len(rest) == 2 && c.method == http.MethodPatch:
		return t.upsert(of, rest[0], rest[1], c)
	}
	return answer{}, notFound()
}

// saved is the body of the answer to a call that stored a record.
func saved(r *record) map[string]any {
	return map[string]any{"id": r.id, "success": true, "errors": []string{}}
}

// version returns the path of the call's version.
func (c *request) version() string { return strings.Join(strings.Split(c.path, "/")[:4], "/") }

// toJSON gives some fields of a record the form of an answer.
func (r *record) toJSON(version string, names []string) (map[string]any, *apiError) {
	address := version + "/sobjects/" + r.table.Name + "/" + r.id
	body := map[string]any{"attributes": map[string]string{"type": r.table.Name, "url": address}}
	for _, name := range names {
		f := r.table.field(strings.TrimSpace(name))
		if f == nil {
			return nil, r.table.noColumn(name)
		}
		body[f.Name] = f.toJSON(r.values[f.Name], address)
	}
	return body, nil
}

// describe describes an object.
func (t *table) describe() map[string]any {
	fields := []any{}
	for _, f := range t.order {
		values := []any{}
		for _, value := range f.Values {
			values = append(values, map[string]any{"active": true, "value": value})
		}
		fields = append(fields, map[string]any{"name": f.Name, "type": f.Type, "length": f.Length, "scale": f.Scale,
			"nillable": !f.Required, "createable": !f.ReadOnly, "updateable": !f.ReadOnly && !f.CreateOnly, "unique": f.Unique,
			"externalId": f.ExternalID, "restrictedPicklist": f.Restricted, "picklistValues": values})
	}
	return map[string]any{"name": t.Name, "createable": !t.ReadOnly, "updateable": !t.ReadOnly, "fields": fields}
}

// composite carries out the parts of a request in their order. It answers 200 whatever became of them.
func (g *Org) composite(t *transaction, c request) (answer, *apiError) {
	queries, seen := 0, map[string]bool{}
	for _, p := range c.unit.Parts {
		if strings.Contains(p.URL, "/query") {
			queries++
		}
		if seen[p.ID] || !partID.MatchString(p.ID) || strings.Contains(p.URL, "/composite") {
			return answer{}, failure(http.StatusBadRequest, "JSON_PARSER_ERROR", "Provided referenceId (%s) must be unique and a word", p.ID)
		}
		seen[p.ID] = true
	}
	if len(c.unit.Parts) > 25 || queries > 5 {
		return answer{}, failure(http.StatusBadRequest, "LIMIT_EXCEEDED", "A composite request has at most 25 subrequests, of them 5 queries")
	}
	results, answers, failed := make([]any, len(c.unit.Parts)), map[string]any{}, -1
	for i, p := range c.unit.Parts {
		inner := &transaction{org: g, fault: t.fault, allowDuplicates: allowsDuplicates(p.Headers["Sforce-Duplicate-Rule-Header"])}
		a, err := g.part(inner, p, answers)
		if err != nil {
			inner.rollBack()
			if a = err.answer(); failed < 0 {
				failed = i
			}
		}
		t.undo, t.entries = append(t.undo, inner.undo...), append(t.entries, inner.entries...)
		results[i] = result(p, a)
		if failed >= 0 && c.unit.AllOrNone {
			break
		}
		var read any // as the client reads it
		_ = json.Unmarshal(a.bytes(), &read)
		answers[p.ID] = read
	}
	if failed >= 0 && c.unit.AllOrNone {
		t.rollBack()
		halted := failure(http.StatusBadRequest, "PROCESSING_HALTED", "The transaction was rolled back since another operation in it failed.")
		for i, p := range c.unit.Parts {
			if i != failed {
				results[i] = result(p, halted.answer())
			}
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{"compositeResponse": results}}, nil
}

// result is the answer to one part, as a composite request has it.
func result(p partWire, a answer) map[string]any {
	return map[string]any{"body": a.body, "httpHeaders": map[string]string{}, "httpStatusCode": a.status, "referenceId": p.ID}
}

// part carries out one part.
func (g *Org) part(t *transaction, p partWire, answers map[string]any) (answer, *apiError) {
	address, unknown := replace(p.ID, p.URL, answers)
	body, unknownToo := replace(p.ID, string(p.Body), answers)
	if unknown == nil {
		unknown = unknownToo
	}
	if unknown != nil {
		return answer{}, unknown
	}
	u, err := url.Parse(address)
	if err != nil {
		return answer{}, notFound()
	}
	c := request{method: p.Method, path: u.EscapedPath(), query: u.Query()}
	if body != "" && c.parse([]byte(body)) != nil {
		return answer{}, failure(http.StatusBadRequest, "JSON_PARSER_ERROR", "The body of %s could not be read", p.ID)
	}
	return g.carryOut(t, c)
}

var (
	partID           = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	referencePattern = regexp.MustCompile(`@\{([^{}]*)\}`)
	stepPattern      = regexp.MustCompile(`\w+`)
)

// replace replaces the references in a text, of the form @{part.records[0].Id}, by values of the answers to earlier parts.
func replace(part, text string, answers map[string]any) (replaced string, err *apiError) {
	replaced = referencePattern.ReplaceAllStringFunc(text, func(reference string) string {
		path := referencePattern.FindStringSubmatch(reference)[1]
		var at any = answers
		for _, step := range stepPattern.FindAllString(path, -1) {
			at = child(at, step)
		}
		if at == nil {
			err = failure(http.StatusBadRequest, "PROCESSING_HALTED", "Invalid reference specified. No value for %s found in %s", path, part)
		}
		return fmt.Sprint(at)
	})
	return replaced, err
}

// child returns the value of a field, in any letter case, or of an index, or nil.
func child(of any, step string) any {
	switch of := of.(type) {
	case map[string]any:
		for name, value := range of {
			if strings.EqualFold(name, step) {
				return value
			}
		}
	case []any:
		var i int
		if _, err := fmt.Sscan(step, &i); err == nil && i < len(of) {
			return of[i]
		}
	}
	return nil
}
