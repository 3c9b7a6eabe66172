package gocardlesstest

import (
	"maps"
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
	origin   string
	flow     string            // through which a payer came
	metadata map[string]string // of an API call
}

// happened adds an event of a billing request.
func (s *state) happened(now time.Time, b *billingRequest, action string, by cause) {
	e := event{resource: resourceBillingRequests, action: action, details: requestDetails(action, by.origin),
		metadata: by.metadata, resourceMetadata: maps.Clone(b.metadata),
		links: map[string]string{"billing_request": b.id, "customer": b.customer.id, "billing_request_flow": by.flow,
			"creditor": b.creditor}}
	if b.account != nil {
		e.links["customer_bank_account"] = b.account.id
	}
	if action == "fulfilled" {
		e.links["mandate_request_mandate"] = b.mandateID
	}
	s.emit(now, e)
}

// collectCustomer takes the customer's details. Fields that are empty stay as they are.
func (s *state) collectCustomer(now time.Time, b *billingRequest, c customer, by cause) {
	keep := func(into *string, text string) {
		if text != "" {
			*into = text
		}
	}
	keep(&b.customer.GivenName, c.GivenName)
	keep(&b.customer.FamilyName, c.FamilyName)
	keep(&b.customer.Email, c.Email)
	keep(&b.customer.company, c.company)
	keep(&b.customer.phone, c.phone)
	keep(&b.customer.address, c.address)
	keep(&b.customer.city, c.city)
	keep(&b.customer.postalCode, c.postalCode)
	keep(&b.customer.country, c.country)
	if c.metadata != nil {
		b.customer.metadata = c.metadata
	}
	b.collected, b.confirmed = b.customer.whole(), false
	s.happened(now, b, "collect_customer_details", by)
}

// whole reports whether enough is known of the customer.
func (c customer) whole() bool {
	return c.Email != "" && (c.company != "" || c.GivenName != "" && c.FamilyName != "")
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
	m := &mandate{id: s.newID("MD"), reference: s.newID("")[:10], created: now, status: mandatePendingSubmission,
		scheme: b.scheme, metadata: maps.Clone(b.mandateMetadata), creditor: b.creditor, customer: b.customer.id,
		account: b.account.id, request: b.id, submission: SubmittedName(b.account.holder)}
	m.nextCharge = s.nextCharge(now, b.creditor)
	b.mandateID = m.id
	s.addMandate(now, m, byAPI)
	for i, move := range b.fate.moves {
		s.later(now.Add(time.Duration(i+1)*fateAfter), func(at time.Time) { s.move(at, m, move) })
	}
}

func (s *state) addMandate(now time.Time, m *mandate, origin string) {
	s.mandates[m.id] = m
	s.mandateOrder = append(s.mandateOrder, m)
	s.moved(now, m, "created", mandateDetails("created", "", origin), nil)
}

// nextCharge returns the first weekday that leaves the bank the notice that it needs.
func (s *state) nextCharge(now time.Time, creditor string) time.Time {
	c, _ := s.creditor(creditor)
	day := now.UTC().AddDate(0, 0, c.MinimumAdvanceNotice)
	for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

// moved adds an event of a mandate.
func (s *state) moved(now time.Time, m *mandate, action string, why details, metadata map[string]string) {
	links := map[string]string{"mandate": m.id, "creditor": m.creditor, "customer": m.customer}
	if action == "replaced" {
		links["new_mandate"] = m.replacement
	}
	s.emit(now, event{resource: resourceMandates, action: action, details: why, metadata: metadata,
		resourceMetadata: maps.Clone(m.metadata), links: links})
}

// move is one change of a mandate.
type move struct {
	action   string // of the event
	reason   string // a scheme's code, or ""
	origin   string // "": the usual one
	metadata map[string]string
}

// move changes a mandate.
func (s *state) move(now time.Time, m *mandate, to move) {
	if status, ok := statusAfter[to.action]; ok {
		m.status = status
	}
	if to.action == "replaced" {
		next := *m
		next.id, next.reference, next.created, next.status = s.newID("MD"), s.newID("")[:10], now, mandatePendingSubmission
		next.replacement = ""
		m.replacement = next.id
		s.addMandate(now, &next, byGoCardless)
	}
	if to.action == "transferred" {
		m.account = s.newID("BA")
	}
	s.moved(now, m, to.action, mandateDetails(to.action, to.reason, to.origin), to.metadata)
}

// statusAfter has the status of a mandate after each action that changes it.
var statusAfter = map[string]string{
	"customer_approval_granted": mandatePendingSubmission,
	"customer_approval_skipped": mandatePendingSubmission,
	"submitted":                 mandateSubmitted,
	"active":                    mandateActive,
	"failed":                    mandateFailed,
	"cancelled":                 mandateCancelled,
	"expired":                   mandateExpired,
	"consumed":                  mandateConsumed,
	"blocked":                   mandateBlocked,
	"suspended_by_payer":        "suspended_by_payer",
	"reinstated":                mandatePendingSubmission,
	"replaced":                  mandateCancelled,
}
