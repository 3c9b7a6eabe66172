package letter_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"html"
	"io"
	"os"
	"regexp"
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
	return letter.Setup{Checkout: c, Provider: "Kōwhai Institute", Colour: "#1f6f54", Contact: "help@kowhai.example", Page: payersPage,
		Payments:  money.EveryDay.Payments(money.Schedule(200_00, c.Intent.Plan), money.Weekly, c.Intent.Plan.First),
		Completed: time.Date(2026, 11, 22, 3, 4, 5, 0, time.UTC).In(zone(t)), Sandbox: true,
		Terms: agreement.DebitTerms{NoticeDays: 10, Provider: "Kōwhai Institute", Lender: agreement.Lender{Name: "Pūtea Limited"},
			Authority: agreement.Authority{AuthorisationCode: "0123456", Statement: "particulars KOWHAI, code PLAN"}}}
}

const payersPage = "https://pay.example/api/dd-setup?token=KOWHAI-1-a.2.k&c"

func concluded(t *testing.T, a agreement.Agreement) letter.Concluded {
	t.Helper()
	return letter.Concluded{Agreement: a, Attached: true, Page: payersPage, Proven: true, Zone: zone(t)}
}

// agreed is an agreement whose second payment is due on a holiday.
func agreed() agreement.Agreement {
	p := plan(2, 44_97, 44_98, money.Monthly)
	p.First = money.Date{Year: 2027, Month: time.February, Day: 26}
	return agreement.Agreement{Number: "PPA-2026-000000001A5", Version: agreement.Version, AcceptedAt: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC),
		Provider: agreement.Party{Code: "KOWHAI", Name: "Kōwhai Institute", SupportEmail: "help@kowhai.example"},
		Student:  agreement.Student{FirstName: "Ānaru", LastName: "<b>O’Neill</b>", Email: "anaru@student.example"},
		Course:   agreement.Course{Name: "Business & Law"}, Pricing: money.Pricing{Price: 100_00, Upfront: 10_05, Principal: 89_95}, Plan: p,
		Schedule: money.Schedule(10_05, p),
		DirectDebit: agreement.DirectDebit{AccountHolder: "A O’NEILL", AccountMask: "01-0902-•••••89-00",
			AuthorisedAt: time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)},
		Notice:      agreement.Notice{Days: 10, NotBefore: money.Date{Year: 2026, Month: time.December, Day: 2}},
		CancelUntil: money.Date{Year: 2026, Month: time.December, Day: 1},
		Terms: agreement.Terms{Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington", Email: "help@putea.example"},
			Authority:    agreement.Authority{AuthorisationCode: "0123456", Statement: "particulars KOWHAI, code PLAN", Calendar: money.BusinessDays},
			Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write to help@putea.example."}, Hardship: "0800 788 832",
			Disputes:    agreement.DisputeScheme{Name: "Financial Dispute Resolution Service", Contact: "0508 337 337"},
			DefaultFees: agreement.FeeList{Stated: true, Fees: []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that the bank refuses"}}},
			Blocks:      []agreement.Block{{Title: "Right to cancel", Text: "You may cancel:\n(a) within 5 days;\n(b) in writing."}}}}
}

func receiver(t *testing.T) letter.Receiver {
	return letter.Receiver{Provider: "Kōwhai Institute", Colour: "#1f6f54", Host: "hooks.kowhai.example", Since: time.Date(2026, 11, 22, 3, 4, 5, 0, time.UTC).In(zone(t)),
		Reason: "https://hooks.kowhai.example: answered 503", Again: 72 * time.Hour, Sandbox: true}
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
			case "html", "head", "meta", "title", "body", "h1", "h2", "p", "a", "span", "bdi", "table", "tr", "th", "td":
			default:
				t.Errorf("the page has an element %s, which a name or a term has brought in", token.Name.Local)
			}
		}
	}
}

// ended is a direct debit that ended when all payments but the first were to come.
func ended() letter.Mandate {
	a := agreed()
	a.Sandbox = true
	a.Terms.Hardship, a.Terms.Lender.Email = "hardship@putea.example", "loans@putea.example"
	return letter.Mandate{Agreement: a, Page: payersPage, Today: money.Date{Year: 2027, Month: time.February, Day: 27},
		Setup: checkout.Setup{Observation: checkout.Observation{
			Mandate: checkout.MandateCancelled, MandateReason: "DISHONOUR-AC04", AccountMask: "01-0902-•••••89-00"}}}
}

