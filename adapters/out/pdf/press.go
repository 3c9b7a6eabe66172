package pdf

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"github.com/klauspost/compress/zlib"
	"io"
	"regexp"
	"slices"
	"strconv"
)

// press turns what the library wrote into the document that is kept: it compresses the pages, and adds what the library
// cannot say, which is fonts, structure and metadata. The library would make a compressor for every page, which took most
// of the memory of a confirm and a quarter of its time; the press uses its own for one document after another (see
// BenchmarkPrint). It is not safe for concurrent use.
type press struct {
	shaper  *shaper
	profile []byte       // of the colours, compressed
	written bytes.Buffer // by the library
	packed  bytes.Buffer // one stream, compressed
	out     bytes.Buffer // the document
	zip     *zlib.Writer
	begins  []int // offset of each object in the document, by number; 0 for an object that is not in it
}

func newPress(s sources) (*press, error) {
	zip, err := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("pdf: %w", err)
	}
	profile, err := pack(srgbProfile())
	if err != nil {
		return nil, fmt.Errorf("pdf: %w", err)
	}
	return &press{shaper: newShaper(s), profile: profile, zip: zip}, nil
}

// The form in which the library writes a document, as far as the press depends on it.
var (
	endOfFile    = regexp.MustCompile(`startxref\n(\d{1,9})\n%%EOF\n$`)
	objectTable  = regexp.MustCompile(`^xref\n0 \d+\n0000000000 65535 f \n((?:\d{10} 00000 n \n)*)trailer\n<<\n/Size \d+\n/Root (\d+) 0 R\n/Info (\d+) 0 R\n`)
	streamObject = regexp.MustCompile(`^\d+ 0 obj\n<</Length (\d{1,9})>>\nstream\n`)
	outlineRoot  = regexp.MustCompile(`/Outlines (\d+) 0 R\n`)
)

const (
	lineSize = len("0000000000 00000 n \n") // of the table

	pagesNumber     = 1 // of the object that lists the pages
	resourcesNumber = 2
	pageObject      = " 0 obj\n<</Type /Page\n"
)

// errForm means that a document does not have the form in which the library writes it.
var errForm = errors.New("the library wrote a document of an unknown form")

// drawn is the document that the library wrote.
type drawn struct {
	objects  []object // as they stand in the document
	count    int      // the highest number
	root     int      // the number of the catalogue
	info     int
	outlines int
	pages    []int // the numbers of the pages' objects
}

type object struct {
	number int
	text   []byte
}

// readDrawn finds the objects in a document of the library.
func readDrawn(doc []byte) (drawn, error) {
	start := endOfFile.FindSubmatch(doc)
	if start == nil {
		return drawn{}, errForm
	}
	end := number(start[1])
	table := objectTable.FindSubmatch(doc[min(end, len(doc)):])
	if table == nil {
		return drawn{}, errForm
	}
	d := drawn{count: len(table[1]) / lineSize, root: number(table[2]), info: number(table[3])}
	begins := make([]int, d.count) // of each object, in the order of their numbers
	order := make([]int, d.count)  // the objects as they stand in the document
	for i := range begins {
		begins[i], order[i] = number(table[1][i*lineSize:][:10]), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(begins[a], begins[b]) })
	for i, n := range order {
		to := end
		if i+1 < len(order) {
			to = begins[order[i+1]]
		}
		if to < begins[n] || to > end {
			return drawn{}, errForm
		}
		text := doc[begins[n]:to]
		d.objects = append(d.objects, object{n + 1, text})
		if bytes.HasPrefix(text, fmt.Appendf(nil, "%d%s", n+1, pageObject)) {
			d.pages = append(d.pages, n+1)
		}
		if m := outlineRoot.FindSubmatch(text); m != nil && n+1 == d.root {
			d.outlines = number(m[1])
		}
	}
	return d, nil
}

// document ends what was drawn on c, and returns it as a document.
func (p *press) document(c *canvas) ([]byte, error) {
	c.endMark()
	p.written.Reset()
	c.pdf.SetCompression(false)
	if err := c.pdf.Output(&p.written); err != nil {
		return nil, err
	}
	return p.assemble(p.written.Bytes(), c)
}

