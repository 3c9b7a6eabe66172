package pdf

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jung-kurt/gofpdf"
)

func TestPressKeepsWhatTheLibraryDrew(t *testing.T) {
	p, err := New(1)
	if err != nil {
		t.Fatal(err)
	}
	press := <-p.presses
	for pages := 1; pages <= 3; pages++ { // on the same press
		c := newCanvas(p.regular, p.bold, press.shaper, accepted())
		c.pdf = libraryDraws(pages)
		written := output(t, c.pdf)
		pressed, err := press.assemble(written, c)
		if err != nil {
			t.Fatal(err)
		}
		before, err := readDrawn(written)
		if err != nil {
			t.Fatal(err)
		}
		if len(before.pages) != pages {
			t.Fatalf("%d pages are found of %d", len(before.pages), pages)
		}
		for _, o := range before.objects {
			stream := streamObject.FindSubmatch(o.text)
			if stream == nil {
				continue
			}
			head := fmt.Sprintf("\n%d 0 obj\n<</Filter /FlateDecode ", o.number)
			_, after, ok := bytes.Cut(pressed, []byte(head))
			if !ok {
				t.Fatalf("object %d is no compressed stream", o.number)
			}
			_, packed, _ := bytes.Cut(after, []byte("stream\n"))
			if got, want := inflated(t, packed), string(o.text[len(stream[0]):][:number(stream[1])]); got != want {
				t.Errorf("object %d of %d pages was\n%s\nand is\n%s", o.number, pages, want, got)
			}
		}
	}
}

func TestPressRefusesWhatItDoesNotKnow(t *testing.T) {
	good := string(output(t, libraryDraws(2)))
	table := strings.Index(good, "xref\n")
	for name, doc := range map[string]string{
		"nothing":                    "",
		"no end":                     strings.TrimSuffix(good, "%%EOF\n"),
		"a table that is elsewhere":  strings.Replace(good, fmt.Sprintf("startxref\n%d", table), "startxref\n9", 1),
		"a table behind the end":     strings.Replace(good, fmt.Sprintf("startxref\n%d", table), "startxref\n999999999", 1),
		"an object behind the table": regexp.MustCompile(`\d{10} 00000 n`).ReplaceAllString(good, "9999999999 00000 n"),
		"no catalogue":               strings.Replace(good, "/Root ", "/Boot ", 1),
	} {
		if got, err := readDrawn([]byte(doc)); !errors.Is(err, errForm) {
			t.Errorf("%s: %d objects, %v; want %v", name, len(got.objects), err, errForm)
		}
	}
	p, err := newPress(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.begins = make([]int, 8)
	if err := p.copy(object{7, []byte("7 0 obj\n<</Length 9999999>>\nstream\nshort")}); !errors.Is(err, errForm) {
		t.Errorf("a stream longer than its object: %v, want %v", err, errForm)
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
