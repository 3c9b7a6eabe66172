package salesforce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// reference begins what a composite request replaces by a value of an earlier part, in any text.
const reference = "@{"

// idOf stands for the id of the record that an earlier write makes.
type idOf string

// write is the creation of a record, or the change of one.
type write struct {
	object string
	id     string // of the record that is changed; "" for a new one
	values map[string]any
	while  map[string]string // fields with what was read of them: with another value nothing is written; nil for no condition
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9]{15}(?:[A-Za-z0-9]{3})?$`)

var errNoID = errors.New("the answer has no id of a record")

// writeAll makes writes, in their order and all or nothing, and returns the ids of the new records by their object. Texts that
// would be taken for references are written before the others.
func (c *CRM) writeAll(ctx context.Context, writes []write) (map[string]string, error) {
	apart, writes := split(writes)
	ids, err := c.writeEach(ctx, apart)
	if err != nil || len(writes) == 0 {
		return ids, err
	}
	var parts []partWire
	var objects []string // of the parts
	for i, w := range writes {
		if w.while != nil {
			parts, objects = append(parts, c.condition(w)), append(objects, w.object)
			w.id = reference + conditionID + ".records[0].Id}"
		}
		method, path := c.address(w)
		id := w.object // by which others refer to a new record
		if w.id != "" {
			id += strconv.Itoa(i)
		}
		parts, objects = append(parts, partWire{Method: method, URL: dataPath + path, ReferenceID: id,
			Headers: map[string]string{duplicateHeader: allowDuplicates},
			Body:    c.body(w, func(object string) string { return reference + object + ".id}" })}), append(objects, w.object)
	}
	answers, err := c.composite(ctx, parts, true)
	if err != nil {
		return nil, err
	}
	if err := failedPart(objects, answers); err != nil {
		return nil, err
	}
	for i, p := range parts {
		if p.Method == http.MethodPost {
			if ids[objects[i]], err = newID(answers[i].Body); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

// conditionID is the reference to the query of a write that has a condition; of some writes one has.
const conditionID = "condition"

// condition is the query that finds the record of a write while fields have the values that were read. If it finds no record, the
// write refers to nothing, and all writes fail with it: a request may arrive long after its caller gave it up, when others have gone
// on. A write of the record before the query locks the record, so that two requests at once do not both find it.
func (c *CRM) condition(w write) partWire {
	conditions := []string{"Id = " + literal(w.id)}
	for name, read := range w.while {
		conditions = append(conditions, c.mapping.field(w.object, name)+" = "+literal(read))
	}
	slices.Sort(conditions)
	return partWire{Method: http.MethodGet, ReferenceID: conditionID,
		URL: dataPath + "/query?" + url.Values{"q": {c.mapping.selection(w.object, nil, strings.Join(conditions, " AND "))}}.Encode()}
}

// literal returns a value that was read as a query has it.
func literal(read string) string {
	if read == "" {
		return "null"
	}
	if at, err := time.Parse(answeredInstant, read); err == nil {
		return instant(at)
	}
	return "'" + soqlText.Replace(read) + "'"
}

// split returns what takes a call of its own, and what goes together. A text that would be taken for a reference cannot be
// escaped: it is written apart, and with it every write where it belongs to a record that is still to be made.
func split(writes []write) (apart, together []write) {
	for _, w := range writes {
		texts, rest := map[string]any{}, map[string]any{}
		for name, value := range w.values {
			if text, ok := value.(string); ok && strings.Contains(text, reference) {
				texts[name] = text
			} else {
				rest[name] = value
			}
		}
		switch {
		case len(texts) > 0 && w.id == "":
			return writes, nil
		case len(texts) > 0:
			apart = append(apart, write{w.object, w.id, texts, nil})
		}
		together = append(together, write{w.object, w.id, rest, w.while})
	}
	return apart, together
}

// writeEach makes writes by a call each. What was written when one fails stays, and is found by the next attempt.
func (c *CRM) writeEach(ctx context.Context, writes []write) (map[string]string, error) {
	ids := map[string]string{}
	for _, w := range writes {
		method, path := c.address(w)
		timeout := callTimeout
		if w.object == document {
			timeout = uploadTimeout
		}
		answer, err := send[json.RawMessage](ctx, c, call{method: method, path: path, timeout: timeout,
			body: c.body(w, func(object string) string { return ids[object] })})
		if err == nil && w.id == "" {
			ids[w.object], err = newID(answer)
		}
		if err != nil {
			return ids, inRecord(w.object, err)
		}
	}
	return ids, nil
}

// address returns the method and path of a write.
func (c *CRM) address(w write) (method, path string) {
	path = "/sobjects/" + c.mapping.object(w.object)
	if w.id == "" {
		return http.MethodPost, path
	}
	return http.MethodPatch, path + "/" + w.id
}

// body returns the values of a write by the names of their fields in the organisation. idOf returns the id of the record that an
// earlier write makes.
func (c *CRM) body(w write, id func(object string) string) map[string]any {
	values := maps.Clone(w.values)
	for name, value := range values {
		if of, ok := value.(idOf); ok {
			values[name] = id(string(of))
		}
	}
	return c.mapping.body(w.object, values)
}

// The header that has a record saved though a duplicate rule would refuse it.
const (
	duplicateHeader = "Sforce-Duplicate-Rule-Header"
	allowDuplicates = "allowSave=true"
)

// newID returns the id in the answer to a creation.
func newID(answer json.RawMessage) (string, error) {
	var saved savedWire
	if json.Unmarshal(answer, &saved) != nil || !saved.Success || !idPattern.MatchString(saved.ID) {
		return "", &outbound.Lost{Cause: errNoID}
	}
	return saved.ID, nil
}

// composite sends parts in one request, and returns their answers in the same order.
func (c *CRM) composite(ctx context.Context, parts []partWire, allOrNone bool) ([]partAnswerWire, error) {
	answer, err := send[compositeAnswerWire](ctx, c, call{method: http.MethodPost, path: "/composite",
		body: compositeWire{AllOrNone: allOrNone, Parts: parts}})
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(parts, answer.Parts, func(p partWire, a partAnswerWire) bool { return p.ReferenceID == a.ReferenceID }) {
		return nil, &outbound.Lost{Cause: errors.New("the answer does not have a result for each part")}
	}
	return answer.Parts, nil
}

// failedPart returns the error of the write that failed; of the others only that it did.
func failedPart(objects []string, answers []partAnswerWire) error {
	var failed error
	for i, a := range answers {
		if a.Status >= 200 && a.Status <= 299 {
			continue
		}
		err := newAPIError(a.Status, a.Body)
		if failed == nil || !err.has(codeHalted) {
			failed = inRecord(objects[i], err)
		}
		if !err.has(codeHalted) {
			break
		}
	}
	return failed
}

// query asks for the records of an object of which any of some fields has a value. A field may be that of a record to which
// one refers: opportunity.key.
type query struct {
	object string
	where  map[string]string
	names  []string // of the fields that are read
}

// record is a record that was read: its values by the names of the mapping.
type record struct {
	id     string
	values map[string]strictjson.Value
}

// text returns a text, a number as it was written, or "" for a field without a value.
func (r record) text(name string) string { return r.values[name].Text }

// read returns what queries find, all by one call. Salesforce takes at most five of them together.
func (c *CRM) read(ctx context.Context, queries ...query) (all [][]record, err error) {
	if len(queries) == 1 {
		q := queries[0]
		answer, err := send[recordsWire](ctx, c, call{method: http.MethodGet, path: "/query", query: c.mapping.soql(q)})
		if err != nil {
			return nil, ofLook(err)
		}
		found, err := c.mapping.records(q.object, q.names, answer)
		return [][]record{found}, err
	}
	parts := make([]partWire, len(queries))
	for i, q := range queries {
		parts[i] = partWire{Method: http.MethodGet, ReferenceID: q.object, URL: dataPath + "/query?" + c.mapping.soql(q).Encode()}
	}
	answers, err := c.composite(ctx, parts, false)
	if err != nil {
		return nil, ofLook(err)
	}
	for i, q := range queries {
		if answers[i].Status != http.StatusOK {
			return nil, ofLook(inRecord(q.object, newAPIError(answers[i].Status, answers[i].Body)))
		}
		var answer recordsWire
		if err := json.Unmarshal(answers[i].Body, &answer); err != nil {
			return nil, &outbound.Lost{Cause: fmt.Errorf("the %s: %w", q.object, outbound.WithoutText(err))}
		}
		found, err := c.mapping.records(q.object, q.names, answer)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// soql is the parameter of a query.
func (m Mapping) soql(q query) url.Values {
	var conditions []string
	for name, value := range q.where {
		conditions = append(conditions, m.path(q.object, name)+" = '"+soqlText.Replace(value)+"'")
	}
	slices.Sort(conditions)
	return url.Values{"q": {m.selection(q.object, q.names, strings.Join(conditions, " OR ")) + " LIMIT 10"}}
}

// soqlText escapes a text between the quotes of a query.
var soqlText = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// selection is the text of a query for the records that fulfil a condition, if there is one, the oldest first.
func (m Mapping) selection(object string, names []string, condition string) string {
	fields := []string{"Id"}
	for _, name := range names {
		fields = append(fields, m.field(object, name))
	}
	if condition != "" {
		condition = " WHERE " + condition
	}
	return "SELECT " + strings.Join(fields, ", ") + " FROM " + m.object(object) + condition + " ORDER BY CreatedDate, Id"
}

// maxRecordDepth is that of a record, which has its attributes as an object.
const maxRecordDepth = 4

// records reads the records of an answer. An answer without a list is lost: it does not say that there are no records.
func (m Mapping) records(object string, names []string, answer recordsWire) (all []record, err error) {
	lost := func(format string, args ...any) ([]record, error) {
		return nil, &outbound.Lost{Cause: fmt.Errorf("a record of "+m.object(object)+" "+format, args...)}
	}
	if answer.Records == nil {
		return lost("may exist or not: the answer has no list")
	}
	for _, data := range answer.Records {
		v, err := strictjson.Parse(data, maxRecordDepth)
		if err != nil {
			return lost("is not well-formed")
		}
		id, _ := member(v, "Id")
		if !idPattern.MatchString(id.Text) {
			return lost("has no id")
		}
		r := record{id.Text, map[string]strictjson.Value{}}
		for _, name := range names {
			value, ok := member(v, m.field(object, name))
			if !ok || value.Kind == strictjson.Array || value.Kind == strictjson.Object {
				return lost("has no %s", m.field(object, name))
			}
			r.values[name] = value
		}
		all = append(all, r)
	}
	return all, nil
}

// member returns the value of a field. A mapping may spell its name in another letter case than the answer does.
func member(v strictjson.Value, field string) (value strictjson.Value, ok bool) {
	at := slices.IndexFunc(v.Members, func(m strictjson.Member) bool { return strings.EqualFold(m.Name, field) })
	if at < 0 {
		return strictjson.Value{}, false
	}
	return v.Members[at].Value, true
}

// outcome returns what an error means to the caller: a refusal where it is definite.
func (c *CRM) outcome(err error) error {
	refused, ok := errors.AsType[*apiError](err)
	if !ok || !refused.definite() {
		return err
	}
	refusal := &checkout.CRMRefusal{Code: refused.faults[0].code, Faults: c.mapping.faults(refused.object, refused.faults)}
	if len(refusal.Faults) == 0 && refused.object != "" {
		refusal.Faults = []checkout.Fault{{Field: c.mapping.object(refused.object), Message: "is refused"}}
	}
	return refusal
}

// refuse is a refusal of our own.
func refuse(code, field, message string) error {
	return &checkout.CRMRefusal{Code: code, Faults: []checkout.Fault{{Field: field, Message: message}}}
}
