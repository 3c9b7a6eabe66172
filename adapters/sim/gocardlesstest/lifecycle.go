package gocardlesstest

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// The origins of an event.
const (
	byAPI        = "api"
	byPayer      = "payer"
	byGoCardless = "gocardless"
	byBank       = "bank"
)

// fate is the course of a billing request and its mandate after the payer confirmed. The zero fate is a mandate that stays
// pending_submission.
type fate struct {
	setup string
	moves []move // a minute between them
}

// move is one change of a mandate: the action of its event, and a reason code of the scheme or "".
type move struct{ action, reason string }

// fateAfter is the time after which a fate comes true.
const fateAfter = time.Minute

// fates has the fates of account holders.
var fates = map[string]fate{
	"MANDATE FAILS":     {moves: []move{{"failed", "NEGATIVE_ACKNOWLEDGEMENT-AC05"}}},
	"MANDATE CANCELLED": {moves: []move{{"cancelled", "DISHONOUR-AG01"}}},
	"MANDATE BLOCKED":   {moves: []move{{"blocked", ""}}},
	"MANDATE EXPIRED":   {moves: []move{{"expired", ""}}},
	"MANDATE ACTIVE":    {moves: []move{{"submitted", ""}, {"active", ""}}},
	"MANDATE LATE":      {setup: "late"},
	"SETUP CANCELLED":   {setup: "cancelled"},
	"SETUP FAILS":       {setup: "fails"},
	"SETUP HANGS":       {setup: "hangs"},
	"SETUP WAITS":       {setup: "waits"},
}

// A payer with the family name blockedName is in a country without GoCardless, and is refused for blockedFor.
const (
	blockedName = "GEO BLOCKED"
	blockedFor  = 24 * time.Hour
)

// happened adds an event of a billing request.
func (s *Simulator) happened(now time.Time, b *billingRequest, action, origin string) {
	links := maps.Clone(b.Links)
	links["billing_request"] = b.ID
	s.emit(now, &event{Resource: "billing_requests", Action: action, ResourceMetadata: b.Metadata, Links: links,
		Details: texts{"origin": origin, "cause": "billing_request_" + action}})
}

// emit adds an event.
func (s *Simulator) emit(now time.Time, e *event) {
	e.ID, e.CreatedAt, e.Metadata = s.newID("EV"), stamp(now), texts{}
	e.Details["description"] = strings.ReplaceAll(e.Details["cause"], "_", " ")
	s.events = append(s.events, e)
	if s.webhook.url != "" {
		s.webhook.unsent = append(s.webhook.unsent, e)
	}
}

// give takes everything of a payer, who confirms it. The billing request then goes on by itself.
func (s *Simulator) give(now time.Time, b *billingRequest, p Payer, n bankaccount.Number) {
	c := &b.Resources.Customer
	c.GivenName, c.FamilyName, c.Email = p.GivenName, p.FamilyName, p.Email
	s.happened(now, b, "collect_customer_details", byPayer)
	if strings.EqualFold(p.FamilyName, blockedName) {
		b.blockedUntil = now.Add(blockedFor)
		s.happened(now, b, "payer_geo_blocked", byPayer)
		return
	}
	b.Links["customer_bank_account"] = s.newID("BA")
	b.Resources.Account = object{"id": b.Links["customer_bank_account"], "account_holder_name": p.Holder,
		"account_number_ending": n.Base[len(n.Base)-4:], "bank_name": n.BankName()}
	s.happened(now, b, "collect_bank_account", byPayer)
	b.Actions, b.Status = actions("completed"), checkout.BillingReadyToFulfil
	s.happened(now, b, "payer_details_confirmed", byPayer)
	fate := fates[strings.ToUpper(p.Holder)]
	if fate.setup == "waits" {
		return
	}
	s.later(now.Add(s.options.Pace.Ready), func(at time.Time) {
		if b.Status != checkout.BillingReadyToFulfil {
			return
		}
		b.Status = checkout.BillingFulfilling
		s.later(at.Add(s.options.Pace.Fulfilling), func(at time.Time) {
			if b.Status == checkout.BillingFulfilling {
				s.fulfil(at, b, fate)
			}
		})
	})
}

