package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// Policy is a Content-Security-Policy. It forbids everything that it does not name; the zero Policy forbids everything.
type Policy struct {
	Files      bool     // stylesheets, scripts and pictures of this server
	Style      string   // in place of Files: the one stylesheet that stands in the page itself
	Script     string   // the one script that stands in the page itself, which can fetch and send nothing
	NoScript   bool     // none of these files is a script
	DataImages bool     // pictures in data URLs, beside this server's
	Forms      bool     // forms may be sent to this server, and to FormsTo
	FormsTo    []string // origins that a form may be sent or redirected to beside this server
	Frames     []string // origins that may frame the page; empty: no page may
}

// String returns the policy as the value of the header.
func (p Policy) String() string {
	frames := "'none'"
	if len(p.Frames) > 0 {
		frames = strings.Join(p.Frames, " ")
	}
	return p.Content() + "; frame-ancestors " + frames
}

// Content returns the policy without its last part, on frames, which a page cannot have in its own text.
func (p Policy) Content() string {
	files, forms := "", "'none'"
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
	if p.Style != "" {
		files = "style-src " + hashSource(p.Style) + "; "
	}
	if p.Script != "" {
		files += "script-src " + hashSource(p.Script) + "; connect-src 'none'; "
	}
	if p.Forms {
		forms = strings.Join(append([]string{"'self'"}, p.FormsTo...), " ")
	}
	return "default-src 'none'; " + files + "form-action " + forms + "; base-uri 'none'"
}

// hashSource returns the source that allows this text alone.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
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
