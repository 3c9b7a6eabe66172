package salesforcetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Limits of a composite request.
const (
	maxCompositeParts = 25
	maxQueryParts     = 5
)

const rolledBackMessage = "The transaction was rolled back since another operation in the same transaction failed."

var referenceID = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// readComposite reads a composite request.
func readComposite(data []byte) (unit compositeWire, err *apiError) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&unit); err != nil || len(unit.Parts) == 0 {
		return unit, badJSON("The HTTP entity body must be an object with a compositeRequest: %v", err)
	}
	queries, seen := 0, map[string]bool{}
	for _, p := range unit.Parts {
		switch {
		case p.Method == "" || p.URL == "":
			return unit, badJSON("A subrequest must have a method, url and referenceId")
		case !referenceID.MatchString(p.ID) || seen[p.ID]:
			return unit, badJSON("Provided referenceId (%s) must be unique, of letters, numbers and underscores", p.ID)
		}
		for name := range p.Headers {
			switch http.CanonicalHeaderKey(name) {
			case "Accept", "Authorization", "Content-Type":
				return unit, badJSON("The header %q cannot be set in a subrequest", name)
			}
		}
		if seen[p.ID] = true; strings.Contains(p.URL, "/query") {
			queries++
		}
	}
	if len(unit.Parts) > maxCompositeParts || queries > maxQueryParts {
		return unit, failure(http.StatusBadRequest, codeLimitExceeded,
			"A composite request has at most %d subrequests, of them %d queries", maxCompositeParts, maxQueryParts)
	}
	return unit, nil
}

// composite carries out the parts of a request in their order. It answers 200 whatever became of them.
func composite(g *org, c *call) (answer, *apiError) {
	parts, ids := c.unit.Parts, references{}
	start, results, failed := c.tx.mark(), make([]partResultWire, len(parts)), -1
	for i, p := range parts {
		a, err := c.carryOutPart(g, p, ids)
		if err == nil {
			ids.add(p.ID, a)
		} else {
			a = answer{status: err.status, body: err.toWire()}
		}
		results[i] = a.toPart(p.ID)
		if err != nil && failed < 0 {
			if failed = i; c.unit.AllOrNone {
				break
			}
		}
	}
	if failed >= 0 && c.unit.AllOrNone {
		c.tx.rollBack(start)
		for i, p := range parts {
			if i != failed {
				results[i] = answer{status: http.StatusBadRequest, body: halted(rolledBackMessage).toWire()}.toPart(p.ID)
			}
		}
	}
	return answer{status: http.StatusOK, body: compositeResultWire{results}}, nil
}

// toPart gives an answer the form of a part of one.
func (a answer) toPart(id string) partResultWire {
	w := partResultWire{Body: a.body, HTTPHeaders: map[string]string{}, HTTPStatusCode: a.status, ReferenceID: id}
	if a.location != "" {
		w.HTTPHeaders["Location"] = a.location
	}
	return w
}

// carryOutPart carries out one part, in the transaction of all.
func (c *call) carryOutPart(g *org, p partWire, ids references) (answer, *apiError) {
	path, query, _ := strings.Cut(p.URL, "?")
	path, unknownInPath := ids.replace(p.ID, path)
	query, unknownInQuery := ids.replace(p.ID, query)
	body, unknownInBody := ids.replace(p.ID, string(p.Body))
	for _, err := range []*apiError{unknownInPath, unknownInQuery, unknownInBody} {
		if err != nil {
			return answer{}, err
		}
	}
	address, wrong := url.Parse(path + "?" + query)
	if wrong != nil || address.Host != "" {
		return answer{}, notFound()
	}
	inner, err := match(p.Method, address.EscapedPath())
	if err != nil {
		return answer{}, err
	}
	if inner.route.path == "composite" {
		return answer{}, failure(http.StatusBadRequest, "INVALID_INPUT", "A composite request cannot hold another")
	}
	inner.query, inner.header, inner.tx = address.Query(), http.Header{}, c.tx
	for name, value := range p.Headers {
		inner.header.Set(name, value)
	}
	if inner.hasBody() {
		if err := inner.parse([]byte(body)); err != nil {
			return answer{}, err
		}
	}
	c.tx.method, c.tx.path = p.Method, inner.path
	c.tx.allowDuplicates = allowsDuplicates(inner.header.Get(duplicateHeader))
	return inner.handle(g)
}

// references are the ids of the records that parts have made or read, by the paths by which later parts refer to them:
// @{contact.id} of the record that a part is about, and @{found.records[0].Id} of a query. The names of fields are in lower case.
type references map[string]string

var referencePattern = regexp.MustCompile(`@\{([^{}]*)\}`)

// add adds the ids in the answer of a part.
func (r references) add(part string, a answer) {
	r[part+".id"] = a.id
	if list, ok := a.body.(queryResultWire); ok {
		for i, row := range list.Records {
			r[fmt.Sprintf("%s.records[%d].id", part, i)], _ = row.(map[string]any)["Id"].(string)
		}
	}
}

// replace replaces the references in a text. An id is the same in an address and in JSON.
func (r references) replace(part, text string) (replaced string, err *apiError) {
	replaced = referencePattern.ReplaceAllStringFunc(text, func(reference string) string {
		path := referencePattern.FindStringSubmatch(reference)[1]
		field := max(strings.LastIndex(path, "."), 0)
		id := r[path[:field]+strings.ToLower(path[field:])]
		if id == "" {
			err = halted("Invalid reference specified. No value for " + path + " found in " + part)
		}
		return id
	})
	return replaced, err
}
