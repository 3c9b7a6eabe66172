package agreement_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// Two files hold what a wording says: testdata/<version>.txt the whole text of diploma, and testdata/<version>.variants.txt
// what differs in each variant of it. Once a release has concluded agreements in a wording its files never change: if this
// test fails then because a sentence was changed, add a wording instead, and its version here.
func TestTextIsTheWordingOfItsVersion(t *testing.T) {
	versions := []string{"2026-11-29"}
	if newest := versions[len(versions)-1]; newest != agreement.Version {
		t.Errorf("the newest wording here is %s, agreements are concluded in %s", newest, agreement.Version)
	}
	for _, version := range versions {
		a := diploma()
		a.Version = version
		said := func(a agreement.Agreement) []agreement.Section { return text(t, a) }
		compare(t, version+".txt", plain(said(a)))
		a.Number = "PPA-2027-000042"
		compare(t, version+".variants.txt", changes(a, variants(), said))
	}
}

// A sentence that stands in no file of testdata was never written: it may name what no agreement has.
func TestEverySentenceOfAWordingIsTested(t *testing.T) {
	a := diploma()
	said := a.Foot()
	a.Sandbox = true
	said += a.Foot()
	for _, file := range []string{"testdata/" + a.Version + ".txt", "testdata/" + a.Version + ".variants.txt", "wording/" + a.Version + ".txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(file, "testdata/") {
			said += string(text)
			continue
		}
		headings := regexp.MustCompile(`(?m)^(##|\+) .*$|^[#?-] | \| \w+$`).ReplaceAll(text, nil)
		for _, words := range regexp.MustCompile(`\{\{.*?\}\}|\n`).Split(string(headings), -1) {
			if !strings.Contains(said, strings.TrimSpace(words)) {
				t.Errorf("no agreement in testdata has the words %q", words)
			}
		}
	}
}

// A value from outside stays a value, whatever it looks like.
func TestAValueIsNeverReadAsASource(t *testing.T) {
	with := func(value string) string {
		a := diploma()
		a.Provider.Name, a.Course.Name, a.Student.LastName, a.DirectDebit.AccountHolder, a.Terms.Lender.Name = value, value, value, value, value
		a.Terms.Hardship, a.Terms.Blocks = value, []agreement.Block{{Title: value, Text: value}}
		a.Terms.Authority = agreement.Authority{Initiator: value, Statement: value, Form: value, Conditions: a.Terms.Blocks}
		return plain(text(t, a)) + a.Foot()
	}
	for _, value := range []string{"{{.X}}", "{{", "# x", "## foot", "- a: b", "? a: ", "+ rights", "<b>&amp;", "x\n# y\n- a: {{.Number}}"} {
		if got, want := with(value), strings.ReplaceAll(with("VALUE"), "VALUE", value); got != want {
			t.Errorf("with %q the text is\n%s\nwant\n%s", value, got, want)
		}
	}
}

func TestAnUnknownVersionHasNoWords(t *testing.T) {
	a := diploma()
	a.Version = "2020-01-01"
	if sections, err := a.Text(time.UTC); err == nil || !strings.Contains(err.Error(), a.Number) || !strings.Contains(err.Error(), a.Version) || sections != nil {
		t.Errorf("Text = %d sections, %v; want an error that names the agreement and the version", len(sections), err)
	}
	if foot := a.Foot(); foot != "" {
		t.Errorf("the footer is %q", foot)
	}
	if rows := (agreement.DebitTerms{Version: a.Version}).Rows(); rows != nil {
		t.Errorf("the terms are %q", rows)
	}
}

var update = flag.Bool("update", false, "write the texts of the wordings in testdata anew")

// compare compares a text with a file in testdata.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || got != string(want) {
		t.Errorf("%s, %v: the text is\n%s\nwant\n%s", name, err, got, want)
	}
}

// A variant is a change of diploma that makes a wording say something else.
type variant struct {
	name   string
	change func(*agreement.Agreement)
}

