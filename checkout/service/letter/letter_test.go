package letter_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/letter"
	"github.com/provider-checkout/provider-checkout/money"
)

func zone(t *testing.T) *time.Location {
	t.Helper()
	z, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func plan(number int, regular, final money.Cents, f money.Frequency) money.Plan {
	return money.Plan{Frequency: f, First: money.Date{Year: 2027, Month: time.February, Day: 1},
		Instalments: money.Instalments{Number: number, Regular: regular, Final: final}}
}

// setup is that of a payer whose names would be markup.
func setup(t *testing.T) letter.Setup {
	c := checkout.Checkout{Student: checkout.Student{FirstName: "Ānaru", LastName: "<b>O’Neill</b> & 李", Email: "anaru@student.example"},
		Intent: checkout.Intent{CourseName: "Business & “Law”", Pricing: money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00},
			Plan: plan(52, 53_65, 53_85, money.Weekly)},
		Setup: checkout.Setup{Try: 1, Observation: checkout.Observation{AccountHolder: "A O’NEILL", AccountMask: "01-0902-•••••89-00"}}}
	return letter.Setup{Checkout: c, Provider: "Kōwhai Institute", Contact: "help@kowhai.example",
		Completed: time.Date(2026, 11, 22, 3, 4, 5, 0, time.UTC).In(zone(t)), Sandbox: true,
		Terms: agreement.DebitTerms{NoticeDays: 10, Provider: "Kōwhai Institute", Lender: agreement.Lender{Name: "Pūtea Limited"},
			Authority: agreement.Authority{AuthorisationCode: "0123456", Statement: "particulars KOWHAI, code PLAN"}}}
}

func agreed() agreement.Agreement {
	p := plan(2, 44_97, 44_98, money.Monthly)
	return agreement.Agreement{Number: "PPA-2026-000000001A5", Version: agreement.Version, AcceptedAt: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC),
		Provider: agreement.Party{Code: "KOWHAI", Name: "Kōwhai Institute", SupportEmail: "help@kowhai.example"},
		Student:  agreement.Student{FirstName: "Ānaru", LastName: "<b>O’Neill</b>", Email: "anaru@student.example"},
		Course:   agreement.Course{Name: "Business & Law"}, Pricing: money.Pricing{Price: 100_00, Upfront: 10_05, Principal: 89_95}, Plan: p,
		Schedule: money.Schedule(10_05, p),
		DirectDebit: agreement.DirectDebit{AccountHolder: "A O’NEILL", AccountMask: "01-0902-•••••89-00",
			AuthorisedAt: time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)},
		Notice: agreement.Notice{Days: 10, NotBefore: money.Date{Year: 2026, Month: time.December, Day: 2}},
		Terms:  agreement.Terms{Blocks: []agreement.Block{{Title: "Right to cancel", Text: "You may cancel:\n(a) within 5 days;\n(b) in writing."}}}}
}

// words returns the text of a page of HTML, which must be well-formed as XML too.
func words(t *testing.T, page string) string {
	t.Helper()
	page = strings.Replace(page, "<!DOCTYPE html>", "", 1)
	d := xml.NewDecoder(strings.NewReader(page))
	d.Entity = xml.HTMLEntity
	var b strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, page)
		}
		switch token := token.(type) {
		case xml.CharData:
			b.Write(token)
		case xml.StartElement:
			switch token.Name.Local {
			case "br":
				b.WriteString("\n")
			case "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table", "thead", "tbody", "tfoot", "tr", "th", "td":
			default:
				t.Errorf("the page has an element %s, which a name or a term has brought in", token.Name.Local)
			}
		}
	}
}

