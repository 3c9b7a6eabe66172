package desk

import (
	"errors"
	"net/http"
	"slices"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The most entries of each list on a page.
const maxHits, maxJobs, maxEvents, maxActs = 100, 200, 1000, 100

func (v *visit) today() error {
	counts, err := v.Store.Troubles(v.r.Context(), v.Now())
	if err != nil {
		return err
	}
	return v.show("today.html", "Today", checkout.Summarise(counts))
}

type findView struct {
	checkout.Query
	Hits []checkout.Hit
	Cut  bool // there are more hits than the page shows
}

// find lists the checkouts that a text names, or that have a trouble. A text that names one checkout leads to it.
func (v *visit) find() error {
	query, title := v.r.URL.Query(), "Find"
	q := checkout.Query{Text: web.One(query, "q"), Trouble: checkout.Trouble(web.One(query, "trouble")), Now: v.Now()}
	switch {
	case slices.Contains(checkout.Troubles(), q.Trouble):
		q.Text, title = "", q.Trouble.Words()
	case q.Words() == "":
		return v.show("find.html", title, findView{})
	default:
		q.Trouble = ""
	}
	hits, err := v.Store.Find(v.r.Context(), q, maxHits+1)
	switch {
	case err != nil:
		return err
	case len(hits) == 1 && q.Trouble == "":
		http.Redirect(v.w, v.r, "/checkouts/"+hits[0].Checkout.ID, http.StatusSeeOther)
		return nil
	}
	return v.show("find.html", title, findView{q, hits[:min(len(hits), maxHits)], len(hits) > maxHits})
}

type checkoutView struct {
	checkout.Checkout
	Records checkout.Records
	Moments []checkout.Moment
	Jobs    []checkout.JobRecord
	Open    bool // not confirmed, and not at its end
	Did     []checkout.Act
}

func (v *visit) checkout() error {
	ctx := v.r.Context()
	c, err := v.Store.Checkout(ctx, v.id())
	if err != nil {
		return err
	}
	moments, noMoments := v.Store.Moments(ctx, c.ID)
	jobs, noJobs := v.Store.Jobs(ctx, checkout.JobFilter{CheckoutID: c.ID}, maxJobs)
	acts, noActs := v.Store.Acts(ctx, checkout.ActFilter{ProviderCode: c.ProviderCode, Subject: c.ID}, maxActs)
	if number := c.Confirmation.AgreementNumber; number != "" && noActs == nil {
		var of []checkout.Act
		of, noActs = v.Store.Acts(ctx, checkout.ActFilter{ProviderCode: c.ProviderCode, Subject: number}, maxActs)
		acts = append(of, acts...)
	}
	if err := errors.Join(noMoments, noJobs, noActs); err != nil {
		return err
	}
	slices.Reverse(jobs)
	slices.SortStableFunc(acts, func(a, b checkout.Act) int { return b.At.Compare(a.At) })
	return v.show("checkout.html", v.State(c).Words, checkoutView{Checkout: c, Records: c.Records(v.env), Moments: c.Timeline(moments),
		Jobs: jobs, Open: c.Status == checkout.SetupRequired && !c.Erased(), Did: acts})
}

func (v *visit) providers() error {
	list, err := v.Store.Providers(v.r.Context())
	if err != nil {
		return err
	}
	return v.show("providers.html", "Providers", list)
}

type providerView struct {
	catalogue.Provider
	Keys   []catalogue.Key
	Events map[label]int // of the last day
	Many   bool          // there are more events than were counted
	Did    []checkout.Act
}

func (v *visit) provider() error {
	ctx := v.r.Context()
	list, err := v.Store.Providers(ctx, v.id())
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return operate.ErrNoProvider
	}
	p, counts := list[0], map[label]int{}
	keys, noKeys := v.Store.Keys(ctx)
	sent, noEvents := v.Store.Jobs(ctx, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, ProviderCode: p.Code,
		Since: v.Now().AddDate(0, 0, -1)}, maxEvents)
	acts, noActs := v.Store.Acts(ctx, checkout.ActFilter{ProviderCode: p.Code}, maxActs)
	if err := errors.Join(noKeys, noEvents, noActs); err != nil {
		return err
	}
	for _, j := range sent {
		state := v.JobState(j)
		if j.State == checkout.JobFailed {
			state.Words += ": " + j.Failure.Reason
		}
		counts[state]++
	}
	keys = slices.DeleteFunc(keys, func(k catalogue.Key) bool { return k.Provider != p.Code })
	return v.show("provider.html", p.DisplayName(), providerView{p, keys, counts, len(sent) == maxEvents, acts})
}

func (v *visit) link() error   { return v.operator.MailLink(v.r.Context(), v.id(), v.SetupLifetime) }
func (v *visit) cancel() error { return v.operator.Cancel(v.r.Context(), v.id()) }

func (v *visit) withdraw() error {
	c, err := v.Store.Checkout(v.r.Context(), v.id())
	ground := checkout.Ground(v.field("ground"))
	switch {
	case err != nil:
		return err
	case c.Confirmation.AgreementNumber == "":
		return checkout.ErrNotConfirmed
	case !slices.Contains(checkout.Grounds(), ground):
		return unprocessable("Choose a ground.")
	}
	return v.operator.Withdraw(v.r.Context(), c.Confirmation.AgreementNumber, ground)
}

func (v *visit) retry() error {
	id := v.field("of")
	jobs, err := v.Store.Jobs(v.r.Context(), checkout.JobFilter{ID: id, CheckoutID: v.id()}, 1)
	switch {
	case err != nil:
		return err
	case id == "", len(jobs) == 0:
		return ports.ErrNotFound
	}
	_, err = v.operator.Retry(v.r.Context(), jobs)
	return err
}

// reveal has the answer show personal data, once the look is on record.
func (v *visit) reveal() error {
	c, err := v.Store.Checkout(v.r.Context(), v.id())
	if err == nil {
		err = v.operator.Looked(v.r.Context(), "reveal", c)
	}
	v.Revealed = err == nil
	return err
}

func (v *visit) disable() error { return v.operator.SetDisabled(v.r.Context(), v.id(), true) }
func (v *visit) enable() error  { return v.operator.SetDisabled(v.r.Context(), v.id(), false) }

func (v *visit) revoke() error {
	_, err := v.operator.RevokeKey(v.r.Context(), v.field("of"))
	return err
}
