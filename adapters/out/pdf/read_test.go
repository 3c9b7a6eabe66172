package pdf_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
	"pgregory.net/rapid"
)

// document is the text of a rendered PDF: the texts of each page in the order in which they stand in the file.
type document struct {
	count int // of pages, as the document itself gives it
	pages [][]string
}

// invisible takes out of a text the characters that show nothing.
var invisible = strings.NewReplacer("\u200b", "", "\u202a", "", "\u202b", "", "\u202c", "")

// read takes the texts back out of a rendered PDF. Glyphs that are drawn one by one are one text.
func read(t rapid.TB, pdf []byte) document {
	t.Helper()
	f := parse(t, pdf)
	d := document{count: int(f.dict(f.root()["Pages"])["Count"].(float64))}
	fonts := map[any]map[int]string{}
	for _, page := range f.pages() {
		var texts []string
		var mapped map[int]string
		for _, op := range f.operations(t, page) {
			switch op.operator {
			case "Tf":
				font := op.operands[0]
				if fonts[font] == nil {
					fonts[font] = f.unicodes(f.font(page, font))
				}
				mapped = fonts[font]
			case "Tj":
				var drawn strings.Builder
				for raw := op.operands[0].(text); len(raw) > 1; raw = raw[2:] {
					drawn.WriteString(mapped[int(raw[0])<<8|int(raw[1])])
				}
				texts = append(texts, invisible.Replace(drawn.String()))
			}
		}
		d.pages = append(d.pages, texts)
	}
	return d
}

// text is everything but the feet of the pages.
func (d document) text() string {
	var b strings.Builder
	for _, page := range d.pages {
		b.WriteString(strings.Join(page[:len(page)-2], ""))
	}
	return b.String()
}

// words is the text without white space and without the headers of tables.
func (d document) words() string {
	return strings.ReplaceAll(squeeze(d.text()), "No.PlanneddatePaymentAmount", "")
}

// words returns the text that a rendered agreement should have, in the form of document.words.
func words(t testing.TB, a agreement.Agreement) string {
	t.Helper()
	return strings.ReplaceAll(wordsWithHeaders(t, a), "No.PlanneddatePaymentAmount", "")
}

// wordsWithHeaders returns the text that a rendered agreement should have, without white space.
func wordsWithHeaders(t testing.TB, a agreement.Agreement) string {
	t.Helper()
	sections, err := a.Text(sample.NewZealand(t))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range sections {
		all = slices.Concat(all, []string{s.Heading()}, s.Paragraphs)
		for i, r := range s.Rows {
			all = append(append(all, s.Label(i)), agreement.Lines(r.Value)...)
		}
		if s.Table.IsZero() {
			continue
		}
		all = append(all, s.Table.Header...)
		for i, cells := range append(s.Table.Rows, s.Table.Foot) {
			all = slices.Concat(all, cells[:2], []string{s.Table.Note(i)}, cells[2:])
		}
	}
	return squeeze(strings.Join(all, ""))
}

// squeeze takes all white space out, for a line may break wherever it stands.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// contents are the drawing instructions of each page.
func contents(t rapid.TB, pdf []byte) (pages [][]byte) {
	t.Helper()
	f := parse(t, pdf)
	for _, page := range f.pages() {
		pages = append(pages, f.streams[f.dict(page)["Contents"].(ref)])
	}
	return pages
}
