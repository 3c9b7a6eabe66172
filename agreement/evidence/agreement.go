package evidence

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

// SaltSize is the size of a salt in bytes.
const SaltSize = 32

// Conclusion is the part of an agreement's record that does not stand in the agreement.
type Conclusion struct {
	Environment string
	RequestID   string // of the confirm
	At          time.Time
	Document    *agreement.Document // nil if there is no PDF
	Debited     Debited
	LogSize     int64 // size of the tree that the process had seen
	Salt        [SaltSize]byte
}

// Debited is the records of the processor and of the CRM under which the plan is collected.
type Debited struct {
	BillingRequestID, MandateID, ContactID, OpportunityID string
}

// OfAgreement returns the entry of an agreement, to be attested.
func OfAgreement(a agreement.Agreement, c Conclusion) Entry {
	return Entry{ID: AgreementID(a.Number), At: c.At, Leaf: encode(agreementLeaf(a, c)), Salt: c.Salt[:], seen: c.LogSize}
}

func agreementLeaf(a agreement.Agreement, c Conclusion) agreementWire {
	document := ""
	if c.Document != nil {
		document = hex.EncodeToString(c.Document.SHA256[:])
	}
	consent := a.DirectDebit.Consent
	return agreementWire{
		Kind: KindAgreement, Format: 1,
		Number: a.Number, Version: a.Version, Environment: c.Environment,
		Provider: a.Provider.Code, ProviderIs: a.Provider.Name, Support: a.Provider.SupportEmail, OrderID: a.OrderID,
		CheckoutID: a.CheckoutID, RequestID: c.RequestID,
		AcceptedAt: instant(a.AcceptedAt), RecordedAt: instant(c.At),

		CourseCode: a.Course.Code, CourseName: a.Course.Name,
		Price: int64(a.Pricing.Price), Upfront: int64(a.Pricing.Upfront), Principal: int64(a.Pricing.Principal),
		Frequency: string(a.Plan.Frequency), Instalments: a.Plan.Number,
		Instalment: int64(a.Plan.Regular), Final: int64(a.Plan.Final),
		FirstPayment: a.Plan.First.String(), NotBefore: a.Notice.NotBefore.String(), NoticeDays: a.Notice.Days,
		CancelUntil: day(a.CancelUntil), Schedule: fingerprint(scheduleText(a.Schedule)),

		Declarations: []string{"deposit_confirmed", "payment_plan_accepted", "information_confirmed", "privacy_consent_accepted"},

		DDAID: a.DirectDebit.AuthorityID, AuthorisedAt: instant(a.DirectDebit.AuthorisedAt),
		ConsentAt: instant(consent.At), ConsentTerms: consent.Terms,
		Disclosed: consent.Disclosed.SHA256, DisclosedOn: consent.Disclosed.Page,
		Terms: fingerprint(termsText(a.Terms)), Document: document,

		Committed: commitments(a, c.Debited, c.Salt), LogSize: c.LogSize,
	}
}

// scheduleText lists the charges, a line each: sequence, type, due date and amount in cents, with commas between.
func scheduleText(charges []money.Charge) string {
	var b strings.Builder
	for _, c := range charges {
		fmt.Fprintf(&b, "%d,%s,%s,%d\n", c.Sequence, c.Type, c.Due, int64(c.Amount))
	}
	return b.String()
}

// termsText lists the operator's terms, each text after its length in bytes: no text can pass for two.
func termsText(t agreement.Terms) string {
	if t.IsZero() {
		return ""
	}
	var b strings.Builder
	add := func(text string) { fmt.Fprintf(&b, "%d:%s\n", len(text), text) }
	add(t.Lender.Name)
	add(t.Lender.Address)
	add(t.Lender.Registration)
	add(t.Lender.Email)
	add(t.Disputes.Name)
	add(t.Disputes.Contact)
	add(strconv.Itoa(t.Cancellation.WorkingDays))
	add(t.Cancellation.How)
	add(t.Hardship)
	addBlocks := func(blocks []agreement.Block) {
		for _, block := range blocks {
			add(block.Title)
			add(block.Text)
		}
	}
	addBlocks(t.Blocks)
	// What not every agreement has stands behind a line that no text can be.
	if t.DefaultFees.Stated {
		b.WriteString("default fees\n")
		for _, fee := range t.DefaultFees.Fees {
			add(fee.Name)
			add(fee.Amount.String())
			add(fee.When)
		}
	}
	if authority := t.Authority; !authority.IsZero() {
		b.WriteString("authority\n")
		for _, text := range []string{authority.Initiator, authority.AuthorisationCode, authority.Statement, authority.Form, string(authority.Calendar)} {
			add(text)
		}
		addBlocks(authority.Conditions)
	}
	return b.String()
}

