package agreement_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
	"pgregory.net/rapid"
)

func TestTextRefusesAnUnknownVersion(t *testing.T) {
	a := diploma()
	a.Version = "2020-01-01"
	sections, err := a.Text(sample.NewZealand(t))
	if err == nil || !strings.Contains(err.Error(), a.Number) || !strings.Contains(err.Error(), `"2020-01-01"`) {
		t.Errorf("Text of version 2020-01-01 gave error %v, want one that names the agreement and the version", err)
	}
	if sections != nil {
		t.Errorf("Text of version 2020-01-01 gave %d sections, want none", len(sections))
	}
}

func TestTextRows(t *testing.T) {
	const missing = "(no such row)"
	tests := []struct {
		name    string
		change  func(*agreement.Agreement)
		section string
		label   string
		want    string
	}{
		{"a legacy course has no code",
			func(a *agreement.Agreement) { a.Course.Code = "" },
			"What the course costs", "Course code", missing},
		{"a provider without a support address names none",
			func(a *agreement.Agreement) { a.Provider.SupportEmail = "" },
			"Who takes part", "Questions to", missing},
		{"a plan that divides evenly has no final instalment",
			func(a *agreement.Agreement) { a.Plan.Final = a.Plan.Regular },
			"What the course costs", "Final instalment", missing},
		{"it has equal ones",
			func(a *agreement.Agreement) { a.Plan.Final = a.Plan.Regular },
			"What the course costs", "Regular instalment", "$697.50"},
		{"a plan with a residual has regular ones too",
			func(a *agreement.Agreement) {},
			"What the course costs", "Regular instalment", "$697.50"},
		{"a single instalment is one",
			func(a *agreement.Agreement) {
				a.Plan.Instalments = money.Instalments{Number: 1, Regular: 2790_02, Final: 2790_02}
			},
			"What the course costs", "Instalment", "$2,790.02"},
		{"and no regular one",
			func(a *agreement.Agreement) {
				a.Plan.Instalments = money.Instalments{Number: 1, Regular: 2790_02, Final: 2790_02}
			},
			"What the course costs", "Regular instalment", missing},
		{"no initial payment is said plainly",
			func(a *agreement.Agreement) { a.Pricing.Upfront = 0 },
			"What the course costs", "Initial payment", "None"},
		{"an operator that names no lender names none",
			func(a *agreement.Agreement) { a.Terms.Lender = agreement.Lender{} },
			"Who takes part", "Lender", missing},
		{"a lender may have no registration",
			func(a *agreement.Agreement) { a.Terms.Lender.Registration = "" },
			"Who takes part", "Lender’s registration", missing},
		{"a lender is named",
			func(a *agreement.Agreement) {},
			"Who takes part", "Lender", "Pūtea Limited"},
		{"the payer is the account holder",
			func(a *agreement.Agreement) { a.DirectDebit.AccountHolder = "HANA & T NGATA" },
			"At a glance", "Payer", "HANA & T NGATA"},
		{"the student is named beside the payer",
			func(a *agreement.Agreement) { a.DirectDebit.AccountHolder = "HANA & T NGATA" },
			"At a glance", "Student", "Māia Ngāta"},
		{"the payer takes part",
			func(a *agreement.Agreement) { a.DirectDebit.AccountHolder = "HANA & T NGATA" },
			"Who takes part", "Payer", "HANA & T NGATA"},
		{"the email is the student’s",
			func(*agreement.Agreement) {},
			"Who takes part", "Student’s email", "maia@example.nz"},
		{"at a glance, the first payment is the initial one",
			func(a *agreement.Agreement) {},
			"At a glance", "First payment", "$200.00 on Sunday 31 January 2027"},
		{"the last one has the residual",
			func(a *agreement.Agreement) {},
			"At a glance", "Last payment", "$697.52 on Monday 31 May 2027"},
		{"the instalments are counted",
			func(a *agreement.Agreement) {},
			"At a glance", "Instalments", "3 monthly of $697.50, and a final one of $697.52"},
		{"equal ones are counted together",
			func(a *agreement.Agreement) { a.Plan.Final = a.Plan.Regular },
			"At a glance", "Instalments", "4 monthly of $697.50"},
		{"a single one after an initial payment is one",
			func(a *agreement.Agreement) {
				a.Plan.Instalments = money.Instalments{Number: 1, Regular: 2790_02, Final: 2790_02}
			},
			"At a glance", "Instalments", "1 of $2,790.02"},
		{"a plan of one payment has no first and last",
			func(a *agreement.Agreement) { a.Schedule = a.Schedule[:1] },
			"At a glance", "First payment", missing},
		{"it has one payment",
			func(a *agreement.Agreement) { a.Schedule = a.Schedule[:1] },
			"At a glance", "Payment", "$200.00 on Sunday 31 January 2027"},
		{"the largest amount is grouped by thousands",
			func(a *agreement.Agreement) { a.Pricing.Price = money.Max },
			"What the course costs", "Total to pay", "$9,999,999.99"},
		{"the smallest amount keeps its zeros",
			func(a *agreement.Agreement) { a.Pricing.Upfront = 1 },
			"What the course costs", "Initial payment", "$0.01"},
		{"a consent says when, from where and to what",
			func(a *agreement.Agreement) {},
			"Direct debit authority", "Consent", "The payer accepted the direct debit terms on the setup page on Friday 15 January 2027, " +
				"3:59:00 pm NZDT, from the network address 203.0.113.7, as they stand below."},
		{"the record says to which",
			func(a *agreement.Agreement) {},
			"For the record", "Terms accepted", diploma().DirectDebit.Consent.Terms + " (version, days of notice, fingerprint)"},
		{"a consent says no more than is known",
			func(a *agreement.Agreement) {
				a.DirectDebit.Consent.From, a.DirectDebit.Consent.Terms = "", ""
			},
			"Direct debit authority", "Consent", "The payer accepted the direct debit terms on the setup page on Friday 15 January 2027, " +
				"3:59:00 pm NZDT. Which version the page showed is not on record."},
		{"a consent to other words says so",
			func(a *agreement.Agreement) { a.DirectDebit.Consent.Terms = "2026-01-01/2/0123456789abcdef" },
			"Direct debit authority", "Consent", "The payer accepted the direct debit terms on the setup page on Friday 15 January 2027, " +
				"3:59:00 pm NZDT, from the network address 203.0.113.7, in words that are not quite those below."},
		{"the record says to which others",
			func(a *agreement.Agreement) { a.DirectDebit.Consent.Terms = "2026-01-01/2/0123456789abcdef" },
			"For the record", "Terms accepted", "2026-01-01/2/0123456789abcdef (version, days of notice, fingerprint)"},
		{"the account is shown as its mask",
			func(*agreement.Agreement) {},
			"Direct debit authority", "Account", "12-3140-•••••23-50"},
		{"no consent on record is not claimed",
			func(a *agreement.Agreement) { a.DirectDebit.Consent = agreement.Consent{} },
			"Direct debit authority", "Consent", missing},
		{"notice that is shorter than usual is agreed to",
			func(a *agreement.Agreement) {},
			"Direct debit terms", "Notice", notice("2 calendar days", " The account holder agrees to this notice in place of the usual 10 days.")},
		{"one day is one",
			func(a *agreement.Agreement) { a.Notice.Days = 1 },
			"Direct debit terms", "Notice", notice("1 calendar day", " The account holder agrees to this notice in place of the usual 10 days.")},
		{"the usual notice needs no word",
			func(a *agreement.Agreement) { a.Notice.Days = 10 },
			"Direct debit terms", "Notice", notice("10 calendar days", "")},
		{"at a glance, a payment that is planned too soon is taken later",
			func(a *agreement.Agreement) {
				a.Notice.NotBefore = money.Date{Year: 2027, Month: time.February, Day: 2}
			},
			"At a glance", "First payment", "$200.00 on Tuesday 2 February 2027"},
		{"and the last one, a period after the one before it",
			func(a *agreement.Agreement) {
				a.Notice.NotBefore = money.Date{Year: 2027, Month: time.February, Day: 2}
			},
			"At a glance", "Last payment", "$697.52 on Wednesday 2 June 2027"},
		{"the cost says when the payments start",
			func(a *agreement.Agreement) {
				a.Notice.NotBefore = money.Date{Year: 2027, Month: time.February, Day: 2}
			},
			"What the course costs", "First payment planned for", "Tuesday 2 February 2027"},
		{"a lender that is named collects",
			func(a *agreement.Agreement) {},
			"Who takes part", "Payments collected by", "The lender, Pūtea Limited, on behalf of Kōwhai Institute"},
		{"otherwise the operator does",
			func(a *agreement.Agreement) { a.Terms.Lender = agreement.Lender{} },
			"Who takes part", "Payments collected by", "The operator of this service, on behalf of Kōwhai Institute"},
		{"summer time is NZDT",
			func(a *agreement.Agreement) { a.AcceptedAt = time.Date(2027, 1, 31, 11, 0, 0, 0, time.UTC) },
			title, "Accepted on", "Monday 1 February 2027, 12:00:00 am NZDT"},
		{"winter time is NZST",
			func(a *agreement.Agreement) { a.AcceptedAt = time.Date(2027, 6, 30, 11, 59, 59, 0, time.UTC) },
			title, "Accepted on", "Wednesday 30 June 2027, 11:59:59 pm NZST"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := diploma()
			tt.change(&a)
			got := missing
			for _, r := range section(t, text(t, a), tt.section).Rows {
				if r.Label == tt.label {
					got = r.Value
				}
			}
			if got != tt.want {
				t.Errorf("%s, %s: %q, want %q", tt.section, tt.label, got, tt.want)
			}
		})
	}
}

