package salesforcetest

import (
	"net/http"
	"strings"
)

// recordOf returns the record of an id.
func (g *org) recordOf(t *table, text string) (*record, *apiError) {
	id, ok := parseID(text)
	switch r := g.records[id]; {
	case !ok:
		return nil, failure(http.StatusBadRequest, codeMalformedID, "%s ID: id value of incorrect type: %s", t.Name, text)
	case r == nil || r.table != t:
		return nil, notFound()
	case r.deleted:
		return nil, failure(http.StatusNotFound, codeDeleted, "entity is deleted")
	default:
		return r, nil
	}
}

// onRecord is a handler for a call that names a record by its id.
func onRecord(handle func(*org, *call, *record) (answer, *apiError)) handler {
	return func(g *org, c *call) (answer, *apiError) {
		r, err := g.recordOf(c.table, c.params["id"])
		if err != nil {
			return answer{}, err
		}
		return handle(g, c, r)
	}
}

// key returns the external id that the call names.
func (c *call) key() (*Field, *apiError) {
	f := c.table.field(c.params["field"])
	if f == nil || !f.ExternalID {
		return nil, failure(http.StatusNotFound, codeNotFound,
			"Provided external ID field does not exist or is not accessible: %s", c.params["field"])
	}
	return f, nil
}

// success is the outcome of a record that was stored.
func success(r *record, created *bool) saveResultWire {
	return saveResultWire{ID: r.id, Success: true, Errors: []string{}, Created: created}
}

// created is the answer of a call that made a record.
func (c *call) created(r *record, created *bool) answer {
	return answer{status: http.StatusCreated, id: r.id, location: r.url(c.version()), body: success(r, created)}
}

func createRecord(_ *org, c *call) (answer, *apiError) {
	preset, err := c.preset()
	if err != nil {
		return answer{}, err
	}
	r, err := c.tx.create(c.table, c.body, preset)
	if err != nil {
		return answer{}, err
	}
	return c.created(r, nil), nil
}

func upsertRecord(_ *org, c *call) (answer, *apiError) {
	f, err := c.key()
	if err != nil {
		return answer{}, err
	}
	r, created, err := c.tx.upsert(c.table, f, c.params["value"], c.body)
	if err != nil {
		return answer{}, err
	}
	a := c.created(r, &created)
	if !created {
		a.status, a.location = http.StatusOK, ""
	}
	return a, nil
}

func updateRecord(_ *org, c *call, r *record) (answer, *apiError) {
	return answer{status: http.StatusNoContent}, c.tx.update(r, c.body)
}

func deleteRecord(_ *org, c *call, r *record) (answer, *apiError) {
	return answer{status: http.StatusNoContent}, c.tx.remove(r)
}

func getRecord(_ *org, c *call, r *record) (answer, *apiError) {
	names := []string{}
	for i := range r.table.Fields {
		names = append(names, r.table.Fields[i].Name)
	}
	if c.query.Has("fields") {
		names = strings.Split(c.query.Get("fields"), ",")
	}
	body, err := r.toJSON(c.version(), names)
	return answer{status: http.StatusOK, id: r.id, body: body}, err
}

// toJSON gives some fields of a record the form of an answer.
func (r *record) toJSON(version string, names []string) (map[string]any, *apiError) {
	body := map[string]any{attributes: attributesWire{Type: r.table.Name, URL: r.url(version)}}
	for _, name := range names {
		f := r.table.field(strings.TrimSpace(name))
		if f == nil {
			return nil, r.table.noColumn(name)
		}
		body[f.Name] = f.toJSON(r.values[f.Name], version, r)
	}
	return body, nil
}

// getByKey reads a record by an external id, or the content of a record, whose address has the same form.
func getByKey(g *org, c *call) (answer, *apiError) {
	if f := c.table.field(c.params["value"]); f != nil && f.Type == TypeBase64 {
		r, err := g.recordOf(c.table, c.params["field"])
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, content: r.values[f.Name]}, nil
	}
	f, err := c.key()
	if err != nil {
		return answer{}, err
	}
	switch found := c.table.with(f.Name, strings.TrimSpace(c.params["value"])); len(found) {
	case 0:
		return answer{}, notFound()
	case 1:
		return getRecord(g, c, found[0])
	default:
		return answer{}, multiple(c.path, f, found)
	}
}
