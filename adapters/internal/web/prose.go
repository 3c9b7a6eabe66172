package web

import (
	"html/template"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// Isolate returns a text as HTML in which each of the names, which come from outside, is put in a <bdi>, so that a name
// that is written from right to left does not reorder the words around it.
func Isolate(text string, names ...string) template.HTML {
	var b strings.Builder
	plain := 0 // start of the text that is not written yet
	for i := 0; i < len(text); {
		name := ""
		for _, n := range names {
			if len(n) > len(name) && strings.HasPrefix(text[i:], n) {
				name = n
			}
		}
		if name == "" {
			i++
			continue
		}
		b.WriteString(template.HTMLEscapeString(text[plain:i]) + "<bdi>" + template.HTMLEscapeString(name) + "</bdi>")
		i += len(name)
		plain = i
	}
	return template.HTML(b.String() + template.HTMLEscapeString(text[plain:]))
}

// Prose returns a text of an agreement as paragraphs and lists of HTML, in which names are isolated as Isolate does.
func Prose(text string, names ...string) template.HTML {
	var b strings.Builder
	for _, p := range agreement.Paragraphs(text) {
		if p.Text != "" {
			b.WriteString("<p>" + string(Isolate(p.Text, names...)) + "</p>")
			continue
		}
		b.WriteString("<ul>")
		for _, item := range p.Items {
			mark := ""
			if item.Mark != agreement.Bullet {
				mark = " class=\"marked\""
				item.Text = item.Mark + " " + item.Text
			}
			b.WriteString("<li" + mark + ">" + string(Isolate(item.Text, names...)) + "</li>")
		}
		b.WriteString("</ul>")
	}
	return template.HTML(b.String())
}