// fingerprint returns the SHA-256 of a text, or "" for the empty text.
func fingerprint(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// instant returns a time as records have it; "" for the zero time.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// day returns a date as records have it; "" for the zero Date.
func day(d money.Date) string {
	if d.IsZero() {
		return ""
	}
	return d.String()
}

func commitments(a agreement.Agreement, d Debited, salt [SaltSize]byte) commitmentsWire {
	return commitmentsWire{
		FirstName:      commitment(salt, "student.first_name", a.Student.FirstName),
		LastName:       commitment(salt, "student.last_name", a.Student.LastName),
		Email:          commitment(salt, "student.email", a.Student.Email),
		AccountHolder:  commitment(salt, "account_holder", a.DirectDebit.AccountHolder),
		AccountMask:    commitment(salt, "account_mask", string(a.DirectDebit.AccountMask)),
		ConsentAddress: commitment(salt, "consent_address", a.DirectDebit.Consent.From),

		BillingRequestID: commitment(salt, "billing_request_id", d.BillingRequestID),
		MandateID:        commitment(salt, "mandate_id", d.MandateID),
		ContactID:        commitment(salt, "contact_id", d.ContactID),
		OpportunityID:    commitment(salt, "opportunity_id", d.OpportunityID),
	}
}

// commitment returns the HMAC-SHA256 of a value under a key that is derived from the salt for this field: to disclose one
// field's key discloses nothing of another field.
func commitment(salt [SaltSize]byte, field, value string) string {
	key, err := hkdf.Key(sha256.New, salt[:], nil, "provider-checkout evidence commitment v1 "+field, sha256.Size)
	if err != nil {
		panic("evidence: " + err.Error()) // only for a key that is too long
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte(value))
	return hex.EncodeToString(h.Sum(nil))
}

// DocumentHash returns the SHA-256 of the PDF, in hexadecimal, that the record of an agreement has; "" for a record without a PDF.
func DocumentHash(leaf []byte) string {
	var w agreementWire
	if json.Unmarshal(leaf, &w) != nil {
		return ""
	}
	return w.Document
}

// Compare makes the record of an agreement again from what is on record now, and returns the fields in which the entry
// differs from it, by their names in the record. erased says that the personal data has been erased, so that its
// commitments cannot be compared, and no commitment once the salt is gone too. The error is that of an entry that is no record of
// an agreement.
func Compare(e Entry, a agreement.Agreement, c Conclusion, erased bool) (differing []string, err error) {
	var recorded agreementWire
	if err := json.Unmarshal(e.Leaf, &recorded); err != nil || recorded.Kind != KindAgreement || recorded.Format != 1 {
		return nil, fmt.Errorf("entry %s is no record of an agreement that this version knows", e.ID)
	}
	c.At, c.LogSize, c.Salt = e.At, recorded.LogSize, [SaltSize]byte{}
	copy(c.Salt[:], e.Salt)
	made := agreementLeaf(a, c)
	if kept := made.Committed; erased {
		made.Committed = recorded.Committed
		if len(e.Salt) > 0 {
			made.Committed.ContactID, made.Committed.OpportunityID = kept.ContactID, kept.OpportunityID
		}
	}
	text := encode(made)
	differing = differ(e.Leaf, text)
	if len(differing) == 0 && string(e.Leaf) != string(text) {
		differing = []string{"text"} // another order, or white space
	}
	return differing, nil
}

// differ returns the names of the fields in which two JSON objects differ, sorted. A field that is an object is replaced by
// the differing fields in it.
func differ(a, b []byte) (names []string) {
	var fieldsA, fieldsB map[string]json.RawMessage
	_, _ = json.Unmarshal(a, &fieldsA), json.Unmarshal(b, &fieldsB) // both have been read before
	all := maps.Clone(fieldsA)
	maps.Copy(all, fieldsB)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		valueA, valueB := fieldsA[name], fieldsB[name]
		switch {
		case string(valueA) == string(valueB):
		case strings.HasPrefix(string(valueA), "{") && strings.HasPrefix(string(valueB), "{"):
			names = append(names, differ(valueA, valueB)...)
		default:
			names = append(names, name)
		}
	}
	return names
}
