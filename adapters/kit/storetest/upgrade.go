package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Upgraded holds a store that an earlier version wrote, from the calls of testdata/upgrade, to what the export of that
// version says of it, and to today's rules from now on.
func Upgraded(t *testing.T, s ports.Admin, export io.Reader) {
	want, got := exportedFields(t, export), storedFields(t, s)
	for kind, lines := range want {
		if len(got[kind]) != len(lines) {
			t.Errorf("%d of kind %s on record, want %d", len(got[kind]), kind, len(lines))
			continue
		}
		for i, line := range lines {
			for field, value := range got[kind][i] {
				if exported, ok := line[field]; ok && value != exported {
					t.Errorf("%s %d: %s is %q, want %q", kind, i+1, field, value, exported)
				}
			}
		}
	}
	upgradedKeys(t, s)
	list, err := s.EventRecords(t.Context(), ports.EventFilter{}, 1000)
	must(t, "EventRecords", err)
	for _, e := range list {
		same(t, "the failure of an event of the earlier version", e.Failure, ports.Failure{})
	}
}

// fields is an object of the export, by the dotted paths of its fields.
type fields map[string]string

// exportedFields reads an export: its objects by their kinds.
func exportedFields(t *testing.T, export io.Reader) map[string][]fields {
	t.Helper()
	all := make(map[string][]fields)
	for d := json.NewDecoder(export); ; {
		d.UseNumber()
		var object map[string]any
		switch err := d.Decode(&object); {
		case err == io.EOF:
			return all
		case err != nil:
			t.Fatalf("read the export: %v", err)
		}
		flat := fields{}
		flat.add("", object)
		all[flat["kind"]] = append(all[flat["kind"]], flat)
	}
}

func (f fields) add(path string, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		f[path] = fmt.Sprint(value)
		return
	}
	for name, value := range object {
		f.add(strings.TrimPrefix(path+"."+name, "."), value)
	}
}

// storedFields returns what the store has on record, as an export says it.
func storedFields(t *testing.T, s ports.Admin) map[string][]fields {
	t.Helper()
	all := make(map[string][]fields)
	add := func(kind string, f fields) { all[kind] = append(all[kind], f) }
	r := export(t, s)
	same(t, "unreadable", len(r.Unreadable), 0)
	for _, c := range r.Configurations {
		add("provider", providerFields(c.Provider))
		for _, course := range c.Courses {
			add("course", fields{"provider_code": c.Provider.Code, "course_code": course.Code, "course_name": course.Name,
				"course_price": course.Price.String(), "upfront_payment": course.Upfront.String(), "active": fmt.Sprint(course.Active)})
		}
	}
	for _, k := range r.Keys {
		add("key", fields{"key_id": k.ID, "provider_code": k.Provider, "environment": string(k.Environment), "created_at": timestamp(k.CreatedAt)})
	}
	for _, c := range r.Checkouts {
		add("checkout", checkoutFields(c.Checkout))
		add("dda", setupFields(c.Checkout))
		add("contact", fields{"contact_id": c.Checkout.Records.ContactID, "first_name": c.Checkout.Student.FirstName,
			"last_name": c.Checkout.Student.LastName, "email": c.Checkout.Student.Email})
		add("opportunity", fields{"opportunity_id": c.Checkout.Records.OpportunityID, "contact_id": c.Checkout.Records.ContactID,
			"provider_code": c.Checkout.ProviderCode, "course_name": c.Checkout.Intent.CourseName})
		for _, e := range c.Events {
			add("event", eventFields(e))
		}
		if c.Agreement == nil {
			continue
		}
		add("agreement", agreementFields(*c.Agreement))
		add("document", documentFields(t, s, *c.Agreement, *c.Document))
		for _, charge := range c.Agreement.Schedule {
			add("charge", fields{"checkout_id": c.Checkout.ID, "sequence": fmt.Sprint(charge.Sequence), "type": string(charge.Type),
				"due_date": charge.Due.String(), "amount": charge.Amount.String()})
		}
	}
	return all
}

func timestamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z07:00") }

