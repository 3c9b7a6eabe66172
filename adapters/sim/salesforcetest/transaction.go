package salesforcetest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// transaction is the work of one call, or of one part of a composite call, on records. It can be rolled back until it is
// committed.
type transaction struct {
	org             *org
	now             time.Time
	call            int
	method, path    string
	duplicateRule   bool
	allowDuplicates bool   // by the header of the call or part
	fault           *Fault // what the first write of a fitting record suffers; nil once it has
	undo            []func()
	entries         []Entry
}

// commit keeps what was done.
func (t *transaction) commit() {
	t.org.journal = append(t.org.journal, t.entries...)
	t.undo, t.entries = nil, nil
}

// mark is a point to which a transaction can be rolled back.
type mark struct{ undo, entries int }

func (t *transaction) mark() mark { return mark{len(t.undo), len(t.entries)} }

// rollBack undoes what was done since a mark.
func (t *transaction) rollBack(to mark) {
	for _, undo := range slices.Backward(t.undo[to.undo:]) {
		undo()
	}
	t.undo, t.entries = t.undo[:to.undo], t.entries[:to.entries]
}

// attempt does something that leaves nothing behind where it fails.
func (t *transaction) attempt(do func() *apiError) *apiError {
	start := t.mark()
	err := do()
	if err != nil {
		t.rollBack(start)
	}
	return err
}

// create makes a record of what a client sent. preset has values that come beside the body.
func (t *transaction) create(table *table, body strictjson.Value, preset map[string]string) (made *record, err *apiError) {
	if table.ReadOnly || table.Name == objectContentDocument {
		return nil, failure(405, codeMethodNotAllowed, "entity type %s does not support create", table.Name)
	}
	if err := t.suffer(table); err != nil {
		return nil, err
	}
	written, err := decode(table, body, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(written, preset)
	err = t.attempt(func() (err *apiError) {
		made, err = t.insert(table, written)
		return err
	})
	return made, err
}

// insert makes a record with values that have been read, and the records that go with it.
func (t *transaction) insert(table *table, written map[string]string) (*record, *apiError) {
	r := &record{table: table, values: maps.Clone(written)}
	at := t.now.Format(storedTime)
	r.values["CreatedDate"], r.values["LastModifiedDate"] = at, at
	name(r)
	if err := t.check(r, r.values, nil); err != nil {
		return nil, err
	}
	if table.Name == objectContentVersion {
		if err := t.publish(r); err != nil {
			return nil, err
		}
	}
	t.add(r)
	t.note(Created, r, nil, written)
	if table.Name == objectContentVersion {
		return r, t.linkDocument(r)
	}
	return r, nil
}

// name sets the name of a contact, which its other names make.
func name(r *record) {
	if r.table.Name == objectContact {
		r.values["Name"] = strings.TrimSpace(r.values["FirstName"] + " " + r.values["LastName"])
	}
}

// add inserts a record under an id of its own.
func (t *transaction) add(r *record) {
	if r.id == "" {
		r.id = t.newID(r.table)
	}
	t.org.insert(r)
	t.undo = append(t.undo, func() {
		r.drop()
		delete(t.org.records, r.id)
	})
}

func (t *transaction) newID(table *table) string {
	n := firstRecord + t.org.made[table.Prefix]
	t.org.made[table.Prefix]++
	return newID(table.Prefix, n)
}

// update changes a record to what a client sent.
func (t *transaction) update(r *record, body strictjson.Value) *apiError {
	if r.table.ReadOnly {
		return failure(405, codeMethodNotAllowed, "entity type %s does not support update", r.table.Name)
	}
	if err := t.suffer(r.table); err != nil {
		return err
	}
	written, err := decode(r.table, body, r)
	if err != nil {
		return err
	}
	values := maps.Clone(r.values)
	maps.Copy(values, written)
	if err := t.check(r, values, r.values); err != nil {
		return err
	}
	t.change(r, values, written)
	return nil
}

// change sets the values of a record that have been checked.
func (t *transaction) change(r *record, values, written map[string]string) {
	before := r.values
	values["LastModifiedDate"] = t.now.Format(storedTime)
	next := &record{table: r.table, values: values}
	name(next)
	r.set(next.values)
	t.undo = append(t.undo, func() { r.set(before) })
	t.note(Updated, r, before, written)
}

// upsert creates a record with a value in a field, or updates the record that has it.
func (t *transaction) upsert(table *table, field *Field, value string, body strictjson.Value) (r *record, created bool, err *apiError) {
	if _, given := bodyField(body, field.Name); given {
		return nil, false, failure(400, codeInvalidField, "The %s field should not be specified in the sobject data.", field.Name)
	}
	kept, wrong := field.parseText(value)
	if wrong != nil {
		return nil, false, refused(*wrong)
	}
	switch found := table.with(field.Name, kept); {
	case kept == "":
		return nil, false, notFound()
	case len(found) > 1:
		return nil, false, multiple(t.path, field, found)
	case len(found) == 1:
		return found[0], false, t.update(found[0], body)
	}
	r, err = t.create(table, body, map[string]string{field.Name: kept})
	return r, true, err
}

// remove deletes a record. References to it stay.
func (t *transaction) remove(r *record) *apiError {
	if r.table.ReadOnly {
		return failure(405, codeMethodNotAllowed, "entity type %s does not support delete", r.table.Name)
	}
	if err := t.suffer(r.table); err != nil {
		return err
	}
	r.drop()
	r.deleted = true
	t.undo = append(t.undo, func() {
		r.deleted = false
		t.org.insert(r)
	})
	t.note(Deleted, r, nil, nil)
	return nil
}
