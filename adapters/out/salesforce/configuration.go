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
	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// ProviderFile returns every provider that the organisation configures, with its courses and their plans, as a provider file in the
// order of the provider codes, and the record and field of each place in it: "Course__c KOWHAI/NZDIP: Price__c". The file has no
// destination of events: a CRM is no place for a signing secret. The faults are about what a file cannot express; with one of them
// nothing may be stored. An error means that the organisation could not be asked, or that it is for another environment: a sandbox is
// often a copy of production, prices and all, and old.
func (c *CRM) ProviderFile(ctx context.Context) (file []byte, places map[string]string, faults []catalogue.Fault, err error) {
	if err := c.CheckEnvironment(ctx); err != nil {
		return nil, nil, nil, err
	}
	w := fileWriter{mapping: c.mapping, records: map[[2]string][]record{}, named: map[string]bool{}, places: map[string]string{}}
	known := map[[2]string]bool{} // ids, with their objects
	for _, o := range configurationObjects() {
		all, err := c.configured(ctx, o)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, r := range all {
			parent := ""
			if p := o.fields[0]; p.kind == kindRelation {
				if parent = r.text(p.name); !known[[2]string{p.name, parent}] { // left out, it would look as if it had been deleted
					w.fault(c.mapping.object(o.name)+" "+r.id+": "+c.mapping.field(o.name, p.name), "must be a record that the user may see")
				}
			}
			known[[2]string{o.name, r.id}] = true
			w.records[[2]string{o.name, parent}] = append(w.records[[2]string{o.name, parent}], r)
		}
	}
	slices.SortStableFunc(w.records[[2]string{integration}], func(a, b record) int {
		return cmp.Compare(a.text("provider_code"), b.text("provider_code"))
	})
	file, err = json.Marshal(map[string]any{"providers": w.list(configurationObjects(), "", "providers", "")})
	return file, w.places, w.faults, err
}

// fileWriter makes a provider file of records.
type fileWriter struct {
	mapping Mapping
	records map[[2]string][]record // by their object and the id of the record that they belong to
	named   map[string]bool        // names of records that are taken
	places  map[string]string      // records and fields, by their places in the file
	faults  []catalogue.Fault
}

func (w *fileWriter) fault(place, message string) {
	w.faults = append(w.faults, catalogue.Fault{Place: place, Message: message})
}

// list returns the records of the first object that belong to a record, as the list at a place in the file. Each has the records of
// the next object. It is named by its parent and its code, or its id if the code cannot be repeated or is that of an earlier record.
func (w *fileWriter) list(objects []object, parent, at, prefix string) []any {
	o, all := objects[0], []any{}
	fields := o.fields
	if fields[0].kind == kindRelation {
		fields = fields[1:]
	}
	for i, r := range w.records[[2]string{o.name, parent}] {
		name := prefix + outbound.Word(r.text(fields[0].name))
		if name == prefix || w.named[name] {
			name = prefix + r.id
		}
		w.named[name] = true
		place, label, item := fmt.Sprintf("%s[%d]", at, i), w.mapping.object(o.name)+" "+name, map[string]any{}
		w.places[place] = label
		for _, f := range fields {
			into, path := item, cmp.Or(f.contract, f.name)
			w.places[place+"."+path] = label + ": " + w.mapping.field(o.name, f.name)
			if outer, inner, nested := strings.Cut(path, "."); nested {
				if item[outer] == nil {
					item[outer] = map[string]any{}
				}
				into, path = item[outer].(map[string]any), inner
			}
			into[path] = written(r.values[f.name])
		}
		switch o.name {
		case integration:
			w.provider(item, r, place, w.list(objects[1:], r.id, place+".courses", name+"/"))
		case course:
			w.places[place+".plans"] = label + ": " + w.mapping.object(coursePlan)
			item["plans"] = w.list(objects[1:], r.id, place+".plans", name+"/")
		}
		all = append(all, item)
	}
	return all
}

// provider gives a provider its lists. A file has no courses where they do not set the prices.
func (w *fileWriter) provider(item map[string]any, r record, place string, courses []any) {
	origins := strings.Fields(r.text("enrolment_origins"))
	for i := range origins {
		w.places[fmt.Sprintf("%s.enrolment_origins[%d]", place, i)] = fmt.Sprintf("%s[%d]", w.places[place+".enrolment_origins"], i)
	}
	item["enrolment_origins"], item["courses"] = origins, courses
	switch mode := catalogue.Mode(r.text("pricing_mode")); {
	case mode == catalogue.Legacy && len(courses) > 0:
		w.fault(w.places[place+".courses"], "must not be legacy: courses belong to the provider")
	case mode == catalogue.Legacy:
		delete(item, "courses")
	case mode != catalogue.Authoritative:
		w.fault(w.places[place+".courses"], "must say which pricing mode is meant, catalogue or legacy")
	}
}

// written returns a value as it is written in the file: a number keeps its text.
func written(v strictjson.Value) any {
	if v.Kind == strictjson.String {
		return v.Text
	}
	return json.RawMessage(cmp.Or(v.Text, "null"))
}

// maxConfigured bounds how many records of one object configure providers.
const maxConfigured = 20_000

// configured reads all records of an object, the oldest first. A record that does not say to which record it belongs is not
// ours: an organisation may map an object that it has for more.
func (c *CRM) configured(ctx context.Context, o object) (all []record, err error) {
	var names []string
	for _, f := range o.fields {
		names = append(names, f.name)
	}
	ours := ""
	if parent := o.fields[0]; parent.kind == kindRelation {
		ours = c.mapping.field(o.name, parent.name) + " != null"
	}
	next := call{method: http.MethodGet, path: "/query", query: url.Values{"q": {c.mapping.selection(o.name, names, ours)}}}
	for {
		page, err := repeatedly(ctx, c, func() (recordsWire, error) { return send[recordsWire](ctx, c, next) })
		if err != nil {
			return nil, err
		}
		records, err := c.mapping.records(o.name, names, page)
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
		switch path, ok := strings.CutPrefix(page.Next, dataPath); {
		case page.Done:
			return all, nil
		case len(all) > maxConfigured:
			return nil, fmt.Errorf("there are more than %d records of %s", maxConfigured, c.mapping.object(o.name))
		case len(records) == 0 || !ok || !locatorPattern.MatchString(path):
			return nil, &outbound.Lost{Cause: errors.New("the answer to the query does not say where it goes on")}
		default:
			next = call{method: http.MethodGet, path: path}
		}
	}
}

// locatorPattern matches the address of a further page of a query.
var locatorPattern = regexp.MustCompile(`^/query/[A-Za-z0-9-]{1,80}$`)