// fulfil ends a billing request as its fate has it.
func (s *Simulator) fulfil(now time.Time, b *billingRequest, f fate) {
	switch f.setup {
	case "hangs":
	case "fails":
		s.happened(now, b, "failed", byGoCardless)
		s.cancel(now, b, byGoCardless)
	case "cancelled":
		s.cancel(now, b, byGoCardless)
	case "late":
		b.Status = checkout.BillingFulfilled
		s.happened(now, b, "fulfilled", byGoCardless)
		s.later(now.Add(fateAfter), func(at time.Time) { s.createMandate(at, b, f) })
	default:
		b.Status = checkout.BillingFulfilled
		s.createMandate(now, b, f)
		s.happened(now, b, "fulfilled", byGoCardless)
	}
}

// cancel ends a billing request without a mandate.
func (s *Simulator) cancel(now time.Time, b *billingRequest, origin string) {
	b.Status = checkout.BillingCancelled
	s.happened(now, b, "cancelled", origin)
}

// createMandate creates the mandate of a billing request, and lets its fate come true.
func (s *Simulator) createMandate(now time.Time, b *billingRequest, f fate) {
	m := s.newMandate(now, b)
	b.Links["mandate_request_mandate"], b.MandateRequest.Links["mandate"] = m.ID, m.ID
	for i, to := range f.moves {
		s.later(now.Add(time.Duration(i+1)*fateAfter), func(at time.Time) {
			if !m.ended {
				s.move(at, m, to)
			}
		})
	}
}

func (s *Simulator) newMandate(now time.Time, b *billingRequest) *mandate {
	m := &mandate{ID: s.newID("MD"), CreatedAt: stamp(now), Scheme: scheme, Metadata: b.MandateRequest.Metadata, request: b}
	m.Reference, m.Links = m.ID[2:12], maps.Clone(b.Links)
	s.mandates[m.ID] = m
	s.move(now, m, move{action: "created"})
	return m
}

// mandateActions has the actions of mandates' events, with the status that each leads to and the usual origin and cause.
var mandateActions = map[string]struct {
	status        checkout.MandateStatus
	origin, cause string
}{
	"created":    {"pending_submission", byAPI, "mandate_created"},
	"submitted":  {"submitted", byGoCardless, "mandate_submitted"},
	"active":     {"active", byGoCardless, "mandate_activated"},
	"failed":     {"failed", byBank, "invalid_bank_details"},
	"cancelled":  {"cancelled", byAPI, "mandate_cancelled"},
	"expired":    {"expired", byGoCardless, "mandate_expired"},
	"blocked":    {"blocked", byGoCardless, "mandate_blocked"},
	"reinstated": {"pending_submission", byAPI, "mandate_reinstated"},
	"replaced":   {"cancelled", byGoCardless, "scheme_identifier_changed"},
}

// move changes a mandate, and adds the event that says so.
func (s *Simulator) move(now time.Time, m *mandate, to move) {
	kind := mandateActions[to.action]
	first := money.BusinessDays.Next(money.DateOf(now).AddDays(m.request.creditor.MinimumAdvanceNotice)).String()
	if m.Status, m.NextCharge = kind.status, &first; m.Status.Dead() {
		m.NextCharge = nil
	}
	e := &event{Resource: "mandates", Action: to.action, ResourceMetadata: m.Metadata, Links: texts{"mandate": m.ID},
		Details: texts{"origin": kind.origin, "cause": kind.cause}}
	if to.reason != "" {
		e.Details["origin"], e.Details["scheme"], e.Details["reason_code"] = byBank, scheme, to.reason
	}
	if to.action == "replaced" {
		m.Links["new_mandate"] = s.newMandate(now, m.request).ID
		e.Links["new_mandate"] = m.Links["new_mandate"]
	}
	s.emit(now, e)
}

// MoveMandate moves the mandate of a billing request to a status, from any other, with a reason code of the scheme or "". Beside the
// statuses it takes the actions "reinstated" and "replaced".
func (s *Simulator) MoveMandate(request, status, reason string) (err error) {
	if status == "pending_submission" {
		status = "reinstated"
	}
	s.do(func(now time.Time) {
		b, m := s.requests[request], (*mandate)(nil)
		if b != nil {
			m = s.mandates[b.Links["mandate_request_mandate"]]
		}
		if _, ok := mandateActions[status]; !ok || m == nil {
			err = fmt.Errorf("billing request %q has no mandate, or %q is no status of one", request, status)
			return
		}
		s.move(now, m, move{status, reason})
	})
	return err
}

// CancelRequest cancels a billing request that is not over, as GoCardless itself does.
func (s *Simulator) CancelRequest(id string) (err error) {
	s.do(func(now time.Time) {
		if b := s.requests[id]; b != nil && b.open() {
			s.cancel(now, b, byGoCardless)
		} else {
			err = fmt.Errorf("there is no billing request %q that can be cancelled", id)
		}
	})
	return err
}

