package salesforce

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Mapping says by which names an organisation has the objects and fields, and which stages an opportunity goes through.
// The zero Mapping has no names.
type Mapping struct {
	objects  map[string]mapped // by name in the file
	open     string            // the stage of an enrolment that was opened
	complete string            // and of a complete enrolment
}

// mapped is an object by its names in an organisation.
type mapped struct {
	api    string
	fields map[string]string // by name in the file
}

func (m Mapping) isZero() bool { return m.objects == nil }

// DefaultMapping returns the names of an organisation that has the metadata.
func DefaultMapping() Mapping {
	m := Mapping{objects: map[string]mapped{}, open: "Prospecting", complete: "Closed Won"}
	for _, o := range objects() {
		names := mapped{o.api, map[string]string{}}
		for _, f := range o.fields {
			names.fields[f.name] = f.api
		}
		m.objects[o.name] = names
	}
	return m
}

const maxMappingDepth = 4

// namePattern matches the names that Salesforce allows for objects and fields. The names go into addresses and queries.
var namePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,79}$`)

// maxStage is the length of the longest value of a picklist.
const maxStage = 255

// ParseMapping reads a mapping from JSON: what it does not name is called as in DefaultMapping.
//
//	{
//	  "contact": {"fields": {"key": "Checkout_Key__c"}},
//	  "authority": {"object": "Debit_Authority__c", "fields": {"status": "State__c"}},
//	  "stages": {"open": "Application", "complete": "Enrolled"}
//	}
//
// The error names everything that is wrong.
func ParseMapping(data []byte) (Mapping, error) {
	v, err := strictjson.Parse(data, maxMappingDepth)
	if err != nil {
		return Mapping{}, err
	}
	r := &mappingReader{}
	m := DefaultMapping()
	file := r.object("", v)
	for _, o := range objects() {
		if given, ok := file.Take(o.name); ok {
			m.objects[o.name] = r.mapped(file.At(o.name), given, o, m.objects[o.name])
		}
	}
	if given, ok := file.Take("stages"); ok {
		stages := r.object("stages", given)
		r.stage(stages, "open", &m.open)
		r.stage(stages, "complete", &m.complete)
		r.unknown(stages)
	}
	r.unknown(file)
	if m.open == m.complete {
		r.fault("stages", "must differ: an enrolment would be complete when it is opened")
	}
	return m, errors.Join(r.faults...)
}

// mappingReader collects what is wrong with a mapping.
type mappingReader struct{ faults []error }

func (r *mappingReader) fault(path, message string) {
	r.faults = append(r.faults, &strictjson.Error{Path: path, Message: message})
}

func (r *mappingReader) object(path string, v strictjson.Value) *strictjson.Fields {
	fields := strictjson.FieldsOf(path, v)
	if !fields.Object() {
		r.fault(path, "must be an object")
	}
	return fields
}

const maxUnknown = 20

func (r *mappingReader) unknown(of *strictjson.Fields) {
	for _, name := range of.Unknown(maxUnknown) {
		r.fault(of.At(name), "is not known; there are "+strings.Join(of.Known(), ", "))
	}
}

// mapped reads the names of an object.
func (r *mappingReader) mapped(path string, v strictjson.Value, o object, names mapped) mapped {
	given := r.object(path, v)
	r.name(given, "object", &names.api)
	if list, ok := given.Take("fields"); ok {
		fields := r.object(given.At("fields"), list)
		for _, f := range o.fields {
			api := names.fields[f.name]
			r.name(fields, f.name, &api)
			names.fields[f.name] = api
		}
		r.unknown(fields)
	}
	r.unknown(given)
	if o.readOnly {
		return names // two names may be read from one field
	}
	taken := map[string]string{} // who is written to a field, by its name in lower case
	for _, f := range o.fields {
		lower := strings.ToLower(names.fields[f.name])
		if other, twice := taken[lower]; twice {
			r.fault(path+".fields."+f.name, fmt.Sprintf("is %s, as %s is", names.fields[f.name], other))
		}
		taken[lower] = f.name
	}
	return names
}

// text reads a text of a form, where it is given.
func (r *mappingReader) text(from *strictjson.Fields, name string, into *string, good func(string) bool, want string) {
	v, given := from.Take(name)
	switch {
	case !given:
	case v.Kind != strictjson.String || !good(v.Text):
		r.fault(from.At(name), want)
	default:
		*into = v.Text
	}
}

// name reads one name, where it is given.
func (r *mappingReader) name(from *strictjson.Fields, name string, into *string) {
	r.text(from, name, into, namePattern.MatchString, "must be the API name of an object or field")
}

// stage reads the name of a stage, where it is given.
func (r *mappingReader) stage(from *strictjson.Fields, name string, into *string) {
	r.text(from, name, into, func(text string) bool {
		return strings.TrimSpace(text) == text && text != "" && len(text) <= maxStage && !strings.Contains(text, reference)
	}, "must be a value of the stage's picklist")
}

// object returns the name of an object in the organisation.
func (m Mapping) object(name string) string { return m.objects[name].api }

// field returns the name of a field in the organisation. It panics for a field that is not in the list of objects.
func (m Mapping) field(object, name string) string {
	api, ok := m.objects[object].fields[name]
	if !ok {
		panic("salesforce: object " + object + " has no field " + name)
	}
	return api
}

// body returns values by the names of their fields in the organisation.
func (m Mapping) body(object string, values map[string]any) map[string]any {
	body := map[string]any{}
	for name, value := range values {
		if value != nil && value != "" {
			body[m.field(object, name)] = value
		}
	}
	return body
}

// faults says what is wrong with fields of an object, by the names that the contract has for what they hold.
func (m Mapping) faults(objectName string, wrong []fault) (faults []checkout.Fault) {
	for _, w := range wrong {
		message := "is refused (" + w.code + ")"
		if w.code == codeTooLong {
			message = "is too long"
			if w.length != "" {
				message = "must have at most " + w.length + " characters"
			}
		}
		for _, api := range w.fields {
			faults = append(faults, checkout.Fault{Field: m.contract(objectName, api), Message: message})
		}
	}
	return faults
}

// contract returns the contract's name of what a field of the organisation holds, or else the field's own.
func (m Mapping) contract(objectName, api string) string {
	for _, o := range objects() {
		for _, f := range o.fields {
			if o.name == objectName && strings.EqualFold(m.objects[o.name].fields[f.name], api) && f.contract != "" {
				return f.contract
			}
		}
	}
	if object := m.objects[objectName].api; object != "" {
		return object + "." + api
	}
	return api
}
