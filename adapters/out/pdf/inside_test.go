package pdf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/go-text/typesetting/bidi"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement"
)

func TestPrintWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPrinter(t)
		press, err := p.acquire(t.Context()) // as another rendering would
		if err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		go func() {
			_, err := p.Print(t.Context(), accepted())
			result <- err
		}()
		synctest.Wait()
		select {
		case err := <-result:
			t.Fatalf("Print returned %v while another rendering went on", err)
		default:
		}
		p.release(press)
		if err := <-result; err != nil {
			t.Errorf("Print after the other rendering: %v", err)
		}
	})
}

func TestPrintStopsWaitingWhenTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPrinter(t)
		press, err := p.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Print(ctx, accepted()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Print = %v, want the context's error", err)
		}
		p.release(press)
		if _, err := p.Print(t.Context(), accepted()); err != nil {
			t.Errorf("the next Print = %v, want it rendered", err)
		}
	})
}

func TestPrintTurnsAPanicIntoAnError(t *testing.T) {
	p := &Printer{zone: time.UTC, presses: make(chan *press, 1)} // without fonts
	p.release(&press{})
	for range 2 { // the first puts the press back
		got, err := p.Print(t.Context(), accepted())
		if got != nil || err == nil || !strings.Contains(err.Error(), "panicked") {
			t.Errorf("Print = %d bytes, %v; want the panic as an error", len(got), err)
		}
	}
}

func TestWrapLosesNothingAndFits(t *testing.T) {
	c := newDocument(t)
	char := rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("aāW ")))
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.Float64Range(10, 166).Draw(t, "width")
		n := rapid.SampledFrom([]int{0, 1, 30, 255}).Draw(t, "length")
		text := c.clean(c.body, rapid.StringOfN(char, n, n, -1).Draw(t, "text"))
		lines := c.wrap(c.body, text, width)
		for _, line := range lines {
			if got := c.width(c.body, strings.TrimSuffix(line, " ")); got > width {
				t.Fatalf("line %q is %.2f wide, want at most %.2f", line, got, width)
			}
		}
		if strings.Join(lines, "") != text {
			t.Fatalf("lines %q of text %q", lines, text)
		}
	})
}

func TestWrapBreaksANameWithoutSpaces(t *testing.T) {
	c := newDocument(t)
	lines := c.wrap(c.body, strings.Repeat("W", 255), right-valuesAt)
	if len(lines) < 5 || len(lines) > 10 {
		t.Errorf("255 letters W take %d lines: %q", len(lines), lines)
	}
	double := strings.Repeat("W", 20) + "-" + strings.Repeat("W", 20) + "-" + strings.Repeat("W", 20)
	if got := c.wrap(c.body, double, c.width(c.body, double)-1); len(got) != 2 || !strings.HasSuffix(got[0], "-") {
		t.Errorf("a name of hyphens is broken as %q, want it broken behind one", got)
	}
	if got := c.wrap(c.body, "WW", 0.1); len(got) < 2 || got[0] != "W" {
		t.Errorf("where nothing fits the lines are %q, want a rune each", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "Māia", "Ma\u0304ia", "👩‍🎓", "a\xff\x00b", "\u2028 x \u0301", "ﷺ", "\U0010FFFF"} {
		f.Add(seed)
	}
	p := newPrinter(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, face := range []*face{p.regular, p.bold} {
			replaced := 0
			got := face.clean(text, func(rune) { replaced++ })
			if !utf8.ValidString(got) || !norm.NFC.IsNormalString(got) || strings.TrimSpace(got) != got {
				t.Errorf("clean(%q) = %q, want trimmed NFC", text, got)
			}
			if strings.Count(got, "[U+") < replaced || strings.ContainsRune(got, '\uFFFD') {
				t.Errorf("clean(%q) = %q, with %d runes replaced", text, got, replaced)
			}
			for _, r := range got {
				if !face.has(r) && !joiner(r) {
					t.Errorf("clean(%q) = %q, which has %U", text, got, r)
				}
			}
			if again := face.clean(got, func(r rune) { t.Errorf("%U is replaced in %q", r, got) }); again != got {
				t.Errorf("clean(%q) = %q, and again %q", text, got, again)
			}
		}
	})
}

// A text is drawn by the codes of its characters, or not in the common font at all.
func TestCommonFontHasLettersOfNewZealand(t *testing.T) {
	p := newPrinter(t)
	for _, r := range commonLetters {
		if code := p.regular.common.find(r); p.regular.common.glyphs[code] == 0 {
			t.Errorf("the font has no %U", r)
		}
	}
	for text, want := range map[string][2]bool{ // in regular, in bold
		"": {true, true}, "Anna (1) ~": {true, true}, "Zoë €": {true, false}, "Māia ʻOkina": {true, false},
		"ƒ": {}, "Nguyễn": {}, "a\rb": {},
	} {
		for i, f := range []*face{p.regular, p.bold} {
			if got := f.common.has(text); got != want[i] {
				t.Errorf("%s has %q: %v, want %v", f.common.name, text, got, want[i])
			}
			for _, r := range text {
				if code := f.common.find(r); code != 0 && f.common.texts[code] != string(r) {
					t.Errorf("%s draws %q for %q", f.common.name, f.common.texts[code], r)
				}
			}
		}
	}
}

