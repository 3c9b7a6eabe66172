package agreementpage_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/agreementpage"
	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

func TestPageReadsAsTheAgreement(t *testing.T) {
	for _, n := range []int{1, 52, money.MaxInstalments} {
		a := sample.Agreement(n)
		a.Notice.NotBefore = a.Plan.First.AddDays(3) // the payments are collected on other days than planned
		a.Terms.Authority.Calendar = money.BusinessDays
		sections, err := a.Text(sample.NewZealand(t))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, s := range sections {
			want = slices.Concat(want, []string{s.Heading()}, s.Paragraphs)
			for i, r := range s.Rows {
				want = append(want, s.Label(i), r.Value)
			}
			if s.Table.IsZero() {
				continue
			}
			want = slices.Concat(want, []string{s.Title}, s.Table.Header) // its caption
			for i, cells := range append(s.Table.Rows, s.Table.Foot) {
				want = slices.Concat(want, cells[:2], []string{s.Table.Note(i)}, cells[2:])
			}
		}
		want = append(want, a.Foot())
		_, body, _ := strings.Cut(written(t, a), "<body>")
		if got := squeeze(text(body)); got != squeeze(strings.Join(want, "")) {
			t.Errorf("with %d instalments the page reads\n%s\nwant\n%s", n, got, squeeze(strings.Join(want, "")))
		}
	}
}

func TestPageMarksUpItsParts(t *testing.T) {
	page := written(t, sample.Agreement(4))
	for part, want := range map[string]int{
		`<html lang="en-NZ">`: 1,
		`<title>Payment Plan Agreement PPA-2027-000042</title>`:                1,
		`<meta name="viewport" content="width=device-width, initial-scale=1">`: 1,
		`<main>`:                              1,
		`<h1>`:                                1,
		`<h2 id="part-`:                       9,
		`<section aria-labelledby="part-`:     9,
		`tabindex="0"`:                        1, // the region of the table, which a keyboard scrolls
		`<caption>Planned payments</caption>`: 1,
		`<th scope="col">`:                    4,
		`<th scope="row">`:                    5,
		`<th scope="row" colspan="2">Total to pay</th><td colspan="2">$2,990.02</td>`: 1,
		`fill="#1f6f54"`: 1,
		`<script`:        0, ` style=`: 0, `http:`: 0, `https:`: 0, ` src=`: 0,
	} {
		if got := strings.Count(page, part); got != want {
			t.Errorf("the page has %q %d times, want %d:\n%s", part, got, want, page)
		}
	}
}

func TestPageHoldsNamesAsText(t *testing.T) {
	a := sample.Agreement(4)
	a.Student.FirstName = `<script>alert("1")</script>王 😀 &amp; Nguyễn`
	page := written(t, a)
	if strings.Contains(page, "<script") || !strings.Contains(text(page), a.Student.FirstName+" Ngāta") {
		t.Errorf("the page does not show %q as it is:\n%s", a.Student.FirstName, page)
	}
	a.Provider.Colour = `"/><script>`
	if page := written(t, a); strings.Contains(page, "<svg") {
		t.Errorf("the page has a bar in %q, which is no colour:\n%s", a.Provider.Colour, page)
	}
}

// A name that is written from right to left may reorder the words around it, unless it is isolated.
func TestNamesFromRightToLeftAreIsolated(t *testing.T) {
	rightToLeft := regexp.MustCompile(`[\p{Hebrew}\p{Arabic}]`)
	a := sample.Agreement(4)
	a.Provider.Name, a.Course.Name, a.Terms.Lender.Name = "מכללת רימון", "دبلوم إدارة الأعمال", "בנק הדואר"
	a.Student.FirstName, a.Student.LastName, a.DirectDebit.AccountHolder = "נועה", "כהן", "נועה כהן"
	page := written(t, a)
	if n := len(rightToLeft.FindAllString(page, -1)); n < 100 {
		t.Errorf("the page has only %d letters of the names:\n%s", n, page)
	}
	for _, text := range regexp.MustCompile(`<bdi[^>]*>[^<]*</bdi>|<[^>]*>`).Split(page, -1) {
		if rightToLeft.MatchString(text) {
			t.Errorf("%q holds a name that is not isolated", text)
		}
	}
}

