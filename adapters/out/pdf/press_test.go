package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jung-kurt/gofpdf"
)

func TestPressKeepsWhatTheLibraryDrew(t *testing.T) {
	p := newPrinter(t)
	press := <-p.presses
	for pages := 1; pages <= 3; pages++ { // on the same press
		c := newCanvas(p.regular, p.bold, press.shaper, accepted(), scales[0])
		c.pdf, c.marked = libraryDraws(pages), marking{}
		pressed, err := press.document(c, accepted(), []byte("{}"), 0)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, o := range readDrawn(output(t, libraryDraws(pages))) {
			if o.content == nil {
				continue
			}
			found++
			head := fmt.Sprintf("\n%d 0 obj\n<</Filter /FlateDecode ", o.number)
			_, after, ok := bytes.Cut(pressed, []byte(head))
			if !ok {
				t.Fatalf("object %d is no compressed stream", o.number)
			}
			_, packed, _ := bytes.Cut(after, []byte("stream\n"))
			if got := inflated(t, packed); got != string(o.content) {
				t.Errorf("object %d of %d pages was\n%s\nand is\n%s", o.number, pages, o.content, got)
			}
		}
		if found != pages {
			t.Fatalf("%d pages are found of %d", found, pages)
		}
	}
}

// libraryDraws returns a document of so many pages as the library has it, the second of which holds what looks like an object.
func libraryDraws(pages int) *gofpdf.Fpdf {
	doc := gofpdf.New("P", "mm", "A4", "")
	doc.SetCompression(false)
	doc.SetCreationDate(time.Unix(0, 0))
	doc.SetModificationDate(time.Unix(0, 0))
	for n := range pages {
		doc.AddPage()
		doc.Bookmark(fmt.Sprintf("Page %d", n), 0, 0)
		doc.Rect(0, 0, 10, 10, "F")
		doc.RawWriteStr(strings.Repeat("endstream\nendobj\n7 0 obj\n<</Length 3>>\nstream\n", n%2))
	}
	return doc
}

func output(t *testing.T, doc *gofpdf.Fpdf) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := doc.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func inflated(t *testing.T, packed []byte) string {
	t.Helper()
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
