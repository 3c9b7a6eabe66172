package gocardlesstest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
)

// Complete fills in and confirms a flow as a payer does, without its pages, and returns where the payer is led. page is
// the flow's authorisation_url or its id.
func (s *Simulator) Complete(page string, p Payer) (leadsTo string, err error) {
	id := page[strings.LastIndexByte(page, '/')+1:]
	number, err := bankaccount.Parse(cmp.Or(p.Account, bankaccount.Example))
	if err != nil {
		return "", fmt.Errorf("account number %w", err)
	}
	v, found := s.look(id, true)
	if !found {
		return "", fmt.Errorf("there is no flow %s", id)
	}
	p.GivenName = cmp.Or(p.GivenName, v.flow.prefilled["given_name"], "Ana")
	p.FamilyName = cmp.Or(p.FamilyName, v.flow.prefilled["family_name"], "Tau")
	p.Email = cmp.Or(p.Email, v.flow.prefilled["email"], "ana@example.nz")
	problem := s.change(id, func(s *state, now time.Time, f *flow, b *billingRequest) {
		s.payerDetails(now, f, b, p)
		if b.blocked {
			return
		}
		by := cause{origin: byPayer, flow: f.id}
		s.collectAccount(now, b, bankAccount{number: number, holder: cmp.Or(p.Holder, p.GivenName+" "+p.FamilyName)}, by)
		s.confirm(now, b, f.flags[autoFulfil], by)
	})
	if problem != "" {
		return v.flow.exitURI, fmt.Errorf("flow %s is closed: %s", id, problem)
	}
	return v.flow.redirectURI, nil
}
