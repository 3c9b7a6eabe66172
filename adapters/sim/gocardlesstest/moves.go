package gocardlesstest

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
)

// MoveMandate moves a mandate to a status, from any other, with a reason code of the scheme or "". Beside the statuses it
// takes the actions "reinstated", "replaced" and "transferred". The mandate may be named by its billing request.
func (s *Simulator) MoveMandate(id, status, reason string) (err error) {
	action := status
	if status == "pending_submission" {
		action = "reinstated"
	}
	if _, ok := mandateActions[action]; !ok || action == "created" {
		return fmt.Errorf("%q is no status of a mandate", status)
	}
	if _, ok := reasons[reason]; !ok && reason != "" {
		return fmt.Errorf("%q is no reason code of BECS NZ", reason)
	}
	s.do(func(state *state, now time.Time) {
		m, ok := state.mandates[id]
		if b := state.requests[id]; b != nil {
			m, ok = state.mandates[b.mandateID]
		}
		if !ok {
			err = fmt.Errorf("there is no mandate %s", id)
			return
		}
		state.move(now, m, move{action, reason})
	})
	return err
}

// CancelRequest cancels a billing request that is not over, as GoCardless itself does.
func (s *Simulator) CancelRequest(id string) error {
	return s.changeRequest(id, func(state *state, now time.Time, b *billingRequest) {
		state.cancel(now, b, cause{origin: byGoCardless})
	})
}

// FulfilRequest fulfils a billing request that is not over, whatever is missing of its details.
func (s *Simulator) FulfilRequest(id string) error {
	return s.changeRequest(id, func(state *state, now time.Time, b *billingRequest) { state.fulfilAtOnce(now, b) })
}

// fulfilAtOnce fulfils a billing request that no payer has filled in, or that stopped on its way.
func (s *state) fulfilAtOnce(now time.Time, b *billingRequest) {
	by := cause{origin: byAPI}
	if !b.collected {
		s.collectCustomer(now, b, Payer{GivenName: "Ana", FamilyName: "Tau", Email: "ana@example.nz"}, by)
	}
	if b.account == nil {
		number, _ := bankaccount.Parse(bankaccount.Example) // which is right
		s.collectAccount(now, b, bankAccount{number: number, holder: b.customer.GivenName + " " + b.customer.FamilyName}, by)
	}
	if b.status == requestPending {
		s.confirm(now, b, false, by)
	}
	b.fate.setup = ""
	s.finish(now, b, cause{origin: byGoCardless})
}

// BlockPayer keeps the payer of a billing request from the hosted page for a day, as from a country that is not served.
func (s *Simulator) BlockPayer(id string) error {
	return s.changeRequest(id, func(state *state, now time.Time, b *billingRequest) {
		state.block(now, b, cause{origin: byPayer})
	})
}

// changeRequest changes a billing request that is not over.
func (s *Simulator) changeRequest(id string, how func(state *state, now time.Time, b *billingRequest)) (err error) {
	s.do(func(state *state, now time.Time) {
		b, ok := state.requests[id]
		switch {
		case !ok:
			err = fmt.Errorf("there is no billing request %s", id)
		case b.over():
			err = fmt.Errorf("billing request %s is %s", id, b.status)
		default:
			how(state, now, b)
		}
	})
	return err
}

// SetSchemeStatus changes the status of a creditor's scheme identifier, and the notice that it needs.
func (s *Simulator) SetSchemeStatus(creditor, status string, minimumAdvanceNotice int) (err error) {
	s.do(func(state *state, _ time.Time) {
		if c := state.creditor(creditor); c != nil {
			c.SchemeStatus, c.MinimumAdvanceNotice = status, minimumAdvanceNotice
			return
		}
		err = fmt.Errorf("there is no creditor %s", creditor)
	})
	return err
}
