package pdf_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// The values of PDF, as far as the documents have them; numbers are float64 and truth values bool.
type (
	name  string
	ref   int
	array []any
	dict  map[string]any
	text  []byte
)

// file is a PDF whose objects are read by its table, as any reader would.
type file struct {
	data    []byte
	trailer dict
	objects map[ref]any
	streams map[ref][]byte // unpacked
	drawn   map[ref][]operation
}

// parse reads a document that is not damaged.
func parse(t rapid.TB, data []byte) *file {
	t.Helper()
	f := &file{data: data, objects: map[ref]any{}, streams: map[ref][]byte{}, drawn: map[ref][]operation{}}
	start := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(data)
	if start == nil {
		t.Fatal("the document has no end")
	}
	at, _ := strconv.Atoi(string(start[1]))
	own := f.read(t, at)
	f.trailer = f.objects[own].(dict)
	table := f.streams[own]
	var packed [][3]int
	for n := range len(table) / 7 {
		entry := table[7*n:][:7]
		place, index := int(binary.BigEndian.Uint32(entry[1:])), int(binary.BigEndian.Uint16(entry[5:]))
		switch entry[0] {
		case 1:
			if got := f.read(t, place); got != ref(n) {
				t.Fatalf("at the place of object %d is %d", n, got)
			}
		case 2:
			packed = append(packed, [3]int{n, place, index})
		}
	}
	if size := f.trailer["Size"]; size != float64(len(table)/7) {
		t.Fatalf("the table has %d entries and says %v", len(table)/7, size)
	}
	for _, p := range packed {
		holder := f.streams[ref(p[1])]
		numbers := strings.Fields(string(holder[:int(f.objects[ref(p[1])].(dict)["First"].(float64))]))
		number, _ := strconv.Atoi(numbers[2*p[2]])
		offset, _ := strconv.Atoi(numbers[2*p[2]+1])
		if number != p[0] {
			t.Fatalf("object %d is stored as %d", p[0], number)
		}
		r := &valueReader{data: holder[int(f.objects[ref(p[1])].(dict)["First"].(float64))+offset:]}
		f.objects[ref(number)] = r.value(t)
	}
	return f
}

var objectHead = regexp.MustCompile(`^(\d+) 0 obj\n`)

// read reads the object that begins at a place, and returns its number.
func (f *file) read(t rapid.TB, at int) ref {
	t.Helper()
	head := objectHead.FindSubmatch(f.data[min(at, len(f.data)):])
	if head == nil {
		t.Fatalf("no object begins at %d", at)
	}
	number, _ := strconv.Atoi(string(head[1]))
	r := &valueReader{data: f.data[at+len(head[0]):]}
	value := r.value(t)
	f.objects[ref(number)] = value
	r.space()
	if bytes.HasPrefix(r.data, []byte("stream\n")) {
		content := r.data[len("stream\n"):][:int(value.(dict)["Length"].(float64))]
		if value.(dict)["Filter"] == name("FlateDecode") {
			unpacked, err := zlib.NewReader(bytes.NewReader(content))
			if err == nil {
				content, err = io.ReadAll(unpacked)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		f.streams[ref(number)] = content
	}
	return ref(number)
}

// get follows a reference.
func (f *file) get(v any) any {
	if r, ok := v.(ref); ok {
		return f.objects[r]
	}
	return v
}

func (f *file) dict(v any) dict {
	d, _ := f.get(v).(dict)
	return d
}

func (f *file) array(v any) array {
	a, _ := f.get(v).(array)
	return a
}

func (f *file) root() dict { return f.dict(f.trailer["Root"]) }

// pages returns the numbers of the pages.
func (f *file) pages() (pages []ref) {
	for _, kid := range f.array(f.dict(f.root()["Pages"])["Kids"]) {
		pages = append(pages, kid.(ref))
	}
	return pages
}

// font returns the font of a page with this name.
func (f *file) font(page ref, key any) dict {
	return f.dict(f.dict(f.dict(f.dict(page)["Resources"])["Font"])[string(key.(name))])
}

// unicodes returns the text of each code of a font.
func (f *file) unicodes(font dict) map[int]string {
	number, _ := font["ToUnicode"].(ref)
	mapped := map[int]string{}
	for _, m := range mapping.FindAllSubmatch(f.streams[number], -1) {
		var code int
		var units []byte
		fmt.Sscanf(string(m[1]), "%X", &code)
		fmt.Sscanf(string(m[2]), "%X", &units)
		mapped[code] = double(units)
	}
	return mapped
}

var mapping = regexp.MustCompile(`(?m)^<([0-9A-F]+)> <([0-9A-F]+)>$`)

// double reads UTF-16.
func double(raw []byte) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}

// longestToken is the length of the longest name, number or word of a document.
const longestToken = 100

// valueReader reads values one after the other.
type valueReader struct{ data []byte }

func (r *valueReader) space() { r.data = bytes.TrimLeft(r.data, " \n\r\t") }

var (
	reference = regexp.MustCompile(`^(\d+) 0 R\b`)
	numeral   = regexp.MustCompile(`^[-+]?[0-9]*\.?[0-9]+`)
	nameForm  = regexp.MustCompile(`^/[^\s/<>\[\]()]*`)
	wordForm  = regexp.MustCompile(`^[A-Za-z*]+`)
)

// word is an operator, true, false or null.
type word string

func (r *valueReader) value(t rapid.TB) any {
	r.space()
	take := func(n int) string {
		s := string(r.data[:n])
		r.data = r.data[n:]
		return s
	}
	token := r.data[:min(len(r.data), longestToken)] // for the patterns, whose time grows with their text
	switch d := r.data; {
	case bytes.HasPrefix(d, []byte("<<")):
		take(2)
		object := dict{}
		for r.space(); !bytes.HasPrefix(r.data, []byte(">>")); r.space() {
			key, ok := r.value(t).(name)
			if !ok {
				t.Fatalf("a dictionary goes on with %.40q", r.data)
			}
			if _, double := object[string(key)]; double {
				t.Fatalf("a dictionary has two of %s", key)
			}
			object[string(key)] = r.value(t)
		}
		take(2)
		return object
	case d[0] == '[':
		take(1)
		list := array{}
		for r.space(); r.data[0] != ']'; r.space() {
			list = append(list, r.value(t))
		}
		take(1)
		return list
	case d[0] == '<':
		raw, err := hex.DecodeString(take(bytes.IndexByte(d, '>') + 1)[1:bytes.IndexByte(d, '>')])
		if err != nil {
			t.Fatal(err)
		}
		return text(raw)
	case d[0] == '(':
		take(1)
		raw := text{}
		for ; r.data[0] != ')'; take(1) {
			if r.data[0] == '\\' {
				if take(1); r.data[0] == 'r' {
					raw = append(raw, '\r')
					continue
				}
			}
			raw = append(raw, r.data[0])
		}
		take(1)
		return raw
	case reference.Match(token):
		m := reference.FindSubmatch(token)
		take(len(m[0]))
		n, _ := strconv.Atoi(string(m[1]))
		return ref(n)
	case nameForm.Match(token):
		return name(take(len(nameForm.Find(token)))[1:])
	case numeral.Match(token):
		n, err := strconv.ParseFloat(take(len(numeral.Find(token))), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	case wordForm.Match(token):
		switch w := take(len(wordForm.Find(token))); w {
		case "true", "false":
			return w == "true"
		default:
			return word(w)
		}
	}
	t.Fatalf("no value begins with %.40q", r.data)
	return nil
}

// operation is an operator of a page's content with its operands.
type operation struct {
	operator string
	operands []any
}

// operations reads the content of a page, once.
func (f *file) operations(t rapid.TB, page ref) (all []operation) {
	t.Helper()
	if f.drawn[page] != nil {
		return f.drawn[page]
	}
	r := &valueReader{data: f.streams[f.dict(page)["Contents"].(ref)]}
	var operands []any
	for r.space(); len(r.data) > 0; r.space() {
		v := r.value(t)
		if w, ok := v.(word); ok {
			all = append(all, operation{string(w), operands})
			operands = nil
			continue
		}
		operands = append(operands, v)
	}
	if operands != nil {
		t.Fatal(fmt.Sprint("operands without an operator: ", operands))
	}
	f.drawn[page] = all
	return all
}

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
	return textsOf(t, parse(t, pdf))
}

func textsOf(t rapid.TB, f *file) document {
	t.Helper()
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
