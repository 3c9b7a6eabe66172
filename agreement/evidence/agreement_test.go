package evidence_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/money"
)

// agreed returns an agreement with every field filled, and what its record holds beside it.
func agreed() (agreement.Agreement, evidence.Conclusion) {
	at := time.Date(2026, time.November, 22, 3, 4, 5, 6_000_000, time.UTC)
	pricing := money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00}
	plan := money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 52, Regular: 53_65, Final: 53_85},
		First: money.Date{Year: 2027, Month: time.February, Day: 1}}
	a := agreement.Agreement{
		ID: "agr_1", Number: "PPA-2026-YQSAYPHZ0EQ", Version: "2026-11-23", CheckoutID: "KOWHAI-1795147506789-aaaaaaaaaaaaaaaa", OrderID: "ENROL-1",
		AcceptedAt: at, Sandbox: true,
		Provider: agreement.Party{Code: "KOWHAI", Name: "Kōwhai Institute", SupportEmail: "help@kowhai.example", Colour: "#1f6f54"},
		Student:  agreement.Student{FirstName: "Ānaru", LastName: "O’Neill", Email: "anaru@student.example"},
		Course:   agreement.Course{Code: "NZDIP", Name: "Diploma in Business"},
		Pricing:  pricing, Plan: plan, Schedule: money.Schedule(pricing.Upfront, plan),
		DirectDebit: agreement.DirectDebit{AuthorityID: "dda_1", AccountHolder: "A O’NEILL", AccountMask: "01-0902-•••••89-00", AuthorisedAt: at.Add(-time.Hour),
			Consent: agreement.Consent{At: at.Add(-2 * time.Hour), From: "2001:db8::7", Terms: "2026-11-23/10/0123456789abcdef", NoticeDays: 10,
				Disclosed: agreement.Disclosed{SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Page: "/pay/api/dd-setup"}}},
		Notice: agreement.Notice{Days: 10, NotBefore: money.Date{Year: 2026, Month: time.December, Day: 2}},
		Terms: agreement.Terms{Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington", Registration: "FSP1"},
			Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write."},
			Blocks:       []agreement.Block{{Title: "Right to cancel", Text: "Within 5 working days."}}},
		CancelUntil: money.Date{Year: 2026, Month: time.December, Day: 2},
	}
	return a, evidence.Conclusion{Environment: "sandbox", RequestID: "req_1", At: at.Add(time.Second),
		Document: &agreement.Document{SHA256: [32]byte{1, 2, 3}}, Salt: [32]byte{4, 5, 6}, LogSize: 12,
		Debited: evidence.Debited{BillingRequestID: "BRQ1", MandateID: "MD1", ContactID: "con_1", OpportunityID: "opp_1"}}
}

// The record is compared with a record in testdata, because the same bytes must be made again years later.
func TestRecordOfAnAgreement(t *testing.T) {
	a, c := agreed()
	e := evidence.OfAgreement(a, c)
	text, err := os.ReadFile("../../testdata/evidence_record.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Cases []struct {
			Record   string
			LeafHash string `json:"leaf_hash"`
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors.Cases) != 1 {
		t.Fatalf("%d cases, %v; want one", len(vectors.Cases), err)
	}
	want := vectors.Cases[0]
	if string(e.Leaf) != want.Record {
		t.Errorf("the record is\n%s\nwant\n%s", e.Leaf, want.Record)
	}
	var log evidence.Head
	if node := log.Append(e.Leaf)[0]; hex.EncodeToString(node[:]) != want.LeafHash {
		t.Errorf("the leaf's hash is %x, want %s", node, want.LeafHash)
	}
	if e.ID != "agreement/PPA-2026-YQSAYPHZ0EQ" || !e.At.Equal(c.At) || string(e.Salt) != string(c.Salt[:]) {
		t.Errorf("entry %s of %v with salt %x", e.ID, e.At, e.Salt)
	}
}

func TestRecordHasNoPersonalData(t *testing.T) {
	a, c := agreed()
	leaf := string(evidence.OfAgreement(a, c).Leaf)
	for _, personal := range []string{a.Student.FirstName, a.Student.LastName, a.Student.Email, a.DirectDebit.AccountHolder,
		string(a.DirectDebit.AccountMask), a.DirectDebit.Consent.From, c.Debited.MandateID, c.Debited.BillingRequestID, c.Debited.ContactID,
		c.Debited.OpportunityID} {
		if strings.Contains(leaf, personal) {
			t.Errorf("the record holds %q", personal)
		}
	}
}