func TestTextOfTheSandboxSaysThatItIsNotBinding(t *testing.T) {
	a := diploma()
	for _, sandbox := range []bool{false, true} {
		a.Sandbox = sandbox
		said := strings.Contains(strings.Join(text(t, a)[0].Paragraphs, " "), "It is a test, and no agreement")
		if said != sandbox || strings.Contains(a.Foot(), "SANDBOX") != sandbox {
			t.Errorf("sandbox %v: the text says so: %v; the footer is %q", sandbox, said, a.Foot())
		}
	}
}

func TestTextSaysWhenPaymentsAreTakenThatArePlannedTooSoon(t *testing.T) {
	const before = "The first payment was to be on Sunday 31 January 2027, which is sooner than the notice of it allows. " +
		"The payments therefore start on "
	const after = ", and one payment period lies between each and the next."
	for _, tt := range []struct {
		name      string
		notBefore money.Date
		want      string
		dates     []string
	}{
		{"on the first lawful day", money.Date{Year: 2027, Month: time.January, Day: 31}, "",
			[]string{"Sunday 31 January 2027", "Sunday 28 February 2027", "Wednesday 31 March 2027", "Friday 30 April 2027",
				"Monday 31 May 2027"}},
		{"on the day before it, which is no bank day", money.Date{Year: 2027, Month: time.February, Day: 1}, "",
			[]string{"Sunday 31 January 2027", "Sunday 28 February 2027", "Wednesday 31 March 2027", "Friday 30 April 2027",
				"Monday 31 May 2027"}},
		{"a bank day too soon", money.Date{Year: 2027, Month: time.February, Day: 2}, before + "Tuesday 2 February 2027" + after,
			[]string{"Tuesday 2 February 2027", "Tuesday 2 March 2027", "Friday 2 April 2027", "Sunday 2 May 2027",
				"Wednesday 2 June 2027"}},
		{"several payments too soon", money.Date{Year: 2027, Month: time.April, Day: 9}, before + "Friday 9 April 2027" + after,
			[]string{"Friday 9 April 2027", "Sunday 9 May 2027", "Wednesday 9 June 2027", "Friday 9 July 2027",
				"Monday 9 August 2027"}},
	} {
		a := diploma()
		a.Notice.NotBefore = tt.notBefore
		planned := section(t, text(t, a), "Planned payments")
		want := strings.TrimSpace(tt.want + " No payment is taken before " + tt.notBefore.Long() + ": that is the first day on which the " +
			"banks process direct debits when 2 calendar days have passed since the day of this agreement.")
		if got := strings.Join(planned.Paragraphs[1:], " "); got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
		var dates []string
		for _, cells := range planned.Table.Rows {
			dates = append(dates, cells[1])
		}
		if !slices.Equal(dates, tt.dates) {
			t.Errorf("%s: dates %q, want %q", tt.name, dates, tt.dates)
		}
	}
}

