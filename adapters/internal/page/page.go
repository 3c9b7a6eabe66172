// Package page is what the service's HTML pages have in common: the layout, the headers that
// keep a page to itself, the pages that say what went wrong, and the reading of forms. It
// works inside web.Wrap, which has given the answer its request id.
package page

import (
	"bytes"
	"compress/gzip"
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"
)

//go:embed layout.html error.html style.css
var shared embed.FS

// Config is what a Site needs; every field is required.
type Config struct {
	Assets  string // path under which the site's assets are, with a slash at the end
	Files   fs.FS  // *.html: a page each, which defines "content"; what *.js and *.css there are: assets
	Log     *slog.Logger
	Clients Limiter // by client address
	Tokens  Limiter // by setup token
}

// Limiter counts a request under a name, and says how long to wait where there were too many.
type Limiter interface {
	Allow(name string) (wait time.Duration, ok bool)
}

// Site shows the pages of one handler. It is safe for concurrent use.
type Site struct {
	Config
	assets map[string]asset
	pages  map[string]*template.Template
}

// View is one page as it is to be shown.
type View struct {
	Status  int
	Title   string       // of the document; the content has the heading
	Brand   string       // whose page it is; "" for nobody's
	Logo    template.URL // the brand's, as a picture in a data URL; "" for its initial
	Sandbox bool         // say that nothing here is real
	Styles  []string     // addresses of further stylesheets
	Frames  []string     // origins that may frame the page; none: nobody may
	Script  string       // asset to run; the page must not need it
	Notify  []string     // origins, for the script
	Data    any          // for the content
}

// Initial returns the first letter or digit of the brand, for its badge; "" where there is none. A logo
// from elsewhere would tell a third party of every visit, and the policy of SetHeaders keeps it out.
func (v View) Initial() string {
	for _, r := range v.Brand {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return string(unicode.ToUpper(r))
		}
	}
	return ""
}

// New parses every page once. It panics if a file is faulty: they are part of the program.
func New(c Config) *Site {
	s := &Site{Config: c, assets: map[string]asset{}, pages: map[string]*template.Template{}}
	s.addAssets(shared)
	s.addAssets(c.Files)
	layout := template.New("layout.html").Funcs(template.FuncMap{"asset": s.assetURL, "words": words})
	template.Must(layout.ParseFS(shared, "layout.html"))
	s.addPages(layout, shared)
	s.addPages(layout, c.Files)
	return s
}

// addPages parses the pages of files, each over a copy of the layout. Files whose name begins with an
// underscore are parts that every page may use.
func (s *Site) addPages(layout *template.Template, files fs.FS) {
	parts := must(fs.Glob(files, "_*.html"))
	for _, name := range must(fs.Glob(files, "*.html")) {
		if name == layout.Name() || strings.HasPrefix(name, "_") {
			continue
		}
		t := template.Must(layout.Clone())
		s.pages[name] = template.Must(t.ParseFS(files, append(parts, name)...))
	}
}

// Show answers with the page of that file name. The page is whole or it is not sent.
func (s *Site) Show(w http.ResponseWriter, r *http.Request, name string, v View) {
	var body bytes.Buffer
	if err := s.pages[name].Execute(&body, v); err != nil {
		s.Log.ErrorContext(r.Context(), "draw page", "page", name, "error", err, "request_id", requestID(w))
		http.Error(w, "Something went wrong.", http.StatusInternalServerError)
		return
	}
	SetHeaders(w.Header(), v.Frames)
	if v.Logo != "" {
		policy := w.Header().Get("Content-Security-Policy")
		w.Header().Set("Content-Security-Policy", strings.Replace(policy, "img-src 'self'", "img-src 'self' data:", 1))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	text := packed(w.Header(), r, body.Bytes())
	w.WriteHeader(v.Status)
	_, _ = w.Write(text) // a client that went away is no fault
}

// packed returns the text as gzip where the client reads that, and says so in the header: a plan of years is
// mostly alike. What is secret in a page stands in its address too, and there are no cookies, so that its
// length tells a stranger nothing.
func packed(h http.Header, r *http.Request, text []byte) []byte {
	h.Add("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return text
	}
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		return text
	}
	h.Set("Content-Encoding", "gzip")
	return body.Bytes()
}

// Redirect sends the browser on to url, by GET.
func (s *Site) Redirect(w http.ResponseWriter, r *http.Request, url string) {
	SetHeaders(w.Header(), nil)
	http.Redirect(w, r, url, http.StatusSeeOther)
}

// SetHeaders keeps a page to itself: out of caches, referrers, indexes and strange frames, and
// with nothing in it but what this server serves. There is no Cross-Origin-Opener-Policy,
// which would cut the page off from the window that opened it.
func SetHeaders(h http.Header, frames []string) {
	ancestors := "'none'"
	if len(frames) > 0 {
		ancestors = strings.Join(frames, " ")
	}
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors "+ancestors)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex, nofollow")
}

// requestID is the id that web.Wrap gave the request.
func requestID(w http.ResponseWriter) string { return w.Header().Get("X-Request-Id") }

// words writes a list as one attribute holds it.
func words(list []string) string { return strings.Join(list, " ") }

// must is for the embedded files, which cannot fail to be read once they have been.
func must[T any](v T, err error) T {
	if err != nil {
		panic("page: " + err.Error())
	}
	return v
}