// newPrinter returns a printer that renders one agreement at once.
func newPrinter(t testing.TB) *Printer {
	t.Helper()
	p, err := New(1, must(Derived(make([]byte, 32), "Test")))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newDocument(t *testing.T) *canvas {
	t.Helper()
	p := newPrinter(t)
	return newCanvas(p.regular, p.bold, newShaper(p.regular.others), accepted())
}

// accepted is the least agreement that can be rendered.
func accepted() agreement.Agreement {
	return agreement.Agreement{Number: "PPA-2027-000001", Version: agreement.Version, AcceptedAt: time.Unix(1, 0)}
}

// A document's font has the outlines and the widths of its source, also of letters that are composed of others.
func TestCutKeepsGlyphs(t *testing.T) {
	p := newPrinter(t)
	const sample = "AZ(~" + commonLetters + "ễĂΩШ李김さमक्षสปู่محمدשלকখরਹਰહરಹರຂຄကခមហහරതലతలதமአበ"
	for _, s := range p.regular.others {
		glyphs := []uint16{0}
		for _, r := range sample {
			if id, ok := s.cmap.Lookup(r); ok && id != 0 {
				glyphs = append(glyphs, uint16(id))
			}
		}
		if len(glyphs) < 3 {
			t.Fatalf("%s has %d of the sample", s.name, len(glyphs)-1)
		}
		font := s.tables.cut(glyphs)
		sum := uint32(0)
		for i := 0; i < len(font); i += 4 {
			sum += binary.BigEndian.Uint32(font[i:])
		}
		if sum != 0xB1B0AFBA {
			t.Errorf("%s: the sum of the font is %X", s.name, sum)
		}
		part := readTables(font)
		for i, id := range glyphs {
			if got, want := pointsOf(part, i), pointsOf(s.tables, int(id)); !bytes.Equal(got, want) {
				t.Errorf("%s: glyph %d has another outline", s.name, id)
			}
			advance, bearing := part.metric(i)
			wantAdvance, wantBearing := s.tables.metric(int(id))
			if !bytes.Equal(advance, wantAdvance) || !bytes.Equal(bearing, wantBearing) {
				t.Errorf("%s: glyph %d has the metric %x %x, want %x %x", s.name, id, advance, bearing, wantAdvance, wantBearing)
			}
		}
		if got, whole := len(font), 40_000; got > whole {
			t.Errorf("%s: %d glyphs take %d bytes", s.name, len(glyphs), got)
		}
	}
}

// pointsOf is the outline of a glyph without its hints, followed by the outlines of its parts.
func pointsOf(t truetype, id int) []byte {
	shape := unhinted(t.glyph(id))
	if len(shape) == 0 || int16(binary.BigEndian.Uint16(shape)) >= 0 {
		return bytes.TrimRight(shape, "\x00") // it may be filled up
	}
	_, parts := composed(shape, nil)
	outline := slices.Clone(shape[:10])
	for _, part := range parts {
		outline = append(outline, pointsOf(t, int(part))...)
	}
	return outline
}

func TestVisualOrder(t *testing.T) {
	for _, tt := range []struct {
		name   string
		levels []bidi.Level
		want   []int
	}{
		{"nothing", nil, []int{}},
		{"from left to right", []bidi.Level{0, 0}, []int{0, 1}},
		{"a name from right to left", []bidi.Level{0, 1, 1, 0}, []int{0, 2, 1, 3}},
		{"with a number in it", []bidi.Level{0, 1, 2, 1}, []int{0, 3, 2, 1}},
		{"two of them", []bidi.Level{1, 0, 1}, []int{0, 1, 2}},
	} {
		if got := visualOrder(tt.levels); !slices.Equal(got, tt.want) {
			t.Errorf("%s: visualOrder(%v) = %v, want %v", tt.name, tt.levels, got, tt.want)
		}
	}
}

func TestEverySourceCanBeShaped(t *testing.T) {
	p := newPrinter(t)
	for _, s := range p.regular.others {
		if s.parsed() == nil { // it panics
			t.Errorf("%s has no font", s.name)
		}
	}
}

// Letters of joined scripts are drawn in the forms in which they join, from right to left, and read in their order.
func TestShapeJoinsLetters(t *testing.T) {
	p := newPrinter(t)
	s := newShaper(p.regular.others)
	runs := s.runs(p.regular, "A محمد")
	if len(runs) != 2 || runs[0].text != "A " || runs[1].text != "محمد" {
		t.Fatalf("the runs are %+v", runs)
	}
	clusters := runs[1].clusters
	if len(clusters) != 4 || clusters[0].text != "م" || clusters[2].text != "م" {
		t.Fatalf("the clusters are %+v", clusters)
	}
	if first, third := clusters[0].glyphs[0], clusters[2].glyphs[0]; first.id == third.id || first.x <= third.x {
		t.Errorf("the first letter is %+v and the same one within %+v; want other forms, from right to left", first, third)
	}
}
