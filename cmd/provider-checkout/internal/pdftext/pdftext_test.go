package pdftext_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/pdftext"
	"github.com/provider-checkout/provider-checkout/money"
)

// given are names for which the renderer uses each of its encodings, and one that resembles PDF operators.
var given = []string{
	"Māia", "ĀĒĪŌŪāēīōū ʻʼ ĆćČčĐđŁłŃńŚś \uFFFD", "ʻOkina Łódź ÀÿßÐþ", "Nguyễn Ωμέγα", "王 😀", "李小龙 김민준 さくら", "क्षत्रिय สมชาย น้ำผึ้ง", "محمد שלום", `(A)\n) Tj {nb}`,
}

func TestReadReturnsTheTextOfARenderedAgreement(t *testing.T) {
	for _, name := range given {
		for _, n := range []int{1, 52, money.MaxInstalments} {
			t.Run(fmt.Sprintf("%s, %d instalments", name, n), func(t *testing.T) {
				a := plan(n, name)
				rendered := printed(t, a)
				pages := read(t, rendered)
				if !bytes.Contains(rendered, fmt.Appendf(nil, "/Count %d\n", len(pages))) {
					t.Errorf("read %d pages, which is not the document's own count", len(pages))
				}
				for i, page := range pages {
					foot := fmt.Sprintf("\n%s\nPage %d of %d\n", a.Foot(), i+1, len(pages))
					if !strings.HasSuffix(page, foot) {
						t.Errorf("page %d has no footer %q:\n%s", i+1, foot, page)
					}
				}
				if got, want := body(pages), words(t, a); got != want {
					t.Errorf("the text is\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

// The limits of Read leave room for the longest terms and plan, in letters that need a whole font.
func TestReadReturnsTheTextOfTheLongestAgreement(t *testing.T) {
	a := plan(money.MaxInstalments, "Nguyễn")
	for range 40 {
		a.Terms.Blocks = append(a.Terms.Blocks, agreement.Block{Title: "W", Text: strings.Repeat("ễ", 5000)})
	}
	pages := read(t, printed(t, a))
	if got, want := body(pages), words(t, a); got != want {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
}

func TestReadReturnsWhatPdftotextReads(t *testing.T) {
	reader, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("there is no pdftotext (poppler-utils) on this machine")
	}
	for _, name := range given {
		if strings.ContainsFunc(name, func(r rune) bool {
			return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Devanagari, unicode.Thai)
		}) {
			continue // pdftotext -raw has an order of its own for them; see the tests of package pdf
		}
		for _, n := range []int{1, 4, 52, 260, money.MaxInstalments} {
			rendered := printed(t, plan(n, name))
			path := filepath.Join(t.TempDir(), "agreement.pdf")
			if err := os.WriteFile(path, rendered, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), reader, "-raw", path, "-").Output()
			if err != nil {
				t.Fatal(err)
			}
			pages := read(t, rendered)
			others := strings.Split(strings.TrimSuffix(string(out), "\f"), "\f")
			if len(pages) != len(others) {
				t.Fatalf("%s, %d instalments: read %d pages, pdftotext %d", name, n, len(pages), len(others))
			}
			for i := range pages {
				if got, want := withoutSpace(pages[i]), withoutSpace(others[i]); got != want {
					t.Errorf("%s, %d instalments: page %d is\n%s\nfor pdftotext\n%s", name, n, i+1, got, want)
				}
			}
		}
	}
}

// small is a document with every kind of font, of escape and of stream, and two pages.
func small() string {
	return "%PDF-1.3\n" +
		streamOf("BT /Fa1 12.00 Tf ET\nBT 62.36 12.00 Td (Na\xefve \\(1\\) \\\\ \\r.) Tj ET\n"+
			"BT /Fb2 9.50 Tf ET q 0 g BT 1.00 -2.50 Td (M\x83ia \x90) Tj ET Q BT 1 2 Td () Tj ET\n") +
		streamOf("a font file") +
		streamOf("BT /Fc3 9 Tf ET BT 1 2 Td (\x73\x8b\xd8\x3d\xde\x00\x00\\)) Tj ET\n"+
			"/Span <</MCID 1 /ActualText <FEFF738B>>> BDC\nBT /Fd4 9 Tf ET\nBT 1 2 Td <00010002> Tj ET\nEMC\n") +
		"\n9 0 obj\n" + streamOf("2 beginbfchar\n<0001> <738BD83DDE00>\n<0002> <200B>\nendbfchar\n") +
		"\n5 0 obj\n<</Type /Font /Encoding /WinAnsiEncoding>>\nendobj\n" +
		"\n6 0 obj\n<</Type /Font /Encoding 7 0 R>>\nendobj\n" +
		"\n7 0 obj\n<</Type /Encoding /Differences [131 /amacron 144 /commaturnedmod]>>\nendobj\n" +
		"\n8 0 obj\n<</Type /Font /Subtype /Type0>>\nendobj\n" +
		"\n10 0 obj\n<</Type /Font /Subtype /Type0 /ToUnicode 9 0 R>>\nendobj\n" +
		"\n2 0 obj\n<</Font <<\n/Fa1 5 0 R\n/Fb2 6 0 R\n/Fc3 8 0 R\n/Fd4 10 0 R\n>>\n>>\nendobj\n"
}

func TestReadReturnsEachPieceOnALine(t *testing.T) {
	want := []string{"Naïve (1) \\ \r.\nMāia ʻ\n\n", "王😀)\n王😀\n"}
	if got := read(t, []byte(small())); !slices.Equal(got, want) {
		t.Errorf("Read = %q, want %q", got, want)
	}
}

func TestReadReturnsTheLettersOfAnEncoding(t *testing.T) {
	for name, want := range map[string]string{
		"Amacron": "Ā", "umacron": "ū", "Cacute": "Ć", "sacute": "ś", "Ccaron": "Č", "zcaron": "ž",
		"Dcroat": "Đ", "dcroat": "đ", "Lslash": "Ł", "lslash": "ł",
		"commaturnedmod": "ʻ", "apostrophemod": "ʼ", "uniFFFD": "\uFFFD", "uni738B": "王",
	} {
		if got := read(t, []byte(strings.Replace(small(), "amacron", name, 1))); !strings.Contains(got[0], "\nM"+want+"ia ʻ\n") {
			t.Errorf("with %s at that code Read = %q, want %q", name, got[0], want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	rendered := string(printed(t, plan(1, "Māia")))
	bomb := streamOf(strings.Repeat("0", 15<<20))
	page := streamOf("BT /Fa1 12.00 Tf ET BT 1 2 Td (x) Tj ET")
	tests := []struct{ name, data, want string }{
		{"nothing", "", "not have the form"},
		{"another kind of file", "%PDF-1.7\nnothing of ours", "not have the form"},
		{"a truncated document", rendered[:len(rendered)/2], "not have the form"},
		{"pages that cannot be unpacked", strings.Replace(rendered, "stream\nx", "stream\ny", 1), "zlib"},
		{"a page whose packed content is damaged", damaged(rendered), "unpack stream 1"},
		{"a font that is not listed", strings.Replace(rendered, "/Font <<\n/F", "/Font <<\n/G", 1), "not have the form"},
		{"a font that is listed but missing", strings.Replace(small(), "/Fa1 5 0 R", "/Fa1 55 0 R", 1), "read the fonts"},
		{"text before any font", strings.Replace(small(), "/Fa1 5 0 R", "/Fx1 5 0 R", 1), "read page 1"},
		{"no page", strings.Replace(small(), "/Filter", "/Other", -1), "not have the form"},
		{"a stream longer than the file", strings.Replace(small(), "/Length ", "/Length 99", 1), "not have the form"},
		{"a length that overflows", strings.Replace(small(), "/Length ", "/Length 99999999999999999999", 1), "not have the form"},
		{"a code above 255", strings.Replace(small(), "[131", "[1131", 1), "read the fonts"},
		{"an unknown letter", strings.Replace(small(), "amacron", "abreve", 1), `"abreve"`},
		{"an accent without a letter", strings.Replace(small(), "amacron", "macron", 1), `"macron"`},
		{"a letter that has no such form", strings.Replace(small(), "amacron", "qmacron", 1), `"qmacron"`},
		{"a code point of three digits", strings.Replace(small(), "amacron", "uniFFF", 1), `"uniFFF"`},
		{"too many bytes", small() + strings.Repeat(" ", 16<<20), "larger"},
		{"too many bytes once unpacked", small() + bomb + bomb + bomb, "larger"},
		{"too many streams", small() + strings.Repeat(page, 998), "larger"},
		{"too many letters", strings.Replace(small(), "131 /amacron", strings.Repeat("131 /amacron ", 256), 1), "larger"},
		{"a string without an end", small() + streamOf("BT /Fa1 9 Tf ET BT 1 2 Td (x\\) Tj ET"), "read page 3"},
		{"a string that ends in an escape", small() + streamOf("BT /Fa1 9 Tf ET BT 1 2 Td (x\\"), "read page 3"},
		{"a hexadecimal string without an end", small() + streamOf("BT /Fa1 9 Tf ET BT 1 2 Td (x) Tj <0001"), "read page 3"},
		{"one that is none", small() + streamOf("BT /Fa1 9 Tf ET BT 1 2 Td (x) Tj <00x1> Tj"), "read page 3"},
		{"a map to Unicode that is cut off", strings.Replace(small(), "\n9 0 obj\n<</Filter /FlateDecode /Length ", "\n9 0 obj\n<</Filter /FlateDecode /Length 99", 1), "read the fonts"},
		{"too many fonts", strings.Replace(small(), "/Fa1", strings.Repeat("/Fa1 5 0 R\n", 13)+"/Fa1", 1), "larger"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pages, err := pdftext.Read([]byte(tt.data))
			if pages != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Read = %.200q, %v; want an error with %q", pages, err, tt.want)
			}
		})
	}
}

func TestReadAcceptsAsMuchAsItsLimits(t *testing.T) {
	bomb := streamOf(strings.Repeat("0", 15<<20))
	page := streamOf("BT /Fa1 12.00 Tf ET BT 1 2 Td (x) Tj ET")
	data := small() + bomb + bomb + strings.Repeat(page, 994)
	data = strings.Replace(data, "/Fa1 5", strings.Repeat("/Fa1 5 0 R\n", 12)+"/Fa1 5", 1)
	data = strings.Replace(data, "131 /amacron", strings.Repeat("131 /amacron ", 255), 1)
	data += strings.Repeat(" ", 16<<20-len(data))
	if pages := read(t, []byte(data)); len(pages) != 996 { // a font file and the two large streams are no pages
		t.Errorf("read %d pages, want 996", len(pages))
	}
}

// The time must not grow with the square of a page's size: this test would not end before the time limit of go test.
func TestReadTakesLinearTime(t *testing.T) {
	const half = 7 << 20
	tests := []struct{ name, first, repeated string }{
		{"strings without an end", "", " Td (BT /Fa1 9 Tf ET"},
		{"fonts", "", " Td () BT /Fa1 9 Tf ET"},
		{"empty strings", "", " Td () Tj"},
		{"a long string shown often", " Td (" + strings.Repeat("x", half) + ")", " Tj"},
		{"a long name selected often", " Td () /F" + strings.Repeat("x", half), " Tf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			page := "/Fa1 9 Tf" + tt.first + strings.Repeat(tt.repeated, half/len(tt.repeated))
			if pages, err := pdftext.Read([]byte(small() + streamOf(page))); len(pages) != 3 && err == nil {
				t.Errorf("read %d pages, want 3 or an error", len(pages))
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(printed(f, plan(1, "Māia")), "")
	f.Add([]byte(small()), "BT /Fb2 9.50 Tf ET q 0 g BT 1.00 -2.50 Td (M\x83ia \\) \x90) Tj ET Q")
	f.Add([]byte("/Font <<\n/F1 1 0 R\n\n1 0 obj\n/Subtype /Type0 endobj"), " Td (")
	f.Fuzz(func(t *testing.T, document []byte, page string) {
		for _, data := range [][]byte{document, []byte(small() + streamOf(page))} {
			pages, err := pdftext.Read(data)
			if (err == nil) != (len(pages) > 0) {
				t.Errorf("Read = %q, %v; want either pages or an error", pages, err)
			}
		}
	})
}

// streamOf returns content as a compressed stream.
func streamOf(content string) string {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	w.Write([]byte(content)) // a bytes.Buffer takes everything
	w.Close()
	return fmt.Sprintf("<</Filter /FlateDecode /Length %d>>\nstream\n%s\nendstream\n", packed.Len(), packed.Bytes())
}

// damaged returns a document with one byte of its first stream changed.
func damaged(document string) string {
	data := []byte(document)
	data[strings.Index(document, "stream\nx")+100] ^= 0xff
	return string(data)
}

func read(t testing.TB, data []byte) []string {
	t.Helper()
	pages, err := pdftext.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// note is what explains the numbers of characters that the fonts lack, without white space.
const note = "Whatstandsas[U+…]inthisdocumentisacharacterthatitcannotshow,byitsUnicodenumber."

// body returns the text of pages without footers, headers of tables, notes and white space.
func body(pages []string) string {
	var b strings.Builder
	for _, page := range pages {
		lines := strings.Split(page, "\n")
		b.WriteString(strings.Join(lines[:max(0, len(lines)-3)], "")) // two lines of the footer, and the end
	}
	text := strings.ReplaceAll(withoutSpace(b.String()), "No.PlanneddatePaymentAmount", "")
	return strings.ReplaceAll(text, note, "")
}

// words returns what the text of an agreement should be, in the form of body.
func words(t *testing.T, a agreement.Agreement) string {
	t.Helper()
	zone, err := service.NewZealand()
	if err != nil {
		t.Fatal(err)
	}
	sections, err := a.Text(zone)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, s := range sections {
		pieces := slices.Concat([]string{s.Title}, s.Paragraphs)
		for _, r := range s.Rows {
			pieces = append(pieces, r.Label, r.Value)
		}
		for _, cells := range append(s.Table.Rows, s.Table.Foot) {
			pieces = append(pieces, cells...)
		}
		for _, piece := range pieces {
			all.WriteString(printer(t).Rendered(piece))
		}
	}
	return withoutSpace(all.String())
}

// withoutSpace removes all white space, because a line may break anywhere.
func withoutSpace(text string) string { return strings.Join(strings.Fields(text), "") }

// plan returns an agreement on 2,990.02 in n weekly instalments after a payment of 200.00, in which the student and the
// course have this name.
func plan(n int, name string) agreement.Agreement {
	pricing := money.Pricing{Price: 2990_02, Upfront: 200_00, Principal: 2790_02}
	parts, err := money.ByNumber(pricing.Principal, n)
	if err != nil {
		panic(err)
	}
	first := money.Date{Year: 2027, Month: time.February, Day: 1}
	plan := money.Plan{Frequency: money.Weekly, Instalments: parts, First: first}
	return agreement.Agreement{
		Number:     "PPA-2027-000042",
		Version:    agreement.Version,
		AcceptedAt: time.Date(2027, time.January, 15, 3, 12, 5, 0, time.UTC),
		Provider:   agreement.Party{Code: "KOWHAI", Name: "Kōwhai Institute", SupportEmail: "help@kowhai.example"},
		Student:    agreement.Student{FirstName: name, LastName: "Ngāta", Email: "maia@example.nz"},
		Course:     agreement.Course{Code: "NZDIP", Name: name},
		Pricing:    pricing,
		Plan:       plan,
		Schedule:   money.Schedule(pricing.Upfront, plan),
		DirectDebit: agreement.DirectDebit{
			AuthorityID:   "dda-9",
			AccountHolder: "M NGATA",
			AccountMask:   "12-3140-•••••23-50",
			AuthorisedAt:  time.Date(2027, time.January, 15, 3, 2, 1, 0, time.UTC),
		},
	}
}

// shared is the printer of all tests, because a printer takes long to make.
var shared = sync.OnceValues(func() (*pdf.Printer, error) { return pdf.New(1) })

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
