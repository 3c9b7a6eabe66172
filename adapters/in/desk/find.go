package desk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// findView is the content of the page that finds checkouts.
type findView struct {
	Text      string
	Asked     bool   // for something, not only for the page
	Title     string // of a list; "" for a search
	Providers []catalogue.Provider
	Hits      []hitView
	Next      string // the address of the next page; "" at the end
}

// hitView is a checkout in a list.
type hitView struct {
	checkout.Hit
	State   string
	Student string
}

// find lists the checkouts and the providers that a text names, or the checkouts that have a trouble. Where the text names one
// checkout or provider, it leads there.
func (v *visit) find() error {
	query := v.r.URL.Query()
	q := checkout.Query{Text: web.One(query, "q"), Trouble: checkout.Trouble(web.One(query, "trouble")),
		ProviderCode: web.One(query, "provider"), Now: v.Now()}
	view := findView{Text: q.Text, Asked: true}
	switch {
	case slices.Contains(checkout.Troubles(), q.Trouble) && q.Trouble.OfCheckouts():
		q.Text, view.Title = "", q.Trouble.Words()
	case q.Words() == "" && q.ProviderCode == "":
		return v.page("find.html", "Find", findView{Text: q.Text})
	case q.Words() == "":
		q.Trouble, view.Title = "", "Checkouts of "+q.ProviderCode
	default:
		q.Trouble = ""
	}
	found, err := v.Store.Find(v.r.Context(), q, web.One(query, "after"), checkout.MaxPage)
	if err != nil {
		return err
	}
	named := v.session.roleFor(operate.ActName) != ""
	for _, h := range found.Hits {
		if !named && (h.By == checkout.ByName || h.By == checkout.ByEmail) {
			continue // a role that sees no names finds no person by a name
		}
		view.Hits = append(view.Hits, hitView{h, stateOf(h.Checkout, v.Now()), v.student(h.Checkout, false)})
	}
	if view.Providers, err = v.named(q); err != nil {
		return err
	}
	switch alone := q.Text != "" && found.Next == "" && !query.Has("after"); {
	case alone && len(view.Hits) == 1 && len(view.Providers) == 0:
		return v.lead("/checkouts/"+view.Hits[0].Checkout.ID, nil)
	case alone && len(view.Hits) == 0 && len(view.Providers) == 1:
		return v.lead("/providers/"+view.Providers[0].Code, nil)
	}
	if found.Next != "" {
		query.Set("after", found.Next)
		view.Next = "/find?" + query.Encode()
	}
	return v.page("find.html", cmp.Or(view.Title, "Find"), view)
}

// named returns the providers that a search names by the code or the beginning of the name.
func (v *visit) named(q checkout.Query) ([]catalogue.Provider, error) {
	words := text.FoldName(q.Words())
	if words == "" {
		return nil, nil
	}
	list, err := v.Store.Providers(v.r.Context())
	return slices.DeleteFunc(list, func(p catalogue.Provider) bool {
		return text.FoldName(p.Code) != words && !strings.HasPrefix(text.FoldName(p.DisplayName()), words)
	}), err
}

// funnelView is the content of the page Funnel.
type funnelView struct {
	From, To, Provider string
	Rows               []checkout.FunnelDay // of a week each
}

// funnel shows how far checkouts came, by provider and week; of the last eight weeks, unless the address says of which.
func (v *visit) funnel() error {
	query := v.r.URL.Query()
	today := v.Now().UTC()
	view := funnelView{From: web.One(query, "from"), To: web.One(query, "to"), Provider: strings.ToUpper(strings.TrimSpace(web.One(query, "provider")))}
	from, errFrom := time.Parse(time.DateOnly, cmp.Or(view.From, today.AddDate(0, 0, -7*8).Format(time.DateOnly)))
	to, errTo := time.Parse(time.DateOnly, cmp.Or(view.To, today.Format(time.DateOnly)))
	if errFrom != nil || errTo != nil || to.Before(from) || to.Sub(from) > 400*24*time.Hour {
		return errPeriod
	}
	view.From, view.To = from.Format(time.DateOnly), to.Format(time.DateOnly)
	days, err := v.Store.Funnel(v.r.Context(), from, to.AddDate(0, 0, 1), view.Provider)
	if err != nil {
		return err
	}
	view.Rows = checkout.Weeks(days)
	slices.Reverse(view.Rows)
	return v.page("funnel.html", "Funnel", view)
}

// Percent returns a part of the checkouts in percent; "" of no checkout.
func (v funnelView) Percent(part, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%d %%", (100*part+of/2)/of)
}
