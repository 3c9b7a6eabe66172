package desk

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

const (
	// maxEvents is the most events of a day that a provider's page counts.
	maxEvents = 1000
	// maxHistory is the number of the newest entries of the evidence log in which a provider's history is looked for.
	maxHistory = 1000
)

// providers lists every provider.
func (v *visit) providers() error {
	list, err := v.Store.Providers(v.r.Context())
	if err != nil {
		return err
	}
	return v.page("providers.html", "Providers", list)
}

// providerView is the content of a provider's page.
type providerView struct {
	catalogue.Provider
	Keys    []catalogue.Key
	Events  map[string]int // of the last day, by the state of their delivery
	Failing time.Time      // when the oldest of them that was given up entered; zero without one
	Many    bool           // there are more events than were counted
	Week    checkout.FunnelDay
	History []entryView
	Waits   []approvalView // acts on it that wait for a second person
}

// provider shows one provider: its keys, the receiver's last day, and the history of its configuration.
func (v *visit) provider() error {
	ctx := v.r.Context()
	p, err := v.Store.Provider(ctx, v.id())
	if err != nil {
		return err
	}
	view := providerView{Provider: p, Events: map[string]int{}}
	all, err := v.Store.Keys(ctx)
	if err != nil {
		return err
	}
	view.Keys = slices.DeleteFunc(all, func(k catalogue.Key) bool { return k.Provider != p.Code })
	sent, err := v.Store.Jobs(ctx, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobDeliver}, ProviderCode: p.Code,
		Since: v.Now().AddDate(0, 0, -1)}, maxEvents)
	if err != nil {
		return err
	}
	view.Many = len(sent) == maxEvents
	for _, j := range sent {
		if view.Events[jobState(j)]++; j.State == checkout.JobDead {
			view.Failing = j.Job.CreatedAt
		}
	}
	if view.Waits, err = v.waitsFor(p.Code); err != nil {
		return err
	}
	today := v.Now().UTC()
	days, err := v.Store.Funnel(ctx, today.AddDate(0, 0, -6), today.AddDate(0, 0, 1), p.Code)
	if err != nil {
		return err
	}
	for _, d := range days {
		view.Week.Created, view.Week.SetUp, view.Week.Confirmed = view.Week.Created+d.Created, view.Week.SetUp+d.SetUp,
			view.Week.Confirmed+d.Confirmed
	}
	if view.History, err = v.history(ctx, p.Code); err != nil {
		return err
	}
	return v.page("provider.html", p.DisplayName(), view)
}

// Live returns the ids of the keys that are not revoked.
func (p providerView) Live() (ids []string) {
	for _, k := range p.Keys {
		if k.RevokedAt.IsZero() {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// history returns what operators did to a provider and its keys, the newest first.
func (v *visit) history(ctx context.Context, code string) (list []entryView, err error) {
	if list, err = v.waiting(maxHistory); err != nil {
		return nil, err
	}
	head, err := v.Store.EvidenceHead(ctx)
	if err != nil {
		return nil, err
	}
	sealed, err := v.sealed(max(0, head.Size-maxHistory), head.Size)
	return slices.DeleteFunc(append(list, sealed...), func(e entryView) bool { return !concerns(e.Operation, code) }), err
}

// concerns reports whether an operation names a provider.
func concerns(op evidence.Operation, code string) bool {
	return slices.Contains(strings.Fields(op.Subject), code) || slices.ContainsFunc(op.Changes, func(line string) bool {
		return strings.Contains(line, "of provider "+code+",")
	})
}

// redeliver has the failed events of a provider sent again.
func (v *visit) redeliver() error {
	days := map[string]int{"1": 1, "3": 3, "30": 30}[v.field("days")]
	if days == 0 {
		return errFields
	}
	if _, err := v.Store.Provider(v.r.Context(), v.id()); err != nil {
		return err
	}
	jobs, _, err := v.operator.RedeliverFailed(v.r.Context(), v.Now().AddDate(0, 0, -days), v.id())
	if len(jobs) == 0 {
		v.done = doneNothing
	}
	return v.back(v.here(), err)
}

// ping sends the provider's receiver a test event, whose outcome the history has.
func (v *visit) ping() error {
	result, err := v.operator.Ping(v.r.Context(), v.id(), v.Sender)
	if v.done = doneTaken; result.Attempt.Failure != "" {
		v.done = doneRefused
	}
	return v.back(v.here(), err)
}

// rate has the provider make so many requests a second, or the usual number for an empty field.
func (v *visit) rate() error {
	given := v.field("rate")
	rate, err := strconv.Atoi(cmp.Or(given, "0"))
	if err != nil || given != "" && rate < 1 || rate > catalogue.MaxRate { // a 0 would be the usual rate, and read as no request
		return errFields
	}
	return v.back(v.here(), v.operator.SetRate(v.r.Context(), v.id(), rate))
}

// disable has the provider's calls refused.
func (v *visit) disable() error {
	return v.back(v.here(), v.operator.SetActive(v.r.Context(), v.id(), false))
}

// enable asks for the provider's calls to be accepted again.
func (v *visit) enable() error {
	if _, err := v.Store.Provider(v.r.Context(), v.id()); err != nil {
		return err
	}
	return v.ask(operate.ActEnable, v.id(), "")
}