// Two students of one name have other commitments, and one value another commitment in another field.
func TestCommitmentsAreSalted(t *testing.T) {
	a, c := agreed()
	a.Student.FirstName, a.Student.LastName, a.DirectDebit.AccountHolder = "Same", "Same", "Same"
	committed := func(c evidence.Conclusion) (values []string) {
		var record struct {
			Committed map[string]string `json:"committed"`
		}
		if err := json.Unmarshal(evidence.OfAgreement(a, c).Leaf, &record); err != nil {
			t.Fatal(err)
		}
		for _, value := range record.Committed {
			values = append(values, value)
		}
		return values
	}
	all := committed(c)
	c.Salt[31]++
	all = append(all, committed(c)...)
	slices.Sort(all)
	if distinct := slices.Compact(slices.Clone(all)); len(distinct) != len(all) || len(all) != 20 {
		t.Errorf("commitments %q, want 20 that differ", all)
	}
}

// A change of anything that was agreed is found, and named as the record names it.
func TestCompareNamesEveryDifference(t *testing.T) {
	recorded, conclusion := agreed()
	entry := evidence.OfAgreement(recorded, conclusion)
	for _, tt := range []struct {
		want   string
		change func(*agreement.Agreement, *evidence.Conclusion)
	}{
		{"", func(*agreement.Agreement, *evidence.Conclusion) {}},
		{"mandate_id", func(_ *agreement.Agreement, c *evidence.Conclusion) { c.Debited.MandateID = "MD2" }},
		{"billing_request_id", func(_ *agreement.Agreement, c *evidence.Conclusion) { c.Debited.BillingRequestID = "BRQ2" }},
		{"contact_id", func(_ *agreement.Agreement, c *evidence.Conclusion) { c.Debited.ContactID = "con_2" }},
		{"opportunity_id", func(_ *agreement.Agreement, c *evidence.Conclusion) { c.Debited.OpportunityID = "opp_2" }},
		{"agreement_number", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Number = "PPA-2026-OTHER" }},
		{"template_version", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Version = "2026-11-20" }},
		{"environment", func(_ *agreement.Agreement, c *evidence.Conclusion) { c.Environment = "production" }},
		{"provider_code", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Provider.Code = "TUI" }},
		{"provider_name", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Provider.Name = "Kowhai Institute" }},
		{"support_email", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Provider.SupportEmail = "" }},
		{"provider_order_id", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.OrderID = "ENROL-2" }},
		{"checkout_id", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.CheckoutID += "a" }},
		{"request_id", func(_ *agreement.Agreement, c *evidence.Conclusion) { c.RequestID = "req_2" }},
		{"accepted_at", func(a *agreement.Agreement, _ *evidence.Conclusion) {
			a.AcceptedAt = a.AcceptedAt.Add(time.Millisecond)
		}},
		{"course_code", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Course.Code = "" }},
		{"course_name", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Course.Name += " " }},
		{"course_price_cents", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Pricing.Price += 1000_00 }},
		{"upfront_payment_cents", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Pricing.Upfront-- }},
		{"principal_cents", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Pricing.Principal++ }},
		{"payment_frequency", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Plan.Frequency = money.Monthly }},
		{"number_of_instalments", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Plan.Number++ }},
		{"instalment_cents", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Plan.Regular++ }},
		{"final_instalment_cents", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Plan.Final++ }},
		{"first_payment_date", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Plan.First = a.Plan.First.AddDays(1) }},
		{"not_before", func(a *agreement.Agreement, _ *evidence.Conclusion) {
			a.Notice.NotBefore = a.Notice.NotBefore.AddDays(-1)
		}},
		{"notice_days", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Notice.Days-- }},
		{"cancel_until", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.CancelUntil = a.CancelUntil.AddDays(-1) }},
		{"cancel_until", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.CancelUntil = money.Date{} }},
		{"schedule_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Schedule[7].Amount++ }},
		{"schedule_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Schedule[7].Due = a.Schedule[7].Due.AddDays(1) }},
		{"schedule_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Schedule = a.Schedule[:52] }},
		{"dda_id", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.DirectDebit.AuthorityID = "dda_2" }},
		{"authorised_at", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.DirectDebit.AuthorisedAt = time.Time{} }},
		{"consent_at", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.DirectDebit.Consent.At = a.AcceptedAt }},
		{"consent_terms", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.DirectDebit.Consent.Terms = "" }},
		{"disclosed_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.DirectDebit.Consent.Disclosed.SHA256 = "" }},
		{"disclosed_page", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.DirectDebit.Consent.Disclosed.Page = "/other" }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms.Lender.Address = "" }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms.Lender.Email = "a@putea.example" }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms.Disputes.Name = "A scheme" }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms.Disputes.Contact = "0800 000 000" }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms.Cancellation.WorkingDays-- }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms.Cancellation.How = "" }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms.Hardship = "0800 111 111" }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms = agreement.Terms{} }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms.DefaultFees.Stated = true }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) {
			a.Terms.DefaultFees.Fees, a.Terms.DefaultFees.Stated = []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "always"}}, true
		}},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Terms.Authority.Statement = "PLAN" }},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) {
			a.Terms.Authority.Conditions = []agreement.Block{{Title: "Disputes", Text: "Ask the bank."}}
		}},
		{"operator_terms_sha256", func(a *agreement.Agreement, _ *evidence.Conclusion) {
			a.Terms.Blocks = []agreement.Block{{Title: "Right to cancel", Text: ""}, {Title: "Within 5 working days."}}
		}},
		{"document_sha256", func(_ *agreement.Agreement, c *evidence.Conclusion) { c.Document = nil }},
		{"document_sha256", func(_ *agreement.Agreement, c *evidence.Conclusion) { c.Document = &agreement.Document{} }},
		{"student.first_name", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Student.FirstName = "Anaru" }},
		{"student.last_name", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Student.LastName = "" }},
		{"student.email", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.Student.Email = "Anaru@student.example" }},
		{"account_holder", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.DirectDebit.AccountHolder = "B" }},
		{"account_mask", func(a *agreement.Agreement, _ *evidence.Conclusion) {
			a.DirectDebit.AccountMask = "01-0902-•••••98-00"
		}},
		{"consent_address", func(a *agreement.Agreement, _ *evidence.Conclusion) { a.DirectDebit.Consent.From = "" }},
	} {
		a, c := agreed()
		tt.change(&a, &c)
		c.At, c.Salt = time.Time{}, [32]byte{} // they come from the entry
		differing, err := evidence.Compare(entry, a, c, false)
		if err != nil || strings.Join(differing, ",") != tt.want {
			t.Errorf("a changed %s: differing %q, %v", tt.want, differing, err)
		}
	}
}

