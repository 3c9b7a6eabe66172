package jsonlines

import (
	"encoding/hex"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// formatTimestamp formats a time as the events do; the zero time is "".
func formatTimestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return events.Timestamp(t)
}

func toWireProvider(p catalogue.Provider) providerWire {
	return providerWire{
		Kind:             "provider",
		ProviderCode:     p.Code,
		Name:             p.Name,
		AccountID:        p.AccountID,
		Environment:      string(p.Environment),
		Active:           p.Active,
		APIEnabled:       p.APIEnabled,
		Mode:             string(p.Mode),
		EnrolmentOrigins: p.EnrolmentOrigins,
		SuccessURL:       p.SuccessURL,
		CancelURL:        p.CancelURL,
		NoticeDays:       p.NoticeDays,
		Branding:         brandingWire(p.Branding),
		Webhook:          webhookWire{p.Destination.URL},
	}
}

func toWireCourse(provider string, c catalogue.Course) courseWire {
	plans := make([]optionWire, len(c.Options))
	for i, o := range c.Options {
		plans[i] = optionWire{string(o.Frequency), o.Number, amount(o.Amount)}
	}
	return courseWire{
		Kind:         "course",
		ProviderCode: provider,
		CourseCode:   c.Code,
		CourseName:   c.Name,
		CoursePrice:  amount(c.Price),
		Upfront:      amount(c.Upfront),
		Active:       c.Active,
		Environment:  string(c.Environment),
		Plans:        plans,
	}
}

func toWireKey(k catalogue.Key) keyWire {
	return keyWire{"key", k.ID, k.Provider, string(k.Environment), formatTimestamp(k.CreatedAt), formatTimestamp(k.RevokedAt)}
}

func toWireCheckout(c checkout.Checkout) checkoutWire {
	tokens := make([]tokenWire, len(c.Tokens))
	for i, t := range c.Tokens {
		tokens[i] = tokenWire{t.Epoch, formatTimestamp(t.Expires)}
	}
	return checkoutWire{
		Kind:             "checkout",
		CheckoutID:       c.ID,
		ProviderCode:     c.ProviderCode,
		OrderID:          c.OrderID,
		IdempotencyKey:   sentKey(c),
		RequestID:        c.RequestID,
		CreatedAt:        formatTimestamp(c.CreatedAt),
		Status:           string(c.Status),
		ContactID:        c.Records.ContactID,
		OpportunityID:    c.Records.OpportunityID,
		DDAID:            c.Records.DDAID,
		CourseCode:       c.CourseCode,
		CourseName:       c.Intent.CourseName,
		Pricing:          toWirePricing(c.Intent.Pricing),
		Plan:             toWirePlan(c.Intent.Plan),
		SetupTokens:      tokens,
		ConfirmedAt:      formatTimestamp(c.Confirmation.At),
		ConfirmRequestID: c.Confirmation.RequestID,
		AgreementID:      c.Confirmation.AgreementID,
		ErasedAt:         formatTimestamp(c.ErasedAt),
	}
}

// sentKey returns the idempotency key of a checkout if its create sent one: the default follows from the order.
func sentKey(c checkout.Checkout) string {
	if c.IdempotencyKey == checkout.DefaultKey(c.ProviderCode, c.OrderID) {
		return ""
	}
	return c.IdempotencyKey
}

func toWirePricing(p money.Pricing) pricingWire {
	return pricingWire{amount(p.Price), amount(p.Principal), amount(p.Upfront)}
}

func toWirePlan(p money.Plan) planWire {
	w := planWire{
		PaymentType:  checkout.PaymentType,
		Frequency:    string(p.Frequency),
		Number:       p.Number,
		Regular:      amount(p.Regular),
		FirstPayment: p.First.String(),
	}
	if p.Residual() {
		w.Final = amount(p.Final)
	}
	return w
}

func toWireContact(c checkout.Checkout) contactWire {
	return contactWire{"contact", c.Records.ContactID, c.ID, c.Student.FirstName, c.Student.LastName, c.Student.Email}
}

func toWireOpportunity(c checkout.Checkout) opportunityWire {
	w := opportunityWire{
		Kind:          "opportunity",
		OpportunityID: c.Records.OpportunityID,
		CheckoutID:    c.ID,
		ContactID:     c.Records.ContactID,
		ProviderCode:  c.ProviderCode,
		CourseCode:    c.CourseCode,
		CourseName:    c.Intent.CourseName,
	}
	if c.Status == checkout.Confirmed {
		w.EnrolmentStatus = "complete"
	}
	return w
}

func toWireDDA(c checkout.Checkout) ddaWire {
	return ddaWire{
		Kind:             "dda",
		DDAID:            c.Records.DDAID,
		CheckoutID:       c.ID,
		OpportunityID:    c.Records.OpportunityID,
		ContactID:        c.Records.ContactID,
		SetupComplete:    c.SetupComplete(),
		Try:              c.Setup.Try,
		BillingRequestID: c.Setup.BillingRequestID,
		BillingRequest:   string(c.Setup.BillingRequest),
		Mandate:          string(c.Setup.Mandate),
		MandateID:        c.Setup.MandateID,
		MandateSince:     formatTimestamp(c.Setup.MandateSince),
		MandateReason:    c.Setup.MandateReason,
		Authorisation:    string(c.Setup.Authorisation),
		Authorised:       c.Setup.Authorisation == checkout.Authorised,
		AccountHolder:    c.Setup.AccountHolder,
		AccountMask:      string(c.Setup.AccountMask),
		CompletedAt:      formatTimestamp(c.Setup.CompletedAt),
		Consent:          toWireConsent(c.Setup.Consent),
	}
}

