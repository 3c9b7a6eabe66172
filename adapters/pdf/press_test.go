package pdf

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jung-kurt/gofpdf"
)

func TestPressKeepsWhatTheLibraryWrote(t *testing.T) {
	press, err := newPress()
	if err != nil {
		t.Fatal(err)
	}
	for pages := 1; pages <= 3; pages++ { // on the same press
		written := libraryWrites(t, pages)
		pressed, err := press.compress(written)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(pressed, []byte("/FlateDecode")); got != pages {
			t.Errorf("%d streams of %d pages are compressed", got, pages)
		}
		before, after := objects(t, written), objects(t, pressed)
		if len(before) != len(after) {
			t.Fatalf("%d objects became %d", len(before), len(after))
		}
		for n := range before {
			if got := expand(t, after[n]); got != before[n] {
				t.Errorf("object %d of %d pages was\n%s\nand is\n%s", n, pages, before[n], got)
			}
		}
	}
}

func TestPressRefusesWhatItDoesNotKnow(t *testing.T) {
	press, err := newPress()
	if err != nil {
		t.Fatal(err)
	}
	good := string(libraryWrites(t, 2))
	table := strings.Index(good, "xref\n")
	for name, doc := range map[string]string{
		"nothing":                       "",
		"no end":                        strings.TrimSuffix(good, "%%EOF\n"),
		"a table that is elsewhere":     strings.Replace(good, fmt.Sprintf("startxref\n%d", table), "startxref\n9", 1),
		"a table behind the end":        strings.Replace(good, fmt.Sprintf("startxref\n%d", table), "startxref\n999999999", 1),
		"an object behind the table":    regexp.MustCompile(`\d{10} 00000 n`).ReplaceAllString(good, "9999999999 00000 n"),
		"a stream longer than its file": regexp.MustCompile(`/Length \d+`).ReplaceAllString(good, "/Length 9999999"),
	} {
		if got, err := press.compress([]byte(doc)); !errors.Is(err, errForm) {
			t.Errorf("%s: %d bytes, %v; want %v", name, len(got), err, errForm)
		}
	}
}

// libraryWrites returns a document of so many pages as the library writes it, the second of which
// holds what looks like an object.
func libraryWrites(t *testing.T, pages int) []byte {
	t.Helper()
	doc := gofpdf.New("P", "mm", "A4", "")
	doc.SetCompression(false)
	doc.SetCatalogSort(true)
	doc.SetCreationDate(time.Unix(0, 0))
	doc.SetFont("Helvetica", "", 10)
	for n := range pages {
		doc.AddPage()
		doc.Text(10, 10, fmt.Sprintf("Page %d", n))
		doc.RawWriteStr(strings.Repeat("endstream\nendobj\n7 0 obj\n<</Length 3>>\nstream\n", n%2))
	}
	var b bytes.Buffer
	if err := doc.Output(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// objects returns the objects in the order of their numbers, as the table at the document's end finds them.
func objects(t *testing.T, doc []byte) (all []string) {
	t.Helper()
	at := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(doc)
	start, _ := strconv.Atoi(string(at[1]))
	if !bytes.HasPrefix(doc[start:], []byte("xref\n")) {
		t.Fatalf("no table at %d", start)
	}
	for n, line := range regexp.MustCompile(`(\d{10}) 00000 n \n`).FindAllSubmatch(doc[start:], -1) {
		begin, _ := strconv.Atoi(string(line[1]))
		object := doc[begin:]
		if !bytes.HasPrefix(object, fmt.Appendf(nil, "%d 0 obj\n", n+1)) {
			t.Fatalf("object %d begins with %.20q", n+1, object)
		}
		end := 0
		if length := regexp.MustCompile(`^\d+ 0 obj\n<<[^>]*/Length (\d+)>>\nstream\n`).FindSubmatch(object); length != nil {
			bytesOfStream, _ := strconv.Atoi(string(length[1]))
			end = len(length[0]) + bytesOfStream
		}
		all = append(all, string(object[:end+bytes.Index(object[end:], []byte("endobj\n"))]))
	}
	return all
}

// expand returns an object with its stream as it was before it was compressed.
func expand(t *testing.T, object string) string {
	t.Helper()
	head, rest, ok := strings.Cut(object, "/Filter /FlateDecode ")
	if !ok {
		return object
	}
	_, stream, _ := strings.Cut(rest, "stream\n")
	r, err := zlib.NewReader(strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s/Length %d>>\nstream\n%s\nendstream\n", head, len(content), content)
}