// notice is the term about notice.
func notice(period, agreed string) string {
	return "The agreement gives notice of the amount and the planned date of every payment. No payment is taken sooner than " +
		period + " after the day of that notice. If the first payment is planned for an earlier day, the payments start on " +
		"the first day after that on which the banks process direct debits, with one payment period between each and the next." + agreed +
		" Before an amount or a planned date is changed, the account holder is given 30 days’ notice, unless the account " +
		"holder asked for the change or agrees to less."
}

func TestTextRepeatsTheOperatorsTermsWordForWord(t *testing.T) {
	a := diploma()
	var got []agreement.Block
	for _, r := range section(t, text(t, a), "Terms of the plan").Rows {
		got = append(got, agreement.Block{Title: r.Label, Text: r.Value})
	}
	if !slices.Equal(got, a.Terms.Blocks) {
		t.Errorf("the terms are %q, want %q", got, a.Terms.Blocks)
	}
	a.Terms.Blocks = a.Terms.Blocks[:1]
	if rows := section(t, text(t, a), "Terms of the plan").Rows; len(rows) != 1 {
		t.Errorf("one term has %d rows", len(rows))
	}
	a.Terms = agreement.Terms{}
	for _, s := range text(t, a) {
		if s.Title == "Terms of the plan" {
			t.Error("an operator without terms has a section of them")
		}
	}
}

