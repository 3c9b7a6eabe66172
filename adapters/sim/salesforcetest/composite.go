package salesforcetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

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
