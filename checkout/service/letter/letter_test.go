package letter_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"html"
	"io"
	"os"
	"path/filepath"
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
func setup() letter.Facts {
	c := checkout.Checkout{Student: checkout.Student{FirstName: "Ānaru", LastName: "<b>O’Neill</b> & 李", Email: "anaru@student.example"},
		Intent: checkout.Intent{CourseName: "Business & “Law”", Pricing: money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00},
			Plan: plan(52, 53_65, 53_85, money.Weekly)},
		Setup: checkout.Setup{Try: 1, Observation: checkout.Observation{AccountHolder: "A O’NEILL", AccountMask: "01-0902-•••••89-00"}}}
	return letter.Facts{Kind: checkout.NoticeOfSetup, Checkout: c, Student: agreement.Student(c.Student), Course: c.Intent.CourseName, Page: payersPage,
		Provider: agreement.Party{Name: "Kōwhai Institute", Colour: "#1f6f54", SupportEmail: "help@kowhai.example"},
		Payments: money.EveryDay.Payments(money.Schedule(200_00, c.Intent.Plan), money.Weekly, c.Intent.Plan.First),
		At:       time.Date(2026, 11, 22, 3, 4, 5, 0, time.UTC), Sandbox: true,
		Terms: agreement.DebitTerms{Period: agreement.NoticePeriod{Days: 10}, Provider: "Kōwhai Institute", Lender: agreement.Lender{Name: "Pūtea Limited"},
			Authority: agreement.Authority{AuthorisationCode: "0123456", Statement: "particulars KOWHAI, code PLAN"}}}
}

const payersPage = "https://pay.example/api/dd-setup?token=KOWHAI-1-a.2.k&c"

// concluded is an agreement whose PDF goes with the letter.
func concluded(a agreement.Agreement) letter.Facts {
	f := letter.OfAgreement(checkout.NoticeOfAgreement, checkout.Checkout{}, a)
	f.Page, f.Attached = payersPage, true
	return f
}

