package salesforce

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// readyLife is the time for which it is remembered that a look succeeded, unless a call fails: each look counts for the daily
// limit, and a look a minute is 1,440 calls a day.
const readyLife = time.Minute

// Ready implements ports.CRM: Salesforce answers, the client can sign in, and the organisation has calls left for an Open. Each
// Ready makes a call, unless few calls are left: while a look is remembered, a call that does not count for the daily limit.
func (c *CRM) Ready(ctx context.Context) error {
	now := c.options.Now()
	switch {
	case c.limit.few() != nil:
		return c.spare(ctx)
	case now.Sub(time.Unix(0, c.ready.Load())) < readyLife:
		return c.reach(ctx)
	}
	err := c.look(ctx)
	if err == nil {
		c.ready.Store(now.UnixNano())
	}
	return err
}

// reach makes a call that needs no token and does not count for the daily limit: for the versions of the API.
func (c *CRM) reach(ctx context.Context) error {
	resp, _, err := c.roundTrip(ctx, callTimeout, http.MethodGet, c.options.URL+versionsPath, http.Header{}, nil)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = &apiError{status: resp.StatusCode, look: true}
	}
	if err != nil {
		c.ready.Store(0)
		return fmt.Errorf("GET %s: %w", versionsPath, err)
	}
	return nil
}

// Check compares the mapping with the organisation, and returns everything that keeps enrolments from being stored there
// and providers from being configured there, in words on which an administrator can act. The error means that the organisation could not be asked.
func (c *CRM) Check(ctx context.Context) (lacks []string, err error) {
	lacks, err = c.checkOrganisation(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range objects() {
		api := c.mapping.object(o.name)
		d, err := send[describeWire](ctx, c, call{method: http.MethodGet, path: "/sobjects/" + api + "/describe"})
		var refused *apiError
		switch {
		case errors.As(err, &refused) && refused.status == http.StatusNotFound:
			lacks = append(lacks, fmt.Sprintf("object %s is missing, or the user may not see it", api))
		case err != nil:
			return nil, err
		default:
			lacks = append(lacks, c.mapping.compare(o, d)...)
		}
	}
	return lacks, nil
}

// ErrOtherEnvironment: the organisation is not for the environment.
var ErrOtherEnvironment = errors.New("the organisation is for another environment")

// CheckEnvironment returns nil if the organisation is for the environment, an error that wraps ErrOtherEnvironment if it
// is not, and any other if it could not be asked.
func (c *CRM) CheckEnvironment(ctx context.Context) error {
	lacks, err := c.checkOrganisation(ctx)
	if err == nil && len(lacks) > 0 {
		err = fmt.Errorf("%w: %s", ErrOtherEnvironment, strings.Join(lacks, "; "))
	}
	return err
}

// checkOrganisation looks whether the organisation is for the environment.
func (c *CRM) checkOrganisation(ctx context.Context) (lacks []string, err error) {
	answer, err := repeatedly(ctx, c, func() (organisationsWire, error) {
		return send[organisationsWire](ctx, c, call{method: http.MethodGet, path: "/query",
			query: url.Values{"q": {"SELECT IsSandbox, OrganizationType FROM Organization LIMIT 1"}}})
	})
	if err != nil {
		return nil, err
	}
	if len(answer.Records) != 1 {
		return nil, errors.New("the organisation does not describe itself")
	}
	described := answer.Records[0]
	switch {
	case described.IsSandbox && c.options.Environment == catalogue.Production:
		lacks = append(lacks, "the organisation is a sandbox, and the environment is production")
	case !described.IsSandbox && described.Edition != "Developer Edition" && c.options.Environment == catalogue.Sandbox:
		lacks = append(lacks, "the organisation is neither a sandbox nor a Developer Edition, and the environment is sandbox")
	}
	return lacks, nil
}

// compare returns what an object of the organisation lacks.
func (m Mapping) compare(o object, d describeWire) (lacks []string) {
	api := m.object(o.name)
	if !o.readOnly && (!d.Createable || !d.Updateable) {
		lacks = append(lacks, fmt.Sprintf("the user may not create and edit records of %s", api))
	}
	for _, f := range o.fields {
		name := m.field(o.name, f.name)
		path := api + "." + name
		at := slices.IndexFunc(d.Fields, func(w describeFieldWire) bool { return strings.EqualFold(w.Name, name) })
		if at < 0 {
			lacks = append(lacks, fmt.Sprintf("field %s is missing, or the user may not see it", path))
			continue
		}
		for _, problem := range m.compareField(f, o.readOnly || f.readOnly, d.Fields[at]) {
			lacks = append(lacks, "field "+path+" "+problem)
		}
	}
	return lacks
}

// compareField returns why a field of the organisation does not do; each reads on from its name.
func (m Mapping) compareField(f field, readOnly bool, w describeFieldWire) (problems []string) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if !slices.Contains(typesOf[f.kind], w.Type) {
		add("has the type %s; it must be one of %s", w.Type, strings.Join(typesOf[f.kind], ", "))
		return problems
	}
	if readOnly {
		return problems // what it holds is judged when it is read
	}
	if !w.Createable || f.updated && !w.Updateable {
		add("cannot be written by the user: give the permission set write access to it")
	}
	if f.kind == kindText && w.Length < f.length {
		add("holds %d characters; it must hold %d", w.Length, f.length)
	}
	if f.kind == kindAmount && (w.Scale < 2 || w.Precision-w.Scale < 7) {
		add("holds %d digits, %d of them after the point; it must hold 9999999.99", w.Precision, w.Scale)
	}
	if f.unique && !w.Unique {
		add("is not unique: records would be made twice")
	}
	if f.external && !w.ExternalID {
		add("is no external id")
	}
	if w.Type != "picklist" || !w.Restricted && f.name != fieldStage {
		return problems
	}
	wanted := f.values
	if f.name == fieldStage {
		wanted = slices.Compact([]string{m.names[stageOpen], m.names[stageComplete], m.names[stageCancelled], m.names[stageWithdrawn]})
	}
	for _, value := range wanted {
		if !slices.Contains(w.Values, picklistWire{Active: true, Value: value}) {
			add("does not have the value %q", value)
		}
	}
	return problems
}