// Payer is the person at the hosted page. Complete fills in empty fields.
type Payer struct {
	GivenName  string
	FamilyName string
	Email      string
	Holder     string // of the account
	Account    string // as people write it: 01-0902-0068389-00
}

// Complete fills in and confirms a flow as a payer does, without its pages, and returns the address to which the payer is led. page is
// the flow's authorisation_url or its id.
func (s *Simulator) Complete(page string, p Payer) (leadsTo string, err error) {
	id := page[strings.LastIndexByte(page, '/')+1:]
	number, err := bankaccount.Parse(cmp.Or(p.Account, bankaccount.Example))
	if err != nil {
		return "", fmt.Errorf("account number %w", err)
	}
	s.do(func(now time.Time) {
		f := s.flows[id]
		if f == nil {
			err = errors.New("there is no flow " + id)
			return
		}
		if closed := f.closed(now); closed != nil {
			leadsTo, err = f.ExitURI, errors.New(closed.Title)
			return
		}
		leadsTo = f.RedirectURI
		p.GivenName, p.FamilyName = cmp.Or(p.GivenName, f.Prefilled.GivenName, "Ana"), cmp.Or(p.FamilyName, f.Prefilled.FamilyName, "Tau")
		p.Email = cmp.Or(p.Email, f.Prefilled.Email, "ana@example.nz")
		p.Holder = cmp.Or(p.Holder, p.GivenName+" "+p.FamilyName)
		s.give(now, f.request, p, number)
	})
	return leadsTo, err
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("").Parse(pageText))

// flowPath is the path of the hosted pages.
const flowPath = "/flow/"

// shown is a page: the form, or the notice of a flow that cannot be filled in.
type shown struct {
	status      int
	Title, Text string
	Back        string // address that a notice leads to
	Fault       string // of the form that was sent
	Flow        flow
	Description string
	Creditor
}

// closed returns the notice of a flow that cannot be filled in, or nil.
func (f *flow) closed(now time.Time) *shown {
	switch b := f.request; {
	case b.Status == checkout.BillingCancelled:
		return &shown{status: http.StatusGone, Title: "This direct debit was cancelled", Text: "It can no longer be set up.", Back: f.ExitURI}
	case b.Status != checkout.BillingPending:
		return &shown{status: http.StatusOK, Title: "We have your details", Text: "There is nothing more to do here.", Back: f.RedirectURI}
	case now.Before(b.blockedUntil):
		return &shown{status: http.StatusForbidden, Title: "This service is not available where you are", Text: "Try tomorrow.", Back: f.ExitURI}
	case !now.Before(f.expires):
		return &shown{status: http.StatusGone, Title: "This page has expired", Text: "Go back to get a new one.", Back: f.ExitURI}
	}
	return nil
}

// takeForm takes the payer's details and authority, and leads back.
func (s *Simulator) takeForm(w http.ResponseWriter, r *http.Request) {
	leadsTo, err := s.Complete(r.PathValue("flow"), Payer{r.PostFormValue("given_name"), r.PostFormValue("family_name"),
		r.PostFormValue("email"), r.PostFormValue("account_holder_name"), r.PostFormValue("account_number")})
	if err != nil {
		s.show(w, r, http.StatusUnprocessableEntity, err.Error())
		return
	}
	http.Redirect(w, r, leadsTo, http.StatusSeeOther)
}

// leave leads a payer back who gives up.
func (s *Simulator) leave(w http.ResponseWriter, r *http.Request) {
	s.do(func(now time.Time) {
		if f := s.flows[r.PathValue("flow")]; f != nil {
			s.happened(now, f.request, "flow_exited", byPayer)
			http.Redirect(w, r, f.ExitURI, http.StatusSeeOther)
			return
		}
		http.NotFound(w, r)
	})
}

// show shows the page of the flow that the address names. The first visit is an event.
func (s *Simulator) show(w http.ResponseWriter, r *http.Request, status int, fault string) {
	s.do(func(now time.Time) {
		f := s.flows[r.PathValue("flow")]
		if f == nil {
			http.NotFound(w, r)
			return
		}
		p := f.closed(now)
		if p == nil {
			p = &shown{status: status, Title: "Your details", Fault: fault, Flow: *f, Description: f.request.MandateRequest.Description,
				Creditor: *f.request.creditor}
			if !f.visited {
				f.visited = true
				s.happened(now, f.request, "flow_visited", byPayer)
			}
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(p.status)
		_ = page.Execute(w, p) // a browser that went away is no fault
	})
}