func TestOneSectionIsTheSummary(t *testing.T) {
	for _, s := range text(t, diploma()) {
		if want := s.Title == "At a glance"; s.AtAGlance != want {
			t.Errorf("section %q is the summary: %v, want %v", s.Title, s.AtAGlance, want)
		}
	}
}

func TestTextTakesPaymentsFromTheScheduleAlone(t *testing.T) {
	a := diploma()
	a.Schedule = []money.Charge{
		{Sequence: 1, Type: money.Instalment, Due: money.Date{Year: 2028, Month: time.February, Day: 29}, Amount: 1_23},
		{Sequence: 2, Type: money.FinalInstalment, Due: money.Date{Year: 2028, Month: time.March, Day: 1}, Amount: 4_56},
	}
	want := "1 | Tuesday 29 February 2028 | Instalment | $1.23\n" +
		"2 | Wednesday 1 March 2028 | Final instalment | $4.56"
	var rows []string
	for _, cells := range section(t, text(t, a), "Planned payments").Table.Rows {
		rows = append(rows, strings.Join(cells, " | "))
	}
	if got := strings.Join(rows, "\n"); got != want {
		t.Errorf("planned payments are\n%s\nwant\n%s", got, want)
	}
}

func TestTextDeclaresEachAcceptanceWithItsTime(t *testing.T) {
	rows := section(t, text(t, diploma()), "What the student declared").Rows
	if len(rows) != 4 {
		t.Errorf("%d declarations, want 4", len(rows))
	}
	for _, r := range rows {
		if want := "Friday 15 January 2027, 4:12:05 pm NZDT"; !strings.Contains(r.Value, want) {
			t.Errorf("%s: %q does not say %q", r.Label, r.Value, want)
		}
	}
}

func TestTextShowsAnyPlanWhole(t *testing.T) {
	zone := sample.NewZealand(t)
	rapid.Check(t, func(t *rapid.T) {
		a := diploma()
		n := rapid.IntRange(1, money.MaxInstalments).Draw(t, "instalments")
		a.Pricing.Upfront = money.Cents(rapid.Int64Range(0, 10_000_00).Draw(t, "upfront"))
		a.Pricing.Principal = money.Cents(rapid.Int64Range(int64(n), 1_000_000_00).Draw(t, "principal"))
		a.Pricing.Price = a.Pricing.Upfront + a.Pricing.Principal
		parts, err := money.ByNumber(a.Pricing.Principal, n)
		if err != nil {
			t.Fatal(err)
		}
		a.Plan.Instalments = parts
		a.Schedule = money.Schedule(a.Pricing.Upfront, a.Plan)

		sections, err := a.Text(zone)
		if err != nil {
			t.Fatal(err)
		}
		table := section(t, sections, "Planned payments").Table
		if len(table.Rows) != len(a.Schedule) {
			t.Fatalf("%d rows for %d charges", len(table.Rows), len(a.Schedule))
		}
		var sum money.Cents
		for i, row := range append(table.Rows, table.Foot) {
			if len(row) != len(table.Header) {
				t.Fatalf("row %d has %d cells under a header of %d", i, len(row), len(table.Header))
			}
			if i < len(a.Schedule) {
				sum += read(t, row[len(row)-1])
			}
		}
		if total := read(t, table.Foot[len(table.Foot)-1]); sum != total || sum != a.Pricing.Price {
			t.Fatalf("the rows sum to %s, the foot says %s, the price is %s", sum, total, a.Pricing.Price)
		}
	})
}

// title is the title of the first section.
const title = "Payment Plan Agreement"

func text(t *testing.T, a agreement.Agreement) []agreement.Section {
	t.Helper()
	sections, err := a.Text(sample.NewZealand(t))
	if err != nil {
		t.Fatal(err)
	}
	return sections
}

func section(t rapid.TB, sections []agreement.Section, title string) agreement.Section {
	t.Helper()
	for _, s := range sections {
		if s.Title == title {
			return s
		}
	}
	t.Fatalf("there is no section %q", title)
	return agreement.Section{}
}

// read takes an amount back from the way it is written for a reader.
func read(t *rapid.T, text string) money.Cents {
	c, err := money.Parse(strings.NewReplacer("$", "", ",", "").Replace(text))
	if err != nil {
		t.Fatalf("amount %q: %v", text, err)
	}
	return c
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
		for _, cells := range append(s.Table.Rows, s.Table.Foot) {
			b.WriteString(strings.Join(cells, " | ") + "\n")
		}
	}
	return b.String()
}
