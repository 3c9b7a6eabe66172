package web

import (
	"net/http"
	"strings"
)

// Policy is a Content-Security-Policy. It forbids everything that it does not name; the zero Policy forbids everything.
type Policy struct {
	Styles     bool     // stylesheets of this server
	Scripts    bool     // scripts of this server
	Images     bool     // pictures of this server
	DataImages bool     // pictures in data URLs
	Forms      bool     // forms may be sent to this server, and to FormsTo
	FormsTo    []string // origins that a form may be sent or redirected to beside this server
	Frames     []string // origins that may frame the page; empty: no page may
}

// String returns the policy as the value of the header.
func (p Policy) String() string {
	directives := []string{"default-src 'none'"}
	allow := func(directive string, allowed bool, sources ...string) {
		if allowed {
			directives = append(directives, directive+" "+strings.Join(sources, " "))
		}
	}
	allow("style-src", p.Styles, "'self'")
	allow("script-src", p.Scripts, "'self'")
	switch {
	case p.DataImages:
		allow("img-src", true, "'self'", "data:")
	default:
		allow("img-src", p.Images, "'self'")
	}
	forms := []string{"'none'"}
	if p.Forms {
		forms = append([]string{"'self'"}, p.FormsTo...)
	}
	frames := p.Frames
	if len(frames) == 0 {
		frames = []string{"'none'"}
	}
	allow("form-action", true, forms...)
	allow("base-uri", true, "'none'")
	allow("frame-ancestors", true, frames...)
	return strings.Join(directives, "; ")
}

// setPageHeaders keeps a page out of caches, referrers, indexes and foreign frames, and lets it load only what this
// server serves and ask for nothing of the payer's device. Another site cannot load it as a picture or a script. There is
// no Cross-Origin-Opener-Policy, which would cut the page off from the window that opened it.
func setPageHeaders(h http.Header, p Policy) {
	h.Set("Content-Security-Policy", p.String())
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
}
