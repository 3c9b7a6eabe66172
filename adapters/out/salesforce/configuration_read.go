package salesforce

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// configurationReader makes configurations of records, and collects their faults.
type configurationReader struct {
	mapping Mapping
	fields  map[string][]field  // of the objects, by their names in the mapping
	records map[string][]record // of the objects, likewise
	faults  ConfigurationFaults

	// Of the provider that is being read:
	places map[string]string // the records and fields, by their places in a provider file
	unread map[string]bool   // places in a provider file whose value could not be read
}

// read returns the configuration of every provider.
func (r *configurationReader) read() (all []catalogue.Configuration) {
	courses := r.children(course, integration)
	plans := r.children(coursePlan, course)
	first := map[string]bool{} // provider codes
	for _, record := range r.records[integration] {
		r.places, r.unread = map[string]string{}, map[string]bool{}
		conf := r.provider(record, courses[record.id], plans)
		r.check(conf)
		if code := conf.Provider.Code; first[code] && code != "" {
			r.fault("provider_code", "must be unique: another record has the same")
		} else {
			first[code] = true
		}
		all = append(all, conf)
	}
	return all
}

// children returns the records of an object by the id of the record that they belong to. To belong to a record that was not
// read is a fault: left out, it would look as if it had been deleted.
func (r *configurationReader) children(of, parent string) map[string][]record {
	known := map[string]bool{}
	for _, record := range r.records[parent] {
		known[record.id] = true
	}
	children := map[string][]record{}
	for _, record := range r.records[of] {
		id := record.values[parent].Text
		if !known[id] {
			r.faults = append(r.faults, catalogue.Fault{Place: r.mapping.object(of) + " " + record.id + ": " + r.mapping.field(of, parent),
				Message: "must be a record that the user may see"})
		}
		children[id] = append(children[id], record)
	}
	return children
}

// fault adds a fault of a place in a provider file.
func (r *configurationReader) fault(place, message string) {
	at, index := place, ""
	if r.places[at] == "" { // an item of a field that is a list
		if i := strings.LastIndexByte(place, '['); i >= 0 {
			at, index = place[:i], place[i:]
		}
	}
	r.faults = append(r.faults, catalogue.Fault{Place: r.places[at] + index, Message: message})
}

// check adds the faults of a configuration, except the faults of values that could not be read.
func (r *configurationReader) check(c catalogue.Configuration) {
	for _, f := range c.Check() {
		switch {
		case r.unread[f.Place]:
			continue
		case f.Place == "courses" && c.Provider.Mode == catalogue.Legacy:
			f.Message = "must not be " + string(catalogue.Legacy) + ": courses belong to the provider"
		}
		r.fault(f.Place, f.Message)
	}
}

// sheet is one record while it is read.
type sheet struct {
	*configurationReader
	record
	field map[string]string // places of the fields in a provider file, by their names in the mapping
}

// open begins with a record that has a place in a provider file. It is called by its parent and its code, or by its id if it
// has no code that can be repeated.
func (r *configurationReader) open(record record, object, path, parent, code string) (opened sheet, name string) {
	name = parent + cmp.Or(outbound.Word(record.values[code].Text), record.id)
	label := r.mapping.object(object) + " " + name
	opened = sheet{r, record, map[string]string{}}
	r.places[path] = label
	for _, f := range r.fields[object] {
		place := strings.TrimPrefix(path+"."+cmp.Or(f.contract, f.name), ".")
		opened.field[f.name] = place
		r.places[place] = label + ": " + r.mapping.field(object, f.name)
	}
	return opened, name
}

func (r *configurationReader) provider(record record, courses []record, plans map[string][]record) catalogue.Configuration {
	v, name := r.open(record, integration, "", "", "provider_code")
	p := catalogue.Provider{
		Code:        v.text("provider_code"),
		Name:        v.name("name"),
		AccountID:   v.text("account_id"),
		Environment: catalogue.Environment(v.text("environment")),
		Active:      v.truth("active"),
		APIEnabled:  v.truth("api_enabled"),
		SuccessURL:  v.text("success_url"),
		CancelURL:   v.text("cancel_url"),
		NoticeDays:  number(v, "notice_days", strictjson.Whole(catalogue.MaxNotice)),
		Branding: catalogue.Branding{
			DisplayName:   v.name("display_name"),
			PrimaryColour: v.text("primary_colour"),
			LogoURL:       v.text("logo_url"),
			SupportEmail:  v.text("support_email"),
		},
		Mode: catalogue.Mode(v.text("pricing_mode")),
	}
	for origin := range strings.FieldsSeq(v.text("enrolment_origins")) {
		p.EnrolmentOrigins = append(p.EnrolmentOrigins, origin)
	}
	c := catalogue.Configuration{Provider: p}
	for i, record := range courses {
		c.Courses = append(c.Courses, r.course(record, fmt.Sprintf("courses[%d]", i), name+"/", p.Environment, plans[record.id]))
	}
	return c
}

// course reads a course, which is of its provider's environment unless it names another.
func (r *configurationReader) course(record record, path, parent string, inherited catalogue.Environment, plans []record) catalogue.Course {
	if !inherited.Valid() {
		inherited = catalogue.Sandbox // the provider's environment is a fault already; add no second one
	}
	v, name := r.open(record, course, path, parent, "course_code")
	c := catalogue.Course{
		Code:        v.text("course_code"),
		Name:        v.name("course_name"),
		Price:       number(v, "course_price", strictjson.Amount),
		Upfront:     number(v, "upfront_payment", strictjson.Amount),
		Active:      v.truth("active"),
		Environment: cmp.Or(catalogue.Environment(v.text("environment")), inherited),
	}
	r.places[path+".plans"] = r.places[path] + ": " + r.mapping.object(coursePlan)
	for i, record := range plans {
		v, _ := r.open(record, coursePlan, fmt.Sprintf("%s.plans[%d]", path, i), name+"/", "payment_frequency")
		c.Options = append(c.Options, catalogue.Option{
			Frequency: money.Frequency(v.text("payment_frequency")),
			Number:    number(v, "number_of_instalments", strictjson.Whole(money.MaxInstalments)),
			Amount:    number(v, "instalment_amount", strictjson.AboveZero),
		})
	}
	return c
}

// wrong adds a fault of a value that could not be read.
func (v sheet) wrong(name, message string) {
	v.unread[v.field[name]] = true
	v.fault(v.field[name], message)
}

// text reads a text as it is; a field without a value is empty.
func (v sheet) text(name string) string {
	value := v.values[name]
	if value.Kind != strictjson.String && value.Kind != strictjson.Null {
		v.wrong(name, "must be a text")
		return ""
	}
	return value.Text
}

// name reads a text that is shown to people.
func (v sheet) name(name string) string { return text.Normalize(v.text(name)) }

func (v sheet) truth(name string) bool {
	value := v.values[name]
	if value.Kind != strictjson.Bool {
		v.wrong(name, "must be a checkbox")
	}
	return strictjson.IsTrue(value)
}

// unreadable is the value of a number that cannot be read.
const unreadable = -1

// number reads a number from its text, with convert; a field without a value is 0.
func number[T money.Cents | int](v sheet, name string, convert func(strictjson.Value) (T, error)) T {
	value := v.values[name]
	if value.Kind == strictjson.Null {
		return 0
	}
	n, err := convert(value)
	if err != nil {
		v.wrong(name, err.Error())
		return unreadable
	}
	return n
}