func providerFields(p catalogue.Provider) fields {
	return fields{"provider_code": p.Code, "name": p.Name, "account_id": p.AccountID, "environment": string(p.Environment),
		"active": fmt.Sprint(p.Active), "api_enabled": fmt.Sprint(p.APIEnabled), "enrolment_origins": fmt.Sprint(p.EnrolmentOrigins),
		"success_url": p.SuccessURL, "cancel_url": p.CancelURL, "notice_days": fmt.Sprint(p.NoticeDays),
		"branding.display_name": p.Branding.DisplayName, "branding.primary_colour": p.Branding.PrimaryColour,
		"branding.support_email": p.Branding.SupportEmail, "webhook.url": p.Destination.URL}
}

func (f fields) addMoney(p money.Pricing, plan money.Plan) fields {
	f["pricing.course_price"], f["pricing.upfront_payment"] = p.Price.String(), p.Upfront.String()
	f["pricing.amount_to_finance"] = p.Principal.String()
	f["plan.payment_frequency"], f["plan.number_of_instalments"] = string(plan.Frequency), fmt.Sprint(plan.Number)
	f["plan.instalment_amount"], f["plan.final_instalment_amount"] = plan.Regular.String(), plan.Final.String()
	f["plan.first_payment_date"] = plan.First.String()
	return f
}

func checkoutFields(c checkout.Checkout) fields {
	f := fields{"checkout_id": c.ID, "provider_code": c.ProviderCode, "provider_order_id": c.OrderID,
		"idempotency_key": c.IdempotencyKey, "request_id": c.RequestID, "created_at": timestamp(c.CreatedAt),
		"status": string(c.Status), "contact_id": c.Records.ContactID, "opportunity_id": c.Records.OpportunityID,
		"dda_id": c.Records.DDAID, "course_code": c.CourseCode, "course_name": c.Intent.CourseName,
		"confirmed_at": timestamp(c.Confirmation.At), "confirm_request_id": c.Confirmation.RequestID,
		"agreement_id": c.Confirmation.AgreementID}
	return f.addMoney(c.Intent.Pricing, c.Intent.Plan)
}

func setupFields(c checkout.Checkout) fields {
	s := c.Setup
	return fields{"dda_id": c.Records.DDAID, "try": fmt.Sprint(s.Try), "billing_request_id": s.BillingRequestID,
		"billing_request_status": string(s.BillingRequest), "mandate_status": string(s.Mandate), "mandate_id": s.MandateID,
		"mandate_since": timestamp(s.MandateSince), "mandate_reason_code": s.MandateReason,
		"authorisation_status": string(s.Authorisation), "account_holder_name": s.AccountHolder,
		"completed_at": timestamp(s.CompletedAt), "setup_complete": fmt.Sprint(c.SetupComplete())}.addConsent(s.Consent).addAccount(s.AccountMask)
}

// addAccount adds the account: a mask, or the last digits where an earlier version kept no more.
func (f fields) addAccount(m agreement.AccountMask) fields {
	if ending := m.Ending(); ending != "" {
		f["account_number_ending"] = ending
	} else {
		f["account_mask"] = string(m)
	}
	return f
}

func (f fields) addConsent(c agreement.Consent) fields {
	f["consent.accepted_at"], f["consent.network_address"] = timestamp(c.At), c.From
	f["consent.terms"], f["consent.notice_days"] = c.Terms, fmt.Sprint(c.NoticeDays)
	return f
}

func eventFields(e ports.EventRecord) fields {
	return fields{"event_id": e.Event.ID, "event": string(e.Event.Name), "checkout_id": e.Event.CheckoutID,
		"provider_code": e.Event.ProviderCode, "provider_order_id": e.Event.OrderID, "request_id": e.Event.RequestID,
		"created_at": timestamp(e.Event.CreatedAt), "body": string(e.Event.Body), "status": string(e.Status),
		"attempts": fmt.Sprint(e.Attempts)}
}

