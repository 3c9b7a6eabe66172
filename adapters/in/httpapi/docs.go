package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

//go:generate go run ./internal/docgen

// The API's description. docs.html, docs.markdown and asyncapi.json are made of openapi.json and quickstart.md by go generate.
var (
	//go:embed openapi.json
	openapiJSON []byte
	//go:embed asyncapi.json
	asyncapiJSON []byte
	//go:embed docs.html
	docsHTML []byte
	//go:embed docs.markdown
	docsMarkdown []byte
	//go:embed docs.css
	docsCSS []byte
	//go:embed docs.js
	docsJS []byte
)

// anchors returns the places in the page that errors point to: a field of a request, or an error code.
var anchors = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="((?:error|field)-[^"]+)"`).FindAllSubmatch(docsHTML, -1) {
		all[string(id[1])] = true
	}
	return all
})

// link points to a place of the page under a base path, for the end of a message; "" where the page has no such place.
func link(base, anchor string) string {
	if !anchors()[anchor] {
		return ""
	}
	return "; see " + base + docsPath + "#" + anchor
}

// addLinks has the messages of a refusal say where more is to be read.
func addLinks(w *envelopeWire, base string) {
	w.Error.Message += link(base, "error-"+w.Error.Code)
	for i := range w.Error.Details {
		w.Error.Details[i].Message += link(base, "field-"+w.Error.Details[i].Field)
	}
}

// exampleBase stands in every description for the base URL of the service that shows it.
const exampleBase = "https://pay.example.nz"

// file serves a file that is the same for all, with the service's base URL in it. A client that has it already is told so.
func file(contentType, base string, text []byte) http.Handler {
	type made struct {
		body []byte
		tag  string
	}
	once := sync.OnceValue(func() made {
		body := bytes.ReplaceAll(text, []byte(exampleBase), []byte(base))
		sum := sha256.Sum256(body)
		return made{body, `W/"` + hex.EncodeToString(sum[:8]) + `"`}
	})
	return web.Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, h := once(), w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("Content-Security-Policy", web.Policy{Files: true}.String())
		h.Set("ETag", f.tag)
		if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(f.body) // a client that went away is no fault
	}))
}