func TestPolicyLetsThePagesStyleIn(t *testing.T) {
	_, after, _ := strings.Cut(written(t, sample.Agreement(4)), "<style>")
	style, _, _ := strings.Cut(after, "</style>")
	sum := sha256.Sum256([]byte(style))
	if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(agreementpage.Policy(), want) {
		t.Errorf("the policy is %q, want it to allow %s", agreementpage.Policy(), want)
	}
}

func TestPageCanBeReadInLightAndDark(t *testing.T) {
	page := written(t, sample.Agreement(4))
	schemes := regexp.MustCompile(`--paper: (\S+); --ink: (\S+); --quiet: (\S+); --tint: (\S+);`).FindAllStringSubmatch(page, -1)
	if len(schemes) != 2 {
		t.Fatalf("%d schemes of colours, want 2", len(schemes))
	}
	for _, s := range schemes {
		paper, ink, quiet, tint := parse(t, s[1]), parse(t, s[2]), parse(t, s[3]), parse(t, s[4])
		for _, pair := range [][2]colour.RGB{{ink, paper}, {quiet, paper}, {ink, tint}, {quiet, tint}} {
			if c := colour.Contrast(pair[0], pair[1]); c < colour.ContrastAA {
				t.Errorf("%s on %s has a contrast of %.2f, want %.1f", pair[0], pair[1], c, colour.ContrastAA)
			}
		}
	}
}

func TestSameAgreementSamePage(t *testing.T) {
	a := sample.Agreement(52)
	if one, other := written(t, a), written(t, a); one != other {
		t.Error("two pages of one agreement differ")
	}
}

func TestWriteRefusesOtherWords(t *testing.T) {
	a := sample.Agreement(4)
	a.Version = "2020-01-01"
	var page bytes.Buffer
	if err := pages(t).Write(&page, a); err == nil || !strings.Contains(err.Error(), a.Number) || page.Len() > 0 {
		t.Errorf("Write = %v with %d bytes, want an error that names the agreement, and nothing", err, page.Len())
	}
}

func parse(t *testing.T, given string) colour.RGB {
	t.Helper()
	c, ok := colour.Parse(given)
	if !ok {
		t.Fatalf("%q is no colour", given)
	}
	return c
}

func pages(t *testing.T) *agreementpage.Pages {
	t.Helper()
	p, err := agreementpage.New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func written(t *testing.T, a agreement.Agreement) string {
	t.Helper()
	var page bytes.Buffer
	if err := pages(t).Write(&page, a); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// text returns what a page says: the text between its tags.
func text(page string) string {
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))
}

// squeeze takes all white space out.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

func TestPageShowsLawfulNames(t *testing.T) {
	var v struct {
		Description string
		Cases       []struct{ Script, Given, Family, Name, Language string }
	}
	testdata.Read(t, "names.json", &v)
	if len(v.Cases) != 66 {
		t.Errorf("there are %d names, want 66", len(v.Cases))
	}
	for _, c := range v.Cases {
		a := sample.Agreement(4)
		a.Student.FirstName, a.Student.LastName, a.DirectDebit.AccountHolder = c.Given, c.Family, c.Name
		want := "<bdi>" + html.EscapeString(c.Name) + "</bdi>"
		if c.Language != "" {
			want = `<bdi lang="` + c.Language + `">` + c.Name + "</bdi>"
		}
		if page := written(t, a); strings.Count(page, want) != 3 {
			t.Errorf("the page has %q %d times, want it as payer, student and account holder:\n%s", want, strings.Count(page, want), page)
		}
	}
}
