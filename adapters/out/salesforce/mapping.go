package salesforce

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Mapping says by which names an organisation has the objects and fields, and which stages an opportunity goes through.
// The zero Mapping has no names.
type Mapping struct {
	names map[string]string // by their paths in the file: "contact.object", "contact.fields.key", "stages.open"
}

const (
	stageOpen      = "stages.open"      // the stage of an enrolment that was opened
	stageComplete  = "stages.complete"  // of a complete enrolment
	stageCancelled = "stages.cancelled" // of an enrolment that was cancelled before it was complete
	stageWithdrawn = "stages.withdrawn" // of an enrolment whose agreement was withdrawn
)

// DefaultMapping returns the names of an organisation that has the metadata.
func DefaultMapping() Mapping {
	m := Mapping{map[string]string{}}
	for _, d := range defaults() {
		m.names[d.path] = d.api
	}
	return m
}

// defaults lists the paths of a file in their order, with the names of an organisation that has the metadata.
func defaults() (all []struct{ path, api string }) {
	add := func(path, api string) { all = append(all, struct{ path, api string }{path, api}) }
	for _, o := range objects() {
		add(o.name+".object", o.api)
		for _, f := range o.fields {
			add(o.name+".fields."+f.name, f.api)
		}
	}
	add(stageOpen, "Prospecting")
	add(stageComplete, "Closed Won")
	add(stageCancelled, "Closed Lost")
	add(stageWithdrawn, "Closed Lost")
	return all
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
	m := DefaultMapping()
	faults := append(m.take("", v), m.twice()...)
	if m.names[stageOpen] == m.names[stageComplete] {
		faults = append(faults, wrong("stages", "must differ: an enrolment would be complete when it is opened"))
	}
	for _, stage := range []string{stageCancelled, stageWithdrawn} {
		if m.names[stage] == m.names[stageComplete] {
			faults = append(faults, wrong(stage, "must not be the stage of a complete enrolment"))
		}
	}
	return m, errors.Join(faults...)
}

func wrong(path, message string) error { return &strictjson.Error{Path: path, Message: message} }

// take takes the names that a value of the file has for what is below a path, and returns what is wrong with them.
func (m Mapping) take(path string, v strictjson.Value) (faults []error) {
	if v.Kind != strictjson.Object {
		return []error{wrong(path, "must be an object")}
	}
	known := below(path)
	for _, member := range v.Members {
		at := strictjson.Join(path, member.Name)
		_, isName := m.names[at]
		switch {
		case !slices.Contains(known, member.Name):
			faults = append(faults, wrong(at, "is not known; there are "+strings.Join(known, ", ")))
		case member.Value.Kind == strictjson.Null: // as if it were absent
		case !isName:
			faults = append(faults, m.take(at, member.Value)...)
		case path == "stages" && !isStage(member.Value):
			faults = append(faults, wrong(at, "must be a value of the stage's picklist"))
		case path != "stages" && !(member.Value.Kind == strictjson.String && namePattern.MatchString(member.Value.Text)):
			faults = append(faults, wrong(at, "must be the API name of an object or field"))
		default:
			m.names[at] = member.Value.Text
		}
	}
	return faults
}

// below lists what there may be below a path of the file.
func below(path string) (known []string) {
	for _, d := range defaults() {
		if rest, ok := strings.CutPrefix("."+d.path, strings.TrimSuffix("."+path, ".")+"."); ok {
			name, _, _ := strings.Cut(rest, ".")
			known = append(known, name)
		}
	}
	return slices.Compact(known)
}

func isStage(v strictjson.Value) bool {
	return v.Kind == strictjson.String && v.Text != "" && strings.TrimSpace(v.Text) == v.Text && len(v.Text) <= maxStage &&
		!strings.Contains(v.Text, reference)
}

// twice returns an error for each field to which two names are written. Two names may be read from one field.
func (m Mapping) twice() (faults []error) {
	for _, o := range objects() {
		taken := map[string]string{} // who is written to a field, by its name in lower case
		for _, f := range o.fields {
			api := m.field(o.name, f.name)
			if other, already := taken[strings.ToLower(api)]; already && !o.readOnly {
				faults = append(faults, wrong(o.name+".fields."+f.name, fmt.Sprintf("is %s, as %s is", api, other)))
			}
			taken[strings.ToLower(api)] = f.name
		}
	}
	return faults
}

// object returns the name of an object in the organisation.
func (m Mapping) object(name string) string { return m.names[name+".object"] }

// field returns the name of a field in the organisation. It panics for a field that is not in the list of objects.
func (m Mapping) field(object, name string) string {
	api, ok := m.names[object+".fields."+name]
	if !ok {
		panic("salesforce: object " + object + " has no field " + name)
	}
	return api
}

// body returns values by the names of their fields in the organisation. nil empties a field, and "" leaves it as it is.
func (m Mapping) body(object string, values map[string]any) map[string]any {
	body := map[string]any{}
	for name, value := range values {
		if value != "" {
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
			if o.name == objectName && strings.EqualFold(m.field(o.name, f.name), api) && f.contract != "" {
				return f.contract
			}
		}
	}
	if object := m.object(objectName); object != "" {
		return object + "." + api
	}
	return api
}
