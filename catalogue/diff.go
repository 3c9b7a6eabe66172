package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Diff returns one line for each change when before is replaced by after, in the
// order of the provider codes: providers and courses that are added, changed (with the
// names of the fields, never a secret) or removed, and prominently a change of pricing
// mode. It is empty when nothing changes.
func Diff(before, after []Configuration) []string {
	var d diff
	pair(before, after, func(c Configuration) string { return c.Provider.Code }, d.provider)
	return d
}

// Revision returns an identifier of a list of configurations. Lists that differ, even in a secret only, have different identifiers.
func Revision(all []Configuration) string {
	h := sha256.New()
	for _, c := range all {
		fmt.Fprintf(h, "%q %q %v\n", c.Provider.Code, c.Provider.Mode, c.Provider.fields())
		for _, course := range c.Courses {
			fmt.Fprintf(h, "%q %v\n", course.Code, course.fields())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

type diff []string

func (d *diff) add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

func (d *diff) provider(before, after *Configuration) {
	switch {
	case before == nil:
		p := after.Provider
		d.add("+ provider %s: %q added in %s, with %s pricing", p.Code, p.Name, p.Environment, p.Mode)
		d.courses(p.Code, nil, after.Courses)
	case after == nil:
		d.add("- provider %s: removed; its keys and checkouts stay", before.Provider.Code)
	default:
		if was, is := before.Provider.Mode, after.Provider.Mode; was != is {
			meaning := "prices and plans will come from the catalogue, and every request must name a course_code"
			if is == Legacy {
				meaning = "prices and plans will come with the provider's requests, and a course_code is refused"
			}
			d.add("!! provider %s: PRICING MODE CHANGES from %s to %s: %s", after.Provider.Code, was, is, meaning)
		}
		d.fields("provider "+after.Provider.Code, before.Provider.fields(), after.Provider.fields())
		d.courses(after.Provider.Code, before.Courses, after.Courses)
	}
}

func (d *diff) courses(provider string, before, after []Course) {
	stays := map[string]int{} // 2 for a code on both sides
	pair(before, after, func(c Course) string { stays[c.Code]++; return c.Code }, func(b, a *Course) {
		switch {
		case b == nil:
			d.add("+ course %s/%s: %q added at %v", provider, a.Code, a.Name, a.Price)
		case a == nil:
			d.add("- course %s/%s: removed", provider, b.Code)
		default:
			d.fields("course "+provider+"/"+a.Code, b.fields(), a.fields())
		}
	})
	gone := func(c Course) bool { return stays[c.Code] < 2 }
	was, now := slices.DeleteFunc(slices.Clone(before), gone), slices.DeleteFunc(slices.Clone(after), gone)
	if !slices.EqualFunc(was, now, func(b, a Course) bool { return b.Code == a.Code }) {
		d.add("~ provider %s: courses in another order", provider)
	}
}

// fields adds a line that names what differs, if anything does.
func (d *diff) fields(what string, before, after []field) {
	var changes []string
	for i, now := range after {
		was := before[i]
		switch {
		case was.value == now.value:
		case now.private || was.private:
			changes = append(changes, now.name+" changed")
		default:
			changes = append(changes, now.name+" "+was.value+" → "+now.value)
		}
	}
	if len(changes) > 0 {
		d.add("~ %s: %s", what, strings.Join(changes, ", "))
	}
}

// field is a named value, with its name in the provider file or "disabled".
type field struct {
	name    string
	value   string
	private bool // the value is not shown
}

// fields lists all fields of p except its code, which identifies it, and its mode, which has a line of its own.
func (p Provider) fields() []field {
	return []field{
		{name: "name", value: strconv.Quote(p.Name)},
		{name: "account_id", value: strconv.Quote(p.AccountID)},
		{name: "environment", value: string(p.Environment)},
		{name: "active", value: fmt.Sprint(p.Active)},
		{name: "api_enabled", value: fmt.Sprint(p.APIEnabled)},
		{name: "disabled", value: fmt.Sprint(p.Disabled)},
		{name: "enrolment_origins", value: fmt.Sprintf("%q", p.EnrolmentOrigins)},
		{name: "success_url", value: strconv.Quote(p.SuccessURL)},
		{name: "cancel_url", value: strconv.Quote(p.CancelURL)},
		{name: "rate_limit", value: orUsual(p.RateLimit)},
		{name: "branding.display_name", value: strconv.Quote(p.Branding.DisplayName)},
		{name: "branding.primary_colour", value: strconv.Quote(p.Branding.PrimaryColour)},
		{name: "branding.logo_url", value: strconv.Quote(p.Branding.LogoURL), private: isPicture(p.Branding.LogoURL)}, // which is long
		{name: "branding.support_email", value: strconv.Quote(p.Branding.SupportEmail)},
		{name: "webhook.url", value: p.Destination.URL, private: true}, // receivers hide tokens in paths
		{name: "signing secret", value: p.Destination.Secret, private: true},
	}
}

func orUsual(n int) string {
	if n == 0 {
		return "as usual"
	}
	return strconv.Itoa(n)
}

// fields lists all fields of c except its code, which identifies it.
func (c Course) fields() []field {
	plans := make([]string, len(c.Options))
	for i, o := range c.Options {
		if o.Number != 0 {
			plans[i] = fmt.Sprintf("%s × %d", o.Frequency, o.Number)
		} else {
			plans[i] = fmt.Sprintf("%s at %v", o.Frequency, o.Amount)
		}
	}
	return []field{
		{name: "course_name", value: strconv.Quote(c.Name)},
		{name: "course_price", value: c.Price.String()},
		{name: "upfront_payment", value: c.Upfront.String()},
		{name: "prices", value: priced(c.Prices)},
		{name: "active", value: fmt.Sprint(c.Active)},
		{name: "environment", value: string(c.Environment)},
		{name: "plans", value: "[" + strings.Join(plans, ", ") + "]"},
	}
}

func priced(prices []Price) string {
	list := make([]string, len(prices))
	for i, p := range prices {
		list[i] = fmt.Sprintf("%v and %v upfront from %v", p.Price, p.Upfront, p.From)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// pair visits the elements of before and after in pairs with the same code, in the order of the codes. An element on
// one side only is visited with nil for the other.
func pair[T any](before, after []T, code func(T) string, visit func(before, after *T)) {
	pairs := map[string]*[2]*T{}
	for side, list := range [][]T{before, after} {
		for i := range list {
			c := code(list[i])
			if pairs[c] == nil {
				pairs[c] = new([2]*T)
			}
			pairs[c][side] = &list[i]
		}
	}
	for _, c := range slices.Sorted(maps.Keys(pairs)) {
		visit(pairs[c][0], pairs[c][1])
	}
}
