package salesforcetest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// maxCollection is the largest number of records in a collection, maxRetrieved the largest number to read at once.
const (
	maxCollection = 200
	maxRetrieved  = 2000
)

// one carries out what a collection wants with one of its records.
type one func(g *org, c *call, t *table, v strictjson.Value) (saveResultWire, *apiError)

// collection is a handler for the records of a body, each of which succeeds or fails on its own unless all must succeed.
func collection(do one) handler {
	return func(g *org, c *call) (answer, *apiError) {
		fields := strictjson.FieldsOf("", c.body)
		allOrNone, _ := fields.Take("allOrNone")
		list, _ := fields.Take("records")
		switch unknown := fields.Unknown(1); {
		case c.body.Kind != strictjson.Object || list.Kind != strictjson.Array || len(unknown) > 0:
			return answer{}, badJSON("The HTTP entity body must be an object with records")
		case len(list.Items) == 0 || len(list.Items) > maxCollection:
			return answer{}, failure(http.StatusBadRequest, codeLimitExceeded, "record limit reached. cannot submit more than 200 records")
		}
		var todo []func() (saveResultWire, *apiError)
		for _, v := range list.Items {
			t, err := g.typeOf(c, v)
			todo = append(todo, func() (saveResultWire, *apiError) {
				if err != nil {
					return saveResultWire{}, err
				}
				return do(g, c, t, v)
			})
		}
		return c.results(strictjson.IsTrue(allOrNone), todo), nil
	}
}

// typeOf returns the object that the attributes of a record name.
func (g *org) typeOf(c *call, v strictjson.Value) (*table, *apiError) {
	about, _ := v.Member(attributes)
	name, _ := about.Member("type")
	t := g.table(name.Text)
	switch {
	case t == nil:
		return nil, failure(http.StatusBadRequest, codeInvalidType, "sObject type '%s' is not supported.", name.Text)
	case c.params["type"] != "" && g.table(c.params["type"]) != t:
		return nil, failure(http.StatusBadRequest, codeInvalidType, "sObject type '%s' does not match the type of the URL", name.Text)
	}
	return t, nil
}

// results carries out what a collection wants, and answers with what became of each record.
func (c *call) results(allOrNone bool, todo []func() (saveResultWire, *apiError)) answer {
	start := c.tx.mark()
	list := make([]saveResultWire, len(todo))
	lost, failedOne := -1, false
	for i, do := range todo {
		before := len(c.tx.entries)
		result, err := do()
		if err != nil {
			result, failedOne = err.toResult(), true
		} else if lost < 0 && fitsEntries(c.raced, c.tx.entries[before:]) {
			lost = i
		}
		list[i] = result
	}
	rolledBack := refused(about(codeRolledBack,
		"Record rolled back because not all records were valid and the request was using AllOrNone header")).toResult()
	switch {
	case lost >= 0:
		list[lost] = lostTo(c.tx.org.records[list[lost].ID]).toResult()
		failedOne = true
	case failedOne && allOrNone:
		c.tx.rollBack(start)
	}
	for i := range list {
		if failedOne && allOrNone && list[i].Success {
			list[i] = rolledBack
		}
	}
	c.raced = nil
	return answer{status: http.StatusOK, body: list}
}

// without returns a record as it was sent, without some of its fields.
func without(v strictjson.Value, names ...string) strictjson.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m strictjson.Member) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(m.Name, name) })
	})
	return v
}

func success(r *record, created *bool) saveResultWire {
	return saveResultWire{ID: r.id, Success: true, Errors: []saveErrorWire{}, Created: created}
}

func createOne(_ *org, c *call, t *table, v strictjson.Value) (saveResultWire, *apiError) {
	r, err := c.tx.create(t, v, nil)
	if err != nil {
		return saveResultWire{}, err
	}
	return success(r, nil), nil
}

func updateOne(g *org, c *call, t *table, v strictjson.Value) (saveResultWire, *apiError) {
	id, _ := bodyField(v, "id")
	r, err := g.recordOf(t, id.Text)
	if err != nil {
		return saveResultWire{}, err
	}
	return success(r, nil), c.tx.update(r, without(v, "id"))
}

func upsertOne(g *org, c *call, t *table, v strictjson.Value) (saveResultWire, *apiError) {
	_, f, err := g.keyOf(c)
	if err != nil {
		return saveResultWire{}, err
	}
	value, _ := bodyField(v, f.Name)
	r, created, err := c.tx.upsert(t, f, value.Text, without(v, f.Name))
	if err != nil {
		return saveResultWire{}, err
	}
	return success(r, &created), nil
}

// deleteCollection deletes the records of the ids in the query.
func deleteCollection(g *org, c *call) (answer, *apiError) {
	ids := strings.Split(c.query.Get("ids"), ",")
	if len(ids) > maxCollection {
		return answer{}, failure(http.StatusBadRequest, codeLimitExceeded, "record limit reached. cannot submit more than 200 records")
	}
	var todo []func() (saveResultWire, *apiError)
	for _, text := range ids {
		todo = append(todo, func() (saveResultWire, *apiError) {
			id, ok := parseID(text)
			r := g.records[id]
			switch {
			case !ok:
				return saveResultWire{}, refused(about(codeMalformedID, "malformed id "+text))
			case r == nil || r.deleted:
				return saveResultWire{}, refused(about(codeDeleted, "entity is deleted"))
			}
			return success(r, nil), c.tx.attempt(func() *apiError { return c.tx.remove(r) })
		})
	}
	return c.results(c.query.Get("allOrNone") == "true", todo), nil
}

// retrieveCollection reads some fields of records; null stands for an unknown record.
func retrieveCollection(g *org, c *call) (answer, *apiError) {
	t, err := g.tableOf(c)
	if err != nil {
		return answer{}, err
	}
	fields := strictjson.FieldsOf("", c.body)
	ids, err := texts(fields, "ids")
	if err != nil {
		return answer{}, err
	}
	names, err := texts(fields, "fields")
	if err != nil {
		return answer{}, err
	}
	list := []any{}
	for _, id := range ids {
		r, err := g.recordOf(t, id)
		if err != nil {
			list = append(list, nil)
			continue
		}
		body, err := r.toJSON(c.version(), names)
		if err != nil {
			return answer{}, err
		}
		list = append(list, body)
	}
	return answer{status: http.StatusOK, body: list}, nil
}

// texts reads a list of texts.
func texts(fields *strictjson.Fields, name string) ([]string, *apiError) {
	v, _ := fields.Take(name)
	if v.Kind != strictjson.Array || len(v.Items) == 0 || len(v.Items) > maxRetrieved {
		return nil, badJSON("%s must be a list of at most %d", name, maxRetrieved)
	}
	var list []string
	for _, item := range v.Items {
		if item.Kind != strictjson.String {
			return nil, badJSON("%s must be a list of texts", name)
		}
		list = append(list, item.Text)
	}
	return list, nil
}
