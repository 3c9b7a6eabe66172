package httpapi

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"strconv"
	"sync"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

// The API's description. The page is rendered from the document, so that
// there is one text to keep true.
var (
	//go:embed openapi.json
	openapiJSON []byte
	//go:embed docs.html
	docsHTML string
	//go:embed docs.css
	docsCSS []byte
)

// document is the description of the API: openapi.json, and the page that shows it.
type document struct {
	page    []byte
	anchors map[string]bool // ids in the page that errors point to
}

// loadDocument renders the page, once for every handler. It panics if a file is faulty: they are part of
// the program.
var loadDocument = sync.OnceValue(func() *document {
	root, err := strictjson.Parse(openapiJSON, maxDepth)
	if err != nil {
		panic("httpapi: openapi.json: " + err.Error())
	}
	o := spec{root: root, anchors: map[string]bool{}, tagged: map[string]bool{}}
	t := template.Must(template.New("docs").Funcs(template.FuncMap{"markdown": renderInline}).Parse(docsHTML))
	var page bytes.Buffer
	if err := t.Execute(&page, o.page()); err != nil {
		panic("httpapi: docs.html: " + err.Error())
	}
	return &document{page.Bytes(), o.anchors}
})

// openAPI returns the document for a server whose base URL has this path.
func (d *document) openAPI(base string) []byte {
	if base == "" {
		return openapiJSON
	}
	return bytes.Replace(openapiJSON, []byte(`"servers": [{"url": "/"`), []byte(`"servers": [{"url": `+strconv.Quote(base)), 1)
}

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

// file serves a file that is the same for all.
func file(contentType string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("Content-Security-Policy", web.Policy{Styles: true}.String())
		_, _ = w.Write(body) // a client that went away is no fault
	})
}