// link is a new link to the setup page.
func link() letter.Link {
	return letter.Link{Student: agreement.Student{FirstName: "Ānaru", LastName: "<b>O’Neill</b>"}, Course: "Business & “Law”",
		Provider: "Kōwhai Institute", Address: payersPage, Until: money.Date{Year: 2027, Month: time.February, Day: 1}}
}

var update = flag.Bool("update", false, "record the letters anew")

// letters are all letters, by the names of their files in testdata.
func letters(t *testing.T) map[string]func() (letter.Letter, error) {
	ofSetup := setup(t)
	ofSetup.Terms.Authority.Conditions = []agreement.Block{{Title: "Conditions", Text: "As the bank approved them."}} // others change with the wording
	single := agreed()
	single.Pricing, single.Plan = money.Pricing{Price: 120_00, Principal: 120_00}, plan(1, 120_00, 120_00, money.Weekly)
	single.CancelUntil = money.Date{}
	single.Schedule, single.Terms, single.Provider = money.Schedule(0, single.Plan), agreement.Terms{}, agreement.Party{Name: "Rimu College"}
	without := concluded(t, single)
	without.Page = ""
	back, bare := ended(), ended()
	back.Setup.Mandate, back.Setup.MandateReason = checkout.MandateActive, ""
	back.Today = money.Date{Year: 2027, Month: time.April, Day: 27}
	bare.Setup.Mandate, bare.Setup.MandateReason, bare.Page = checkout.MandateFailed, "OTHER", ""
	bare.Agreement.Terms, bare.Agreement.Provider.SupportEmail = agreement.Terms{}, ""
	bare.Today = money.Date{Year: 2027, Month: time.April, Day: 28}
	cancel := letter.Cancel{Checkout: ofSetup.Checkout, Provider: ofSetup.Provider, Contact: ofSetup.Contact, Sandbox: true}
	cancel.Checkout.End.By = checkout.PartyProvider
	byUs := cancel
	byUs.Checkout.End.By, byUs.Contact = checkout.PartyOperator, ""
	return map[string]func() (letter.Letter, error){
		"cancelled":       func() (letter.Letter, error) { return letter.OfCancel(cancel), nil },
		"cancelled_by_us": func() (letter.Letter, error) { return letter.OfCancel(byUs), nil },
		"withdrawn":       func() (letter.Letter, error) { return letter.OfWithdrawal(ended(), ofSetup.Completed), nil },
		"withdrawn_bare":  func() (letter.Letter, error) { return letter.OfWithdrawal(bare, ofSetup.Completed), nil },

		"ended":      func() (letter.Letter, error) { return letter.OfMandate(ended()), nil },
		"ended_bare": func() (letter.Letter, error) { return letter.OfMandate(bare), nil },
		"reinstated": func() (letter.Letter, error) { return letter.OfMandate(back), nil },
		"link":       func() (letter.Letter, error) { return letter.OfLink(link()), nil },
		"failing":    func() (letter.Letter, error) { return letter.OfReceiver(receiver(t)), nil },
		"well": func() (letter.Letter, error) {
			well := receiver(t)
			well.Well, well.Again = true, 0
			return letter.OfReceiver(well), nil
		},
		"setup":     func() (letter.Letter, error) { return letter.OfSetup(ofSetup), nil },
		"agreement": func() (letter.Letter, error) { return letter.OfAgreement(concluded(t, agreed())) },
		"single":    func() (letter.Letter, error) { return letter.OfAgreement(without) },
	}
}

func TestLettersAreTheseTexts(t *testing.T) {
	for name, write := range letters(t) {
		got, err := write()
		if err != nil {
			t.Fatal(err)
		}
		text, file := "Subject: "+got.Subject+"\n\n"+got.Text, "testdata/"+name+".txt"
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || text != string(want) {
			t.Errorf("%v: the letter %s is\n%s\nwant\n%s", err, name, text, want)
		}
	}
}

