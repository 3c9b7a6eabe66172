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
	route *route
	id    string // in the path
	query url.Values
	body  strictjson.Value
	key   string // Idempotency-Key
	base  string // of the hosted page
	now   time.Time
}

func (c *call) form() form { return formOf(c.route.envelope, c.body) }

// answer is the result of a call.
type answer struct {
	status   int
	envelope string
	body     any    // a resource, or a list
	resource string // the id of what was created or acted on
}

// handler carries out a call.
type handler func(*state, *call) (answer, *apiError)

// route is one call of the API. Only a route that changes something has an envelope.
type route struct {
	method   string
	path     string // {id} stands for one segment
	envelope string
	handle   handler
}

func (r *route) name() string { return r.method + " " + r.path }

// routes lists the whole API.
func routes() []route {
	const request = "/billing_requests/{id}/actions/"
	return []route{
		{"POST", "/billing_requests", resourceBillingRequests, createBillingRequest},
		{"GET", "/billing_requests", "", listBillingRequests},
		{"GET", "/billing_requests/{id}", "", getBillingRequest},
		{"POST", request + "collect_customer_details", dataEnvelope, onRequest(collectCustomerDetails)},
		{"POST", request + "collect_bank_account", dataEnvelope, onRequest(collectBankAccount)},
		{"POST", request + "confirm_payer_details", dataEnvelope, onRequest(confirmPayerDetails)},
		{"POST", request + "fulfil", dataEnvelope, onRequest(fulfilBillingRequest)},
		{"POST", request + "cancel", dataEnvelope, onRequest(cancelBillingRequest)},
		{"POST", "/billing_request_flows", "billing_request_flows", createFlow},
		{"GET", "/mandates/{id}", "", getMandate},
		{"POST", "/mandates/{id}/actions/cancel", dataEnvelope, cancelMandate},
		{"POST", "/mandates/{id}/actions/reinstate", dataEnvelope, reinstateMandate},
		{"GET", "/events", "", listEvents},
		{"GET", "/events/{id}", "", getEvent},
		{"GET", "/creditors", "", listCreditors},
		{"GET", "/creditors/{id}", "", getCreditor},
		{"POST", "/mandate_pdfs", "mandate_pdfs", createMandatePDF},
		{"POST", "/scenario_simulators/{id}/actions/run", dataEnvelope, runScenario},
	}
}

// match returns the route of a request and the id in its path.
func match(r *http.Request) (*route, string, *apiError) {
	err := usage(http.StatusNotFound, "path_not_found", "Path not found")
	for _, candidate := range routes() {
		id, ok := matchPath(candidate.path, r.URL.Path)
		switch {
		case ok && candidate.method == r.Method:
			return &candidate, id, nil
		case ok:
			err = usage(http.StatusMethodNotAllowed, "method_not_allowed", "Method not allowed")
		}
	}
	return nil, "", err
}

