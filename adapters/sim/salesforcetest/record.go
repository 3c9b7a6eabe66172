package salesforcetest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// table is one object with its records.
type table struct {
	*Object
	fields  map[string]*Field               // by name in lower case
	order   []*Field                        // the fields of every object first
	records []*record                       // oldest first
	indexes map[string]map[string][]*record // of fields by which records are looked for, by value in lower case
}

// record is one record. Its values are texts by the names of their fields; "" is not given.
type record struct {
	table   *table
	id      string
	values  map[string]string
	deleted bool
}

func newTable(o *Object) *table {
	t := &table{Object: o, fields: map[string]*Field{}, indexes: map[string]map[string][]*record{}}
	t.order = append([]*Field{{Name: "Id", Type: "id", Length: 18, ReadOnly: true},
		{Name: "CreatedDate", Type: "datetime", ReadOnly: true}}, o.Fields...)
	for _, f := range t.order {
		t.fields[strings.ToLower(f.Name)] = f
		if f.Unique || f.ExternalID || f.Type == "email" || f.Type == "reference" {
			t.indexes[f.Name] = map[string][]*record{}
		}
	}
	return t
}

// field returns the field of that name in any letter case, or nil.
func (t *table) field(name string) *Field { return t.fields[strings.ToLower(name)] }

// table returns the object of that name in any letter case, or nil.
func (g *Org) table(name string) *table { return g.tables[strings.ToLower(name)] }

// with returns the records with a value in an indexed field.
func (t *table) with(field, value string) []*record {
	return slices.Clone(t.indexes[field][strings.ToLower(value)])
}

// set gives a record other values; nil takes it out of the indexes.
func (r *record) set(values map[string]string) {
	for name, index := range r.table.indexes {
		if before := strings.ToLower(r.values[name]); before != "" {
			index[before] = slices.DeleteFunc(index[before], func(other *record) bool { return other == r })
		}
		if after := strings.ToLower(values[name]); after != "" {
			index[after] = append(index[after], r)
		}
	}
	r.values = values
}

// transaction is the work of one call on records. It can be rolled back until it is committed.
type transaction struct {
	org             *Org
	allowDuplicates bool   // by the header of the call or part
	fault           *Fault // that the first write of a fitting record suffers, once
	undo            []func()
	entries         []Entry
}

// rollBack undoes everything.
func (t *transaction) rollBack() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
	t.undo, t.entries = nil, nil
}

// note adds an effect to the entries.
func (t *transaction) note(action string, r *record, before, written map[string]string) {
	e := Entry{Action: action, Object: r.table.Name, ID: r.id, Fields: maps.Clone(written)}
	for name, value := range written {
		if before[name] != value {
			e.Changed = append(e.Changed, name)
		}
	}
	slices.Sort(e.Changed)
	t.entries = append(t.entries, e)
}

