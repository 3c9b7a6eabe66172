package salesforcetest

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// Limits of a composite request.
const (
	maxCompositeParts = 25
	maxHeavyParts     = 5 // queries and collections
)

const rolledBackMessage = "The transaction was rolled back since another operation in the same transaction failed."

// part is one subrequest as it was sent.
type part struct {
	method, url, id string
	header          http.Header
	body            strictjson.Value
}

var referenceID = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// composite carries out the parts of a request in their order. It answers 200 whatever became of them.
func composite(g *org, c *call) (answer, *apiError) {
	parts, allOrNone, err := readParts(c.body)
	if err != nil {
		return answer{}, err
	}
	start, values := c.tx.mark(), references{}
	results := make([]partResultWire, len(parts))
	failed, lost := -1, -1 // the first part that failed, and the first that another client was quicker with
	for i, p := range parts {
		if failed >= 0 && allOrNone {
			break
		}
		before := len(c.tx.entries)
		a, err := c.carryOutPart(g, p, values)
		switch {
		case err != nil:
			a = answer{status: err.status, body: err.toWire()}
			if failed < 0 {
				failed = i
			}
		case lost < 0 && fitsEntries(c.raced, c.tx.entries[before:]):
			lost = i
			if allOrNone { // the other client did all of it
				values[p.id] = a.body
			}
		default:
			values[p.id] = a.body
		}
		results[i] = a.toPart(p.id)
	}
	switch {
	case failed >= 0 && allOrNone:
		c.tx.rollBack(start)
	case lost >= 0: // what the quicker client did stays
		failed = lost
		err := lostTo(c.tx.org.records[c.tx.entryOf(c.raced).ID])
		results[lost] = answer{status: err.status, body: err.toWire()}.toPart(parts[lost].id)
	}
	c.raced = nil
	for i, p := range parts {
		if failed >= 0 && allOrNone && i != failed {
			results[i] = answer{status: http.StatusBadRequest, body: halted(rolledBackMessage).toWire()}.toPart(p.id)
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
func (c *call) carryOutPart(g *org, p part, values references) (answer, *apiError) {
	address, err := values.resolveURL(p)
	if err != nil {
		return answer{}, err
	}
	body, err := values.resolve(p.id, p.body)
	if err != nil {
		return answer{}, err
	}
	inner, err := match(p.method, address.EscapedPath())
	if err != nil {
		return answer{}, err
	}
	if inner.route.path == "composite" {
		return answer{}, failure(http.StatusBadRequest, "INVALID_INPUT", "A composite request cannot hold another")
	}
	inner.query, inner.header, inner.body, inner.tx = address.Query(), p.header, body, c.tx
	c.tx.method, c.tx.path = p.method, inner.path
	c.tx.allowDuplicates = allowsDuplicates(p.header.Get(duplicateHeader))
	return inner.route.handle(g, inner)
}

// readParts reads a composite request.
func readParts(body strictjson.Value) (parts []part, allOrNone bool, err *apiError) {
	fields := strictjson.FieldsOf("", body)
	all, _ := fields.Take("allOrNone")
	fields.Take("collateSubrequests") // of which only the speed depends
	list, _ := fields.Take("compositeRequest")
	unknown := fields.Unknown(1)
	if body.Kind != strictjson.Object || list.Kind != strictjson.Array || len(list.Items) == 0 || len(unknown) > 0 {
		return nil, false, badJSON("The HTTP entity body must be an object with a compositeRequest")
	}
	if len(list.Items) > maxCompositeParts {
		return nil, false, failure(http.StatusBadRequest, codeLimitExceeded, "A composite request has at most %d subrequests", maxCompositeParts)
	}
	heavy, ids := 0, []string{}
	for _, item := range list.Items {
		p, err := readPart(item)
		if err != nil {
			return nil, false, err
		}
		if slices.Contains(ids, p.id) {
			return nil, false, badJSON("Duplicate reference id: %s", p.id)
		}
		ids, parts = append(ids, p.id), append(parts, p)
		if strings.Contains(p.url, "/query") || strings.Contains(p.url, "/composite/") {
			heavy++
		}
	}
	if heavy > maxHeavyParts {
		return nil, false, failure(http.StatusBadRequest, codeLimitExceeded, "A composite request has at most %d queries and collections",
			maxHeavyParts)
	}
	return parts, strictjson.IsTrue(all), nil
}

func readPart(item strictjson.Value) (part, *apiError) {
	fields := strictjson.FieldsOf("", item)
	method, _ := fields.Take("method")
	address, _ := fields.Take("url")
	id, _ := fields.Take("referenceId")
	headers, _ := fields.Take("httpHeaders")
	p := part{method: method.Text, url: address.Text, id: id.Text, header: http.Header{}}
	p.body, _ = fields.Take("body")
	switch unknown := fields.Unknown(1); {
	case len(unknown) > 0:
		return p, badJSON("Unrecognized field %q", unknown[0])
	case method.Kind != strictjson.String || address.Kind != strictjson.String || id.Kind != strictjson.String:
		return p, badJSON("A subrequest must have a method, url and referenceId")
	case !referenceID.MatchString(p.id):
		return p, badJSON("Provided referenceId (%s) may only have letters, numbers and underscores", p.id)
	case headers.Kind != strictjson.Object && headers.Kind != strictjson.Null:
		return p, badJSON("httpHeaders must be an object")
	}
	for _, m := range headers.Members {
		if own := []string{"Accept", "Authorization", "Content-Type"}; m.Value.Kind != strictjson.String ||
			slices.ContainsFunc(own, func(name string) bool { return strings.EqualFold(name, m.Name) }) {
			return p, badJSON("The header %q cannot be set in a subrequest", m.Name)
		}
		p.header.Set(m.Name, m.Value.Text)
	}
	return p, nil
}

// resolveURL returns the address of a part, with the values that it refers to.
func (r references) resolveURL(p part) (*url.URL, *apiError) {
	path, query, _ := strings.Cut(p.url, "?")
	path, err := r.replace(p.id, path, url.PathEscape)
	if err != nil {
		return nil, err
	}
	query, err = r.replace(p.id, query, url.QueryEscape)
	if err != nil {
		return nil, err
	}
	address, wrong := url.Parse(path + "?" + query)
	if wrong != nil || address.Host != "" || !strings.HasPrefix(path, "/") {
		return nil, notFound()
	}
	return address, nil
}
