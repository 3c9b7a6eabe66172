package httpapi

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// Descriptions in the document are in a subset of Markdown, which other programs that show the document render too.
type (
	// textBlock is a paragraph, a list, or code.
	textBlock struct {
		Text  string
		Items []string
		Shown *codeView
	}
	// codeView is text in which every space counts. The label names it for screen readers.
	codeView struct {
		Label string
		Text  template.HTML
	}
)

// parseMarkdown reads a description under a title. An empty line ends a block; "- " begins the items of a list,
// and four spaces a line that is shown as it is.
func parseMarkdown(title, text string) (all []textBlock) {
	shown := 0
	for block := range strings.SplitSeq(text, "\n\n") {
		if list, ok := strings.CutPrefix(block, "- "); ok {
			all = append(all, textBlock{Items: strings.Split(list, "\n- ")})
		} else if line, ok := strings.CutPrefix(block, "    "); ok {
			shown++
			label := fmt.Sprintf("%s: example %d", title, shown)
			all = append(all, textBlock{Shown: &codeView{label, template.HTML(escape(line))}})
		} else {
			all = append(all, textBlock{Text: block})
		}
	}
	return all
}

// renderInline writes a description as HTML: text between backticks is code.
func renderInline(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(escape(text), "`") {
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// escape escapes text for use between tags, where quotes need no escape.
func escape(text string) string { return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text) }

// lineWidth is where formatJSON breaks a line, in characters: what a phone shows without much scrolling.
const lineWidth = 72

// formatJSON writes a value as JSON for people: what fits on a line is on one.
func formatJSON(v strictjson.Value) template.HTML { return template.HTML(escape(appendJSON(v, ""))) }

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
