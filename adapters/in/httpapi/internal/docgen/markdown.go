package main

import (
	"fmt"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// Descriptions in the document are in a subset of Markdown, which other programs that show the document render too.
type (
	// textBlock is a heading, a paragraph, a list, a table, or code.
	textBlock struct {
		Heading, Text string
		Items         []string
		Rows          [][]string // of a table, the first one its heads
		Shown         *codeView
	}
	// codeView is text in which every space counts. The label names it for screen readers.
	codeView struct{ Label, Language, Text string }
)

const fence = "```"

// parseMarkdown reads a description under a title. An empty line ends a block; "### " begins a heading, "- " the items of a
// list, "| " the rows of a table, and four spaces a line that is shown as it is, as is what stands between fences.
func parseMarkdown(title, text string) (all []textBlock) {
	shown := 0
	show := func(language, text string) {
		shown++
		label := fmt.Sprintf("%s: example %d", title, shown)
		all = append(all, textBlock{Shown: &codeView{label, language, text}})
	}
	for i, part := range strings.Split(text, fence) {
		if i%2 == 1 {
			language, code, _ := strings.Cut(part, "\n")
			show(language, strings.TrimSuffix(code, "\n"))
			continue
		}
		for block := range strings.SplitSeq(strings.Trim(part, "\n"), "\n\n") {
			if line, ok := strings.CutPrefix(block, "    "); ok {
				show("", line)
			} else if block != "" {
				all = append(all, parseBlock(block))
			}
		}
	}
	return all
}

func parseBlock(block string) textBlock {
	if heading, ok := strings.CutPrefix(block, "### "); ok {
		return textBlock{Heading: heading}
	}
	if list, ok := strings.CutPrefix(block, "- "); ok {
		return textBlock{Items: strings.Split(list, "\n- ")}
	}
	if !strings.HasPrefix(block, "| ") {
		return textBlock{Text: block}
	}
	var rows [][]string
	for i, line := range strings.Split(block, "\n") {
		if i != 1 { // the line between the heads and the rows
			rows = append(rows, strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | "))
		}
	}
	return textBlock{Rows: rows}
}

// parseReach reads a table whose rows begin with a place of the page: an anchor and, of a status, one of its words.
func parseReach(table string) map[string][]reachView {
	all := map[string][]reachView{}
	for _, row := range parseBlock(strings.TrimSpace(table)).Rows[1:] {
		anchor, word, _ := strings.Cut(row[0], " ")
		all[anchor] = append(all[anchor], reachView{word, row[1]})
	}
	return all
}

var (
	boldText = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	pageLink = regexp.MustCompile(`\[([^]]+)\]\(#([a-zA-Z-]+)\)`)
)

// renderInline writes a description as HTML: text between backticks is code, between double stars it is strong, and a link
// leads to a place of the page.
func renderInline(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(escape(text), "`") {
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		} else {
			part = boldText.ReplaceAllString(part, "<strong>$1</strong>")
			part = pageLink.ReplaceAllString(part, `<a href="#$2">$1</a>`)
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// renderCode writes text as HTML in which every space counts.
func renderCode(text string) template.HTML { return template.HTML(escape(text)) }

// escape escapes text for use between tags, where quotes need no escape.
func escape(text string) string { return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text) }

// lineWidth is the longest line of formatJSON in characters: a phone shows it without much scrolling.
const lineWidth = 72

// formatJSON writes a value as JSON for people: what fits on a line is on one.
func formatJSON(v strictjson.Value) string { return appendJSON(v, "") }

func appendJSON(v strictjson.Value, indent string) string {
	var open, shut string
	var parts []string
	inner := indent + " "
	switch v.Kind {
	case strictjson.Object:
		open, shut = "{", "}"
		for _, m := range v.Members {
			parts = append(parts, strconv.Quote(m.Name)+": "+appendJSON(m.Value, inner))
		}
	case strictjson.Array:
		open, shut = "[", "]"
		for _, item := range v.Items {
			parts = append(parts, appendJSON(item, inner))
		}
	case strictjson.String:
		return strconv.Quote(v.Text)
	default:
		return v.Text
	}
	flat := open + strings.Join(parts, ", ") + shut
	if !strings.Contains(flat, "\n") && utf8.RuneCountInString(indent+flat) <= lineWidth {
		return flat
	}
	return open + strings.Join(parts, ",\n"+inner) + shut
}