// write writes a letter that has no fault.
func write(t *testing.T, f letter.Facts) checkout.PayerNotice {
	t.Helper()
	l, err := letter.Write(f, zone(t))
	if err != nil {
		t.Fatal(err)
	}
	return l
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
		Notice:      agreement.Notice{Period: agreement.NoticePeriod{Days: 10}, NotBefore: money.Date{Year: 2026, Month: time.December, Day: 2}},
		CancelUntil: money.Date{Year: 2026, Month: time.December, Day: 1},
		Terms: agreement.Terms{Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington", Email: "help@putea.example"},
			Authority:    agreement.Authority{AuthorisationCode: "0123456", Statement: "particulars KOWHAI, code PLAN", Calendar: money.BusinessDays},
			Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write to help@putea.example."}, Hardship: "0800 788 832",
			Disputes:    agreement.DisputeScheme{Name: "Financial Dispute Resolution Service", Contact: "0508 337 337"},
			DefaultFees: agreement.FeeList{Stated: true, Fees: []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that the bank refuses"}}},
			Blocks:      []agreement.Block{{Title: "Right to cancel", Text: "You may cancel:\n(a) within 5 days;\n(b) in writing."}}}}
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
func ended() letter.Facts {
	a := agreed()
	a.Sandbox = true
	a.Terms.Hardship, a.Terms.Lender.Email = "hardship@putea.example", "loans@putea.example"
	return mandate(checkout.NoticeOfMandateEnd, a, checkout.Observation{Mandate: checkout.MandateCancelled, MandateReason: "DISHONOUR-AC04",
		AccountMask: "01-0902-•••••89-00"}, money.Date{Year: 2027, Month: time.February, Day: 27})
}

func mandate(kind checkout.NoticeKind, a agreement.Agreement, o checkout.Observation, today money.Date) letter.Facts {
	f := letter.OfAgreement(kind, checkout.Checkout{Setup: checkout.Setup{Observation: o}}, a)
	f.Page, f.Today, f.At = payersPage, today, setup().At
	return f
}

// link is a new link to the setup page.
func link() letter.Facts {
	return letter.Facts{Kind: checkout.NoticeOfLink, Student: agreement.Student{FirstName: "Ānaru", LastName: "<b>O’Neill</b>"}, Course: "Business & “Law”",
		Provider: agreement.Party{Name: "Kōwhai Institute"}, Page: payersPage, At: time.Date(2027, 2, 1, 3, 0, 0, 0, time.UTC)}
}

var update = flag.Bool("update", false, "record the letters anew")

// letters are all letters, by the names of their files in testdata.
func letters() map[string]letter.Facts {
	ofSetup := setup()
	ofSetup.Terms.Authority.Conditions = []agreement.Block{{Title: "Conditions", Text: "As the bank approved them."}} // others change with the wording
	single := agreed()
	single.Pricing, single.Plan = money.Pricing{Price: 120_00, Principal: 120_00}, plan(1, 120_00, 120_00, money.Weekly)
	single.CancelUntil = money.Date{}
	single.Schedule, single.Terms, single.Provider = money.Schedule(0, single.Plan), agreement.Terms{}, agreement.Party{Name: "Rimu College"}
	without := concluded(single)
	without.Page = ""
	hosted := agreed()
	hosted.Terms.Authority.Form = "GoCardless"
	owed, mask := ended().Agreement, ended().Checkout.Setup.AccountMask
	owed.Terms, owed.Provider.SupportEmail = agreement.Terms{}, ""
	bare := mandate(checkout.NoticeOfMandateEnd, owed, checkout.Observation{Mandate: checkout.MandateFailed, MandateReason: "OTHER", AccountMask: mask},
		money.Date{Year: 2027, Month: time.April, Day: 28})
	bare.Page = ""
	cancel := ofSetup
	cancel.Kind, cancel.Page, cancel.Checkout.End.By = checkout.NoticeOfCancel, "", checkout.PartyProvider
	byUs := cancel
	byUs.Checkout.End.By, byUs.Provider.SupportEmail = checkout.PartyOperator, ""
	withdrawn, withdrawnBare := ended(), bare
	withdrawn.Kind, withdrawnBare.Kind = checkout.NoticeOfWithdrawal, checkout.NoticeOfWithdrawal
	return map[string]letter.Facts{"cancelled": cancel, "cancelled_by_us": byUs, "withdrawn": withdrawn, "withdrawn_bare": withdrawnBare,
		"ended": ended(), "ended_bare": bare, "link": link(),
		"hosted": concluded(hosted), "setup": ofSetup, "agreement": concluded(agreed()), "single": without}
}

func TestLettersAreTheseTexts(t *testing.T) {
	for name, facts := range letters() {
		got := write(t, facts)
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

// A sentence that stands in no letter was never written: it may name what no letter has.
func TestEverySentenceIsTested(t *testing.T) {
	all := letters()
	whole := all["agreement"]
	whole.Attached = false
	all["whole"] = whole
	var said strings.Builder
	for _, facts := range all {
		l := write(t, facts)
		said.WriteString(l.Subject + "\n" + l.Text)
	}
	files, err := filepath.Glob("words/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = regexp.MustCompile(`(?m)^(##|\+) .*$|^[#?-]`).ReplaceAll(source, nil)
		for _, words := range regexp.MustCompile(`\{\{.*?\}\}|\n`).Split(string(source), -1) {
			if !strings.Contains(said.String(), strings.TrimSpace(words)) {
				t.Errorf("no letter has the words %q of %s", words, file)
			}
		}
	}
}

func TestALetterWithoutWordsIsRefused(t *testing.T) {
	if l, err := letter.Write(letter.Facts{Kind: "greeting"}, zone(t)); err == nil || !strings.Contains(err.Error(), `"greeting"`) {
		t.Errorf("it is %+v, %v", l, err)
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
	ofSetup, bare := setup(), concluded(a)
	bare.Attached = false
	for _, tt := range []struct {
		facts letter.Facts
		says  []string
	}{
		{ofSetup, []string{"Hello Ānaru <b>O’Neill</b> & 李,", "Business & “Law”", "0123456", "particulars KOWHAI, code PLAN", "A O’NEILL",
			"01-0902-•••••89-00", "Sunday 22 November 2026, 4:04 pm NZDT", "$2,990.00", "help@kowhai.example", "sandbox", ofSetup.Terms.Rows()[0].Value}},
		{concluded(a), append([]string{"Hello Ānaru <b>O’Neill</b>,", "0123456", "particulars KOWHAI, code PLAN", "A O’NEILL", "help@putea.example",
			"0800 788 832", "0508 337 337", "$10.00, for each payment that the bank refuses", "You can cancel the plan until the end of Tuesday 1 December 2026"}, payments...)},
		{ended(), []string{"Hello Ānaru <b>O’Neill</b>,", "The bank says that the account is closed.", "PPA-2026-000000001A5",
			"01-0902-•••••89-00", "$44.97 on Tuesday 30 March 2027", "hardship@putea.example", "Pūtea Limited, loans@putea.example", "sandbox"}},
		{link(), []string{"Hello Ānaru <b>O’Neill</b>,", "It works until Monday 1 February 2027.", "you need not do anything"}},
		{bare, append(append([]string{"(a) within 5 days;\n(b) in writing."}, payments...), all...)},
	} {
		got := write(t, tt.facts)
		page := words(t, got.HTML)
		for _, want := range tt.says {
			if !strings.Contains(got.Text, want) {
				t.Errorf("the text does not say %q:\n%s", want, got.Text)
			}
			if !strings.Contains(page, want) {
				t.Errorf("the page does not say %q:\n%s", want, page)
			}
		}
		for line := range strings.SplitSeq(got.Text, "\n") {
			if _, value, labelled := strings.Cut(line, ": "); labelled && !strings.Contains(line, payersPage) && !strings.Contains(page, value) {
				t.Errorf("the page does not say %q:\n%s", value, page)
			}
		}
		if !strings.Contains(got.Text, ": "+payersPage+"\n") ||
			!strings.Contains(got.HTML, `<a href="https://pay.example/api/dd-setup?token=KOWHAI-1-a.2.k&amp;c"`) {
			t.Errorf("no link to the payer's page:\n%s", got.HTML)
		}
		for _, loads := range []string{"src=", "url(", "<script", "<img", "<link", "<style", "@import"} {
			if strings.Contains(got.HTML, loads) {
				t.Errorf("the page has %q", loads)
			}
		}
		if n := strings.Count(got.HTML, "http"); n != 1 {
			t.Errorf("the page has %d addresses, want that of the payer's page", n)
		}
	}
}

// A name from outside may be written from right to left.
func TestNoNameReordersTheWordsAroundIt(t *testing.T) {
	for name, facts := range letters() {
		_, page, _ := strings.Cut(write(t, facts).HTML, "</title>")
		for _, outside := range []string{"Kōwhai Institute", "Rimu College", "Ānaru <b>O’Neill</b> & 李", "Ānaru <b>O’Neill</b>", "Business & “Law”", "Business & Law",
			"A O’NEILL", "Pūtea Limited"} {
			isolated := regexp.MustCompile("<bdi[^>]*>" + regexp.QuoteMeta(html.EscapeString(outside)))
			if n, of := len(isolated.FindAllString(page, -1)), strings.Count(page, html.EscapeString(outside)); n != of {
				t.Errorf("the letter %s isolates %q %d times of %d:\n%s", name, outside, n, of, page)
			}
		}
		if strings.Contains(page, "<bdi translate=\"no\"> </bdi>") {
			t.Errorf("the letter %s isolates the name of nobody:\n%s", name, page)
		}
	}
}

func TestALetterFitsAPhoneAndShowsTheProvidersColour(t *testing.T) {
	for given, want := range map[string]string{"#1f6f54": "#1f6f54", "#FFFF00": "#FFFF00", "": "#4a5157", "#000;}*{}": "#4a5157", "url(x)": "#4a5157"} {
		s := setup()
		s.Provider.Colour = given
		page := write(t, s).HTML
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
	if n := len(write(t, concluded(a)).HTML); n > 102<<10 {
		t.Errorf("it has %d bytes", n)
	}
}

func TestColumnsOfPaymentsAreStraight(t *testing.T) {
	a := agreed()
	a.Terms.Authority.Calendar = money.EveryDay
	c := concluded(a)
	c.Attached = false
	l := write(t, c)
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
	if _, err := letter.Write(concluded(a), zone(t)); err == nil {
		t.Error("it is sent in other words")
	}
}
