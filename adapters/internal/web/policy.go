package web

import (
	"net/http"
	"strings"
)

// Policy is a Content-Security-Policy. It forbids everything that it does not name; the zero Policy forbids everything.
type Policy struct {
	Files      bool     // stylesheets, scripts and pictures of this server
	NoScript   bool     // no script among these files
	DataImages bool     // pictures in data URLs, beside this server's
	Forms      bool     // forms may be sent to this server, and to FormsTo
	FormsTo    []string // origins that a form may be sent or redirected to beside this server
	Frames     []string // origins that may frame the page; empty: no page may
}

func (p Policy) String() string {
	files, forms, frames := "", "'none'", "'none'"
	if p.Files {
		files = "style-src 'self'; script-src 'self'; img-src 'self'"
		if p.NoScript {
			files = "style-src 'self'; img-src 'self'"
		}
		if p.DataImages {
			files += " data:"
		}
		files += "; "
	}
	if p.Forms {
		forms = strings.Join(append([]string{"'self'"}, p.FormsTo...), " ")
	}
	if len(p.Frames) > 0 {
		frames = strings.Join(p.Frames, " ")
	}
	return "default-src 'none'; " + files + "form-action " + forms + "; base-uri 'none'; frame-ancestors " + frames
}

// SetPageHeaders keeps a page out of referrers, indexes and foreign frames, as Wrap keeps it out of caches, and lets it load
// only what this server serves and ask for nothing of the payer's device. Another site cannot load it as a picture or a
// script. There is no Cross-Origin-Opener-Policy, which would cut the page off from the window that opened it.
func SetPageHeaders(h http.Header, p Policy) {
	h.Set("Content-Security-Policy", p.String())
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
}
