package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"

	"github.com/klauspost/compress/zlib"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// press turns the document that the library wrote into the document that is kept: it compresses the pages, and adds fonts,
// structure and metadata, which the library cannot write. The library would make a compressor for every page, which took most
// of the memory of a confirm and a quarter of its time; the press uses its own for one document after another (see
// BenchmarkPrint). It is not safe for concurrent use.
type press struct {
	shaper  *shaper
	written bytes.Buffer // by the library
	packed  bytes.Buffer // one stream, compressed
	out     bytes.Buffer // the document
	zip     *zlib.Writer
	begins  []int // offset of each object in the document, by number; 0 for an object that is not in it
}

func newPress(s sources) *press {
	return &press{shaper: newShaper(s), zip: must(zlib.NewWriterLevel(nil, zlib.BestSpeed))}
}

// object is an object as the library wrote it: a dictionary, or the content of a page.
type object struct {
	number  int
	text    []byte // of the dictionary, up to the end of the object
	content []byte // nil for a dictionary
}

// The numbers of objects in a document of the library: the list of pages and the resources are the first, the outline, the
// information and the catalogue the last.
const (
	pagesNumber     = 1
	resourcesNumber = 2
)

// pageHead begins the dictionary of a page.
const pageHead = "<</Type /Page\n"

// objectHead matches the beginning of an object, and of its content if it has some.
var objectHead = regexp.MustCompile(`^(\d{1,9}) 0 obj\n(?:<</Length (\d{1,9})>>\nstream\n)?`)

// readDrawn returns the objects of a document that the library wrote, in their order. It panics on any other document.
func readDrawn(doc []byte) (list []object) {
	_, doc, _ = bytes.Cut(doc, []byte("\n")) // the version of PDF
	for !bytes.HasPrefix(doc, []byte("xref\n")) {
		head := objectHead.FindSubmatch(doc)
		o := object{number: number(head[1])}
		doc = doc[len(head[0]):]
		if head[2] != nil {
			o.content, doc = doc[:number(head[2])], doc[number(head[2]):]
		}
		o.text, doc, _ = bytes.Cut(doc, []byte("\nendobj\n"))
		list = append(list, o)
	}
	return list
}

// document ends the drawing on c of an agreement, and returns it as a document, with its facts and a place for a signature.
func (p *press) document(c *canvas, a agreement.Agreement, facts []byte, room int) ([]byte, error) {
	c.endMark()
	p.written.Reset()
	c.pdf.SetCompression(false)
	if err := c.pdf.Output(&p.written); err != nil {
		return nil, err
	}
	list := readDrawn(p.written.Bytes())
	root := list[len(list)-1].number
	outlines, info := root-2, root-1
	p.out.Reset()
	p.begins = append(p.begins[:0], make([]int, root+1)...)
	p.out.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n") // the second line says that the file is not text
	var pages []int                                    // the numbers of their objects
	own := p.papers()
	for _, o := range list {
		switch page, ok := bytes.CutPrefix(o.text, []byte(pageHead)); {
		case o.number == resourcesNumber, o.number == root, o.number == info: // written below
		case o.content != nil:
			p.writeStream(o.number, "", p.compress(o.content))
		case ok:
			head := pageHead
			if len(pages) == 0 {
				head += own.onPage()
			}
			p.write(o.number, fmt.Sprintf("%s/StructParents %d\n/Tabs /S\n%s", head, len(pages), page))
			pages = append(pages, o.number)
		default:
			p.write(o.number, string(o.text))
		}
	}
	p.resources(c)
	p.write(info, c.meta.info())
	metadata := p.object(fmt.Sprintf("<</Type /Metadata /Subtype /XML /Length %d>>\nstream\n%s\nendstream", len(c.meta.xmp()), c.meta.xmp()))
	profile := p.packedStream("/N 3 ", p.compress(srgb))
	p.writePapers(own, a, facts, pages[0], room)
	tree := &packed{first: len(p.begins) + 2} // the catalogue refers to it; before it come its stream and the table
	p.write(root, fmt.Sprintf("<</Type /Catalog /Pages %d 0 R /Outlines %d 0 R /PageMode /UseOutlines /Lang (%s) "+
		"/MarkInfo <</Marked true>> /StructTreeRoot %d 0 R /ViewerPreferences <</DisplayDocTitle true>> /Metadata %d 0 R %s"+
		"/OutputIntents [<</Type /OutputIntent /S /GTS_PDFA1 /OutputConditionIdentifier (sRGB) /Info (sRGB) /DestOutputProfile %d 0 R>>]>>",
		pagesNumber, outlines, documentLanguage, tree.first, metadata, own.inCatalogue(), profile))
	c.structure.write(tree, pages)
	p.end(root, info, tree)
	return bytes.Clone(p.out.Bytes()), nil
}