func variants() []variant {
	none := agreement.FeeList{Stated: true}
	late := agreement.FeeList{Stated: true, Fees: []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that the bank refuses"}}}
	return []variant{
		{"as little as there can be", func(a *agreement.Agreement) {
			a.Provider.SupportEmail, a.Course.Code, a.Terms = "", "", agreement.Terms{}
			setPlan(a, 0, money.Instalments{Number: 1, Regular: 2990_02, Final: 2990_02})
		}},
		{"one instalment after an initial payment", func(a *agreement.Agreement) {
			setPlan(a, 200_00, money.Instalments{Number: 1, Regular: 2790_02, Final: 2790_02})
		}},
		{"equal fortnightly instalments, a lender without a registration", func(a *agreement.Agreement) {
			a.Plan.Frequency, a.Terms.Lender.Registration, a.Terms.Blocks = money.Fortnightly, "", nil
			setPlan(a, 0, money.Instalments{Number: 3, Regular: 1000_00, Final: 1000_00})
		}},
		{"in the sandbox", func(a *agreement.Agreement) { a.Sandbox = true }},
		{"the first payment too soon", func(a *agreement.Agreement) {
			a.Notice.NotBefore = money.Date{Year: 2027, Month: time.February, Day: 1}
		}},
		{"three payments too soon, usual notice", func(a *agreement.Agreement) {
			a.Notice = agreement.Notice{Period: agreement.NoticePeriod{Days: 10}, NotBefore: money.Date{Year: 2027, Month: time.April, Day: 9}}
		}},
		{"one day's notice, no lender", func(a *agreement.Agreement) { a.Notice.Period.Days, a.Terms.Lender = 1, agreement.Lender{} }},
		{"no consent", func(a *agreement.Agreement) { a.DirectDebit.Consent = agreement.Consent{} }},
		{"a consent from an unknown address to unknown terms", func(a *agreement.Agreement) {
			a.DirectDebit.Consent = agreement.Consent{At: a.AcceptedAt}
		}},
		{"a consent to other terms", func(a *agreement.Agreement) {
			a.DirectDebit.Consent.Terms = "2026-11-20/2/0123456789abcdef"
		}},
		{"a page that disclosed the terms and the plan", func(a *agreement.Agreement) {
			a.DirectDebit.Consent.Disclosed = agreement.Disclosed{Page: "/api/dd-setup",
				SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}
		}},
		{"a host's page that did", func(a *agreement.Agreement) { a.DirectDebit.Consent.Disclosed.SHA256 = "9f86d081" }},
		{"the first payment a day too soon", func(a *agreement.Agreement) {
			a.Notice.NotBefore = money.Date{Year: 2027, Month: time.February, Day: 2}
		}},
		{"a collector of business days", func(a *agreement.Agreement) {
			a.Terms.Authority.Calendar = money.BusinessDays
			a.Plan.First = money.Date{Year: 2027, Month: time.January, Day: 31}
			a.Notice = agreement.Notice{Period: agreement.NoticePeriod{Days: 2}, NotBefore: money.Date{Year: 2027, Month: time.January, Day: 18}}
			setPlan(a, 200_00, money.Instalments{Number: 4, Regular: 697_50, Final: 697_52})
		}},
		{"no default fees", func(a *agreement.Agreement) { a.Terms.DefaultFees = none }},
		{"default fees", func(a *agreement.Agreement) { a.Terms.DefaultFees = late }},
		{"two fees", func(a *agreement.Agreement) {
			a.Terms.DefaultFees = agreement.FeeList{Stated: true, Fees: []agreement.Fee{
				{Name: "Late payment fee", Amount: 5_00, When: "for each payment that is 14 days late"},
				{Name: "Letter fee", Amount: 1_50, When: "for each letter about a late payment"},
			}}
		}},
		{"everything that a lender must say", func(a *agreement.Agreement) {
			a.Terms, a.CancelUntil = lawful(), money.Date{Year: 2027, Month: time.January, Day: 26}
		}},
		{"everything that a lender must say, before there is a day", func(a *agreement.Agreement) { a.Terms = lawful() }},
		{"one working day", func(a *agreement.Agreement) {
			a.Terms.Cancellation = agreement.Cancellation{WorkingDays: 1, How: "Write to us:\n- soon\n- by e-mail"}
		}},
		{"an authority with its code and the words of the bank statement", func(a *agreement.Agreement) {
			a.Terms.Authority = agreement.Authority{AuthorisationCode: "0123456", Initiator: "Pūtea Collections Limited",
				Statement: "particulars KOWHAI, code PLAN, reference COURSE"}
		}},
		{"an authority that the processor knows, on its own form", func(a *agreement.Agreement) {
			a.Terms.Authority = agreement.Authority{AuthorisationCode: "0200001", Initiator: "Rimu College", Statement: "Rimu College",
				Form: "GoCardless", Calendar: money.BusinessDays}
		}},
		{"two business days", func(a *agreement.Agreement) { a.Notice.Period.Business = true }},
		{"the lender as the initiator", func(a *agreement.Agreement) { a.Terms.Authority.Initiator = a.Terms.Lender.Name }},
		{"an authority with conditions of the operator's", func(a *agreement.Agreement) {
			a.Terms.Authority.Conditions = []agreement.Block{{Title: "Conditions", Text: "First.\n(a) Second\n(b) Third"}}
		}},
		{"a term of paragraphs and a list", func(a *agreement.Agreement) {
			a.Terms.Blocks = []agreement.Block{{Title: "Right to cancel", Text: "You may cancel.\n\nTo do so:\n- write to us\n- pay what is owed"}}
		}},
		{"a payer who is not the student", func(a *agreement.Agreement) { a.DirectDebit.AccountHolder = "HANA & T NGATA" }},
		{"accepted in winter", func(a *agreement.Agreement) { a.AcceptedAt = time.Date(2027, 6, 30, 11, 59, 59, 0, time.UTC) }},
		{"payments of the schedule alone", func(a *agreement.Agreement) {
			a.Schedule = []money.Charge{
				{Sequence: 1, Type: money.Instalment, Due: money.Date{Year: 2028, Month: time.February, Day: 29}, Amount: 1_23},
				{Sequence: 2, Type: money.FinalInstalment, Due: money.Date{Year: 2028, Month: time.March, Day: 1}, Amount: 4_56},
			}
		}},
	}
}

// lawful are terms with every field that the law of consumer credit wants.
func lawful() agreement.Terms {
	t := terms()
	t.Blocks, t.Lender.Email = nil, "help@putea.example"
	t.Cancellation = agreement.Cancellation{WorkingDays: 5, How: "Write to help@putea.example that you cancel.", PayWithin: agreement.PayWithinByLaw}
	t.Hardship, t.Disputes = "0800 111 111", agreement.DisputeScheme{Name: "A Dispute Scheme Limited", Contact: "0800 000 000"}
	t.DefaultFees = agreement.FeeList{Stated: true}
	return t
}

// setPlan sets the price, the instalments and the charges of an agreement.
func setPlan(a *agreement.Agreement, upfront money.Cents, parts money.Instalments) {
	a.Plan.Instalments = parts
	a.Pricing = money.Pricing{Price: upfront + a.Plan.Principal(), Upfront: upfront, Principal: a.Plan.Principal()}
	a.Schedule = money.Schedule(upfront, a.Plan)
}

// changes returns, for each variant of an agreement, the sections of its text that differ from the agreement's own.
func changes(base agreement.Agreement, variants []variant, text func(agreement.Agreement) []agreement.Section) string {
	usual := map[string]string{}
	for _, s := range text(base) {
		usual[s.Title] = plain([]agreement.Section{s})
	}
	var b strings.Builder
	for _, v := range variants {
		a, left := base, maps.Clone(usual)
		v.change(&a)
		b.WriteString("## " + v.name + "\n\n")
		for _, s := range text(a) {
			if said := plain([]agreement.Section{s}); said != left[s.Title] {
				b.WriteString(said + "\n")
			}
			delete(left, s.Title)
		}
		for _, title := range slices.Sorted(maps.Keys(left)) {
			b.WriteString("# " + title + "\n(no such section)\n\n")
		}
	}
	return b.String()
}

// A reader cites a section by its number and a term by a number of its own, whatever sections there are.
func TestSectionsAreNumbered(t *testing.T) {
	for name, a := range map[string]agreement.Agreement{"with terms": diploma(), "without": withoutTerms()} {
		n, cited := 0, ""
		for i, s := range text(t, a) {
			if s.AtAGlance != (s.Title == "At a glance") {
				t.Errorf("%s: section %q is the summary: %v", name, s.Title, s.AtAGlance)
			}
			if i == 0 || s.AtAGlance {
				if s.Heading() != s.Title {
					t.Errorf("%s: the heading of %q is %q", name, s.Title, s.Heading())
				}
				continue
			}
			n++
			if want := fmt.Sprintf("%d. %s", n, s.Title); s.Heading() != want {
				t.Errorf("%s: the heading is %q, want %q", name, s.Heading(), want)
			}
			if s.Title == "Direct debit terms" {
				cited = s.Label(2)
			}
			if s.Title == "Names and contacts" && s.Label(0) != "Education provider" {
				t.Errorf("%s: a fact is labelled %q", name, s.Label(0))
			}
		}
		if cited != "6.3 Who can use the account" {
			t.Errorf("%s: the third of the direct debit terms is %q, want 6.3 Who can use the account", name, cited)
		}
	}
}

func withoutTerms() agreement.Agreement {
	a := diploma()
	a.Terms = agreement.Terms{}
	return a
}

func text(t *testing.T, a agreement.Agreement) []agreement.Section {
	t.Helper()
	sections, err := a.Text(sample.NewZealand(t))
	if err != nil {
		t.Fatal(err)
	}
	return sections
}

func section(t testing.TB, sections []agreement.Section, title string) agreement.Section {
	t.Helper()
	for _, s := range sections {
		if s.Title == title {
			return s
		}
	}
	t.Fatalf("there is no section %q", title)
	return agreement.Section{}
}

// plain writes sections line by line.
func plain(sections []agreement.Section) string {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("# " + s.Title + "\n")
		for _, p := range s.Paragraphs {
			b.WriteString(p + "\n")
		}
		for _, r := range s.Rows {
			b.WriteString(r.Label + ": " + r.Value + "\n")
		}
		if s.Table.IsZero() {
			continue
		}
		b.WriteString(strings.Join(s.Table.Header, " | ") + "\n")
		for i, cells := range append(s.Table.Rows, s.Table.Foot) {
			b.WriteString(strings.Join(cells, " | ") + "\n")
			if note := s.Table.Note(i); note != "" {
				b.WriteString("    " + note + "\n")
			}
		}
	}
	return b.String()
}
