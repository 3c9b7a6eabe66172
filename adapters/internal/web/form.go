package web

import (
	"crypto/sha256"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const maxForm = 16 << 10

// Handler returns the handler of the site: its pages by their routes as for Router.On, and its assets, unless a route of their
// path serves them.
func (s *Site) Handler(routes map[string]http.HandlerFunc) http.Handler {
	router := NewRouter()
	router.NotFoundHandler = http.HandlerFunc(s.NotFound)
	router.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", router.Allowed(r))
		s.problem(w, r, http.StatusMethodNotAllowed)
	})
	for route, h := range routes {
		router.On(route, h)
	}
	router.On("GET "+s.Assets+"{asset}", http.HandlerFunc(s.Asset))
	return Wrap(s.Options, Compress(router), s.Broken)
}

// Admit reports whether to serve a request for the page with this secret ("" for a request without a secret). If not, it
// answers the request itself: 404 without a secret, and 429 if the client's address or the secret exceeds the rate
// limit.
func (s *Site) Admit(w http.ResponseWriter, r *http.Request, secret string) bool {
	name := sha256.Sum256([]byte(secret)) // of fixed length, however long the secret
	wait, ok := s.limiter.Allow(ClientNet(r.Context()))
	if ok && secret != "" {
		wait, ok = s.limiter.Allow(string(name[:]))
	}
	switch {
	case !ok:
		SetRetryAfter(w.Header(), wait)
		s.problem(w, r, http.StatusTooManyRequests)
	case secret == "":
		s.NotFound(w, r)
	}
	return ok && secret != ""
}

// One returns a value that is given exactly once, or "".
func One(values url.Values, name string) string {
	if given := values[name]; len(given) == 1 {
		return given[0]
	}
	return ""
}

// ReadForm returns the values of the form in the body, and not the values of the address. If the body
// is no form, or a browser reports that another website sent it, ReadForm answers the request
// itself and ok is false. There are no cookies, so a token in the body is proof enough; under
// no-referrer browsers send "Origin: null" for our own forms.
func (s *Site) ReadForm(w http.ResponseWriter, r *http.Request) (form url.Values, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	media, _, faulty := mime.ParseMediaType(strings.Join(r.Header.Values("Content-Type"), ", "))
	if err == nil {
		form, err = url.ParseQuery(string(body))
	}
	status := http.StatusOK
	switch {
	case s.crossSite(r):
		status = http.StatusForbidden
	case faulty != nil, media != "application/x-www-form-urlencoded":
		status = http.StatusUnsupportedMediaType
	case errors.As(err, new(*http.MaxBytesError)):
		status = http.StatusRequestEntityTooLarge
	case err != nil:
		status = http.StatusBadRequest
	}
	if status != http.StatusOK {
		s.problem(w, r, status)
		return nil, false
	}
	return form, true
}

// crossSite reports whether a browser says that another website sent a request. Old browsers say it by Origin alone. A proxy may have
// changed Host: then the base URL has the site's own origin.
func (s *Site) crossSite(r *http.Request) bool {
	if sites := r.Header.Values("Sec-Fetch-Site"); len(sites) > 0 {
		return slices.Contains(sites, "cross-site")
	}
	origin := r.Header.Get("Origin")
	if origin == "" || origin == "null" {
		return false
	}
	from, err := url.Parse(origin)
	own, ownErr := url.Parse(s.BaseURL)
	return err != nil || from.Host != r.Host && (ownErr != nil || from.Scheme != own.Scheme || from.Host != own.Host)
}