// resources writes the fonts, and the names by which the pages find them.
func (p *press) resources(c *canvas) {
	var names bytes.Buffer
	for _, f := range append([]*embedded{&c.body.face.common.embedded, &c.strong.face.common.embedded}, c.fonts...) {
		fmt.Fprintf(&names, "/%s %d 0 R\n", f.name, f.write(p))
	}
	p.write(resourcesNumber, fmt.Sprintf("<</Font <<\n%s>> >>", names.Bytes()))
}

// end writes the objects of the structure tree in a stream, and the table of all objects.
func (p *press) end(root, info int, tree *packed) {
	var heads []byte
	for i, begin := range tree.begins {
		heads = fmt.Appendf(heads, "%d %d ", tree.first+i, begin)
	}
	holder := p.packedStream(fmt.Sprintf("/Type /ObjStm /N %d /First %d ", len(tree.begins), len(heads)), p.compress(append(heads, tree.objects...)))
	sum := sha256.Sum256(p.out.Bytes())
	at, own := p.out.Len(), p.next()
	p.begins[own] = at
	var table []byte // of entries of a kind, a place and a number; the first is of no object
	entry := func(kind byte, place, number int) {
		table = append(table, kind)
		table = binary.BigEndian.AppendUint32(table, uint32(place))
		table = binary.BigEndian.AppendUint16(table, uint16(number))
	}
	entry(0, 0, 0xFFFF)
	for _, begin := range p.begins[1:] {
		entry(1, begin, 0)
	}
	for i := range tree.begins {
		entry(2, holder, i)
	}
	p.writeStream(own, fmt.Sprintf("/Type /XRef /Size %d /W [1 4 2] /Root %d 0 R /Info %d 0 R /ID [<%X> <%X>] ",
		len(p.begins)+len(tree.begins), root, info, sum[:16], sum[:16]), p.compress(table))
	fmt.Fprintf(&p.out, "startxref\n%d\n%%%%EOF\n", at)
}

// next returns the number of a further object.
func (p *press) next() int {
	p.begins = append(p.begins, 0)
	return len(p.begins) - 1
}

// write writes an object that has its number already.
func (p *press) write(number int, text string) {
	p.begins[number] = p.out.Len()
	fmt.Fprintf(&p.out, "%d 0 obj\n%s\nendobj\n", number, text)
}

// object writes a further object, and returns its number.
func (p *press) object(text string) int {
	number := p.next()
	p.write(number, text)
	return number
}

// writeStream writes a compressed stream with this dictionary that has its number already.
func (p *press) writeStream(number int, dictionary string, content []byte) {
	p.begins[number] = p.out.Len()
	fmt.Fprintf(&p.out, "%d 0 obj\n<<%s/Filter /FlateDecode /Length %d>>\nstream\n", number, dictionary, len(content))
	p.out.Write(content)
	p.out.WriteString("\nendstream\nendobj\n")
}

// packedStream writes a further stream, which is compressed already, and returns its number.
func (p *press) packedStream(dictionary string, content []byte) int {
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

// number returns the value of at most ten digits.
func number(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}
