package web

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"unicode"

	"github.com/klauspost/compress/gzhttp"
)

//go:embed layout.html error.html style.css icon.svg
var shared embed.FS

// SiteConfig is the configuration of a Site, beside the Options of its handler.
type SiteConfig struct {
	Assets    string  // path under which the site's assets are, with a slash at the end
	Files     fs.FS   // *.html: a page each, which defines "content"; assets: *.js, *.css and *.svg
	RateLimit float64 // requests a second of one client, and for one secret, in bursts of twice that; 0 for no limit
}

// Site renders the pages of one handler with one layout and with security headers, and serves its error pages and its
// assets. It is safe for concurrent use.
type Site struct {
	Options
	SiteConfig
	base    string   // path of the base URL
	limiter *Limiter // of clients and of secrets
	assets  map[string]asset
	pages   map[string]*template.Template
}

// View is one page as it is to be shown.
type View struct {
	Status  int
	Title   string       // of the document; the content has the heading
	Brand   string       // display name of the page's owner; optional
	Logo    template.URL // the brand's, as a picture in a data URL; "" for its initial
	Sandbox bool         // show that nothing here is real
	Styles  []string     // addresses of further stylesheets
	Frames  []string     // origins that may frame the page; empty: no page may
	FormsTo []string     // origins beside the server's own to which a form of the page may lead
	Script  string       // asset to run; the page must work without it
	Address string       // that the script gives the answer to a form
	Plain   bool         // no script may run
	Notify  []string     // origins that the script notifies
	Data    any          // for the content
}

// Initial returns the first letter or digit of the brand, for its badge; "" for a brand of other signs. A logo
// from elsewhere would report every visit to a third party; the page's policy keeps it out.
func (v View) Initial() string {
	for _, r := range v.Brand {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return string(unicode.ToUpper(r))
		}
	}
	return ""
}

func (v View) policy() Policy {
	return Policy{Files: true, NoScript: v.Plain, DataImages: v.Logo != "", Forms: true, FormsTo: v.FormsTo, Frames: v.Frames}
}

// NewSite parses every page once. It panics if a file is faulty: they are part of the program.
func NewSite(o Options, c SiteConfig) *Site {
	s := &Site{Options: o, SiteConfig: c, base: BasePath(o.BaseURL),
		limiter: NewLimiter(c.RateLimit, o.Now), assets: map[string]asset{}, pages: map[string]*template.Template{}}
	s.addAssets(shared)
	s.addAssets(c.Files)
	layout := template.New("layout.html").Funcs(template.FuncMap{"asset": s.assetURL, "prose": Prose,
		"words": func(list []string) string { return strings.Join(list, " ") }, "isolate": Isolate, "name": Name, "contact": Contact})
	template.Must(layout.ParseFS(shared, "layout.html"))
	template.Must(layout.New("parts").Parse(AgreementTemplate))
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

// Path returns the address of a path of the service, under its base URL.
func (s *Site) Path(path string) string { return s.base + path }

// Show answers with the page of that file name. A page that cannot be rendered whole is not sent.
func (s *Site) Show(w http.ResponseWriter, r *http.Request, name string, v View) {
	var body bytes.Buffer
	if err := s.pages[name].Execute(&body, v); err != nil {
		s.Log.ErrorContext(r.Context(), "render page", "page", name, "error", err)
		http.Error(w, "Something went wrong.", http.StatusInternalServerError)
		return
	}
	SetPageHeaders(w.Header(), v.policy())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(v.Status)
	_, _ = w.Write(body.Bytes()) // an error means that the client hung up
}

// Redirect sends the browser on to url, by GET.
func (s *Site) Redirect(w http.ResponseWriter, r *http.Request, url string) {
	SetPageHeaders(w.Header(), View{}.policy())
	http.Redirect(w, r, url, http.StatusSeeOther)
}

// must panics on an error. It is for the embedded files, which are part of the program.
func must[T any](v T, err error) T {
	if err != nil {
		panic("web: " + err.Error())
	}
	return v
}

// Compress answers with gzip if the client accepts it: the page of a long plan is repetitive, and a payer's phone may be
// on a slow network. The length of a compressed page leaks no secret, because the only secret in it is also in its
// address, and there are no cookies.
func Compress(next http.Handler) http.Handler {
	return must(gzhttp.NewWrapper(gzhttp.EnableZstd(false)))(next)
}