func agreementFields(a agreement.Agreement) fields {
	f := fields{"agreement_id": a.ID, "agreement_number": a.Number, "agreement_version": a.Version, "checkout_id": a.CheckoutID,
		"accepted_at": timestamp(a.AcceptedAt), "sandbox": fmt.Sprint(a.Sandbox), "provider_name": a.Provider.Name,
		"first_name": a.Student.FirstName, "last_name": a.Student.LastName, "email": a.Student.Email,
		"course_code": a.Course.Code, "course_name": a.Course.Name, "dda_id": a.DirectDebit.AuthorityID,
		"account_holder_name": a.DirectDebit.AccountHolder, "authorised_at": timestamp(a.DirectDebit.AuthorisedAt),
		"notice_days": fmt.Sprint(a.Notice.Days)}
	return f.addMoney(a.Pricing, a.Plan).addConsent(a.DirectDebit.Consent).addAccount(a.DirectDebit.AccountMask)
}

func documentFields(t *testing.T, s ports.Admin, a agreement.Agreement, info ports.DocumentInfo) fields {
	t.Helper()
	d, err := s.Document(t.Context(), a.Number)
	must(t, "Document", err)
	same(t, "document", ports.DocumentInfo{ID: d.ID, SHA256: sha256.Sum256(d.Bytes), Size: len(d.Bytes)}, info)
	return fields{"document_id": d.ID, "agreement_number": a.Number, "sha256": fmt.Sprintf("%x", d.SHA256), "size": fmt.Sprint(len(d.Bytes))}
}

// upgradedKeys holds the store to the rule for idempotency keys. The earlier version kept no default key, and let
// SHADOW-B take that of SHADOW-A.
func upgradedKeys(t *testing.T, s ports.Admin) {
	t.Helper()
	for _, key := range []struct{ provider, key, order, recorded string }{
		{"KOWHAI", "KOWHAI:OPEN-1", "OPEN-1", "KOWHAI:OPEN-1"},
		{"KOWHAI", "key-of-open", "OPEN-KEY", "key-of-open"},
		{"TUI", "legacy-key", "LEGACY-CONFIRMED", "legacy-key"},
		{"TUI", "TUI:LEGACY-OPEN", "LEGACY-OPEN", "TUI:LEGACY-OPEN"},
		{"KOWHAI", "KOWHAI:SHADOW-A", "SHADOW-B", "KOWHAI:SHADOW-A"},
	} {
		c, err := s.CheckoutByKey(t.Context(), key.provider, key.key)
		must(t, "CheckoutByKey "+key.key, err)
		same(t, "the order of "+key.key, c.OrderID, key.order)
		c, err = s.CheckoutByOrder(t.Context(), key.provider, key.order)
		must(t, "CheckoutByOrder "+key.order, err)
		same(t, "the key of "+key.order, c.IdempotencyKey, key.recorded)
	}
	c, err := s.CheckoutByOrder(t.Context(), "KOWHAI", "SHADOW-A")
	must(t, "CheckoutByOrder SHADOW-A", err)
	same(t, "the key of SHADOW-A", c.IdempotencyKey, "KOWHAI:SHADOW-A")
	_, err = s.CheckoutByKey(t.Context(), "KOWHAI", "KOWHAI:OPEN-KEY")
	refused(t, "CheckoutByKey of an order with another key", err, ports.ErrNotFound)

	for i, c := range []checkout.Change{
		byDefault(1, "OPEN-1"), under(2, "NEW", "KOWHAI:OPEN-1"), under(3, "NEW", "key-of-open"), under(4, "NEW", "KOWHAI:SHADOW-A"),
		under(5, "OPEN-KEY", "another key"), byDefault(6, "SHADOW-A"),
	} {
		refused(t, fmt.Sprint("InsertCheckout of a duplicate, ", i), s.InsertCheckout(t.Context(), c, pending()), ports.ErrDuplicate)
	}
	insert(t, s, byDefault(7, "NEW"))
	update(t, s, c.ID, func(c checkout.Checkout) checkout.Change {
		next := completed(c)
		return checkout.Change{Next: next, Events: []events.Event{event(next, events.CheckoutConfirmed)}}
	})
	same(t, "the setup of SHADOW-A", due(t, s, at(59), many), []string{c.ID})
}
