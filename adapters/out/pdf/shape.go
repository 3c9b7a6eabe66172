package pdf

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/harfbuzz"
	"github.com/go-text/typesetting/language"
)

type run struct {
	at       int     // where it begins, from the beginning of the line, in thousandths of the type size
	width    int     // in thousandths of the type size
	source   *source // nil for the common font of the face
	text     string
	clusters []cluster
	// drawnOtherwise reports whether the text is not that of the glyphs one by one. What is written from right to left is
	// never said to be: readers turn it around themselves.
	drawnOtherwise bool
	rightToLeft    bool
}

// cluster is the smallest part of a text whose glyphs cannot be told apart: mostly one character and its glyph.
type cluster struct {
	text   string
	width  int // in thousandths of the type size
	glyphs []placed
	texts  []string // of the glyphs; nil if the first has all of it
}

// placed is a glyph and where it is drawn, from the beginning of its run, in thousandths of the type size.
type placed struct {
	id   uint16
	x, y int
}

// shaper finds the glyphs of text that is not in the common font of a face, and their places. It is not safe for concurrent use.
type shaper struct {
	sources   sources
	fonts     map[*source]*harfbuzz.Font
	buffer    *harfbuzz.Buffer
	paragraph bidi.Paragraph
}

func newShaper(s sources) *shaper {
	return &shaper{sources: s, fonts: map[*source]*harfbuzz.Font{}, buffer: harfbuzz.NewBuffer()}
}

// width returns the width of clean text in f, in thousandths of the type size.
func (s *shaper) width(f *face, text string) int {
	if width, ok := f.common.width(text); ok {
		return width
	}
	width := 0
	for _, r := range s.runs(f, text) {
		width += r.width
	}
	return width
}

// measure returns the clusters of clean text in f with their widths.
func (s *shaper) measure(f *face, text string) (clusters []cluster) {
	for _, r := range s.runs(f, text) {
		clusters = append(clusters, r.clusters...)
	}
	return clusters
}

// runs divides a line of clean text into runs, in the order in which it is read. The line as a whole is written from left to
// right; what is written from right to left stands in it as the Unicode bidirectional algorithm has it.
func (s *shaper) runs(f *face, text string) []run {
	runes := []rune(text)
	var runs []run
	var levels []bidi.Level
	segments := s.paragraph.Segment(runes, bidi.LeftToRight)
	for i := range segments.NumRuns() {
		segment := segments.Run(i)
		rightToLeft := !segment.IsLeftToRight()
		text := runes[segment.Start:segment.End]
		for _, part := range s.divide(f, text, rightToLeft) {
			runs = append(runs, s.shape(f, part.source, text[part.begin:part.end], rightToLeft))
			levels = append(levels, segment.Level)
		}
	}
	at := 0
	for _, i := range visualOrder(levels) {
		runs[i].at = at
		at += runs[i].width
	}
	return runs
}

// part is a text in one font; in no source for the common font of the face.
type part struct {
	source     *source
	begin, end int // of the text
}

// divide divides text of one direction by the fonts that have it. A mark stays with the letter before it.
// What is written from right to left takes only spaces from the common font, because the shaper turns its brackets around.
func (s *shaper) divide(f *face, text []rune, rightToLeft bool) (parts []part) {
	for i, r := range text {
		var source *source
		if f.common.find(r) == 0 || rightToLeft && r != ' ' {
			source = s.sources.of(r)
		}
		begin := i
		if last := len(parts) - 1; last >= 0 && (unicode.In(r, unicode.M) || joiner(r)) {
			switch before := parts[last].source; {
			case before != nil && (joiner(r) || before.has(r)):
				source = before
			case source != nil && source.has(text[i-1]): // a letter of the common font takes a mark that it lacks
				begin--
				if parts[last].end--; parts[last].begin == parts[last].end {
					parts = parts[:last]
				}
			}
		}
		if last := len(parts) - 1; last >= 0 && parts[last].source == source {
			parts[last].end = i + 1
			continue
		}
		parts = append(parts, part{source, begin, i + 1})
	}
	return parts
}

func (s *shaper) shape(f *face, source *source, text []rune, rightToLeft bool) run {
	if source == nil {
		r := run{text: string(text)}
		for _, letter := range text {
			width, _ := f.common.width(string(letter))
			r.clusters = append(r.clusters, cluster{text: string(letter), width: width})
			r.width += width
		}
		return r
	}
	b := s.buffer
	b.Clear()
	b.AddRunes(text, 0, -1)
	b.Props.Direction = harfbuzz.LeftToRight
	if rightToLeft {
		b.Props.Direction = harfbuzz.RightToLeft
	}
	b.Props.Script = scriptOf(text)
	b.Props.Language = language.NewLanguage("en-NZ")
	b.Shape(s.font(source), nil)

	// The glyphs stand as they are drawn, the clusters in their order or, from right to left, against it.
	r := run{source: source, text: string(text), rightToLeft: rightToLeft}
	begin := -1
	var clusters []cluster
	var begins []int
	for i, info := range b.Info {
		if info.Cluster != begin {
			begin = info.Cluster
			clusters, begins = append(clusters, cluster{}), append(begins, begin)
		}
		pos := b.Pos[i]
		last := &clusters[len(clusters)-1]
		last.glyphs = append(last.glyphs, placed{uint16(info.Glyph), r.width + source.thousandths(int(pos.XOffset)), source.thousandths(int(pos.YOffset))})
		last.width += source.thousandths(int(pos.XAdvance))
		r.width += source.thousandths(int(pos.XAdvance))
	}
	if rightToLeft {
		slices.Reverse(clusters)
		slices.Reverse(begins)
	}
	for i := range clusters {
		r.drawnOtherwise = r.drawnOtherwise || len(clusters[i].glyphs) != 1 && !rightToLeft
		end := len(text)
		if i+1 < len(clusters) {
			end = begins[i+1]
		}
		clusters[i].text = string(text[begins[i]:end])
	}
	for _, cluster := range clusters {
		if first, _ := utf8.DecodeRuneInString(cluster.text); joiner(first) && len(r.clusters) > 0 { // it shows nothing
			r.clusters[len(r.clusters)-1].text += cluster.text
			continue
		}
		r.clusters = append(r.clusters, cluster)
	}
	return r
}

func (s *shaper) font(of *source) *harfbuzz.Font {
	if f := s.fonts[of]; f != nil {
		return f
	}
	f := harfbuzz.NewFont(font.NewFace(of.parsed()))
	s.fonts[of] = f
	return f
}

// scriptOf returns the script of a text: that of its first letter.
func scriptOf(text []rune) language.Script {
	for _, r := range text {
		if script := language.LookupScript(r); script != language.Common && script != language.Inherited {
			return script
		}
	}
	return language.Latin
}

// visualOrder returns the indexes of runs with these levels in the order in which they are drawn, from left to right (Unicode
// Standard Annex 9, rule L2).
func visualOrder(levels []bidi.Level) []int {
	order := make([]int, len(levels))
	for i := range order {
		order[i] = i
	}
	if len(levels) == 0 {
		return order
	}
	for level := slices.Max(levels); level > 0; level-- {
		for begin := 0; begin < len(levels); begin++ {
			end := begin
			for end < len(levels) && levels[order[end]] >= level {
				end++
			}
			if end > begin {
				slices.Reverse(order[begin:end])
				begin = end
			}
		}
	}
	return order
}
