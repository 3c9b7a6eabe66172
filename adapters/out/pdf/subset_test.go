package pdf

import (
	"bytes"
	"compress/zlib"
	"io"
	"slices"
	"testing"

	"codeberg.org/go-fonts/dejavu/dejavusans"
	"codeberg.org/go-fonts/dejavu/dejavusansbold"
	"github.com/jung-kurt/gofpdf"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

func TestSubsetLooksLikeTheWholeFace(t *testing.T) {
	for _, f := range faces(t) {
		t.Run(f.subset.name, func(t *testing.T) {
			part := unpacked(t, f.subset)
			for r := range f.subset.codes {
				if got, want := outline(t, part, r), outline(t, f.subset.source.cmap, r); !slices.Equal(got, want) {
					t.Errorf("%U has the outline %v, want %v", r, got, want)
				}
			}
		})
	}
}

func TestWidthIsTheLibrarys(t *testing.T) {
	for _, f := range faces(t) {
		t.Run(f.subset.name, func(t *testing.T) {
			doc := gofpdf.New("P", "mm", "A4", "")
			doc.AddUTF8FontFromBytes("whole", "", bytes.Clone(map[string][]byte{"F1": dejavusans.TTF, "F2": dejavusansbold.TTF}[f.subset.name]))
			doc.SetFont("whole", "", 0)
			for r := range f.subset.codes {
				if got, ok := f.subset.width(string(r)); !ok || got != doc.GetStringSymbolWidth(string(r)) {
					t.Errorf("%U is %d wide, want %d", r, got, doc.GetStringSymbolWidth(string(r)))
				}
			}
		})
	}
}

func TestSubsetHasACodeOfItsOwnForEachCharacter(t *testing.T) {
	used := map[byte]rune{}
	for r, code := range codes() {
		if other, ok := used[code]; ok {
			t.Errorf("%U and %U both have code %d", r, other, code)
		}
		used[code] = r
		if ' ' <= r && r <= '~' && rune(code) != r {
			t.Errorf("%U has code %d, want its own", r, code)
		}
	}
	for _, s := range encodingOverrides {
		if used[s.code] != s.letter {
			t.Errorf("code %d is %U, want %U", s.code, used[s.code], s.letter)
		}
	}
}

func TestSubsetEncodes(t *testing.T) {
	regular, bold := faces(t)[0].subset, faces(t)[1].subset
	tests := []struct {
		name   string
		subset *fontSubset
		text   string
		want   string
		ok     bool
	}{
		{"nothing", regular, "", "", true},
		{"ASCII as it is", regular, "Anna (1) ~", "Anna (1) ~", true},
		{"ASCII as it is in bold", bold, "Anna (1) ~", "Anna (1) ~", true},
		{"Windows-1252 by its codes", regular, "Zoë €", "Zo\xEB \x80", true},
		{"a letter of the overrides by its code", regular, "Māia", "M\x83ia", true},
		{"no sign whose code was overridden", regular, "ƒ", "", false},
		{"no letter outside", regular, "Nguyễn", "", false},
		{"no macron in bold", bold, "Māia", "", false},
		{"no control character", regular, "a\rb", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := tt.subset.encode(tt.text); got != tt.want || ok != tt.ok {
				t.Errorf("encode(%q) = %q, %t; want %q, %t", tt.text, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func faces(t *testing.T) []*face {
	t.Helper()
	p, err := New(1)
	if err != nil {
		t.Fatal(err)
	}
	return []*face{p.regular, p.bold}
}

// unpacked is the font of a subset as a reader of the document finds it.
func unpacked(t *testing.T, subset *fontSubset) *sfnt.Font {
	t.Helper()
	r, err := zlib.NewReader(bytes.NewReader(subset.packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	part, err := sfnt.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// outline returns the outline of r in f, in the units of the font; a character that f lacks fails the test.
func outline(t *testing.T, f *sfnt.Font, r rune) sfnt.Segments {
	t.Helper()
	size := fixed.I(int(f.UnitsPerEm()))
	glyph, err := f.GlyphIndex(nil, r)
	if err != nil || glyph == 0 {
		t.Fatalf("%U has no glyph: %v", r, err)
	}
	segments, err := f.LoadGlyph(nil, glyph, size, nil)
	if err != nil {
		t.Fatal(err)
	}
	advance, err := f.GlyphAdvance(nil, glyph, size, font.HintingNone)
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(segments), sfnt.Segment{Args: [3]fixed.Point26_6{{X: advance}}})
}
