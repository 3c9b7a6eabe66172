package desk

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// approvalView is an act that waits for a second person.
type approvalView struct {
	checkout.Approval
	Link    string // of what it is about
	Decides bool   // the session may approve it
	Own     bool   // the session asked for it, and may take it back
}

// approvals shows what waits for a second person.
func (v *visit) approvals() error {
	o, err := v.operator()
	if err != nil {
		return err
	}
	waiting, err := o.Approvals(v.r.Context())
	if err != nil {
		return err
	}
	var list []approvalView
	for _, a := range waiting {
		link := "/find?q=" + a.Target
		if operate.Act(a.Act) == operate.ActEnable {
			link = "/providers/" + a.Target
		}
		list = append(list, approvalView{a, link, v.decider(a) != "", a.Person == v.session.Person})
	}
	return v.page("approvals.html", "Approvals", list)
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

// deciding returns the operator in the role that may decide about the approval of the path, if there is one.
func (v *visit) deciding() (operate.Operator, error) {
	o, err := v.operator()
	if err != nil {
		return o, err
	}
	a, err := o.Approval(v.r.Context(), v.id())
	if err != nil {
		return o, err
	}
	if role := v.decider(a); role != "" {
		o.Role = role
	}
	return o, nil
}

// approve does what somebody else asked for.
func (v *visit) approve() error {
	o, err := v.deciding()
	if err != nil {
		return err
	}
	if err := o.Approve(v.r.Context(), v.id(), v.perform); err != nil {
		return err
	}
	return v.back("/approvals")
}

// perform does an act that was approved, as who asked for it.
func (v *visit) perform(ctx context.Context, o operate.Operator, a checkout.Approval) error {
	switch operate.Act(a.Act) {
	case operate.ActEnable:
		_, err := o.SetActive(ctx, a.Target, true)
		return err
	case operate.ActWithdraw:
		return once(o.Withdraw(ctx, a.Target, checkout.Ground(a.Detail)))
	}
	return fmt.Errorf("approval %s: act %q cannot be done", a.ID, a.Act)
}

// decline ends what somebody asked for.
func (v *visit) decline() error {
	o, err := v.deciding()
	if err != nil {
		return err
	}
	if err := o.Decline(v.r.Context(), v.id()); err != nil {
		return err
	}
	return v.back("/approvals")
}
