package desk

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// findView is the content of the page that finds checkouts.
type findView struct {
	Text    string
	Trouble string // in words; "" for a search
	Hits    []hitView
	Next    string // the address of the next page; "" at the end
}

// hitView is a checkout in a list.
type hitView struct {
	checkout.Hit
	State   string
	Student string
}

// find lists the checkouts that a text names, or that have a trouble. Where the text names one, it leads there.
func (v *visit) find() error {
	query := v.r.URL.Query()
	q := checkout.Query{Text: web.One(query, "q"), Trouble: checkout.Trouble(web.One(query, "trouble")),
		ProviderCode: web.One(query, "provider"), Now: v.Now()}
	view := findView{Text: q.Text}
	switch {
	case slices.Contains(checkout.Troubles(), q.Trouble) && q.Trouble.OfCheckouts():
		q.Text, view.Trouble = "", q.Trouble.Words()
	case q.Words() == "" && q.ProviderCode == "":
		return v.page("find.html", "Find", view)
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
			continue // who may see no name finds nobody by one
		}
		view.Hits = append(view.Hits, hitView{h, stateOf(h.Checkout, v.Now()), v.student(h.Checkout, false)})
	}
	if q.Text != "" && len(view.Hits) == 1 && found.Next == "" && !query.Has("after") {
		return v.back("/checkouts/"+view.Hits[0].Checkout.ID, nil)
	}
	if found.Next != "" {
		query.Set("after", found.Next)
		view.Next = "/find?" + query.Encode()
	}
	return v.page("find.html", cmp.Or(view.Trouble, "Find"), view)
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
	view := funnelView{From: web.One(query, "from"), To: web.One(query, "to"), Provider: strings.TrimSpace(web.One(query, "provider"))}
	from, errFrom := time.Parse(time.DateOnly, cmp.Or(view.From, today.AddDate(0, 0, -7*8).Format(time.DateOnly)))
	to, errTo := time.Parse(time.DateOnly, cmp.Or(view.To, today.Format(time.DateOnly)))
	if errFrom != nil || errTo != nil || to.Before(from) || to.Sub(from) > 400*24*time.Hour {
		return errFields
	}
	view.From, view.To = from.Format(time.DateOnly), to.Format(time.DateOnly)
	days, err := v.Store.Funnel(v.r.Context(), view.From, to.AddDate(0, 0, 1).Format(time.DateOnly), view.Provider)
	if err != nil {
		return err
	}
	view.Rows = checkout.Weeks(days)
	slices.Reverse(view.Rows)
	return v.page("funnel.html", "Funnel", view)
}

// Percent returns a part of the checkouts in percent.
func (v funnelView) Percent(part, of int) int {
	if of == 0 {
		return 0
	}
	return (100*part + of/2) / of
}
