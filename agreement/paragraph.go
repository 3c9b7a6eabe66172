package agreement

import (
	"regexp"
	"strings"
)

// Paragraph is a part of a text: a paragraph or a list, of which the other is empty.
type Paragraph struct {
	Text  string
	Items []Item
}

// Item is an item of a list.
type Item struct {
	Mark string // "•", or as the text has it: "(a)"
	Text string
}

// Bullet is the mark of an item that has no number or letter.
const Bullet = "•"

// marked matches a line that is an item of a list: a hyphen, a bullet, or a number or letter with a bracket or a point, and white
// space after it.
var marked = regexp.MustCompile(`^(-|•|\(?[0-9]{1,2}\)|[0-9]{1,2}\.|\(?[a-zA-Z]\)|\((?:i|ii|iii|iv|v|vi|vii|viii|ix|x)\))\s+(\S.*)$`)

// Paragraphs returns the paragraphs and lists of a text of several lines, in which every line is a paragraph or, where it begins
// with a mark such as "-", "(a)" or "1.", an item of a list. Empty lines separate. A text of one line is a paragraph as it
// stands: it may be a name or an identifier.
func Paragraphs(text string) (list []Paragraph) {
	if text != "" && !strings.Contains(text, "\n") {
		return []Paragraph{{Text: text}}
	}
	within := false // the line before was an item
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			within = false
			continue
		}
		parts := marked.FindStringSubmatch(line)
		if parts == nil {
			list, within = append(list, Paragraph{Text: line}), false
			continue
		}
		item := Item{Mark: parts[1], Text: parts[2]}
		if item.Mark == "-" {
			item.Mark = Bullet
		}
		if !within {
			list = append(list, Paragraph{})
		}
		last := &list[len(list)-1]
		last.Items, within = append(last.Items, item), true
	}
	return list
}

// Lines returns what a rendering of the text shows, one after the other: its paragraphs, and its items with their marks.
func Lines(text string) (list []string) {
	for _, p := range Paragraphs(text) {
		if p.Text != "" {
			list = append(list, p.Text)
		}
		for _, item := range p.Items {
			list = append(list, item.Mark+" "+item.Text)
		}
	}
	return list
}
