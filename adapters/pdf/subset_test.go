package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jung-kurt/gofpdf"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/encoding/charmap"
)

func TestSubsetLooksLikeTheWholeFace(t *testing.T) {
	for _, f := range faces(t) {
		t.Run("style "+f.style, func(t *testing.T) {
			part := unpacked(t, f.subset)
			for r := range f.subset.codes {
				if got, want := outline(t, part, r), outline(t, f.glyphs, r); !slices.Equal(got, want) {
					t.Errorf("%U has the outline %v, want %v", r, got, want)
				}
			}
		})
	}
}

func TestSubsetIsDescribedAsTheWholeFace(t *testing.T) {
	for _, f := range faces(t) {
		t.Run("style "+f.style, func(t *testing.T) {
			doc := gofpdf.New("P", "mm", "A4", "")
			doc.AddUTF8FontFromBytes("whole", f.style, bytes.Clone(f.ttf))
			var got struct{ Desc gofpdf.FontDescType }
			if err := json.Unmarshal(f.subset.definition, &got); err != nil {
				t.Fatal(err)
			}
			want := doc.GetFontDesc("whole", f.style)
			want.Flags += gofpdf.FontFlagNonsymbolic - gofpdf.FontFlagSymbolic
			if got.Desc != want {
				t.Errorf("the subset is described as %+v, want %+v", got.Desc, want)
			}
		})
	}
}

// The subset is described to the library in the format that its own tool writes and AddFontFromBytes reads.
func TestDefinitionIsInTheFormatOfTheLibrary(t *testing.T) {
	const changed = "the font format of gofpdf is not what define in subset.go writes any more; compare the library's fontDefType"
	for _, f := range faces(t) {
		t.Run("style "+f.style, func(t *testing.T) {
			var got, want map[string]json.RawMessage
			if err := json.Unmarshal(f.subset.definition, &got); err != nil {
				t.Fatal(err)
			}
			made := madeFont(t, f)
			if err := json.Unmarshal(made, &want); err != nil {
				t.Fatalf("MakeFont wrote no JSON: %v: %s", err, changed)
			}
			for name, value := range got {
				theirs, ok := want[name]
				if !ok || kind(value) != kind(theirs) {
					t.Errorf("field %s: define writes %.40s, MakeFont %.40s: %s", name, value, theirs, changed)
				}
			}
			for name := range want {
				switch _, ok := got[name]; {
				case ok:
				case slices.Contains([]string{"Up", "Ut", "Enc", "Size1", "Size2", "N", "DiffN"}, name):
					// of underlines, of other kinds of fonts, and of the library alone
				default:
					t.Errorf("field %s: define does not write it, MakeFont %.40s: %s", name, want[name], changed)
				}
			}
			var ours, theirs struct {
				Tp   string
				Cw   []int
				Diff string
				Desc map[string]any
			}
			if err := errors.Join(json.Unmarshal(f.subset.definition, &ours), json.Unmarshal(made, &theirs)); err != nil {
				t.Fatal(err)
			}
			if ours.Tp != theirs.Tp {
				t.Errorf("Tp = %q, of MakeFont %q: %s", ours.Tp, theirs.Tp, changed)
			}
			if got, want := slices.Sorted(maps.Keys(ours.Desc)), slices.Sorted(maps.Keys(theirs.Desc)); !slices.Equal(got, want) {
				t.Errorf("Desc has the fields %v, of MakeFont %v: %s", got, want, changed)
			}
			if len(ours.Cw) != 256 || len(theirs.Cw) != 256 {
				t.Fatalf("Cw has %d widths, of MakeFont %d, want one for each of 256 codes: %s", len(ours.Cw), len(theirs.Cw), changed)
			}
			for r, code := range f.subset.codes {
				if ours.Cw[code] != theirs.Cw[code] {
					t.Errorf("Cw of %U is %d, of MakeFont %d: %s", r, ours.Cw[code], theirs.Cw[code], changed)
				}
			}
			if got, want := strings.Fields(ours.Diff), strings.Fields(theirs.Diff); !maps.Equal(namesByCode(got), namesByCode(want)) {
				t.Errorf("Diff = %v, of MakeFont %v: %s", got, want, changed)
			}
		})
	}
}

// kind returns what a JSON value is by its first byte: a string, a number, an array or an object.
func kind(value json.RawMessage) byte {
	switch {
	case len(value) == 0:
		return 0
	case value[0] == '-' || '0' <= value[0] && value[0] <= '9':
		return '0'
	}
	return value[0]
}

// namesByCode reads the differences of an encoding: a code before the name of its character, which may be left out after
// the code before.
func namesByCode(differences []string) map[int]string {
	names, code := map[int]string{}, 0
	for _, d := range differences {
		if n, err := strconv.Atoi(d); err == nil {
			code = n
			continue
		}
		names[code] = d
		code++
	}
	return names
}

// madeFont is the definition that the library's own tool makes of a face in the encoding of its subset.
func madeFont(t *testing.T, f *face) []byte {
	t.Helper()
	dir := t.TempDir()
	var reference, own strings.Builder
	letters := map[byte]rune{}
	for r, code := range f.subset.codes {
		letters[code] = r
	}
	for code := range 256 {
		latin := charmap.Windows1252.DecodeByte(byte(code))
		r, ok := letters[byte(code)]
		if !ok {
			r = latin
		}
		name := fmt.Sprintf("uni%04X", r)
		for _, o := range encodingOverrides {
			if o.letter == r {
				name = o.name
			}
		}
		fmt.Fprintf(&reference, "!%02X U+%04X uni%04X\n", code, latin, latin)
		fmt.Fprintf(&own, "!%02X U+%04X %s\n", code, r, name)
	}
	for file, data := range map[string][]byte{"cp1252.map": []byte(reference.String()), "own.map": []byte(own.String()), "font.ttf": f.ttf} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := gofpdf.MakeFont(filepath.Join(dir, "font.ttf"), filepath.Join(dir, "own.map"), dir, nil, true); err != nil {
		t.Fatal(err)
	}
	definition, err := os.ReadFile(filepath.Join(dir, "font.json"))
	if err != nil {
		t.Fatal(err)
	}
	return definition
}

func TestWidthIsTheLibrarys(t *testing.T) {
	for _, f := range faces(t) {
		t.Run("style "+f.style, func(t *testing.T) {
			doc := gofpdf.New("P", "mm", "A4", "")
			doc.AddUTF8FontFromBytes("whole", f.style, bytes.Clone(f.ttf))
			doc.SetFont("whole", f.style, 0)
			for r := ' '; r < '\uFFFF'; r++ {
				if !f.has(r) {
					continue
				}
				if got, want := f.width(string(r)), doc.GetStringSymbolWidth(string(r)); got != want {
					t.Errorf("%U is %d wide, want %d", r, got, want)
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

// outline is how f draws r, in the units of the font; a character that f lacks fails the test.
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
