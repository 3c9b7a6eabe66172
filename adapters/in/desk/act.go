package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// once returns the error of an act, nil for a repeat of what was done before.
func once(err error) error {
	if errors.Is(err, checkout.ErrEnded) {
		return nil
	}
	return err
}

// link has a new link sent to the e-mail address on record.
func (v *visit) link() error {
	return v.back(v.here(), v.operator.MailLink(v.r.Context(), v.id(), v.SetupLifetime))
}

// notice has an e-mail sent again.
func (v *visit) notice() error {
	return v.back(v.here(), v.operator.NotifyAgain(v.r.Context(), v.id(), v.field("job")))
}

// cancel cancels a checkout before its confirm.
func (v *visit) cancel() error {
	return v.back(v.here(), once(v.operator.Cancel(v.r.Context(), v.id())))
}

// withdraw asks for the withdrawal of the checkout's agreement.
func (v *visit) withdraw() error {
	c, err := v.Store.Checkout(v.r.Context(), v.id())
	ground := checkout.Ground(v.field("ground"))
	switch {
	case err != nil:
		return err
	case !slices.Contains(checkout.Grounds(), ground):
		return errFields
	case c.Status != checkout.Confirmed:
		return checkout.ErrNotConfirmed
	}
	if err := v.operator.CheckReason(c); err != nil {
		return err
	}
	return v.ask(operate.ActWithdraw, c.Confirmation.AgreementNumber, string(ground))
}

// erase asks for the erasure of all personal data of the checkout's student.
func (v *visit) erase() error {
	if _, err := v.erasable(v.r.Context(), v.operator, v.id()); err != nil {
		return err
	}
	return v.ask(operate.ActErase, v.id(), "")
}

// studentOf returns the student of a checkout, whom the operator's reason does not name.
func (v *visit) studentOf(ctx context.Context, o operate.Operator, id string) (s operate.Student, err error) {
	c, err := v.Store.Checkout(ctx, id)
	switch {
	case err != nil:
		return s, err
	case c.Erased():
		return s, checkout.ErrErased
	}
	if err := o.CheckReason(c); err != nil {
		return s, err
	}
	return o.Find(ctx, c.Student.Email)
}

// erasable returns the student of a checkout, whose personal data nothing needs.
func (v *visit) erasable(ctx context.Context, o operate.Operator, id string) (operate.Student, error) {
	s, err := v.studentOf(ctx, o, id)
	if err == nil {
		if err = o.CheckErasure(ctx, s, v.erasing()); err != nil {
			err = fmt.Errorf("%w: %w", errNotErasable, err)
		}
	}
	return s, err
}

// erasing returns the settings of erasures by the desk, which erases nothing while payments are to be collected.
func (v *visit) erasing() operate.Erasing { return operate.Erasing{Setups: v.Setups, Zone: v.zone} }

// ask has an act wait for a second person.
func (v *visit) ask(act operate.Act, target, detail string) error {
	_, err := v.operator.Ask(v.r.Context(), act, target, detail)
	return v.back("/approvals", err)
}

// here returns the page of the record to which the route of an act belongs.
func (v *visit) here() string { return formPage(v.r) }
