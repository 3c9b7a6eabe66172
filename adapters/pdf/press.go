package pdf

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
)

// press turns what the library wrote into the document that is kept, with its pages compressed. The library would make a
// compressor for every page, which took most of the memory of a confirm and a quarter of its time; the press uses its
// own for one document after another (see BenchmarkPrint). It is not safe for concurrent use.
type press struct {
	written bytes.Buffer // by the library
	stream  bytes.Buffer // one, compressed
	out     bytes.Buffer // the document
	zip     *zlib.Writer
}

func newPress() (*press, error) {
	zip, err := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("pdf: %w", err)
	}
	return &press{zip: zip}, nil
}

// document ends what was drawn on c, and returns it as a document.
func (p *press) document(c *canvas) ([]byte, error) {
	p.written.Reset()
	c.pdf.SetCompression(false)
	if err := c.pdf.Output(&p.written); err != nil {
		return nil, err
	}
	return p.compress(p.written.Bytes())
}

// The form in which the library writes a document, as far as the press depends on it.
var (
	endOfFile    = regexp.MustCompile(`startxref\n(\d{1,9})\n%%EOF\n$`)
	objectTable  = regexp.MustCompile(`^xref\n0 \d+\n0000000000 65535 f \n((?:\d{10} 00000 n \n)*)(trailer\n(?s:.*)startxref\n)`)
	streamObject = regexp.MustCompile(`^(\d+ 0 obj\n<<)/Length (\d{1,9})>>\nstream\n`)
)

const (
	tableHead = "xref\n0 %d\n0000000000 65535 f \n"
	tableLine = "%010d 00000 n \n"
	lineSize  = len("0000000000 00000 n \n")
)

// errForm means that a document does not have the form in which the library writes it.
var errForm = errors.New("the library wrote a document of an unknown form")

// compress returns a document of the library with those streams compressed that were not, and with its table of where
// each object begins made anew.
func (p *press) compress(doc []byte) ([]byte, error) {
	start := endOfFile.FindSubmatch(doc)
	if start == nil {
		return nil, errForm
	}
	end := number(start[1])
	table := objectTable.FindSubmatch(doc[min(end, len(doc)):])
	if table == nil {
		return nil, errForm
	}
	begins := make([]int, len(table[1])/lineSize) // of each object, in the order of their numbers
	for i := range begins {
		begins[i] = number(table[1][i*lineSize:][:10])
	}
	order := make([]int, len(begins)) // the objects as they stand in the document
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(begins[a], begins[b]) })

	p.out.Reset()
	from := 0
	moved := make([]int, len(begins))
	for i, object := range order {
		to := end
		if i+1 < len(order) {
			to = begins[order[i+1]]
		}
		if begins[object] < from || to < begins[object] || to > end {
			return nil, errForm
		}
		p.out.Write(doc[from:begins[object]]) // what stands before the first
		moved[object] = p.out.Len()
		if err := p.object(doc[begins[object]:to]); err != nil {
			return nil, err
		}
		from = to
	}
	at := p.out.Len()
	fmt.Fprintf(&p.out, tableHead, len(moved)+1)
	for _, begin := range moved {
		fmt.Fprintf(&p.out, tableLine, begin)
	}
	p.out.Write(table[2])
	fmt.Fprintf(&p.out, "%d\n%%%%EOF\n", at)
	return bytes.Clone(p.out.Bytes()), nil
}

// object writes an object, with its stream compressed if it has one that is not.
func (p *press) object(object []byte) error {
	header := streamObject.FindSubmatch(object)
	if header == nil {
		p.out.Write(object)
		return nil
	}
	stream, length := object[len(header[0]):], number(header[2])
	if length > len(stream) {
		return errForm
	}
	p.stream.Reset()
	p.zip.Reset(&p.stream)
	if _, err := p.zip.Write(stream[:length]); err != nil {
		return err
	}
	if err := p.zip.Close(); err != nil {
		return err
	}
	fmt.Fprintf(&p.out, "%s/Filter /FlateDecode /Length %d>>\nstream\n", header[1], p.stream.Len())
	p.out.Write(p.stream.Bytes())
	p.out.Write(stream[length:])
	return nil
}

// number returns the value of at most ten digits.
func number(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}
