package pdf_test

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"io"
	"regexp"
	"slices"
	"strconv"
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

// read takes the texts back out of a rendered PDF.
func read(t rapid.TB, pdf []byte) document {
	t.Helper()
	var d document
	count := regexp.MustCompile(`/Count (\d+)`).FindSubmatch(pdf)
	if count == nil {
		t.Fatal("the document gives no number of pages")
	}
	d.count, _ = strconv.Atoi(string(count[1]))
	fonts := fonts(t, pdf)
	shown := regexp.MustCompile(`(?s)BT /F(\w+) [\d.]+ Tf ET| Td \(((?:[^\\)]|\\.)*)\) Tj ET| Td <([0-9A-F]+)> Tj ET`)
	for _, content := range contents(t, pdf) {
		var texts []string
		var decode func([]byte) string
		for _, m := range shown.FindAllSubmatch(content, -1) {
			if m[1] != nil {
				decode = fonts[string(m[1])]
				continue
			}
			raw := literal(m[2])
			if m[3] != nil {
				raw, _ = hex.DecodeString(string(m[3])) // the pattern is of digits
			}
			texts = append(texts, decode(raw))
		}
		d.pages = append(d.pages, texts)
	}
	return d
}

func inflate(t rapid.TB, data []byte) []byte {
	t.Helper()
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// literal decodes a PDF string.
func literal(escaped []byte) []byte {
	var raw []byte
	for i := 0; i < len(escaped); i++ {
		if escaped[i] == '\\' {
			i++
			if escaped[i] == 'r' {
				raw = append(raw, '\r')
				continue
			}
		}
		raw = append(raw, escaped[i])
	}
	return raw
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
		all = slices.Concat(all, []string{s.Title}, s.Paragraphs)
		for _, r := range s.Rows {
			all = append(append(all, r.Label), agreement.Lines(r.Value)...)
		}
		for _, cells := range slices.Concat([][]string{s.Table.Header}, s.Table.Rows, [][]string{s.Table.Foot}) {
			all = append(all, cells...)
		}
	}
	return squeeze(strings.Join(all, ""))
}

// squeeze takes all white space out, for a line may break wherever it stands.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }

// contents are the drawing instructions of each page.
func contents(t rapid.TB, pdf []byte) (pages [][]byte) {
	t.Helper()
	stream := regexp.MustCompile(`(?s)/Filter /FlateDecode /Length (\d+)>>\nstream\n`)
	for _, at := range stream.FindAllSubmatchIndex(pdf, -1) {
		length, _ := strconv.Atoi(string(pdf[at[2]:at[3]]))
		if content := inflate(t, pdf[at[1]:at[1]+length]); bytes.Contains(content, []byte(" Td (")) {
			pages = append(pages, content)
		}
	}
	return pages
}
