package salesforcetest

import (
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// attributes is the name of what is about a record and not in it.
const attributes = "attributes"

// bodyField returns the value of a field in a body, in any letter case.
func bodyField(body strictjson.Value, name string) (strictjson.Value, bool) {
	for _, m := range body.Members {
		if strings.EqualFold(m.Name, name) {
			return m.Value, true
		}
	}
	return strictjson.Value{}, false
}

// decode reads the fields that a client sent for a record; r is nil for a new one.
func decode(table *table, body strictjson.Value, r *record) (map[string]string, *apiError) {
	if body.Kind != strictjson.Object {
		return nil, badJSON("The HTTP entity body must be an object")
	}
	written := map[string]string{}
	var faults []fault
	for _, m := range body.Members {
		if m.Name == attributes {
			continue
		}
		f := table.field(m.Name)
		if f == nil {
			return nil, refused(unknownColumn(m.Name, table.Name))
		}
		if err := writable(f, r); err != nil {
			return nil, err
		}
		if _, twice := written[f.Name]; twice {
			return nil, badJSON("Duplicate field: %s", f.Name)
		}
		kept, wrong := f.parse(m.Value)
		if wrong != nil {
			faults = append(faults, *wrong)
		}
		written[f.Name] = kept
	}
	if len(faults) > 0 {
		return nil, refused(faults...)
	}
	return written, nil
}

// writable returns the error of a field that the client may not set: Id is in the address and nowhere else.
func writable(f *Field, r *record) *apiError {
	switch {
	case f.Type == TypeID && r != nil:
		return failure(400, codeInvalidField, "The Id field should not be specified in the sobject data.")
	case f.Type == TypeID:
		return refused(about(codeInvalidForWrite, "cannot specify Id in an insert call", "Id"))
	case !f.writable() || f.CreateOnly && r != nil:
		return refused(about(codeInvalidForWrite, "Unable to create/update fields: "+f.Name+
			". Please check the security settings of this field and verify that it is read/write for your profile or permission set.", f.Name))
	}
	return nil
}

// check looks whether a record may have values; before is nil for a new one.
func (t *transaction) check(r *record, values, before map[string]string) *apiError {
	if missing := r.table.missing(values); len(missing) > 0 {
		return refused(about(codeRequired, "Required fields are missing: ["+strings.Join(missing, ", ")+"]", missing...))
	}
	for i := range r.table.Fields {
		f := &r.table.Fields[i]
		if f.Type == TypeReference && !f.ReadOnly && values[f.Name] != "" {
			if err := t.checkReference(f, values[f.Name]); err != nil {
				return err
			}
		}
	}
	if err := t.checkDuplicates(r, values, before); err != nil {
		return err
	}
	return checkUnique(r, values, before)
}

// missing returns the names of the required fields that have no value.
func (t *table) missing(values map[string]string) (names []string) {
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Required && values[f.Name] == "" {
			names = append(names, f.Name)
		}
	}
	return names
}

// checkReference looks whether there is the record that a reference names.
func (t *transaction) checkReference(f *Field, id string) *apiError {
	right := slices.ContainsFunc(t.org.order, func(table *table) bool {
		return table.Prefix == id[:3] && (len(f.ReferenceTo) == 0 || slices.Contains(f.ReferenceTo, table.Name))
	})
	switch to := t.org.records[id]; {
	case !right:
		return refused(*f.says(codeMalformedID, "id value of incorrect type: "+id))
	case to == nil:
		return refused(about(codeCrossReference, "invalid cross reference id"))
	case to.deleted:
		return refused(about(codeDeleted, "entity is deleted"))
	}
	return nil
}

// checkUnique looks whether another record has a value that only one may have.
func checkUnique(r *record, values, before map[string]string) *apiError {
	for i := range r.table.Fields {
		f := &r.table.Fields[i]
		if !f.Unique || values[f.Name] == "" || values[f.Name] == before[f.Name] {
			continue
		}
		for _, other := range r.table.with(f.Name, values[f.Name]) {
			if other != r {
				return refused(duplicateValue(f, other.id))
			}
		}
	}
	return nil
}

// The words of the stock rule, by which two contacts must not have the same e-mail address.
const (
	duplicateRuleName = "Standard_Rule_for_Contacts_with_Duplicate_Contacts"
	duplicatesMessage = "You're creating a duplicate record. We recommend you use an existing record instead."
)

// checkDuplicates applies the stock rule. It looks at an address when it is set, not while it stays.
func (t *transaction) checkDuplicates(r *record, values, before map[string]string) *apiError {
	address := r.table.field("Email")
	if r.table.Name != objectContact || address == nil || !t.duplicateRule || t.allowDuplicates ||
		values[address.Name] == "" || address.compare(values[address.Name], before[address.Name]) == 0 {
		return nil
	}
	var matches []matchRecordWire
	for _, other := range r.table.with(address.Name, values[address.Name]) {
		if other != r {
			matches = append(matches, matchRecordWire{matchedWire{attributesWire{objectContact, other.url(versionOf(t.path))}, other.id}})
		}
	}
	if len(matches) == 0 {
		return nil
	}
	return refused(fault{code: codeDuplicates, message: duplicatesMessage, duplicates: &duplicateResultWire{
		AllowSave: true, DuplicateRule: duplicateRuleName, ErrorMessage: duplicatesMessage, MatchResults: []matchResultWire{{matches}}}})
}
