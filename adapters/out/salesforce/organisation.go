package salesforce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// ErrOtherEnvironment: the organisation is not for the environment.
var ErrOtherEnvironment = errors.New("the organisation is for another environment")

// CheckEnvironment returns nil if the organisation is for the environment, an error that wraps ErrOtherEnvironment if it
// is not, and any other if it could not be asked.
func (c *CRM) CheckEnvironment(ctx context.Context) error {
	described, err := c.read(ctx, "Organization", []field{{name: "IsSandbox"}, {name: "OrganizationType"}}, "LIMIT 1")
	switch sandbox := c.options.Environment == catalogue.Sandbox; {
	case err != nil:
		return err
	case len(described) != 1:
		return errors.New("the organisation does not describe itself")
	case described[0].text("IsSandbox") == fmt.Sprint(sandbox), sandbox && described[0].text("OrganizationType") == "Developer Edition":
		return nil
	}
	return fmt.Errorf("%w: the environment is %s, and whether it is a sandbox: %s", ErrOtherEnvironment, c.options.Environment,
		described[0].text("IsSandbox"))
}

type describeWire struct {
	Createable, Updateable bool
	Fields                 []struct {
		Name, Type                                 string
		Length                                     int
		Createable, Updateable, Unique, ExternalID bool
		PicklistValues                             []valueWire
	}
}

type valueWire struct {
	Active bool
	Value  string
}

// CheckMetadata compares the mapping with the organisation, and returns everything that keeps enrolments from being stored there
// and providers from being configured there, in words on which an administrator can act. The error means that the organisation could
// not be asked.
func (c *CRM) CheckMetadata(ctx context.Context) (lacks []string, err error) {
	if err := c.CheckEnvironment(ctx); errors.Is(err, ErrOtherEnvironment) {
		lacks = append(lacks, err.Error())
	} else if err != nil {
		return nil, err
	}
	for _, o := range objects {
		var d describeWire
		api := c.mapping.object(o.name)
		err := c.call(ctx, http.MethodGet, "/sobjects/"+api+"/describe", nil, &d)
		switch {
		case is(err, codeNotFound):
			lacks = append(lacks, "object "+api+" is missing, or the user may not see it")
			continue
		case err != nil:
			return nil, err
		case !o.readOnly && (!d.Createable || !d.Updateable):
			lacks = append(lacks, "the user may not create and edit records of "+api)
		}
		for _, f := range o.fields {
			for _, problem := range c.mapping.compare(o, f, d) {
				lacks = append(lacks, "field "+api+"."+c.mapping.field(o.name, f.name)+" "+problem)
			}
		}
	}
	return lacks, nil
}

// compare returns why a field of the organisation does not do; each reads on from its name.
func (m Mapping) compare(o object, f field, d describeWire) (problems []string) {
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	for _, w := range d.Fields {
		types := strings.Fields(string(f.kind))
		switch {
		case !strings.EqualFold(w.Name, m.field(o.name, f.name)):
			continue
		case !slices.Contains(types, w.Type):
			return []string{"has the type " + w.Type + "; it must be one of " + strings.Join(types, ", ")}
		case o.readOnly: // its values are judged when they are read
			return nil
		}
		custom, unique := strings.HasSuffix(f.name, "__c"), f.name == key || o.name == agreed && f.name == "Agreement_Number__c"
		add(!w.Createable || custom && !w.Updateable, "cannot be written by the user: give the permission set write access to it")
		add(w.Length < f.length, "holds %d characters; it must hold %d", w.Length, f.length)
		add(unique && (!w.Unique || !w.ExternalID), "must be unique and an external id: records would be made twice")
		for _, stage := range []string{open, complete, cancelled, withdrawn} {
			has := slices.Contains(w.PicklistValues, valueWire{true, m.stage(stage)})
			add(f.name == "StageName" && w.Type == "picklist" && !has, "does not have the value %q", m.stage(stage))
		}
		return slices.Compact(problems)
	}
	return []string{"is missing, or the user may not see it"}
}

// ProviderFile returns every provider that the organisation configures, with its courses and their plans, as a provider file in the
// order of the provider codes, and the record and field of each place in it: "Course__c KOWHAI/NZDIP: Price__c". The file has no
// destination of events: a CRM is no place for a signing secret. The faults are about what a file cannot express; with one of them
// nothing may be stored. An error means that the organisation could not be asked, or that it is for another environment: a sandbox is
// often a copy of production, prices and all, and old.
func (c *CRM) ProviderFile(ctx context.Context) (file []byte, places map[string]string, faults []catalogue.Fault, err error) {
	if err := c.CheckEnvironment(ctx); err != nil {
		return nil, nil, nil, err
	}
	w := fileWriter{c.mapping, map[string][]record{}, map[string]string{}, nil}
	known := map[string]bool{"": true}
	for depth, o := range configuration {
		condition := "ORDER BY CreatedDate, Id"
		if depth > 0 { // what belongs to nothing is not ours: an organisation may map an object that it has for more
			condition = "WHERE {" + o.fields[0].name + "} != null " + condition
		}
		all, err := c.read(ctx, o.name, o.fields, condition)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, r := range all {
			parent := ""
			if depth > 0 {
				of := o.fields[0].name
				if parent = r.text(of); !known[parent] { // left out, it would look as if it had been deleted
					w.fault(c.mapping.object(o.name)+" "+r.text("id")+": "+c.mapping.field(o.name, of), "must be a record that the user may see")
				}
			}
			known[r.text("id")] = true
			w.below[parent] = append(w.below[parent], r)
		}
	}
	slices.SortStableFunc(w.below[""], func(a, b record) int { return cmp.Compare(a.text("Provider_Code__c"), b.text("Provider_Code__c")) })
	file, err = json.Marshal(map[string]any{"providers": w.list(0, "", "providers", "")})
	return file, w.places, w.faults, err
}