func toWireConsent(c agreement.Consent) consentWire {
	return consentWire{formatTimestamp(c.At), c.From, c.Terms, c.NoticeDays}
}

func toWireBlocks(blocks []agreement.Block) (list []blockWire) {
	for _, b := range blocks {
		list = append(list, blockWire(b))
	}
	return list
}

func toWireFees(l agreement.FeeList) *[]feeWire {
	if !l.Stated {
		return nil
	}
	list := make([]feeWire, len(l.Fees))
	for i, f := range l.Fees {
		list[i] = feeWire{f.Name, amount(f.Amount), f.When}
	}
	return &list
}

func toWireAuthority(a agreement.Authority) *authorityWire {
	if a.IsZero() {
		return nil
	}
	return &authorityWire{a.AuthorisationCode, a.Initiator, a.Particulars, a.Code, a.Reference, toWireBlocks(a.Conditions)}
}

func toWireAgreement(c checkout.Checkout, a agreement.Agreement) agreementWire {
	w := agreementWire{
		Kind:          "agreement",
		AgreementID:   c.Confirmation.AgreementID,
		Number:        a.Number,
		Version:       a.Version,
		CheckoutID:    c.ID,
		OpportunityID: c.Records.OpportunityID,
		DDAID:         c.Records.DDAID,
		AcceptedAt:    formatTimestamp(a.AcceptedAt),
		Sandbox:       a.Sandbox,
		PDFGenerated:  c.Confirmation.PDFGenerated(),
		ProviderCode:  a.Provider.Code,
		ProviderName:  a.Provider.Name,
		FirstName:     a.Student.FirstName,
		LastName:      a.Student.LastName,
		Email:         a.Student.Email,
		CourseCode:    a.Course.Code,
		CourseName:    a.Course.Name,
		Pricing:       toWirePricing(a.Pricing),
		Plan:          toWirePlan(a.Plan),
		AccountHolder: a.DirectDebit.AccountHolder,
		AccountMask:   string(a.DirectDebit.AccountMask),
		AuthorisedAt:  formatTimestamp(a.DirectDebit.AuthorisedAt),
		Consent:       toWireConsent(a.DirectDebit.Consent),
		NoticeDays:    a.Notice.Days,
		Lender:        lenderWire(a.Terms.Lender),
		Fees:          toWireFees(a.Terms.Fees),
		DefaultFees:   toWireFees(a.Terms.DefaultFees),
		Authority:     toWireAuthority(a.Terms.Authority),
		Terms:         toWireBlocks(a.Terms.Blocks),
	}
	if !a.Notice.NotBefore.IsZero() {
		w.NotBefore = a.Notice.NotBefore.String()
	}
	return w
}

func toWireDocument(c checkout.Checkout, d ports.DocumentInfo) documentWire {
	return documentWire{"document", c.Confirmation.DocumentID, c.ID, c.Confirmation.AgreementNumber, hex.EncodeToString(d.SHA256[:]), d.Size}
}

// toWireCharge writes a charge, and the day before which it may not be collected where it is due sooner.
func toWireCharge(c checkout.Checkout, m money.Charge, collected money.Date) chargeWire {
	w := chargeWire{
		Kind:          "charge",
		CheckoutID:    c.ID,
		OpportunityID: c.Records.OpportunityID,
		Sequence:      m.Sequence,
		Type:          string(m.Type),
		DueDate:       m.Due.String(),
		Amount:        amount(m.Amount),
	}
	if m.Due.Before(collected) {
		w.NotBefore = collected.String()
	}
	return w
}

func toWireNotice(n ports.NoticeRecord) noticeWire {
	return noticeWire{
		Kind:       "notice",
		NoticeID:   n.Notice.ID,
		CheckoutID: n.Notice.CheckoutID,
		Notice:     string(n.Notice.Kind),
		CreatedAt:  formatTimestamp(n.Notice.CreatedAt),
		Status:     string(n.Status),
		Attempts:   n.Attempts,
		SentAt:     formatTimestamp(n.SentAt),
		MessageID:  n.Receipt.Reference,
		Answer:     n.Receipt.Answer,
		FailedAt:   formatTimestamp(n.Failure.At),
		Failure:    n.Failure.Reason,
	}
}

func toWireEvent(e ports.EventRecord) eventWire {
	return eventWire{
		Kind:         "event",
		EventID:      e.Event.ID,
		Event:        string(e.Event.Name),
		CheckoutID:   e.Event.CheckoutID,
		ProviderCode: e.Event.ProviderCode,
		OrderID:      e.Event.OrderID,
		RequestID:    e.Event.RequestID,
		CreatedAt:    formatTimestamp(e.Event.CreatedAt),
		Status:       string(e.Status),
		Attempts:     e.Attempts,
		Body:         string(e.Event.Body),
	}
}
