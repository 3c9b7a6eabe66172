package gocardlesstest

import (
	"cmp"
	"time"
)

// Pace is the time that a billing request takes for its way, on the simulator's clock. The zero Pace takes no time.
type Pace struct {
	Ready      time.Duration // from the payer's confirmation on the hosted page to fulfilling
	Fulfilling time.Duration // from there to fulfilled
}

// Who caused an event.
const (
	byAPI        = "api"
	byPayer      = "payer"
	byGoCardless = "gocardless"
	byBank       = "bank"
)

// cause is the cause of a change of a resource.
type cause struct {
	origin string
	flow   string // through which a payer came
}

// happened adds an event of a billing request.
func (s *state) happened(now time.Time, b *billingRequest, action string, by cause) {
	e := event{resource: resourceBillingRequests, action: action, details: requestDetails(action, by.origin),
		metadata: b.metadata, links: map[string]string{"billing_request": b.id, "customer": b.customer.id, "billing_request_flow": by.flow, "creditor": b.creditor}}
	if b.account != nil {
		e.links["customer_bank_account"] = b.account.id
	}
	if action == "fulfilled" {
		e.links["mandate_request_mandate"] = b.mandateID
	}
	s.emit(now, e)
}

// collectCustomer takes the customer's details. Fields that are empty stay as they are.
func (s *state) collectCustomer(now time.Time, b *billingRequest, p Payer, by cause) {
	c := &b.customer
	c.GivenName, c.FamilyName = cmp.Or(p.GivenName, c.GivenName), cmp.Or(p.FamilyName, c.FamilyName)
	c.Email = cmp.Or(p.Email, c.Email)
	b.collected, b.confirmed = c.Email != "" && c.GivenName != "" && c.FamilyName != "", false
	s.happened(now, b, "collect_customer_details", by)
}

// collectAccount takes the customer's account.
func (s *state) collectAccount(now time.Time, b *billingRequest, a bankAccount, by cause) {
	a.id, a.created = s.newID("BA"), now
	b.account, b.confirmed = &a, false
	s.happened(now, b, "collect_bank_account", by)
}

// confirm takes the payer's confirmation of all details. With autoFulfil the billing request goes on by itself.
func (s *state) confirm(now time.Time, b *billingRequest, autoFulfil bool, by cause) {
	b.confirmed, b.status = true, requestReady
	b.fate = fateOf(b.account, b.customer.FamilyName)
	s.happened(now, b, "payer_details_confirmed", by)
	if autoFulfil && b.fate.setup != setupWaits {
		s.later(now.Add(s.pace.Ready), func(at time.Time) {
			if b.status == requestReady {
				s.fulfil(at, b, cause{origin: byGoCardless, flow: by.flow})
			}
		})
	}
}

// fulfil begins to create what the billing request is for.
func (s *state) fulfil(now time.Time, b *billingRequest, by cause) {
	b.status = requestFulfilling
	if b.fate.setup == setupHangs {
		return
	}
	s.later(now.Add(s.pace.Fulfilling), func(at time.Time) {
		if b.status == requestFulfilling {
			s.finish(at, b, by)
		}
	})
}

// finish ends the billing request as its fate has it.
func (s *state) finish(now time.Time, b *billingRequest, by cause) {
	switch b.fate.setup {
	case setupCancelled:
		s.cancel(now, b, cause{origin: byGoCardless})
	case setupFails:
		s.happened(now, b, "failed", cause{origin: byGoCardless})
		s.cancel(now, b, cause{origin: byGoCardless})
	case setupLate:
		b.status = requestFulfilled
		s.happened(now, b, "fulfilled", by)
		s.later(now.Add(fateAfter), func(at time.Time) { s.createMandate(at, b) })
	default:
		b.status = requestFulfilled
		s.createMandate(now, b)
		s.happened(now, b, "fulfilled", by)
	}
}

// cancel ends a billing request without a mandate.
func (s *state) cancel(now time.Time, b *billingRequest, by cause) {
	b.status = requestCancelled
	s.happened(now, b, "cancelled", by)
}

// createMandate creates the mandate of a billing request, and lets its fate come true.
func (s *state) createMandate(now time.Time, b *billingRequest) {
	m := &mandate{id: s.newID("MD"), reference: s.newID("")[:10], created: now, metadata: b.mandateMetadata, creditor: b.creditor,
		customer: b.customer.id, account: b.account.id, request: b.id, submission: SubmittedName(b.account.holder)}
	m.nextCharge = s.nextCharge(now, b.creditor)
	b.mandateID = m.id
	s.addMandate(now, m)
	for i, move := range b.fate.moves {
		s.later(now.Add(time.Duration(i+1)*fateAfter), func(at time.Time) {
			if !m.ended {
				s.move(at, m, move)
			}
		})
	}
}

func (s *state) addMandate(now time.Time, m *mandate) {
	s.mandates[m.id] = m
	s.move(now, m, move{action: "created"})
}

// nextCharge returns the first weekday that leaves the bank the notice that it needs.
func (s *state) nextCharge(now time.Time, creditor string) time.Time {
	day := now.UTC().AddDate(0, 0, s.creditor(creditor).MinimumAdvanceNotice)
	for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

// move changes a mandate, and adds the event that says so.
func (s *state) move(now time.Time, m *mandate, to move) {
	kind := mandateActions[to.action]
	if kind.status != "" {
		m.status = kind.status
	}
	links := map[string]string{"mandate": m.id, "creditor": m.creditor, "customer": m.customer}
	switch to.action {
	case "replaced":
		next := *m
		next.id, next.reference, next.created, next.replacement = s.newID("MD"), s.newID("")[:10], now, ""
		m.replacement, links["new_mandate"] = next.id, next.id
		s.addMandate(now, &next)
	case "transferred":
		m.account = s.newID("BA")
	}
	s.emit(now, event{resource: resourceMandates, action: to.action, details: kind.because(to.reason), metadata: m.metadata, links: links})
}