// Both forms of a letter say the same, and the figures of an agreement stand in them as in its text.
func TestTextAndPageSayTheSame(t *testing.T) {
	a := agreed()
	whole, err := a.Text(zone(t))
	if err != nil {
		t.Fatal(err)
	}
	var payments, all []string
	for _, s := range whole {
		for i, cells := range append(s.Table.Rows, s.Table.Foot) {
			payments = append(append(payments, cells...), s.Table.Note(i))
		}
		for _, row := range s.Rows {
			all = append(all, agreement.Lines(row.Value)...)
		}
	}
	if !strings.Contains(strings.Join(payments, "\n"), "Friday 26 March is Good Friday: taken Tuesday 30") {
		t.Errorf("no payment is moved: %q", payments)
	}
	ofSetup, attached, bare := setup(t), concluded(t, a), concluded(t, a)
	bare.Attached = false
	ofAgreement := func(c letter.Concluded) letter.Letter {
		l, err := letter.OfAgreement(c)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, tt := range []struct {
		letter letter.Letter
		says   []string
	}{
		{letter.OfSetup(ofSetup), []string{"Hello Ānaru <b>O’Neill</b> & 李,", "Business & “Law”", "0123456", "particulars KOWHAI, code PLAN", "A O’NEILL",
			"01-0902-•••••89-00", "Sunday 22 November 2026, 4:04 pm NZDT", "$2,990.00", "help@kowhai.example", "sandbox", ofSetup.Terms.Rows()[0].Value}},
		{ofAgreement(attached), append([]string{"Hello Ānaru <b>O’Neill</b>,", "0123456", "particulars KOWHAI, code PLAN", "A O’NEILL", "help@putea.example",
			"0800 788 832", "0508 337 337", "$10.00, for each payment that the bank refuses", "You can cancel the plan until the end of Tuesday 1 December 2026"}, payments...)},
		{letter.OfMandate(ended()), []string{"Hello Ānaru <b>O’Neill</b>,", "The bank says that the account is closed.", "PPA-2026-000000001A5",
			"01-0902-•••••89-00", "$44.97 on Tuesday 30 March 2027", "hardship@putea.example", "Pūtea Limited, loans@putea.example", "sandbox"}},
		{letter.OfLink(link()), []string{"Hello Ānaru <b>O’Neill</b>,", "It works until Monday 1 February 2027.", "you need not do anything"}},
		{ofAgreement(bare), append(append([]string{"(a) within 5 days;\n(b) in writing."}, payments...), all...)},
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
		for line := range strings.SplitSeq(tt.letter.Text, "\n") {
			if _, value, labelled := strings.Cut(line, ": "); labelled && !strings.Contains(line, payersPage) && !strings.Contains(page, value) {
				t.Errorf("the page does not say %q:\n%s", value, page)
			}
		}
		if !strings.Contains(tt.letter.Text, ": "+payersPage+"\n") ||
			!strings.Contains(tt.letter.HTML, `<a href="https://pay.example/api/dd-setup?token=KOWHAI-1-a.2.k&amp;c"`) {
			t.Errorf("no link to the payer's page:\n%s", tt.letter.HTML)
		}
		for _, loads := range []string{"src=", "url(", "<script", "<img", "<link", "<style", "@import"} {
			if strings.Contains(tt.letter.HTML, loads) {
				t.Errorf("the page has %q", loads)
			}
		}
		if n := strings.Count(tt.letter.HTML, "http"); n != 1 {
			t.Errorf("the page has %d addresses, want that of the payer's page", n)
		}
	}
}

// A name from outside may be written from right to left.
func TestNoNameReordersTheWordsAroundIt(t *testing.T) {
	for name, write := range letters(t) {
		got, err := write()
		if err != nil {
			t.Fatal(err)
		}
		_, page, _ := strings.Cut(got.HTML, "</title>")
		for _, outside := range []string{"Kōwhai Institute", "Rimu College", "Ānaru <b>O’Neill</b> & 李", "Ānaru <b>O’Neill</b>", "Business & “Law”", "Business & Law",
			"A O’NEILL", "Pūtea Limited", "https://hooks.kowhai.example: answered 503"} {
			isolated := regexp.MustCompile("<bdi[^>]*>" + regexp.QuoteMeta(html.EscapeString(outside)))
			if n, of := len(isolated.FindAllString(page, -1)), strings.Count(page, html.EscapeString(outside)); n != of {
				t.Errorf("the letter %s isolates %q %d times of %d:\n%s", name, outside, n, of, page)
			}
		}
	}
}

// A program that reads aloud changes its voice for a name in another script, which does not reorder the words around it either.
func TestAPageSaysTheLanguageOfNames(t *testing.T) {
	s := setup(t)
	s.Provider, s.Page = "Rimu", "https://pay.example/Rimu"
	s.Checkout.Intent.CourseName, s.Terms.Authority.Initiator = "دبلوم <إدارة>", "Kānuka"
	page := letter.OfSetup(s).HTML
	for _, want := range []string{`for <bdi lang="ar">دبلوم &lt;إدارة&gt;</bdi> at <bdi>Rimu</bdi>.`, `from <bdi>Kānuka</bdi>, with`, "<title>[Sandbox] Rimu: your", `href="https://pay.example/Rimu"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
}

func TestALetterFitsAPhoneAndShowsTheProvidersColour(t *testing.T) {
	for given, want := range map[string]string{"#1f6f54": "#1f6f54", "#FFFF00": "#FFFF00", "": "#4a5157", "#000;}*{}": "#4a5157", "url(x)": "#4a5157"} {
		s := setup(t)
		s.Colour = given
		page := letter.OfSetup(s).HTML
		for _, has := range []string{`bgcolor="` + want + `"`, ";background:" + want + `">&#160;</td>`, `name="viewport" content="width=device-width`,
			"max-width:600px", `<table lang="en-NZ"`} {
			if !strings.Contains(page, has) {
				t.Errorf("in the colour %q the page does not have %s:\n%s", given, has, page)
			}
		}
	}
}

// Gmail shows the first 102 KB.
func TestALetterOfTwoHundredPaymentsIsShownWhole(t *testing.T) {
	a := agreed()
	a.Plan = plan(200, 10_00, 10_01, money.Weekly)
	a.Schedule = money.Schedule(0, a.Plan)
	l, err := letter.OfAgreement(concluded(t, a))
	if err != nil || len(l.HTML) > 102<<10 {
		t.Errorf("it has %d bytes, %v", len(l.HTML), err)
	}
}

func TestALetterHasNoLinkWhereThereIsNoPage(t *testing.T) {
	s := setup(t)
	s.Page = ""
	if got := letter.OfSetup(s); strings.Contains(got.HTML, "<a ") || strings.Contains(got.Text, "your page") {
		t.Errorf("it has a link:\n%s", got.HTML)
	}
}

func TestColumnsOfPaymentsAreStraight(t *testing.T) {
	a := agreed()
	a.Terms.Authority.Calendar = money.EveryDay
	c := concluded(t, a)
	c.Attached = false
	l, err := letter.OfAgreement(c)
	if err != nil {
		t.Fatal(err)
	}
	want := "No.  Planned date             Payment            Amount\n" +
		"1    Friday 26 February 2027  Initial payment    $10.05\n" +
		"2    Friday 26 March 2027     Instalment         $44.97\n" +
		"3    Monday 26 April 2027     Final instalment   $44.98\n" +
		"                              Total to pay      $100.00\n"
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
	if _, err := letter.OfAgreement(concluded(t, a)); err == nil {
		t.Error("it is sent in other words")
	}
}

func TestTheProofIsNamedWhereThePayerCanSaveIt(t *testing.T) {
	for _, tt := range []struct {
		page   string
		proven bool
		want   int
	}{{payersPage, true, 1}, {"", true, 0}, {payersPage, false, 0}} {
		c := concluded(t, agreed())
		c.Page, c.Proven = tt.page, tt.proven
		l, err := letter.OfAgreement(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(l.Text, "the proof of the agreement"); got != tt.want || strings.Count(l.HTML, "the proof of the agreement") != tt.want {
			t.Errorf("with the page %q, proven %v, the letter speaks of the proof %d times:\n%s", tt.page, tt.proven, got, l.Text)
		}
	}
}
