package pdf

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/go-text/typesetting/bidi"
)

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
