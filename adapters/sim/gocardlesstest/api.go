package gocardlesstest

import (
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
)

// Version is the version of the API.
const Version = "2015-07-06"

// dataEnvelope is the name around the body of an action.
const dataEnvelope = "data"

// maxKey is the length of the longest idempotency key, in bytes.
const maxKey = 128

// call is one request of the API that is to be carried out.
type call struct {
	route route
	path  string
	id    string // in the path
	query url.Values
	body  strictjson.Value
	key   string // Idempotency-Key
	base  string // of the hosted page
	now   time.Time
}

func (c *call) form() form { return formOf(c.route.envelope(), c.body) }

// answer is the result of a call.
type answer struct {
	id   string // of the resource that was created or acted on
	body any    // the resource, or a list
	meta object // of a list
}

// handler carries out a call.
type handler func(*state, *call) (answer, *apiError)

// route is one call of the API.
type route struct {
	pattern string // as of http.ServeMux: "GET /mandates/{id}"
	handle  handler
}

// other is the route of paths that the API does not have.
var other = route{pattern: "other"}

// routes lists the whole API.
func routes() []route {
	return []route{
		{"POST /billing_requests", createBillingRequest},
		{"GET /billing_requests/{id}", getBillingRequest},
		{"POST /billing_requests/{id}/actions/cancel", cancelBillingRequest},
		{"POST /billing_request_flows", createFlow},
		{"GET /mandates/{id}", getMandate},
		{"POST /mandates/{id}/actions/cancel", cancelMandate},
		{"GET /events", listEvents},
		{"GET /creditors", listCreditors},
	}
}

// changes reports whether the call changes something.
func (r route) changes() bool { return strings.HasPrefix(r.pattern, http.MethodPost) }

// resource returns the name of the resource, which is around every answer.
func (r route) resource() string { return strings.Split(r.pattern, "/")[1] }

// envelope returns the name around the body of a call that changes something.
func (r route) envelope() string {
	if strings.Contains(r.pattern, "/actions/") {
		return dataEnvelope
	}
	return r.resource()
}

// newHandler returns the handler of everything that the simulator serves.
func (s *Simulator) newHandler() http.Handler {
	mux := http.NewServeMux()
	for _, found := range routes() {
		mux.HandleFunc(found.pattern, func(w http.ResponseWriter, r *http.Request) { s.serveAPI(w, r, found) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.serveAPI(w, r, other) })
	pages := newPages(s)
	mux.Handle(flowPath, pages)
	mux.Handle(assetsPath, pages)
	if s.options.Control {
		mux.Handle(controlPath, newControl(s))
	}
	return mux
}

// response is an answer as it is written.
type response struct {
	status int
	body   []byte
	header http.Header
}

// serveAPI serves one call, or what an armed fault makes of it.
func (s *Simulator) serveAPI(w http.ResponseWriter, r *http.Request, found route) {
	s.count(func(c *Statistics) { c.Calls[found.pattern]++ })
	c := &call{route: found, path: r.URL.Path, id: r.PathValue("id"), query: r.URL.Query(), key: r.Header.Get("Idempotency-Key"),
		base: s.base(r)}
	header := http.Header{}
	err := s.admit(r, header)
	if err == nil && found.handle == nil {
		err = usage(http.StatusNotFound, "path_not_found", "Path not found")
	}
	if err == nil && found.changes() {
		c.body, err = readCall(w, r, found.envelope())
	}
	if err != nil {
		s.write(w, found, s.failed(err, header))
		return
	}
	carryOut := func() response {
		a, err := s.carryOut(c)
		if err != nil {
			return s.failed(err, header)
		}
		return a.response(found, header)
	}
	if fault, ok := s.faults.Pick(r, s.options.Rand, nil); ok {
		s.suffer(w, r, c, fault, header, carryOut)
		return
	}
	s.write(w, found, carryOut())
}

// count changes the numbers that are counted at once.
func (s *Simulator) count(change func(*Statistics)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.counts)
}

// base returns the address under which payers find the pages.
func (s *Simulator) base(r *http.Request) string {
	if s.options.PublicURL != "" {
		return s.options.PublicURL
	}
	return "http://" + r.Host
}

// carryOut carries out a call, once for each idempotency key.
func (s *Simulator) carryOut(c *call) (a answer, err *apiError) {
	s.do(func(state *state, now time.Time) {
		c.now = now
		name, keyed := c.path+" "+c.key, c.route.changes() && c.key != ""
		if id, used := state.keys[name]; keyed && used {
			err = conflict(id)
			return
		}
		a, err = c.route.handle(state, c)
		switch {
		case err != nil:
		case keyed:
			state.keys[name] = a.id
		case c.route.changes():
			s.counts.WithoutKey++
		}
	})
	return a, err
}

// response returns an answer in its envelope.
func (a answer) response(found route, header http.Header) response {
	status, body := http.StatusOK, object{found.resource(): a.body}
	if a.meta != nil {
		body["meta"] = a.meta
	}
	if found.changes() && found.envelope() != dataEnvelope {
		status = http.StatusCreated
	}
	return response{status, control.Encode(body), header}
}

// failed returns the response of an error.
func (s *Simulator) failed(err *apiError, header http.Header) response {
	s.mu.Lock()
	id := s.state.newID("RQ")
	s.mu.Unlock()
	header.Set("X-Request-Id", id)
	return response{err.status, control.Encode(err.toWire(id)), header}
}

// write sends a response, and counts it.
func (s *Simulator) write(w http.ResponseWriter, found route, res response) {
	s.count(func(c *Statistics) { c.Answers[found.pattern+" "+strconv.Itoa(res.status)]++ })
	maps.Copy(w.Header(), res.header)
	w.Header().Set("Date", s.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("GoCardless-Version", Version)
	w.Header().Set("Content-Length", strconv.Itoa(len(res.body)))
	w.WriteHeader(res.status)
	_, _ = w.Write(res.body) // a client that went away is no fault
}

// admit returns the error of a request that may not use the API, and sets the headers of the rate limit.
func (s *Simulator) admit(r *http.Request, header http.Header) *apiError {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch version := r.Header.Values("GoCardless-Version"); {
	case !bearer || !same(token, s.options.Token):
		return usage(http.StatusUnauthorized, "unauthorized", "Unauthorized: the access token is missing or not valid")
	case len(version) == 0:
		return usage(http.StatusBadRequest, "missing_version_header", "Missing GoCardless-Version header")
	case !slices.Equal(version, []string{Version}):
		return usage(http.StatusBadRequest, "version_not_found", "Version not found")
	case !s.spend(header):
		return rateLimited()
	}
	return nil
}

// same compares two secrets in constant time.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// spend counts a request of the present minute and reports whether it is within the limit.
func (s *Simulator) spend(header http.Header) bool {
	limit := s.options.RateLimit
	if limit < 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if minute := s.clock.Now().Truncate(time.Minute); !s.minute.Equal(minute) {
		s.minute, s.spent = minute, 0
	}
	s.spent++
	setRateLimit(header, limit, limit-s.spent, s.minute.Add(time.Minute))
	return s.spent <= limit
}

// setRateLimit sets the headers that say how much of the limit is left.
func setRateLimit(header http.Header, limit, remaining int, reset time.Time) {
	header.Set("RateLimit-Limit", strconv.Itoa(limit))
	header.Set("RateLimit-Remaining", strconv.Itoa(max(0, remaining)))
	header.Set("RateLimit-Reset", reset.UTC().Format(http.TimeFormat))
}
