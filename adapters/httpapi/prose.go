package httpapi

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// Descriptions in the document are the little Markdown that is read here, for other programs that show
// the document read it too.
type (
	// blockView is a paragraph, a list, or what is shown as it is.
	blockView struct {
		Text  string
		Items []string
		Shown *shownView
	}
	// shownView is text in which every space counts. The label names it to those who hear it.
	shownView struct {
		Label string
		Text  template.HTML
	}
)

// blocks reads a description under a title. An empty line ends a block; "- " begins the items of a list,
// and four spaces a line that is shown as it is.
func blocks(title, text string) (all []blockView) {
	shown := 0
	for block := range strings.SplitSeq(text, "\n\n") {
		if list, ok := strings.CutPrefix(block, "- "); ok {
			all = append(all, blockView{Items: strings.Split(list, "\n- ")})
		} else if line, ok := strings.CutPrefix(block, "    "); ok {
			shown++
			label := fmt.Sprintf("%s: example %d", title, shown)
			all = append(all, blockView{Shown: &shownView{label, template.HTML(escape(line))}})
		} else {
			all = append(all, blockView{Text: block})
		}
	}
	return all
}

// prose writes a description as HTML: what stands between backticks is code.
func prose(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(escape(text), "`") {
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

// escape writes text to stand between tags, where quotes are only quotes.
func escape(text string) string { return strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text) }

// lineWidth is where written breaks a line, in characters: what a phone shows without much scrolling.
const lineWidth = 72

// written writes a value as JSON for people: what fits on a line stands on one.
func written(v strictjson.Value) template.HTML { return template.HTML(escape(write(v, ""))) }

func write(v strictjson.Value, indent string) string {
	var open, shut string
	var parts []string
	inner := indent + " "
	switch v.Kind {
	case strictjson.Object:
		open, shut = "{", "}"
		for _, m := range v.Members {
			parts = append(parts, strconv.Quote(m.Name)+": "+write(m.Value, inner))
		}
	case strictjson.Array:
		open, shut = "[", "]"
		for _, item := range v.Items {
			parts = append(parts, write(item, inner))
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
