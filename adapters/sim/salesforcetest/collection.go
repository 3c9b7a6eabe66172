package salesforcetest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// maxCollection is the largest number of records in a collection.
const maxCollection = 200

// saveOne is the work of a collection on one of its records.
type saveOne func() (saveResultWire, *apiError)

// saveCollection creates, updates or upserts the records of a body, each of which succeeds or fails on its own unless all must
// succeed.
func saveCollection(g *org, c *call) (answer, *apiError) {
	fields := strictjson.FieldsOf("", c.body)
	allOrNone, _ := fields.Take("allOrNone")
	list, _ := fields.Take("records")
	if list.Kind != strictjson.Array || len(fields.Unknown(1)) > 0 {
		return answer{}, badJSON("The HTTP entity body must be an object with records")
	}
	var todo []saveOne
	for _, v := range list.Items {
		todo = append(todo, func() (saveResultWire, *apiError) { return c.save(g, v) })
	}
	return c.results(strictjson.IsTrue(allOrNone), todo)
}

// save saves one record of a collection.
func (c *call) save(g *org, v strictjson.Value) (saveResultWire, *apiError) {
	about, _ := v.Member(attributes)
	name, _ := about.Member("type")
	t := g.table(name.Text)
	if t == nil || c.table != nil && c.table != t {
		return saveResultWire{}, failure(http.StatusBadRequest, codeInvalidType, "sObject type '%s' is not supported here.", name.Text)
	}
	var r *record
	var f *Field
	var err *apiError
	var created *bool
	switch {
	case c.method == http.MethodPost:
		r, err = c.tx.create(t, v, nil)
	case c.params["field"] == "":
		id, _ := bodyField(v, "id")
		if r, err = g.recordOf(t, id.Text); err == nil {
			err = c.tx.update(r, without(v, "id"))
		}
	default:
		if f, err = c.key(); err == nil {
			value, _ := bodyField(v, f.Name)
			created = new(bool)
			r, *created, err = c.tx.upsert(t, f, value.Text, without(v, f.Name))
		}
	}
	if err != nil {
		return saveResultWire{}, err
	}
	return success(r, created), nil
}

func success(r *record, created *bool) saveResultWire {
	return saveResultWire{ID: r.id, Success: true, Errors: []saveErrorWire{}, Created: created}
}

// without returns a record as it was sent, without one of its fields.
func without(v strictjson.Value, name string) strictjson.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m strictjson.Member) bool { return strings.EqualFold(m.Name, name) })
	return v
}

// deleteCollection deletes the records of the ids in the query.
func deleteCollection(g *org, c *call) (answer, *apiError) {
	var todo []saveOne
	for id := range strings.SplitSeq(c.query.Get("ids"), ",") {
		todo = append(todo, func() (saveResultWire, *apiError) {
			id, ok := parseID(id)
			r := g.records[id]
			switch {
			case !ok:
				return saveResultWire{}, refused(about(codeMalformedID, "malformed id "+id))
			case r == nil || r.deleted:
				return saveResultWire{}, refused(about(codeDeleted, "entity is deleted"))
			}
			return success(r, nil), c.tx.remove(r)
		})
	}
	return c.results(c.query.Get("allOrNone") == "true", todo)
}

// results carries out what a collection wants, and answers with what became of each record.
func (c *call) results(allOrNone bool, todo []saveOne) (answer, *apiError) {
	if len(todo) == 0 || len(todo) > maxCollection {
		return answer{}, failure(http.StatusBadRequest, codeLimitExceeded, "record limit reached. cannot submit more than 200 records")
	}
	start, list, failedOne := c.tx.mark(), make([]saveResultWire, len(todo)), false
	for i, do := range todo {
		result, err := do()
		if err != nil {
			result, failedOne = err.toResult(), true
		}
		list[i] = result
	}
	if failedOne && allOrNone {
		c.tx.rollBack(start)
		for i := range list {
			if list[i].Success {
				list[i] = refused(about(codeRolledBack,
					"Record rolled back because not all records were valid and the request was using AllOrNone header")).toResult()
			}
		}
	}
	return answer{status: http.StatusOK, body: list}, nil
}

// retrieveCollection reads some fields of records; null stands for an unknown record.
func retrieveCollection(g *org, c *call) (answer, *apiError) {
	texts := func(name string) (list []string) {
		v, _ := c.body.Member(name)
		for _, item := range v.Items {
			list = append(list, item.Text)
		}
		return list
	}
	ids, names := texts("ids"), texts("fields")
	if len(ids) == 0 || len(names) == 0 {
		return answer{}, badJSON("ids and fields must be lists")
	}
	list := []any{}
	for _, id := range ids {
		r, err := g.recordOf(c.table, id)
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