// create makes a record of what a client sent, with the key that it has in its address.
func (t *transaction) create(of *table, body map[string]any, key map[string]string) (*record, *apiError) {
	if err := t.suffer(of); err != nil {
		return nil, err
	}
	written, err := of.decode(body, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(written, key)
	return t.insert(of, written)
}

// insert makes a record of values that have been read.
func (t *transaction) insert(of *table, written map[string]string) (*record, *apiError) {
	r := &record{table: of}
	values := maps.Clone(written)
	values["CreatedDate"] = t.org.options.Now().UTC().Format(storedTime)
	if err := t.check(r, values, nil); err != nil {
		return nil, err
	}
	t.org.made++
	r.id = newID(of.Prefix, t.org.made)
	values["Id"] = r.id
	r.set(values)
	of.records, t.org.records[r.id] = append(of.records, r), r
	t.undo = append(t.undo, func() {
		r.set(nil)
		of.records = slices.DeleteFunc(of.records, func(other *record) bool { return other == r })
		delete(t.org.records, r.id)
	})
	t.note("created", r, nil, written)
	return r, nil
}

// update changes a record to what a client sent.
func (t *transaction) update(r *record, body map[string]any) *apiError {
	if err := t.suffer(r.table); err != nil {
		return err
	}
	written, err := r.table.decode(body, r)
	if err != nil {
		return err
	}
	before, values := r.values, maps.Clone(r.values)
	maps.Copy(values, written)
	if err := t.check(r, values, before); err != nil {
		return err
	}
	r.set(values)
	t.undo = append(t.undo, func() { r.set(before) })
	t.note("updated", r, before, written)
	return nil
}

// upsert creates a record with a value in a field, or updates the record that has it.
func (t *transaction) upsert(of *table, name, value string, c request) (answer, *apiError) {
	key := of.field(name)
	if key == nil || !key.ExternalID {
		return answer{}, failure(http.StatusNotFound, "NOT_FOUND", "Provided external ID field does not exist: %s", name)
	}
	for name := range c.body {
		if strings.EqualFold(name, key.Name) {
			return answer{}, failure(http.StatusBadRequest, "INVALID_FIELD", "The %s field should not be specified in the sobject data.", key.Name)
		}
	}
	var r *record
	var err *apiError
	status, found := http.StatusOK, of.with(key.Name, value)
	switch {
	case len(found) > 1:
		return answer{status: http.StatusMultipleChoices, body: []string{found[0].id, found[1].id}}, nil
	case len(found) == 1:
		r, err = found[0], t.update(found[0], c.body)
	case c.query.Get("updateOnly") == "true":
		err = notFound()
	default:
		status = http.StatusCreated
		r, err = t.create(of, c.body, map[string]string{key.Name: value})
	}
	if err != nil {
		return answer{}, err
	}
	body := saved(r)
	body["created"] = status == http.StatusCreated
	return answer{status: status, body: body}, nil
}

// suffer returns the error that the write of a record gets whatever its values are.
func (t *transaction) suffer(of *table) *apiError {
	f := t.fault
	if of.ReadOnly {
		return failure(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "entity type %s cannot be written", of.Name)
	}
	if f == nil || f.Kind != Refuse || f.Object != "" && f.Object != of.Name {
		return nil
	}
	code, fields := cmp.Or(f.Code, "FIELD_CUSTOM_VALIDATION_EXCEPTION"), strings.Fields(f.Field)
	*f = Fault{}
	return refused(code, "Not in this organisation.", fields...)
}

// check looks whether a record may have values; before is nil for a new one.
func (t *transaction) check(r *record, values, before map[string]string) *apiError {
	for _, f := range r.table.order {
		value := values[f.Name]
		switch {
		case f.Required && value == "":
			return refused("REQUIRED_FIELD_MISSING", "Required fields are missing: ["+f.Name+"]", f.Name)
		case value == "" || value == before[f.Name]:
			continue
		case f.Type == "reference":
			if to := t.org.records[value]; to == nil || to.deleted || f.To != "" && f.To != to.table.Name {
				return refused("INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id")
			}
		case f.Unique:
			for _, other := range r.table.with(f.Name, value) {
				if other != r {
					return refused("DUPLICATE_VALUE", "duplicate value found: "+f.Name+" duplicates value on record with id: "+other.id)
				}
			}
		case f.Type == "email" && r.table.Name == "Contact" && !t.allowDuplicates:
			if len(r.table.with(f.Name, value)) > 0 {
				return refused("DUPLICATES_DETECTED", "You're creating a duplicate record. We recommend you use an existing record instead.")
			}
		}
	}
	return nil
}

// storedTime is the form of times in values.
const storedTime = "2006-01-02T15:04:05.000Z"

// newID returns the id of the n-th record of an object.
func newID(prefix string, n int) string { return fmt.Sprintf("%s5g%013d", prefix, n) }

// Values are kept as texts, by the type of their field: a number with its scale of digits after the point, a time in UTC as
// storedTime, base64 decoded. false is "".

// decode reads the fields that a client sent for a record; r is nil for a new one.
func (t *table) decode(body map[string]any, r *record) (map[string]string, *apiError) {
	written := map[string]string{}
	for name, value := range body {
		f := t.field(name)
		switch {
		case name == "attributes":
			continue
		case f == nil:
			return nil, refused("INVALID_FIELD", "No such column '"+name+"' on sobject of type "+t.Name)
		case f.ReadOnly, f.CreateOnly && r != nil:
			return nil, refused("INVALID_FIELD_FOR_INSERT_UPDATE", "Unable to create/update fields: "+f.Name, f.Name)
		}
		kept, err := f.parse(value)
		if err != nil {
			return nil, err
		}
		written[f.Name] = kept
	}
	return written, nil
}

// parse reads the value of a field as a client sends it.
func (f *Field) parse(sent any) (string, *apiError) {
	switch value := sent.(type) {
	case nil:
		return "", nil
	case bool:
		if f.Type == "boolean" {
			return map[bool]string{true: "true"}[value], nil
		}
	case json.Number:
		if f.isNumber() {
			return f.parseText(value.String())
		}
	case string:
		if f.Type != "boolean" {
			return f.parseText(strings.TrimSpace(value))
		}
	}
	return "", refused("JSON_PARSER_ERROR", fmt.Sprintf("Cannot deserialize the field %s from a %T", f.Name, sent))
}

// parseText reads a value that comes as a text.
func (f *Field) parseText(sent string) (kept string, err *apiError) {
	ok, code := true, "JSON_PARSER_ERROR"
	kept = sent
	switch {
	case sent == "":
		return "", nil
	case f.isNumber():
		number, err := strconv.ParseFloat(sent, 64) // exact for the figures of a plan, and for a revision
		kept, ok = strconv.FormatFloat(number, 'f', f.Scale, 64), err == nil
	case f.isText() && utf8.RuneCountInString(sent) > f.Length:
		ok, code = false, "STRING_TOO_LONG"
	case f.Restricted && !slices.Contains(f.Values, sent):
		ok, code = false, "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST"
	case f.Type == "email":
		address, err := mail.ParseAddress(sent)
		ok, code = err == nil && address.Address == sent && sent[0] != '.', "INVALID_EMAIL_ADDRESS"
	case f.Type == "base64":
		content, err := base64.StdEncoding.DecodeString(sent)
		kept, ok = string(content), err == nil
	case f.Type == "date":
		_, err := time.Parse(time.DateOnly, sent)
		ok = err == nil
	case f.Type == "datetime":
		at, err := time.Parse(time.RFC3339Nano, sent)
		kept, ok = at.UTC().Format(storedTime), err == nil
	case f.Type == "reference":
		ok, code = len(sent) == 18, "MALFORMED_ID"
	}
	if !ok {
		return "", refused(code, fmt.Sprintf("%s: bad value: %.60s", f.Name, sent), f.Name)
	}
	return kept, nil
}

// toJSON gives a value the form of an answer. address is that of the record, below which content can be fetched.
func (f *Field) toJSON(value, address string) any {
	switch {
	case f.Type == "boolean":
		return value == "true"
	case value == "":
		return nil
	case f.isNumber():
		return json.Number(value)
	case f.Type == "datetime":
		return strings.TrimSuffix(value, "Z") + "+0000"
	case f.Type == "base64":
		return address + "/" + f.Name
	}
	return value
}

// compare orders two values of the field. Letter case does not matter in a text; what is not given comes first.
func (f *Field) compare(a, b string) int {
	switch {
	case a == "" || b == "":
	case f.isNumber():
		x, _ := strconv.ParseFloat(a, 64) // both are stored values
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	case f.isText():
		a, b = strings.ToLower(a), strings.ToLower(b)
	}
	return cmp.Compare(a, b)
}