type fileWriter struct {
	Mapping
	below  map[string][]record // by the id of the record that they belong to; "" for the providers
	places map[string]string   // records and fields, by their places in the file
	faults []catalogue.Fault
}

func (w *fileWriter) fault(place, message string) {
	w.faults = append(w.faults, catalogue.Fault{Place: place, Message: message})
}

// list returns the records that belong to a record, as the list at a place in the file, with the records that belong to them. They are
// named by their parent and their code, or by their id if the code cannot be repeated.
func (w *fileWriter) list(depth int, parent, at, prefix string) []any {
	o, all := configuration[depth], []any{}
	fields := o.fields[min(depth, 1):]
	for i, r := range w.below[parent] {
		name := prefix + cmp.Or(outbound.Word(r.text(fields[0].name)), r.text("id"))
		place, title := fmt.Sprintf("%s[%d]", at, i), w.object(o.name)+" "+name
		branding, item := map[string]any{}, map[string]any{}
		w.places[place] = title
		for _, f := range fields {
			path := cmp.Or(f.contract, f.name)
			w.places[place+"."+path] = title + ": " + w.field(o.name, f.name)
			if inner, ok := strings.CutPrefix(path, "branding."); ok {
				branding[inner] = r[f.name]
			} else {
				item[path] = r[f.name]
			}
		}
		switch o.name {
		case "Provider_Integration__c":
			item["branding"], item["courses"] = branding, w.list(1, r.text("id"), place+".courses", name+"/")
			w.provider(item, r, place)
		case "Course__c":
			w.places[place+".plans"] = title + ": " + w.object("Course_Plan__c")
			item["plans"] = w.list(2, r.text("id"), place+".plans", name+"/")
		}
		all = append(all, item)
	}
	return all
}

// provider gives a provider its origins, and no courses where they do not set the prices.
func (w *fileWriter) provider(item map[string]any, r record, place string) {
	origins := strings.Fields(r.text("Enrolment_Origins__c"))
	for i := range origins {
		w.places[fmt.Sprintf("%s.enrolment_origins[%d]", place, i)] = fmt.Sprintf("%s[%d]", w.places[place+".enrolment_origins"], i)
	}
	item["enrolment_origins"] = origins
	switch catalogue.Mode(r.text("Pricing_Mode__c")) {
	case catalogue.Authoritative:
	case catalogue.Legacy:
		if delete(item, "courses"); len(w.below[r.text("id")]) > 0 {
			w.fault(w.places[place+".courses"], "must not be legacy: courses belong to the provider")
		}
	default:
		w.fault(w.places[place+".courses"], "must say which pricing mode is meant, catalogue or legacy")
	}
}

var placeholder = regexp.MustCompile(`{\w*}`)

// query returns the path of a query with names of the organisation: of an object in the place of {}, and of its fields in that of {name}.
func (m Mapping) query(object, soql string) string {
	soql = placeholder.ReplaceAllStringFunc(soql, func(name string) string {
		if name == "{}" {
			return m.object(object)
		}
		return m.field(object, strings.Trim(name, "{}"))
	})
	return "/query?" + url.Values{"q": {soql}}.Encode()
}

// record is a record that was read: its values by the names of the mapping, and its id.
type record map[string]json.RawMessage

// text returns a text, a number as it was written, or "" for a field without a value.
func (r record) text(name string) (text string) {
	if json.Unmarshal(r[name], &text) != nil { // no text, and not null
		return string(r[name])
	}
	return text
}

const maxRecords = 20_000

var (
	idPattern      = regexp.MustCompile(`^[A-Za-z0-9]{15}(?:[A-Za-z0-9]{3})?$`)
	locatorPattern = regexp.MustCompile(`^/query/[A-Za-z0-9-]{1,80}$`) // of a further page
)

type recordsWire struct {
	Records        []map[string]json.RawMessage
	Done           bool
	NextRecordsURL string
}

// read returns the records of an object to which a condition applies, with some fields. A mapping may spell a field in another letter case
// than the answer does. An answer without a list is lost: it does not say that there are no records.
func (c *CRM) read(ctx context.Context, object string, fields []field, condition string) (all []record, err error) {
	lost := &outbound.Lost{Cause: errors.New("the answer does not have the records of " + c.mapping.object(object))}
	names := ""
	for _, f := range fields {
		names += ", {" + f.name + "}"
	}
	next := c.mapping.query(object, "SELECT Id"+names+" FROM {} "+condition)
	for {
		var page recordsWire
		if err := c.call(ctx, http.MethodGet, next, nil, &page); err != nil {
			return nil, err
		}
		for _, wire := range page.Records {
			r := record{"id": wire["Id"]}
			for given, value := range wire {
				for _, f := range fields {
					if strings.EqualFold(given, c.mapping.field(object, f.name)) {
						r[f.name] = value
					}
				}
			}
			if !idPattern.MatchString(r.text("id")) || len(r) <= len(fields) {
				return nil, lost
			}
			all = append(all, r)
		}
		switch next, _ = strings.CutPrefix(page.NextRecordsURL, dataPath); {
		case page.Done && page.Records != nil:
			return all, nil
		case len(page.Records) == 0 || !locatorPattern.MatchString(next) || len(all) > maxRecords:
			return nil, lost
		}
	}
}