// matchPath reports whether a path is one of a route's, and returns the id in it.
func matchPath(pattern, path string) (id string, ok bool) {
	before, after, hasID := strings.Cut(pattern, "{id}")
	if !hasID {
		return "", path == pattern
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(rest, after)
	return id, ok && id != "" && !strings.Contains(id, "/")
}

// response is an answer as it is written.
type response struct {
	status int
	body   []byte
	header http.Header
}

// serveAPI serves one call, or what an armed fault makes of it.
func (s *Simulator) serveAPI(w http.ResponseWriter, r *http.Request) {
	header := http.Header{}
	found, id, err := match(r)
	s.count(found)
	if denied := s.admit(r, header); denied != nil {
		err = denied
	}
	if err != nil {
		s.write(w, found, s.failed(err, header))
		return
	}
	c := &call{route: found, id: id, query: r.URL.Query(), key: r.Header.Get("Idempotency-Key"), base: s.base(r)}
	if c.body, err = readCall(w, r, found); err != nil {
		s.write(w, found, s.failed(err, header))
		return
	}
	carryOut := func() response {
		a, err := s.carryOut(c)
		if err != nil {
			return s.failed(err, header)
		}
		return response{a.status, a.json(), header}
	}
	if fault, ok := s.faults.Pick(r, s.options.Rand, nil); ok {
		s.suffer(w, r, c, fault, header, carryOut)
		return
	}
	s.write(w, found, carryOut())
}

// base returns the address under which payers find the pages.
func (s *Simulator) base(r *http.Request) string {
	if s.options.PublicURL != "" {
		return s.options.PublicURL
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// readCall reads the body of a call that has one.
func readCall(w http.ResponseWriter, r *http.Request, found *route) (strictjson.Value, *apiError) {
	switch {
	case found.envelope == "":
		return strictjson.Value{}, nil
	case len(r.Header.Get("Idempotency-Key")) > maxKey:
		return strictjson.Value{}, usage(http.StatusBadRequest, "idempotency_key_too_long", "Idempotency-Key must be at most 128 characters")
	}
	return readBody(w, r, found.envelope)
}

// carryOut carries out a call, once for each idempotency key.
func (s *Simulator) carryOut(c *call) (a answer, err *apiError) {
	s.do(func(state *state, now time.Time) {
		c.now = now
		name := c.route.method + " " + strings.Replace(c.route.path, "{id}", c.id, 1) + " " + c.key
		keyed := c.route.envelope != "" && c.key != ""
		if id, used := state.keys[name]; keyed && used {
			err = conflict(id)
			return
		}
		a, err = c.route.handle(state, c)
		if err == nil && keyed {
			state.keys[name] = a.resource
		}
		if err == nil && c.route.envelope != "" && c.key == "" {
			s.counts.withoutKey++
		}
	})
	return a, err
}

// json writes an answer in its envelope.
func (a answer) json() []byte {
	body := map[string]any{a.envelope: a.body}
	if l, ok := a.body.(list); ok {
		body = map[string]any{a.envelope: l.entries, "meta": l.meta}
	}
	return control.Encode(body)
}

// failed writes an error.
func (s *Simulator) failed(err *apiError, header http.Header) response {
	s.mu.Lock()
	id := s.state.newID("RQ")
	s.mu.Unlock()
	header.Set("X-Request-Id", id)
	return response{err.status, control.Encode(err.toWire(id)), header}
}

// write sends a response, and counts it.
func (s *Simulator) write(w http.ResponseWriter, found *route, res response) {
	s.countAnswer(found, res.status)
	maps.Copy(w.Header(), res.header)
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
	reader := s.options.ReadOnlyToken != "" && same(token, s.options.ReadOnlyToken)
	switch version := r.Header.Values("GoCardless-Version"); {
	case !bearer || !reader && !same(token, s.options.Token):
		return usage(http.StatusUnauthorized, "unauthorized", "Unauthorized: the access token is missing or not valid")
	case len(version) == 0:
		return usage(http.StatusBadRequest, "missing_version_header", "Missing GoCardless-Version header")
	case !slices.Equal(version, []string{Version}):
		return usage(http.StatusBadRequest, "version_not_found", "Version not found")
	case !s.spend(token, header):
		return rateLimited()
	case reader && r.Method != http.MethodGet:
		return usage(http.StatusForbidden, "insufficient_permissions", "The access token may only read")
	}
	return nil
}

// same compares two secrets in constant time.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// limits counts the requests of each token in the present minute.
type limits map[string]window

type window struct {
	minute time.Time
	spent  int
}

// spend counts a request and reports whether it is within the limit.
func (s *Simulator) spend(token string, header http.Header) bool {
	limit := s.options.RateLimit
	if limit < 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := s.clock.Now().Truncate(time.Minute)
	in := s.limits[token]
	if !in.minute.Equal(minute) {
		in = window{minute: minute}
	}
	in.spent++
	s.limits[token] = in
	setRateLimit(header, limit, limit-in.spent, minute.Add(time.Minute))
	return in.spent <= limit
}

// setRateLimit sets the headers that say how much of the limit is left.
func setRateLimit(header http.Header, limit, remaining int, reset time.Time) {
	header.Set("RateLimit-Limit", strconv.Itoa(limit))
	header.Set("RateLimit-Remaining", strconv.Itoa(max(0, remaining)))
	header.Set("RateLimit-Reset", reset.UTC().Format(http.TimeFormat))
}
