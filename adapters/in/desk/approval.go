package desk

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// approvalView is an act that waits for a second person.
type approvalView struct {
	checkout.Approval
	Link    string // of what it is about
	Decides bool   // the session may approve it
	Own     bool   // the session asked for it, and may take it back
	// Elsewhere are the ids of an erasure under which the processor and the CRM outside know the student. Nothing has them afterwards.
	Elsewhere []string
}

// approvalTexts say what is to be approved, before its target.
var approvalTexts = map[operate.Act]string{operate.ActWithdraw: "Withdraw the agreement",
	operate.ActErase: "Erase the personal data", operate.ActEnable: "Enable the provider"}

// Words returns what is to be approved.
func (a approvalView) Words() string { return cmp.Or(approvalTexts[operate.Act(a.Act)], a.Act) }

// approvals shows what waits for a second person.
func (v *visit) approvals() error {
	waiting, err := v.operator.Approvals(v.r.Context())
	if err != nil {
		return err
	}
	var list []approvalView
	for _, a := range waiting {
		view := approvalView{Approval: a, Link: "/find?q=" + a.Target, Decides: v.decider(a) != "", Own: a.Person == v.session.Person}
		switch operate.Act(a.Act) {
		case operate.ActEnable:
			view.Link = "/providers/" + a.Target
		case operate.ActErase:
			if s, err := v.studentOf(v.r.Context(), v.operator, a.Target); err == nil { // or it cannot be approved either
				view.Elsewhere = s.Elsewhere()
			}
		}
		list = append(list, view)
	}
	return v.page("approvals.html", "Approvals", list)
}

// waitsFor returns the acts on targets that wait for a second person, for a session that may see them.
func (v *visit) waitsFor(targets ...string) (list []approvalView, err error) {
	if v.session.roleFor(operate.ActApprovals) == "" {
		return nil, nil
	}
	waiting, err := v.operator.Approvals(v.r.Context())
	for _, a := range waiting {
		if slices.Contains(targets, a.Target) {
			list = append(list, approvalView{Approval: a})
		}
	}
	return list, err
}

// decider returns the role in which the session may decide about an approval, or "".
func (v *visit) decider(a checkout.Approval) operate.Role {
	for _, role := range v.session.roles {
		if (operate.Operator{By: v.session.Name, Person: v.session.Person, Role: role}).Decides(a) == nil {
			return role
		}
	}
	return ""
}

// decides has the operator act in a role that may decide about the approval of the path, if there is one.
func (v *visit) decides() error {
	a, err := v.operator.Approval(v.r.Context(), v.id())
	if role := v.decider(a); role != "" {
		v.operator.Role = role
	}
	return err
}

// approve carries out an act for which another person asked.
func (v *visit) approve() error {
	if err := v.decides(); err != nil {
		return err
	}
	return v.back("/approvals", v.operator.Approve(v.r.Context(), v.id(), v.perform))
}

// decline refuses an act that waits for a second person.
func (v *visit) decline() error {
	if err := v.decides(); err != nil {
		return err
	}
	return v.back("/approvals", v.operator.Decline(v.r.Context(), v.id()))
}

// perform does an act that was approved, as who asked for it.
func (v *visit) perform(ctx context.Context, o operate.Operator, a checkout.Approval) error {
	switch operate.Act(a.Act) {
	case operate.ActEnable:
		return o.SetActive(ctx, a.Target, true)
	case operate.ActErase:
		student, err := v.erasable(ctx, o, a.Target)
		if err != nil {
			return err
		}
		if err := o.Erase(ctx, student, v.erasing()); err != nil {
			return err
		}
		if err := v.Store.Scrub(ctx); err != nil {
			v.done = doneUnclean
			v.Log.ErrorContext(ctx, "clean the store's files of erased data", slog.String("error", err.Error()))
		}
		return nil
	case operate.ActWithdraw:
		return once(o.Withdraw(ctx, a.Target, checkout.Ground(a.Detail)))
	}
	return fmt.Errorf("approval %s: act %q cannot be done", a.ID, a.Act)
}