func TestASetupIsConfirmedInTheseWords(t *testing.T) {
	s := setup(t)
	s.Terms.Authority.Conditions = []agreement.Block{{Title: "Conditions", Text: "As the bank approved them."}} // others change with the wording
	got := letter.OfSetup(s)
	want, err := os.ReadFile("testdata/setup.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut("Subject: "+got.Subject+"\n\n"+got.Text, "Direct debit terms\n")
	if text != string(want) {
		t.Errorf("the letter is\n%s\nwant\n%s", text, want)
	}
}

// ended is a direct debit that ended when all payments but the first were to come.
func ended() letter.Mandate {
	a := agreed()
	a.Sandbox = true
	a.Terms.Hardship, a.Terms.Lender = "hardship@putea.example", agreement.Lender{Name: "Pūtea Limited", Email: "loans@putea.example"}
	return letter.Mandate{Agreement: a, Today: money.Date{Year: 2027, Month: time.February, Day: 2}, Setup: checkout.Setup{Observation: checkout.Observation{
		Mandate: checkout.MandateCancelled, MandateReason: "DISHONOUR-AC04", AccountMask: "01-0902-•••••89-00"}}}
}

func TestWhatBecameOfADirectDebitIsToldInTheseWords(t *testing.T) {
	dead, back, bare := ended(), ended(), ended()
	back.Setup.Mandate, back.Setup.MandateReason = checkout.MandateActive, ""
	back.Today = money.Date{Year: 2027, Month: time.April, Day: 1}
	bare.Setup.Mandate, bare.Setup.MandateReason = checkout.MandateFailed, "OTHER"
	bare.Agreement.Terms, bare.Agreement.Provider.SupportEmail = agreement.Terms{}, ""
	bare.Today = money.Date{Year: 2027, Month: time.April, Day: 2}
	for name, m := range map[string]letter.Mandate{"ended": dead, "reinstated": back, "ended_bare": bare} {
		got := letter.OfMandate(m)
		want, err := os.ReadFile("testdata/" + name + ".txt")
		if text := "Subject: " + got.Subject + "\n\n" + got.Text; err != nil || text != string(want) {
			t.Errorf("%s: the letter is\n%s\nwant\n%s (%v)", name, text, want, err)
		}
	}
}

// Both forms of a letter say the same, and the figures of an agreement stand in them as in its text.
func TestTextAndPageSayTheSame(t *testing.T) {
	a := agreed()
	a.Terms.Authority.Calendar = money.BusinessDays
	a.Terms.Cancellation, a.CancelUntil = agreement.Cancellation{WorkingDays: 5, How: "Write."}, money.Date{Year: 2026, Month: time.December, Day: 2}
	ofAgreement, err := letter.OfAgreement(a, true, zone(t))
	if err != nil {
		t.Fatal(err)
	}
	sections, err := a.Text(zone(t))
	if err != nil {
		t.Fatal(err)
	}
	var figures []string
	for _, s := range sections {
		for i, cells := range append(s.Table.Rows, s.Table.Foot) {
			figures = append(append(figures, cells...), s.Table.Note(i))
		}
		for _, row := range s.Rows {
			figures = append(figures, agreement.Lines(row.Value)...)
		}
	}
	ofSetup, ofMandate := setup(t), letter.OfMandate(ended())
	for _, tt := range []struct {
		letter letter.Letter
		says   []string
	}{
		{letter.OfSetup(ofSetup), []string{"Hello Ānaru <b>O’Neill</b> & 李,", "Business & “Law”", "0123456", "particulars KOWHAI, code PLAN", "A O’NEILL",
			"01-0902-•••••89-00", "Sunday 22 November 2026, 4:04 pm NZDT", "$2,990.00", "$200.00 first, then 52 weekly instalments of $53.65, the last of $53.85",
			"help@kowhai.example", "sandbox", ofSetup.Terms.Rows()[0].Value}},
		{ofMandate, []string{"Hello Ānaru <b>O’Neill</b>,", "The bank says that the account is closed.", "PPA-2026-000000001A5", "01-0902-•••••89-00",
			"$44.97 on Monday 1 March 2027", "hardship@putea.example", "Pūtea Limited, loans@putea.example", "sandbox"}},
		{ofAgreement, append([]string{"Hello Ānaru <b>O’Neill</b>,", "attached as a PDF", "You can cancel until and including Wednesday 2 December 2026. “Your rights” below says how.", "(a) within 5 days;\n(b) in writing.", "help@kowhai.example"}, figures...)},
	} {
		page := words(t, tt.letter.HTML)
		for _, want := range tt.says {
			if !strings.Contains(tt.letter.Text, want) {
				t.Errorf("the text does not say %q:\n%s", want, tt.letter.Text)
			}
			if !strings.Contains(page, want) {
				t.Errorf("the page does not say %q:\n%s", want, page)
			}
		}
	}
	for _, loads := range []string{"http:", "https:", "src=", "url(", "<script", "<img", "<link"} {
		if strings.Contains(ofAgreement.HTML, loads) {
			t.Errorf("the page has %q", loads)
		}
	}
}

func TestANewLinkIsALinkInBothForms(t *testing.T) {
	got := letter.OfLink(letter.Link{Student: agreement.Student{FirstName: "Ānaru", LastName: "<b>O’Neill</b>"}, Course: "Business & “Law”",
		Provider: "Kōwhai Institute", Address: "https://pay.example/api/dd-setup?token=a.2.b&c", Until: money.Date{Year: 2027, Month: time.February, Day: 1}})
	for _, want := range []string{"Hello Ānaru <b>O’Neill</b>,", "for Business & “Law” at Kōwhai Institute:\n\nhttps://pay.example/api/dd-setup?token=a.2.b&c\n\n",
		"It works until Monday 1 February 2027.", "If that was not you, you need not do anything"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the text does not say %q:\n%s", want, got.Text)
		}
	}
	if want := `<p><a href="https://pay.example/api/dd-setup?token=a.2.b&amp;c">https://pay.example/api/dd-setup?token=a.2.b&amp;c</a></p>`; !strings.Contains(got.HTML, want) ||
		strings.Count(got.HTML, "<a ") != 1 || strings.Contains(got.HTML, "<b>") {
		t.Errorf("the page does not have the one link %s:\n%s", want, got.HTML)
	}
}

