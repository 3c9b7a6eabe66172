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
	r := configurationReader{mapping: c.mapping, fields: map[string][]field{}, records: map[string][]record{}}
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
