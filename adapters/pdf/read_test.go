package pdf_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/provider-checkout/provider-checkout/agreement"
	"pgregory.net/rapid"
)

// document is what a drawn PDF says: of each page the texts in the order of their drawing.
type document struct {
	count int // of pages, as the document itself gives it
	pages [][]string
}

// read takes the texts back out of a drawn PDF.
func read(t rapid.TB, pdf []byte) document {
	t.Helper()
	var d document
	count := regexp.MustCompile(`/Count (\d+)`).FindSubmatch(pdf)
	if count == nil {
		t.Fatal("the document gives no number of pages")
	}
	d.count, _ = strconv.Atoi(string(count[1]))
	stream := regexp.MustCompile(`(?s)/Filter /FlateDecode /Length (\d+)>>\nstream\n`)
	shown := regexp.MustCompile(`(?s) Td \(((?:[^\\)]|\\.)*)\) Tj ET`)
	for _, at := range stream.FindAllSubmatchIndex(pdf, -1) {
		length, _ := strconv.Atoi(string(pdf[at[2]:at[3]]))
		content := inflate(t, pdf[at[1]:at[1]+length])
		if !bytes.Contains(content, []byte(" Td (")) {
			continue // not a page
		}
		var texts []string
		for _, m := range shown.FindAllSubmatch(content, -1) {
			texts = append(texts, literal(m[1]))
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

// literal decodes a PDF string of UTF-16.
func literal(escaped []byte) string {
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
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
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

// words is what the words of a drawn agreement should be.
func words(t testing.TB, a agreement.Agreement) string {
	t.Helper()
	sections, err := a.Text(nzTime(t))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range sections {
		all = slices.Concat(all, []string{s.Title}, s.Paragraphs)
		for _, r := range s.Rows {
			all = append(all, r.Label, r.Value)
		}
		for _, cells := range append(s.Table.Rows, s.Table.Foot) {
			all = append(all, cells...)
		}
	}
	return squeeze(strings.Join(all, ""))
}

// squeeze takes all white space out, for a line may break wherever it stands.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }
