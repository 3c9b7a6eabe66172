package pdf

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zlib"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// press writes drawings as documents, one after another with the same buffers and compressor, whose making would take a quarter of the
// time of a confirm (see BenchmarkPrint). It is not safe for concurrent use.
type press struct {
	shaper *shaper
	out    bytes.Buffer // the document
	packed bytes.Buffer // one stream, compressed
	zip    *zlib.Writer
	table  []place // of each object, by its number; the first is unused
	held   []byte  // the objects that are stored together in one compressed stream
	heads  []byte  // their numbers, and their places in held
	count  int     // of them
	text   []byte  // of the object that is being made
}

// place is an entry of the table of objects: an offset in the document, or a number among the objects that are held.
type place struct {
	held bool
	at   int
}

func newPress(s sources) *press {
	return &press{shaper: newShaper(s), zip: must(zlib.NewWriterLevel(nil, zlib.BestSpeed))}
}

// document returns the drawing on c of an agreement as a document, with its facts and a place for a signature.
func (p *press) document(c *canvas, a agreement.Agreement, facts []byte, room int) []byte {
	p.out.Reset()
	p.table, p.held, p.heads, p.count = append(p.table[:0], place{}), p.held[:0], p.heads[:0], 0
	p.out.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n") // the second line says that the file is not text
	list, pages := p.next(), make([]int, len(c.pages))
	var fonts []byte // and the names by which the pages find them
	for _, f := range append([]*embedded{&c.body.face.common.embedded, &c.strong.face.common.embedded}, c.fonts...) {
		fonts = fmt.Appendf(fonts, "/%s %d 0 R ", f.name, f.write(p))
	}
	for i := range pages {
		pages[i] = p.next()
	}
	papers := p.papers(a, facts, pages[0], room)
	var kids []byte
	for i, content := range c.pages {
		own := ""
		if i == 0 {
			own = papers.onPage
		}
		p.write(pages[i], "<</Type /Page /Parent %d 0 R /MediaBox [0 0 %.2f %.2f] /Resources <</Font <<%s>>>> /Contents %d 0 R /StructParents %d /Tabs /S%s>>",
			list, points(pageWidth), points(pageHeight), fonts, p.stream("", p.compress(content)), i, own)
		kids = fmt.Appendf(kids, "%d 0 R ", pages[i])
	}
	p.write(list, "<</Type /Pages /Kids [%s] /Count %d>>", kids, len(pages))
	dictionary, xmp := describe(a)
	metadata := p.object("<</Type /Metadata /Subtype /XML /Length %d>>\nstream\n%s\nendstream", len(xmp), xmp)
	info := p.object("%s", dictionary)
	root := p.object("<</Type /Catalog /Pages %d 0 R /Outlines %d 0 R /PageMode /UseOutlines /Lang (%s) "+
		"/MarkInfo <</Marked true>> /StructTreeRoot %d 0 R /ViewerPreferences <</DisplayDocTitle true>> /Metadata %d 0 R %s"+
		"/OutputIntents [<</Type /OutputIntent /S /GTS_PDFA1 /OutputConditionIdentifier (sRGB) /Info (sRGB) /DestOutputProfile %d 0 R>>]>>",
		list, p.outline(c.marks, pages), documentLanguage, c.structure.write(p, pages), metadata, papers.inCatalogue,
		p.stream("/N 3 ", packedProfile()))
	p.end(root, info, papers.sum)
	return bytes.Clone(p.out.Bytes())
}

// outline writes the outline, and returns its number. An entry follows the other.
func (p *press) outline(marks []bookmark, pages []int) int {
	root := p.next()
	first, last := root+1, root+len(marks)
	for i, m := range marks {
		beside := ""
		if i > 0 {
			beside += fmt.Sprintf(" /Prev %d 0 R", first+i-1)
		}
		if first+i < last {
			beside += fmt.Sprintf(" /Next %d 0 R", first+i+1)
		}
		p.object("<</Title %s /Parent %d 0 R%s /Dest [%d 0 R /XYZ 0 %.2f null]>>", textString(m.title), root, beside, pages[m.page], m.y)
	}
	p.write(root, "<</Type /Outlines /First %d 0 R /Last %d 0 R>>", first, last)
	return root
}

// end writes the objects that are held, and the table of all objects. A document is identified by the checksum of its facts.
func (p *press) end(root, info int, id []byte) {
	holder := p.stream(fmt.Sprintf("/Type /ObjStm /N %d /First %d ", p.count, len(p.heads)), p.compress(append(p.heads, p.held...)))
	at, own := p.out.Len(), p.next()
	p.table[own].at = at
	var table []byte // of entries of a kind, a place and a number; the first is of no object
	for number, o := range p.table {
		kind, where, index := byte(1), o.at, 0
		switch {
		case number == 0:
			kind, index = 0, 0xFFFF
		case o.held:
			kind, where, index = 2, holder, o.at
		}
		table = binary.BigEndian.AppendUint32(append(table, kind), uint32(where))
		table = binary.BigEndian.AppendUint16(table, uint16(index))
	}
	p.writeStream(own, fmt.Sprintf("/Type /XRef /Size %d /W [1 4 2] /Root %d 0 R /Info %d 0 R /ID [<%X> <%X>] ",
		len(p.table), root, info, id, id), p.compress(table))
	fmt.Fprintf(&p.out, "startxref\n%d\n%%%%EOF\n", at)
}

func (p *press) next() int {
	p.table = append(p.table, place{})
	return len(p.table) - 1
}

// hold stores an object that has its number already among the objects that are compressed together.
func (p *press) hold(number int, text []byte) {
	p.table[number] = place{true, p.count}
	p.heads = append(strconv.AppendInt(p.heads, int64(number), 10), ' ')
	p.heads = append(strconv.AppendInt(p.heads, int64(len(p.held)), 10), ' ')
	p.held = append(append(p.held, text...), '\n')
	p.count++
}

// write writes an object that has its number already.
func (p *press) write(number int, format string, args ...any) {
	p.table[number].at = p.out.Len()
	fmt.Fprintf(&p.out, "%d 0 obj\n", number)
	fmt.Fprintf(&p.out, format, args...)
	p.out.WriteString("\nendobj\n")
}

// object writes a further object, and returns its number.
func (p *press) object(format string, args ...any) int {
	number := p.next()
	p.write(number, format, args...)
	return number
}

// writeStream writes a compressed stream with this dictionary that has its number already.
func (p *press) writeStream(number int, dictionary string, content []byte) {
	p.table[number].at = p.out.Len()
	fmt.Fprintf(&p.out, "%d 0 obj\n<<%s/Filter /FlateDecode /Length %d>>\nstream\n", number, dictionary, len(content))
	p.out.Write(content)
	p.out.WriteString("\nendstream\nendobj\n")
}

// stream writes a further stream, which is compressed already, and returns its number.
func (p *press) stream(dictionary string, content []byte) int {
	number := p.next()
	p.writeStream(number, dictionary, content)
	return number
}

// compress returns content compressed, until the next call.
func (p *press) compress(content []byte) []byte {
	p.packed.Reset()
	p.zip.Reset(&p.packed)
	p.zip.Write(content) // a buffer takes everything
	p.zip.Close()
	return p.packed.Bytes()
}

const (
	documentLanguage = "en-NZ" // of the documents
	producer         = "Provider Checkout"
)

// srgb is an ICC profile (version 4) of the colours that the documents are in: the primaries and the curve of IEC 61966-2-1, with
// the white D50. It is in the public domain (CC0).
//
//go:embed srgb.icc
var srgb []byte

var packedProfile = sync.OnceValue(func() []byte { return pack(srgb) })

// packet is the form of the metadata in XMP, with a verb for each value.
//
//go:embed metadata.xmp
var packet string

// describe returns a document's description of itself in two forms that must agree: its information dictionary, and XMP, which also names the
// language and the standards that the document keeps, PDF/A-3a and PDF/UA-1. PDF/A does not know the word for the latter, so that has its
// description.
func describe(a agreement.Agreement) (dictionary, xmp string) {
	title, author, made := a.Title(), oneLine(a.Provider.Name), a.AcceptedAt.UTC()
	date := made.Format(dateForm)
	escape := func(text string) string {
		var b bytes.Buffer
		xml.EscapeText(&b, []byte(text)) // a buffer takes everything
		return b.String()
	}
	return fmt.Sprintf("<</Title %s /Author %s /Producer %s /CreationDate (%s) /ModDate (%s)>>",
			textString(title), textString(author), textString(producer), date, date),
		fmt.Sprintf(strings.TrimSuffix(packet, "\n"), escape(title), escape(author), documentLanguage, made.Format(time.RFC3339), producer, "\uFEFF")
}

func textString(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) >= 0 {
		return fmt.Sprintf("<%X>", utf16Text(text))
	}
	return "(" + strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text) + ")"
}
