package salesforce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
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
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9]{15}(?:[A-Za-z0-9]{3})?$`)

var errNoID = errors.New("the answer has no id of a record")

// writeAll makes writes, in their order and all or nothing, and returns the ids of the new records by their object.
func (c *CRM) writeAll(ctx context.Context, writes []write) (map[string]string, error) {
	if slices.ContainsFunc(writes, func(w write) bool { return w.id == "" && len(w.references()) > 0 }) {
		return c.writeEach(ctx, writes)
	}
	writes, err := c.writeReferences(ctx, writes)
	if err != nil {
		return nil, err
	}
	parts := make([]partWire, len(writes))
	for i, w := range writes {
		method, path := c.address(w)
		parts[i] = partWire{Method: method, URL: dataPath + path, ReferenceID: w.object,
			Headers: map[string]string{duplicateHeader: allowDuplicates},
			Body:    c.body(w, func(object string) string { return reference + object + ".id}" })}
	}
	answers, err := c.composite(ctx, parts, true)
	if err != nil {
		return nil, err
	}
	if err := failedPart(writes, answers); err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for i, w := range writes {
		if w.id == "" {
			if ids[w.object], err = newID(answers[i].Body); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

// references returns the values of a write that would be taken for references, which cannot be escaped.
func (w write) references() map[string]any {
	texts := map[string]any{}
	for name, value := range w.values {
		if text, ok := value.(string); ok && strings.Contains(text, reference) {
			texts[name] = text
		}
	}
	return texts
}

// writeReferences changes what would be taken for references by calls of their own, and returns the rest of the writes.
func (c *CRM) writeReferences(ctx context.Context, writes []write) (rest []write, err error) {
	for _, w := range writes {
		if texts := w.references(); len(texts) > 0 {
			if _, err := c.writeEach(ctx, []write{{w.object, w.id, texts}}); err != nil {
				return nil, err
			}
			w.values = maps.Clone(w.values)
			maps.DeleteFunc(w.values, func(name string, _ any) bool { return texts[name] != nil })
		}
		rest = append(rest, w)
	}
	return rest, nil
}

// writeEach makes writes by a call each. What was written when one fails stays, and is found by the next attempt.
func (c *CRM) writeEach(ctx context.Context, writes []write) (map[string]string, error) {
	ids := map[string]string{}
	for _, w := range writes {
		method, path := c.address(w)
		answer, err := send[json.RawMessage](ctx, c.client, call{method: method, path: path,
			header: http.Header{duplicateHeader: {allowDuplicates}}, body: c.body(w, func(object string) string { return ids[object] })})
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
	answer, err := send[compositeAnswerWire](ctx, c.client, call{method: http.MethodPost, path: "/composite",
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
func failedPart(writes []write, answers []partAnswerWire) error {
	var failed error
	for i, a := range answers {
		if a.Status >= 200 && a.Status <= 299 {
			continue
		}
		err := newAPIError(a.Status, a.Body)
		if failed == nil || !err.has(codeHalted) {
			failed = inRecord(writes[i].object, err)
		}
		if !err.has(codeHalted) {
			break
		}
	}
	return failed
}

// found is a record that was read: texts by the names of their fields. An empty id means that there is no record.
type found struct {
	id     string
	values map[string]string
}

// byKey is the part of a composite request that reads a record by its natural key.
func (c *CRM) byKey(object, key string, names ...string) partWire {
	fields := []string{"Id"}
	for _, name := range names {
		fields = append(fields, c.mapping.field(object, name))
	}
	return partWire{Method: http.MethodGet, ReferenceID: object, URL: dataPath + "/sobjects/" + c.mapping.object(object) + "/" +
		c.mapping.field(object, fieldKey) + "/" + url.PathEscape(key) + "?fields=" + strings.Join(fields, ",")}
}

// foundByKey reads the answer to byKey.
func (c *CRM) foundByKey(object string, answer partAnswerWire, names ...string) (found, error) {
	if answer.Status == http.StatusNotFound {
		return found{}, nil
	}
	if answer.Status != http.StatusOK {
		err := newAPIError(answer.Status, answer.Body)
		err.object, err.look = object, answer.Status != http.StatusMultipleChoices // a record was copied with its key
		return found{}, err
	}
	var record map[string]any
	d := json.NewDecoder(bytes.NewReader(answer.Body))
	d.UseNumber()
	if err := d.Decode(&record); err != nil {
		return found{}, &outbound.Lost{Cause: fmt.Errorf("the %s: %w", object, outbound.WithoutText(err))}
	}
	return c.found(object, record, names)
}

// found reads a record of an answer.
func (c *CRM) found(object string, record map[string]any, names []string) (found, error) {
	id, _ := record["Id"].(string)
	if !idPattern.MatchString(id) {
		return found{}, &outbound.Lost{Cause: errNoID}
	}
	f := found{id, map[string]string{}}
	for _, name := range names {
		value, ok := named(record, c.mapping.field(object, name))
		text, isText := value.(string)
		if number, ok := value.(json.Number); ok {
			text, isText = number.String(), true
		}
		if !ok || value != nil && !isText {
			return f, &outbound.Lost{Cause: fmt.Errorf("the %s that was read has no %s", object, name)}
		}
		f.values[name] = text
	}
	return f, nil
}

// named returns the value of a field. A mapping may spell its name in another letter case than the answer does.
func named(record map[string]any, field string) (value any, ok bool) {
	for name, value := range record {
		if strings.EqualFold(name, field) {
			return value, true
		}
	}
	return nil, false
}

// query returns the records of an object of which any of some fields has a value. A field may be that of a record to which
// one refers: opportunity.key.
func (c *CRM) query(ctx context.Context, object string, where map[string]string, names ...string) ([]found, error) {
	answer, err := send[queryAnswerWire](ctx, c.client, call{method: http.MethodGet, path: "/query", query: c.soql(object, where, names)})
	if err != nil {
		return nil, err
	}
	return c.foundAll(object, answer, names)
}

// byQuery is the part of a composite request that makes a query.
func (c *CRM) byQuery(object string, where map[string]string, names ...string) partWire {
	return partWire{Method: http.MethodGet, ReferenceID: object, URL: dataPath + "/query?" + c.soql(object, where, names).Encode()}
}

// foundByQuery reads the answer to byQuery.
func (c *CRM) foundByQuery(object string, answer partAnswerWire, names ...string) ([]found, error) {
	if answer.Status != http.StatusOK {
		return nil, ofLook(inRecord(object, newAPIError(answer.Status, answer.Body)))
	}
	var records queryAnswerWire
	if err := json.Unmarshal(answer.Body, &records); err != nil {
		return nil, &outbound.Lost{Cause: fmt.Errorf("the %s: %w", object, outbound.WithoutText(err))}
	}
	return c.foundAll(object, records, names)
}

// soql is the parameter of a query.
func (c *CRM) soql(object string, where map[string]string, names []string) url.Values {
	fields, conditions := []string{"Id"}, []string{}
	for _, name := range names {
		fields = append(fields, c.mapping.field(object, name))
	}
	for name, value := range where {
		conditions = append(conditions, c.mapping.path(object, name)+" = '"+soqlText.Replace(value)+"'")
	}
	slices.Sort(conditions)
	return url.Values{"q": {"SELECT " + strings.Join(fields, ", ") + " FROM " + c.mapping.object(object) + " WHERE " +
		strings.Join(conditions, " OR ") + " ORDER BY CreatedDate, Id LIMIT 10"}}
}

// foundAll reads the records that a query found. An answer without a list is lost: it does not say that there are no records.
func (c *CRM) foundAll(object string, answer queryAnswerWire, names []string) (all []found, err error) {
	if answer.Records == nil {
		return nil, &outbound.Lost{Cause: fmt.Errorf("the answer has no list of each %s that was found", object)}
	}
	for _, record := range answer.Records {
		f, err := c.found(object, record, names)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// soqlText escapes a text between the quotes of a query.
var soqlText = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

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