func TestCompareFindsAChangedEntry(t *testing.T) {
	a, c := agreed()
	for name, change := range map[string]func(*evidence.Entry){
		"recorded_at": func(e *evidence.Entry) { e.At = e.At.Add(-time.Hour) },
		"commitments": func(e *evidence.Entry) { e.Salt[0]++ },
		"no salt":     func(e *evidence.Entry) { e.Salt = nil },
		"a field":     func(e *evidence.Entry) { e.Leaf = []byte(strings.Replace(string(e.Leaf), "299000", "399000", 1)) },
		"a field more": func(e *evidence.Entry) {
			e.Leaf = []byte(strings.Replace(string(e.Leaf), `"format":1`, `"format":1,"more":""`, 1))
		},
		"white space": func(e *evidence.Entry) { e.Leaf = append(e.Leaf, ' ') },
		"a field twice": func(e *evidence.Entry) {
			e.Leaf = []byte(strings.Replace(string(e.Leaf), `"format":1`, `"format":1,"format":1`, 1))
		},
		"no JSON":      func(e *evidence.Entry) { e.Leaf = e.Leaf[1:] },
		"an operation": func(e *evidence.Entry) { e.Leaf = evidence.OfOperation("1", evidence.Operation{}).Leaf },
		"a format that is not known": func(e *evidence.Entry) {
			e.Leaf = []byte(strings.Replace(string(e.Leaf), `"format":1`, `"format":2`, 1))
		},
	} {
		e := evidence.OfAgreement(a, c)
		e.Salt = slices.Clone(e.Salt)
		change(&e)
		if differing, err := evidence.Compare(e, a, c, false); err == nil && len(differing) == 0 {
			t.Errorf("an entry with another %s passes", name)
		}
	}
}

func TestErasedAgreementIsStillCompared(t *testing.T) {
	a, c := agreed()
	e := evidence.OfAgreement(a, c)
	a.Student, a.DirectDebit.AccountHolder, a.DirectDebit.AccountMask, a.DirectDebit.Consent.From = agreement.Student{}, "", "", ""
	if differing, err := evidence.Compare(e, a, c, true); err != nil || len(differing) > 0 {
		t.Errorf("an erased agreement differs in %q, %v", differing, err)
	}
	a.Pricing.Price++
	if differing, err := evidence.Compare(e, a, c, true); err != nil || fmt.Sprint(differing) != "[course_price_cents]" {
		t.Errorf("an erased agreement that was changed differs in %q, %v", differing, err)
	}
}

func TestDocumentHash(t *testing.T) {
	a, c := agreed()
	if got := evidence.DocumentHash(evidence.OfAgreement(a, c).Leaf); got != "010203"+strings.Repeat("0", 58) {
		t.Errorf("the document's hash is %q", got)
	}
	if got := evidence.DocumentHash([]byte("no record")); got != "" {
		t.Errorf("no record has the document %q", got)
	}
}