func TestColumnsOfPaymentsAreStraight(t *testing.T) {
	l, err := letter.OfAgreement(agreed(), false, zone(t))
	if err != nil {
		t.Fatal(err)
	}
	want := "No.  Planned date            Payment            Amount\n" +
		"1    Monday 1 February 2027  Initial payment    $10.05\n" +
		"2    Monday 1 March 2027     Instalment         $44.97\n" +
		"3    Thursday 1 April 2027   Final instalment   $44.98\n" +
		"                             Total to pay      $100.00\n"
	if !strings.Contains(l.Text, want) {
		t.Errorf("the payments are not in columns such as\n%sbut\n%s", want, l.Text)
	}
	if strings.Contains(l.Text, "attached") {
		t.Error("it says that a PDF is attached, and none is")
	}
}

func TestAnAgreementWhoseWordsAreNotAtHandIsNotSent(t *testing.T) {
	a := agreed()
	a.Version = "1999-01-01"
	if _, err := letter.OfAgreement(a, true, zone(t)); err == nil {
		t.Error("it is sent in other words")
	}
}

func TestPaymentPlansInWords(t *testing.T) {
	for want, tt := range map[string]struct {
		upfront money.Cents
		plan    money.Plan
	}{
		"12 monthly instalments of $10.00":                                   {0, plan(12, 10_00, 10_00, money.Monthly)},
		"1 instalment of $89.95":                                             {0, plan(1, 89_95, 89_95, money.Weekly)},
		"$5.00 first, then 3 weekly instalments of $3.33, the last of $3.34": {5_00, plan(3, 3_33, 3_34, money.Weekly)},
	} {
		s := setup(t)
		s.Checkout.Intent.Pricing.Upfront, s.Checkout.Intent.Plan = tt.upfront, tt.plan
		if got := letter.OfSetup(s).Text; !strings.Contains(got, "Payment plan: "+want+"\n") {
			t.Errorf("the plan is not %q:\n%s", want, got)
		}
	}
}
