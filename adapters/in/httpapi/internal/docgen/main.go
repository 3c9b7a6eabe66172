// Command docgen renders the API's documentation, for go generate in the folder of package httpapi: docs.html for people,
// docs.markdown, its Markdown edition, asyncapi.json, the description of the events for programs, and types and calls of the
// clients in three languages. All are made of openapi.json, quickstart.md and reach.md, so that there is one text to keep true.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

var (
	//go:embed page.html.tmpl
	htmlTemplate string
	//go:embed page.md.tmpl
	markdownTemplate string
)

func main() {
	files, err := render(".")
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(name, content, 0o644))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

// maxDepth bounds the nesting of openapi.json.
const maxDepth = 64

// render returns the files that are made of openapi.json, quickstart.md and reach.md in a folder, by their names.
func render(folder string) (map[string][]byte, error) {
	var sources [3]string
	for i, name := range []string{"openapi.json", "quickstart.md", "reach.md"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		sources[i] = string(text)
	}
	root, err := strictjson.Parse([]byte(sources[0]), maxDepth)
	if err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	o := newSpec(root, sources[2])
	view := o.page(sources[1])
	html := htmltemplate.Must(htmltemplate.New("page.html").Funcs(htmltemplate.FuncMap{
		"blocks": parseMarkdown, "markdown": renderInline, "code": renderCode, "slug": slug}).Parse(htmlTemplate))
	text := template.Must(template.New("page.md").Funcs(template.FuncMap{"lower": strings.ToLower}).Parse(markdownTemplate))
	var page, markdown bytes.Buffer
	if err := errors.Join(html.Execute(&page, view), text.Execute(&markdown, view)); err != nil {
		return nil, err
	}
	events, err := o.asyncAPI()
	if err != nil {
		return nil, err
	}
	files, err := o.clients()
	if err != nil {
		return nil, err
	}
	files["docs.html"], files["docs.markdown"], files["asyncapi.json"] = page.Bytes(), markdown.Bytes(), events
	return files, nil
}