// assemble returns the document that the library wrote of c, with everything that it lacks.
func (p *press) assemble(written []byte, c *canvas) ([]byte, error) {
	d, err := readDrawn(written)
	if err != nil {
		return nil, err
	}
	p.out.Reset()
	p.begins = append(p.begins[:0], make([]int, d.count+1)...)
	p.out.WriteString("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n") // the second line says that the file is not text
	pages := 0
	for _, o := range d.objects {
		switch {
		case o.number == resourcesNumber, o.number == d.root, o.number == d.info: // written below
		case slices.Contains(d.pages, o.number):
			p.begin(o.number)
			head := strconv.Itoa(o.number) + pageObject
			fmt.Fprintf(&p.out, "%s/StructParents %d\n/Tabs /S\n%s", head, pages, o.text[len(head):])
			pages++
		default:
			if err := p.copy(o); err != nil {
				return nil, err
			}
		}
	}
	if err := p.resources(c); err != nil {
		return nil, err
	}
	p.numbered(d.info, c.meta.info())
	metadata := p.object(fmt.Sprintf("<</Type /Metadata /Subtype /XML /Length %d>>\nstream\n%s\nendstream", len(c.meta.xmp()), c.meta.xmp()))
	profile := p.packedStream("/N 3 ", p.profile)
	tree := &packed{first: len(p.begins) + 2} // the catalogue refers to it; before it come its stream and the table
	p.numbered(d.root, fmt.Sprintf("<</Type /Catalog /Pages %d 0 R /Outlines %d 0 R /PageMode /UseOutlines /Lang (%s) "+
		"/MarkInfo <</Marked true>> /StructTreeRoot %d 0 R /ViewerPreferences <</DisplayDocTitle true>> /Metadata %d 0 R "+
		"/OutputIntents [<</Type /OutputIntent /S /GTS_PDFA1 /OutputConditionIdentifier (sRGB) /Info (sRGB) /DestOutputProfile %d 0 R>>]>>",
		pagesNumber, d.outlines, documentLanguage, tree.first, metadata, profile))
	c.structure.write(tree, d.pages)
	if err := p.end(d, tree); err != nil {
		return nil, err
	}
	return bytes.Clone(p.out.Bytes()), nil
}

// resources writes the fonts, and what the pages find them by.
func (p *press) resources(c *canvas) error {
	var names bytes.Buffer
	for _, s := range []*fontSubset{c.body.face.subset, c.strong.face.subset} {
		fmt.Fprintf(&names, "/%s %d 0 R\n", s.name, s.write(p))
	}
	for _, f := range c.fonts {
		number, err := f.write(p)
		if err != nil {
			return err
		}
		fmt.Fprintf(&names, "/%s %d 0 R\n", f.name, number)
	}
	p.numbered(resourcesNumber, fmt.Sprintf("<</Font <<\n%s>> >>", names.Bytes()))
	return nil
}

// end writes the objects of the structure tree in a stream, and the table of all objects.
func (p *press) end(d drawn, tree *packed) error {
	var heads []byte
	for i, begin := range tree.begins {
		heads = fmt.Appendf(heads, "%d %d ", tree.first+i, begin)
	}
	holder, err := p.stream(fmt.Sprintf("/Type /ObjStm /N %d /First %d ", len(tree.begins), len(heads)), append(heads, tree.objects...))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(p.out.Bytes())
	at, own := p.out.Len(), len(p.begins)
	p.begins = append(p.begins, at)
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
	size := len(p.begins) + len(tree.begins)
	if err := p.compress(table); err != nil {
		return err
	}
	fmt.Fprintf(&p.out, "%d 0 obj\n<</Type /XRef /Size %d /W [1 4 2] /Root %d 0 R /Info %d 0 R /ID [<%X> <%X>] /Filter /FlateDecode /Length %d>>\nstream\n",
		own, size, d.root, d.info, sum[:16], sum[:16], p.packed.Len())
	p.out.Write(p.packed.Bytes())
	fmt.Fprintf(&p.out, "\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", at)
	return nil
}

// begin notes that an object begins here.
func (p *press) begin(number int) { p.begins[number] = p.out.Len() }

// numbered writes an object that has its number already.
func (p *press) numbered(number int, text string) {
	p.begin(number)
	fmt.Fprintf(&p.out, "%d 0 obj\n%s\nendobj\n", number, text)
}

// object writes an object, and returns its number.
func (p *press) object(text string) int {
	p.begins = append(p.begins, 0)
	number := len(p.begins) - 1
	p.numbered(number, text)
	return number
}

// stream writes a stream with this dictionary, and returns its number.
func (p *press) stream(dictionary string, content []byte) (int, error) {
	if err := p.compress(content); err != nil {
		return 0, err
	}
	return p.packedStream(dictionary, p.packed.Bytes()), nil
}

// packedStream writes a stream that is compressed already.
func (p *press) packedStream(dictionary string, content []byte) int {
	p.begins = append(p.begins, p.out.Len())
	number := len(p.begins) - 1
	fmt.Fprintf(&p.out, "%d 0 obj\n<<%s/Filter /FlateDecode /Length %d>>\nstream\n", number, dictionary, len(content))
	p.out.Write(content)
	p.out.WriteString("\nendstream\nendobj\n")
	return number
}

// copy writes an object of the library, with its stream compressed if it has one.
func (p *press) copy(o object) error {
	p.begin(o.number)
	header := streamObject.FindSubmatch(o.text)
	if header == nil {
		p.out.Write(o.text)
		return nil
	}
	stream, length := o.text[len(header[0]):], number(header[1])
	if length > len(stream) {
		return errForm
	}
	if err := p.compress(stream[:length]); err != nil {
		return err
	}
	fmt.Fprintf(&p.out, "%d 0 obj\n<</Filter /FlateDecode /Length %d>>\nstream\n", o.number, p.packed.Len())
	p.out.Write(p.packed.Bytes())
	p.out.Write(stream[length:])
	return nil
}

// compress compresses content into p.packed.
func (p *press) compress(content []byte) error {
	p.packed.Reset()
	p.zip.Reset(&p.packed)
	if _, err := p.zip.Write(content); err != nil {
		return err
	}
	return p.zip.Close()
}

// number returns the value of at most ten digits.
func number(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}
