package salesforce

import (
	"cmp"
	"context"
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

// ConfigurationFaults are all faults of the records that configure providers. A place names the object, the record by the
// codes of its provider and course, and the field: "Course__c KOWHAI/NZDIP: Price__c".
type ConfigurationFaults []catalogue.Fault

// Error lists the faults with their places: a single one on one line, several on a line each.
func (f ConfigurationFaults) Error() string {
	if len(f) == 1 {
		return f[0].Place + " " + f[0].Message
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d faults", len(f))
	for _, fault := range f {
		text.WriteString("\n  " + fault.Place + " " + fault.Message)
	}
	return text.String()
}

// Configurations reads every provider that the organisation configures, with its courses and their plans, in the order of
// the provider codes. They have passed their Check, and have no destination of events: a CRM is no place for a signing
// secret. If any record has a fault the error is the ConfigurationFaults of all of them; any other error means that the
// organisation could not be asked, or that it is for another environment: a sandbox is often a copy of production, prices and
// all, and old.
func (c *CRM) Configurations(ctx context.Context) ([]catalogue.Configuration, error) {
	if err := c.CheckEnvironment(ctx); err != nil {
		return nil, err
	}
	r := configurationReader{mapping: c.mapping, fields: map[string][]field{}, records: map[string][]configured{}}
	for _, o := range configurationObjects() {
		records, err := c.configured(ctx, o)
		if err != nil {
			return nil, err
		}
		r.fields[o.name], r.records[o.name] = o.fields, records
	}
	all := r.read()
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	slices.SortFunc(all, func(a, b catalogue.Configuration) int { return cmp.Compare(a.Provider.Code, b.Provider.Code) })
	return all, nil
}

// maxConfigured bounds how many records of one object configure providers.
const maxConfigured = 20_000

// configured is one record that was read: its values by the names of the mapping.
type configured struct {
	id     string
	values map[string]strictjson.Value
}

// configured reads all records of an object, the oldest first. A record that does not say to which record it belongs is not
// ours: an organisation may map an object that it has for more.
func (c *CRM) configured(ctx context.Context, o object) (all []configured, err error) {
	names := []string{"Id"}
	for _, f := range o.fields {
		names = append(names, c.mapping.field(o.name, f.name))
	}
	q := "SELECT " + strings.Join(names, ", ") + " FROM " + c.mapping.object(o.name)
	if parent := o.fields[0]; parent.kind == kindRelation {
		q += " WHERE " + c.mapping.field(o.name, parent.name) + " != null"
	}
	next := call{method: http.MethodGet, path: "/query", query: url.Values{"q": {q + " ORDER BY CreatedDate, Id"}}}
	for {
		var page recordsWire
		err := c.client.repeatedly(ctx, func() (err error) {
			page, err = send[recordsWire](ctx, c.client, next)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, data := range page.Records {
			record, err := c.mapping.configured(o, data)
			if err != nil {
				return nil, err
			}
			all = append(all, record)
		}
		switch path, ok := strings.CutPrefix(page.Next, dataPath); {
		case page.Done:
			return all, nil
		case len(all) > maxConfigured:
			return nil, fmt.Errorf("there are more than %d records of %s", maxConfigured, c.mapping.object(o.name))
		case len(page.Records) == 0 || !ok || !locatorPattern.MatchString(path):
			return nil, &outbound.Lost{Cause: errors.New("the answer to the query does not say where it goes on")}
		default:
			next = call{method: http.MethodGet, path: path}
		}
	}
}

// locatorPattern matches the address of a further page of a query.
var locatorPattern = regexp.MustCompile(`^/query/[A-Za-z0-9-]{1,80}$`)

// maxRecordDepth is that of a record, which has its attributes as an object.
const maxRecordDepth = 4

// configured reads one record of an answer. Numbers keep their text.
func (m Mapping) configured(o object, data []byte) (configured, error) {
	api := m.object(o.name)
	lost := func(format string, args ...any) (configured, error) {
		return configured{}, &outbound.Lost{Cause: fmt.Errorf("a record of "+api+" "+format, args...)}
	}
	v, err := strictjson.Parse(data, maxRecordDepth)
	if err != nil {
		return lost("is not well-formed")
	}
	member := func(name string) (strictjson.Value, bool) {
		at := slices.IndexFunc(v.Members, func(m strictjson.Member) bool { return strings.EqualFold(m.Name, name) })
		if at < 0 {
			return strictjson.Value{}, false
		}
		return v.Members[at].Value, true
	}
	id, _ := member("Id")
	if !idPattern.MatchString(id.Text) {
		return lost("has no id")
	}
	record := configured{id.Text, map[string]strictjson.Value{}}
	for _, f := range o.fields {
		value, ok := member(m.field(o.name, f.name))
		if !ok {
			return lost("has no %s", m.field(o.name, f.name))
		}
		record.values[f.name] = value
	}
	return record, nil
}
