package pdf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

func TestNewRefuses(t *testing.T) {
	for _, parallel := range []int{0, -1} {
		if p, err := pdf.New(parallel, signer(t)); err == nil || p != nil {
			t.Errorf("New(%d) = %v, %v; want an error", parallel, p, err)
		}
	}
}

func TestPrintRendersTheTextExactly(t *testing.T) {
	for _, n := range []int{1, 4, 52, money.MaxInstalments} {
		t.Run(fmt.Sprintf("%d instalments", n), func(t *testing.T) {
			a := sample.Agreement(n)
			a.Terms.Authority.Calendar = money.BusinessDays // some payments are taken later than planned
			drawn := read(t, printed(t, a))
			if got, want := drawn.words(), words(t, a); got != want {
				t.Errorf("the pages read\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestPrintRepeatsTheTableHeaderAndFootsEveryPage(t *testing.T) {
	a := sample.Agreement(money.MaxInstalments)
	drawn := read(t, printed(t, a))
	if len(drawn.pages) < 10 {
		t.Errorf("%d pages for 601 payments, want at least 10", len(drawn.pages))
	}
	if drawn.count != len(drawn.pages) {
		t.Errorf("the document counts %d pages and holds %d", drawn.count, len(drawn.pages))
	}
	for i, page := range drawn.pages {
		wantFoot := []string{
			"Payment Plan Agreement PPA-2027-000042, wording of " + agreement.Version,
			fmt.Sprintf("Page %d of %d", i+1, len(drawn.pages)),
		}
		if got := page[len(page)-2:]; got[0] != wantFoot[0] || got[1] != wantFoot[1] {
			t.Errorf("the foot of page %d is %q, want %q", i+1, got, wantFoot)
		}
		if i > 1 && i < len(drawn.pages)-3 && page[0] != "No." {
			t.Errorf("page %d begins with %q, want the header of the table", i+1, page[0])
		}
	}
}

func TestPrintNames(t *testing.T) {
	tests := []struct {
		name  string
		given string
		drawn string
		note  bool
	}{
		{"macrons and the ʻokina are drawn", "Māori ĀĒĪŌŪ āēīōū ʻOkina", "Māori ĀĒĪŌŪ āēīōū ʻOkina", false},
		{"so are Vietnamese, Greek and Cyrillic", "Nguyễn Ωμέγα Жанна", "Nguyễn Ωμέγα Жанна", false},
		{"so are the letters of Western Europe", "Zoë Ångström-Peña ÀÿßÐþ ŒœŠšŽžŸ", "Zoë Ångström-Peña ÀÿßÐþ ŒœŠšŽžŸ", false},
		{"and those of its neighbours", "ĆćČčĐđŁłŃńŚś Dvořák Őze ğı", "ĆćČčĐđŁłŃńŚś Dvořák Őze ğı", false},
		{"signs and quotation marks are drawn", "‘O’ “ʼ” – — … • € £ ½ ™", "‘O’ “ʼ” – — … • € £ ½ ™", false},
		{"a decomposed macron is composed", "Ma\u0304ia", "Māia", false},
		{"format characters are dropped", "A\u200dn\u202ena\u00ad", "Anna", false},
		{"white space is one space", "Anna\u00a0 \tMaria", "Anna Maria", false},
		{"what PDF itself uses is text", `(A)\n) Tj <b>=1+1</b> {nb}`, `(A)\n) Tj <b>=1+1</b> {nb}`, false},
		{"an emoji is its number", "Ana 😀", "Ana [U+1F600]", true},
		{"and so is each", "🎉😀🎉", "[U+1F389][U+1F600][U+1F389]", true},
		{"a script that no font has is numbers", "བ", "[U+0F56]", true},
		{"no name has U+FFFD", "A\uFFFD", "A[U+FFFD]", true},
		{"nor is it shown for invalid UTF-8", "A\xff", "A[U+FFFD]", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := sample.Agreement(4)
			a.Student = agreement.Student{FirstName: tt.given, LastName: "X", Email: "x@example.nz"}
			text := squeeze(read(t, printed(t, a)).text())
			if want := squeeze("Student" + tt.drawn + " X" + "Course"); !strings.Contains(text, want) {
				t.Errorf("the pages do not show %q:\n%s", want, text)
			}
			if noted := strings.Contains(text, "byitsUnicodenumber"); noted != tt.note {
				t.Errorf("there is a note of what the numbers are: %t, want %t:\n%s", noted, tt.note, text)
			}
		})
	}
}

func TestPrintTakesAnyName(t *testing.T) {
	p := printer(t)
	usual := rapid.RuneFrom([]rune("aāW 'ʻ-😀"))
	unusual := rapid.OneOf(rapid.Rune(), usual).Filter(func(r rune) bool {
		return !unicode.IsControl(r) // what a request may hold
	})
	rapid.Check(t, func(t *rapid.T) {
		char := rapid.SampledFrom([]*rapid.Generator[rune]{usual, unusual}).Draw(t, "letters")
		name := rapid.Custom(func(t *rapid.T) string {
			n := rapid.SampledFrom([]int{1, 20, 254, 255}).Draw(t, "length")
			return rapid.StringOfN(char, n, n, -1).Draw(t, "name")
		})
		a := sample.Agreement(1)
		a.Student.FirstName = name.Draw(t, "first name")
		a.Student.LastName = name.Draw(t, "last name")
		a.Course.Name = name.Draw(t, "course")
		a.Provider.Name = name.Draw(t, "provider")
		a.DirectDebit.AccountHolder = name.Draw(t, "account holder")
		got, err := p.Print(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		drawn := read(t, got)
		if drawn.count != len(drawn.pages) {
			t.Fatalf("the document counts %d pages and holds %d", drawn.count, len(drawn.pages))
		}
		if text := squeeze(drawn.text()); !strings.Contains(text, "Totaltopay$2,990.022.Namesandcontacts") {
			t.Fatalf("the pages read\n%s", text)
		}
	})
}

func TestPrintGivesTheSameBytes(t *testing.T) {
	for name, given := range map[string]string{"subsets": "Māia", "other scripts": "Nguyễn 李小龙 महेश محمد"} {
		t.Run(name, func(t *testing.T) {
			a := sample.Agreement(52)
			a.Student.FirstName = given
			want := printed(t, a)
			other, err := pdf.New(4, signer(t)) // makes subsets of its own
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					got, err := other.Print(context.Background(), a)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("another rendering has %d bytes (%v), not the same %d", len(got), err, len(want))
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestPrintIsInTheProvidersColourAsItCanBeRead(t *testing.T) {
	tests := []struct{ name, brand, want string }{
		{"a colour that can be read on white is drawn as it is", "#1f6f54", "0.122 0.435 0.329 rg"},
		{"one that cannot is darkened", "#ffd100", "0.549 0.447 0 rg"},
		{"a provider without one has ours", "", "0.149 0.275 0.325 rg"},
		{"what is no colour is none", "red", "0.149 0.275 0.325 rg"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := sample.Agreement(4)
			a.Provider.Colour = tt.brand
			for i, content := range contents(t, printed(t, a)) {
				if !bytes.Contains(content, []byte(tt.want)) {
					t.Errorf("page %d of %q has nothing in %s", i+1, tt.brand, tt.want)
				}
			}
		})
	}
}

func TestPrintNamesItsSectionsForReadersThatJump(t *testing.T) {
	a := sample.Agreement(4)
	drawn := printed(t, a)
	sections, err := a.Text(sample.NewZealand(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		if !bytes.Contains(drawn, []byte("/Title ("+s.Heading()+")")) {
			t.Errorf("the outline does not name %q", s.Heading())
		}
	}
}

func TestPrintMakesFontsOnlyForLettersOutsideTheCommonOnes(t *testing.T) {
	tests := []struct {
		name, given string
		fonts       int
	}{
		{"macrons and the ʻokina", "ĀāĒēĪīŌōŪū ʻOkina", 0},
		{"what no font has", "😀", 0},
		{"Vietnamese", "Nguyễn", 1},
		{"Greek and Hebrew of the same font", "Ω שלום", 1},
		{"four fonts", "Nguyễn 李小龙 महेश สมชาย", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := sample.Agreement(4)
			a.Student.FirstName = tt.given
			if got := bytes.Count(printed(t, a), []byte("/Subtype /Type0")) - 2; got != tt.fonts {
				t.Errorf("the document of %q has %d fonts beside the common ones, want %d", tt.given, got, tt.fonts)
			}
		})
	}
}

func TestPrintDatesTheDocumentByItsAcceptance(t *testing.T) {
	a := sample.Agreement(1)
	a.AcceptedAt = a.AcceptedAt.In(time.FixedZone("", 13*60*60))
	got := printed(t, a)
	for _, want := range []string{
		"/CreationDate (D:20270115031205Z)", "/ModDate (D:20270115031205Z)",
		"/Title (Payment Plan Agreement PPA-2027-000042)",
	} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("the document does not hold %q", want)
		}
	}
}

func TestPrintRefuses(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	otherWords, neverAccepted := sample.Agreement(1), sample.Agreement(1)
	otherWords.Version = "2020-01-01"
	neverAccepted.AcceptedAt = time.Time{}
	tests := []struct {
		name string
		ctx  context.Context
		a    agreement.Agreement
		is   error // nil for any
		says string
	}{
		{"a request that has ended", cancelled, sample.Agreement(1), context.Canceled, ""},
		{"words of another version", context.Background(), otherWords, nil, `"2020-01-01"`},
		{"an agreement that was never accepted", context.Background(), neverAccepted, nil, "no time of acceptance"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := printer(t).Print(tt.ctx, tt.a)
			switch {
			case err == nil || got != nil:
				t.Fatalf("Print gave %d bytes and error %v, want an error alone", len(got), err)
			case tt.is != nil && !errors.Is(err, tt.is):
				t.Errorf("the error is %v, want %v", err, tt.is)
			case !strings.Contains(err.Error(), tt.a.Number) || !strings.Contains(err.Error(), tt.says):
				t.Errorf("the error %q does not name the agreement and %q", err, tt.says)
			}
		})
	}
}

// shared is one printer for all tests, for making its subsets takes longer than most of them.
var shared = sync.OnceValues(func() (*pdf.Printer, error) {
	s, err := pdf.Derived(make([]byte, 32), "Kōwhai Lending")
	if err != nil {
		return nil, err
	}
	return pdf.New(4, s)
})

func signer(t testing.TB) *pdf.Signer {
	t.Helper()
	s, err := pdf.Derived(make([]byte, 32), "Kōwhai Lending")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func printer(t testing.TB) *pdf.Printer {
	t.Helper()
	p, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func printed(t testing.TB, a agreement.Agreement) []byte {
	t.Helper()
	got, err := printer(t).Print(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Wherever a page ends, what stands for a character is explained once, where it first stands.
func TestPrintExplainsOnceWhatItCannotShow(t *testing.T) {
	for n := 1; n <= 60; n += 7 {
		a := sample.Agreement(n)
		a.Provider.Name = "🎉 Institute"
		a.Terms.Blocks = []agreement.Block{{Title: "🎉 rights", Text: "None."}, {Title: "Hardship", Text: "Ask."}}
		text := squeeze(read(t, printed(t, a)).text())
		note := squeeze("What stands as [U+…] in this document is a character that it cannot show, by its Unicode number.")
		before, _, found := strings.Cut(text, note)
		if !found || strings.Count(text, note) != 1 || !strings.HasSuffix(before, "NZDT") {
			t.Fatalf("a plan of %d: the opening does not end with the one note:\n%s", n, text)
		}
	}
}

// person is a case of testdata/names.json.
type person struct{ Script, Given, Family, Name string }

func people(t testing.TB) []person {
	t.Helper()
	var v struct {
		Description string
		Cases       []person
	}
	testdata.Read(t, "names.json", &v)
	return v.Cases
}

// A name in any script is drawn with its own letters, and is read back as it is written, in a document that keeps the standards and is small.
func TestPrintDrawsLawfulNames(t *testing.T) {
	for _, p := range people(t) {
		a := sample.Agreement(52)
		a.Student.FirstName, a.Student.LastName, a.DirectDebit.AccountHolder = p.Given, p.Family, p.Name
		document := printed(t, a)
		f := parse(t, document)
		if got, want := textsOf(t, f).words(), words(t, a); got != want || strings.Count(got, squeeze(invisible.Replace(p.Name))) < 3 {
			t.Errorf("%s: the document of %s reads\n%s\nwant\n%s", p.Script, p.Name, got, want)
		}
		for _, fault := range conformance(t, f) {
			t.Errorf("%s: %s: %s", p.Script, p.Name, fault)
		}
		if size := len(document); size > 80_000 {
			t.Errorf("%s: an agreement on 52 payments has %d bytes, want at most 80,000", p.Script, size)
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	tests := []struct {
		name        string
		instalments int
		given       string
	}{
		{"instalments=4", 4, "Māia"},
		{"instalments=52", 52, "Māia"},
		{"instalments=600", money.MaxInstalments, "Māia"},
		{"instalments=4/script=Vietnamese", 4, "Nguyễn"},
		{"instalments=4/script=Chinese", 4, "李小龙"},
		{"instalments=4/script=Arabic", 4, "محمد"},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			p, a := printer(b), sample.Agreement(tt.instalments)
			a.Student.FirstName = tt.given
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Print(context.Background(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := pdf.New(1, signer(b)); err != nil {
			b.Fatal(err)
		}
	}
}
