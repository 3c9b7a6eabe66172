package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	htmltemplate "html/template"
	"net/http"
	"strings"
	"sync"
	"text/template"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

// The API's description. The page and its Markdown edition are rendered from the document and the quickstart, so that
// there is one text to keep true.
var (
	//go:embed openapi.json
	openapiJSON []byte
	//go:embed quickstart.md
	quickstart string
	//go:embed docs.html
	docsHTML string
	//go:embed docs.md.tmpl
	docsMarkdown string
	//go:embed docs.css
	docsCSS []byte
	//go:embed docs.js
	docsJS []byte
)

// document is the documentation that is made of openapi.json and the quickstart: the page for people, its Markdown edition,
// and the description of the events for programs.
type document struct {
	page     []byte
	markdown []byte
	asyncAPI []byte
	anchors  map[string]bool // ids in the page that errors point to
}

// loadDocument renders the page, once for every handler. It panics if a file is faulty: they are part of
// the program.
var loadDocument = sync.OnceValue(func() *document {
	root, err := strictjson.Parse(openapiJSON, maxDepth)
	if err != nil {
		panic("httpapi: openapi.json: " + err.Error())
	}
	o := spec{root: root, anchors: map[string]bool{}, tagged: map[string]bool{}}
	view := o.page()
	html := htmltemplate.Must(htmltemplate.New("docs.html").Funcs(htmltemplate.FuncMap{
		"blocks": parseMarkdown, "markdown": renderInline, "code": renderCode, "slug": slug}).Parse(docsHTML))
	text := template.Must(template.New("docs.md.tmpl").Funcs(template.FuncMap{"lower": strings.ToLower}).Parse(docsMarkdown))
	var page, markdown bytes.Buffer
	if err := errors.Join(html.Execute(&page, view), text.Execute(&markdown, view)); err != nil {
		panic("httpapi: " + err.Error())
	}
	events, err := o.asyncAPI()
	if err != nil {
		panic("httpapi: openapi.json: " + err.Error())
	}
	return &document{page.Bytes(), markdown.Bytes(), events, o.anchors}
})

// exampleBase stands in every description for the base URL of the service that shows it.
const exampleBase = "https://pay.example.nz"

// under returns what makes a description with the service's base URL in it.
func under(base string, text []byte) func() []byte {
	return func() []byte { return bytes.ReplaceAll(text, []byte(exampleBase), []byte(base)) }
}

// always returns what returns text.
func always(text []byte) func() []byte { return func() []byte { return text } }

// link points to a place of the page under a base path, for the end of a message; "" where the page has no such place.
func (d *document) link(base, anchor string) string {
	if !d.anchors[anchor] {
		return ""
	}
	return "; see " + base + docsPath + "#" + anchor
}

// addLinks has the messages of a refusal say where more is to be read.
func (d *document) addLinks(w *envelopeWire, base string) {
	w.Error.Message += d.link(base, "error-"+w.Error.Code)
	for i := range w.Error.Details {
		w.Error.Details[i].Message += d.link(base, "field-"+w.Error.Details[i].Field)
	}
}

// file serves a file that is the same for all, which body makes when it is first asked for. A client that has it already is
// told so.
func file(contentType string, body func() []byte) http.Handler {
	type made struct {
		body []byte
		tag  string
	}
	once := sync.OnceValue(func() made {
		b := body()
		sum := sha256.Sum256(b)
		return made{b, `W/"` + hex.EncodeToString(sum[:8]) + `"`}
	})
	return web.Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, h := once(), w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("Content-Security-Policy", web.Policy{Styles: true, Scripts: true, Images: true}.String())
		h.Set("ETag", f.tag)
		if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(f.body) // a client that went away is no fault
	}))
}
