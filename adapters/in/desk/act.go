package desk

import (
	"errors"
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

// toCheckout leads back to the page of the checkout after an act about it.
func (v *visit) toCheckout(err error) error {
	if err != nil {
		return err
	}
	return v.back("/checkouts/" + v.id())
}

// link has a new link sent to the e-mail address on record.
func (v *visit) link() error {
	o, err := v.acting(operate.ActLink)
	if err != nil {
		return err
	}
	return v.toCheckout(o.MailLink(v.r.Context(), v.id(), v.SetupLifetime))
}

// notice has an e-mail sent again.
func (v *visit) notice() error {
	o, err := v.acting(operate.ActNotice)
	if err != nil {
		return err
	}
	return v.toCheckout(o.NotifyAgain(v.r.Context(), v.id(), v.field("job")))
}

// cancel cancels a checkout before its confirm.
func (v *visit) cancel() error {
	o, err := v.acting(operate.ActCancel)
	if err != nil {
		return err
	}
	return v.toCheckout(once(o.Cancel(v.r.Context(), v.id())))
}

// withdraw asks for the withdrawal of the checkout's agreement.
func (v *visit) withdraw() error {
	o, err := v.operator()
	if err != nil {
		return err
	}
	c, err := v.Store.Checkout(v.r.Context(), v.id())
	ground := checkout.Ground(v.field("ground"))
	switch {
	case err != nil:
		return err
	case o.Reason == "":
		return operate.ErrNoReason
	case !slices.Contains(checkout.Grounds(), ground):
		return errFields
	case c.Status != checkout.Confirmed:
		return checkout.ErrNotConfirmed
	}
	if err := o.CheckReason(c); err != nil {
		return err
	}
	return v.ask(operate.ActWithdraw, c.Confirmation.AgreementNumber, string(ground))
}

// reasonOf returns why an act is not done, in words for the operator; "" for an error without such words.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, operate.ErrSamePerson):
		return "Whoever asked for an act cannot approve it, under another role either."
	case errors.Is(err, operate.ErrNoReason):
		return "The act needs a reason."
	case errors.Is(err, operate.ErrNamed):
		return "The reason stays on record for ever: it must not name the student."
	case errors.Is(err, checkout.ErrNoLink):
		return "There is nothing to set up: no link is needed."
	case errors.Is(err, checkout.ErrLinkSent):
		return "A link was sent less than ten minutes ago."
	case errors.Is(err, checkout.ErrNotConfirmed):
		return "There is no agreement to withdraw."
	case errors.Is(err, checkout.ErrWaitsForCRM):
		return "It waits for the CRM: try again when the CRM has answered."
	case errors.Is(err, checkout.ErrErased):
		return "The personal data was erased, and with it the ids that the act needs."
	}
	return ""
}
