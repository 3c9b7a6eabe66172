package gocardlesstest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// Version is the version of the API.
const Version = "2015-07-06"

// call is one request of the API that is carried out.
type call struct {
	id    string // in the path
	query url.Values
	body  json.RawMessage // what is in the envelope
	host  string
	key   string // idempotency key with the path, or ""
	now   time.Time
}

// answer is the result of a call: the resource with its id, or a list.
type answer struct {
	id   string
	body any
	meta object // of a list
}

// route is one call of the API.
type route struct {
	pattern string // as of http.ServeMux: "GET /mandates/{id}"
	handle  func(*Simulator, *call) (answer, *apiError)
}

// routes lists the whole API.
func routes() []route {
	return []route{
		{"POST /billing_requests", (*Simulator).createBillingRequest},
		{"GET /billing_requests/{id}", (*Simulator).getBillingRequest},
		{"POST /billing_requests/{id}/actions/cancel", (*Simulator).cancelBillingRequest},
		{"POST /billing_request_flows", (*Simulator).createFlow},
		{"GET /mandates/{id}", (*Simulator).getMandate},
		{"POST /mandates/{id}/actions/cancel", (*Simulator).cancelMandate},
		{"GET /events", (*Simulator).listEvents},
		{"GET /creditors", (*Simulator).listCreditors},
		{"/", func(*Simulator, *call) (answer, *apiError) { return answer{}, notFound("path_not_found") }},
	}
}

// changes reports whether the call changes something.
func (r route) changes() bool { return strings.HasPrefix(r.pattern, http.MethodPost) }

func (r route) action() bool { return strings.Contains(r.pattern, "/actions/") }

// resource returns the name of the resource, which is around every answer.
func (r route) resource() string { return strings.Split(r.pattern, "/")[1] }

// newHandler returns the handler of everything that the simulator serves.
func (s *Simulator) newHandler() http.Handler {
	mux := http.NewServeMux()
	for _, found := range routes() {
		mux.HandleFunc(found.pattern, func(w http.ResponseWriter, r *http.Request) { s.serveAPI(w, r, found) })
	}
	mux.HandleFunc("GET "+flowPath+"{flow}", func(w http.ResponseWriter, r *http.Request) { s.show(w, r, http.StatusOK, "") })
	mux.HandleFunc("POST "+flowPath+"{flow}", s.takeForm)
	mux.HandleFunc("POST "+flowPath+"{flow}/exit", s.leave)
	return mux
}

// response is an answer as it is written. Without a status nothing is.
type response struct {
	status int
	body   []byte
}

// serveAPI serves one call, or what an armed fault makes of it.
func (s *Simulator) serveAPI(w http.ResponseWriter, r *http.Request, found route) {
	s.do(func(time.Time) { s.counts.Calls[found.pattern]++ })
	var res response
	if body, err := s.admit(r, found); err != nil {
		res = s.failed(err)
	} else {
		c := &call{id: r.PathValue("id"), query: r.URL.Query(), body: body, host: r.Host}
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			c.key = r.URL.Path + " " + key
		}
		res = s.suffer(w, r, func() response { return s.carryOut(c, found) })
	}
	if res.status == 0 {
		return
	}
	s.do(func(now time.Time) {
		s.counts.Answers[found.pattern+" "+strconv.Itoa(res.status)]++
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(res.body)))
	w.WriteHeader(res.status)
	_, _ = w.Write(res.body) // a client that went away is no fault
}

// carryOut carries out a call, once for each idempotency key.
func (s *Simulator) carryOut(c *call, found route) (res response) {
	s.do(func(now time.Time) {
		c.now = now
		if id, used := s.keys[c.key]; found.changes() && used {
			res = s.failure(conflict(id))
			return
		}
		a, err := found.handle(s, c)
		if err != nil {
			res = s.failure(err)
			return
		}
		body := object{found.resource(): a.body}
		if a.meta != nil {
			body["meta"] = a.meta
		}
		res = response{http.StatusOK, encode(body)}
		switch {
		case !found.changes():
			return
		case c.key == "":
			s.counts.WithoutKey++
		default:
			s.keys[c.key] = a.id
		}
		if !found.action() {
			res.status = http.StatusCreated
		}
	})
	return res
}

// failed returns the response of an error.
func (s *Simulator) failed(err *apiError) (res response) {
	s.do(func(time.Time) { res = s.failure(err) })
	return res
}

func (s *Simulator) failure(err *apiError) response {
	part := object{"message": err.reason, "reason": err.reason}
	if err.pointer != "" {
		part["field"], part["request_pointer"] = err.pointer[1:], err.pointer
	}
	if err.conflicting != "" {
		part["links"] = object{"conflicting_resource_id": err.conflicting}
	}
	return response{err.status, encode(object{"error": object{"message": err.reason, "type": err.kind, "code": err.status,
		"request_id": s.newID("RQ"), "errors": []object{part},
		"documentation_url": "https://developer.gocardless.com/api-reference#" + err.kind}})}
}

const maxBody = 1 << 20

// admit returns the object in the envelope of a call's body, or the error of a request that may not use the API.
func (s *Simulator) admit(r *http.Request, found route) (json.RawMessage, *apiError) {
	switch {
	case r.Header.Get("Authorization") != "Bearer "+s.options.Token:
		return nil, usage(http.StatusUnauthorized, "unauthorized")
	case r.Header.Get("GoCardless-Version") != Version:
		return nil, usage(http.StatusBadRequest, "missing_version_header")
	case !found.changes():
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	envelope := found.resource()
	if found.action() {
		envelope = "data"
	}
	var body map[string]json.RawMessage
	switch media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); {
	case len(data) == 0 && found.action():
		return nil, nil
	case media != "application/json":
		return nil, usage(http.StatusUnsupportedMediaType, "unsupported_media_type")
	case err != nil, json.Unmarshal(data, &body) != nil, len(body) != 1, body[envelope] == nil:
		return nil, usage(http.StatusBadRequest, "invalid_document_structure")
	}
	return body[envelope], nil
}

// apiError is an answer of the API that is no success.
type apiError struct {
	status      int
	kind        string // the type
	reason      string
	pointer     string // to the field of the body, or ""
	conflicting string // the id of a resource, or ""
}

// usage is an error of how the API is called.
func usage(status int, reason string) *apiError {
	return &apiError{status: status, kind: "invalid_api_usage", reason: reason}
}

func notFound(reason string) *apiError { return usage(http.StatusNotFound, reason) }

// wrongState is an error of a resource whose status does not allow the call.
func wrongState(reason string) *apiError {
	return &apiError{status: http.StatusUnprocessableEntity, kind: "invalid_state", reason: reason}
}

// invalid is an error of a field, which the pointer names.
func invalid(pointer, reason string) *apiError {
	return &apiError{status: http.StatusUnprocessableEntity, kind: "validation_failed", reason: reason, pointer: pointer}
}

// conflict says that the idempotency key has led to a resource before.
func conflict(id string) *apiError {
	return &apiError{status: http.StatusConflict, kind: "invalid_state", reason: "idempotent_creation_conflict", conflicting: id}
}

// FaultKind names a fault.
type FaultKind string

// The faults. A fault without "after" happens before the call has an effect.
const (
	FaultTimeout     FaultKind = "timeout"      // no answer comes, and then the connection ends
	FaultReset       FaultKind = "reset"        // the connection is reset
	FaultResetAfter  FaultKind = "reset_after"  // the same, once the call is carried out
	FaultConflict    FaultKind = "conflict"     // 409 that names the resource Fault.Conflict
	FaultRateLimit   FaultKind = "rate_limit"   // 429 until the next whole minute
	FaultError       FaultKind = "error"        // 500
	FaultErrorAfter  FaultKind = "error_after"  // 500, once the call is carried out
	FaultStringError FaultKind = "string_error" // an error that is a string: 500
	FaultTornBody    FaultKind = "torn_body"    // the call is carried out; half of the answer's JSON comes
	FaultHugeBody    FaultKind = "huge_body"    // the call is carried out; the answer is larger than a client reads
	FaultForbidden   FaultKind = "forbidden"    // 403
	FaultHTML        FaultKind = "html"         // 502 with a page of a proxy
)

// FaultKinds lists all faults.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultTimeout, FaultReset, FaultResetAfter, FaultConflict, FaultRateLimit, FaultError, FaultErrorAfter,
		FaultStringError, FaultTornBody, FaultHugeBody, FaultForbidden, FaultHTML}
}

// Fault is armed for some calls of the API.
type Fault struct {
	Kind     FaultKind
	Method   string        // of the calls; any if empty
	Path     string        // of the calls, a pattern as of path.Match ("/billing_requests/*"); any if empty
	Times    int           // number of calls; any if 0
	Hang     time.Duration // for a time-out: how long the client is kept waiting at most; 30 s if 0
	Conflict string        // for a conflict: the id to name; an unknown id if empty
}

// Arm arms faults behind the armed faults. A call suffers the first fault that fits.
func (s *Simulator) Arm(list ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range list {
		if f.Times == 0 {
			f.Times = -1 // without end
		}
		s.faults = append(s.faults, &f)
	}
}

// Disarm takes all faults away.
func (s *Simulator) Disarm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// faultOf returns the fault that a call suffers; the zero Fault is no trouble.
func (s *Simulator) faultOf(r *http.Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		at, _ := path.Match(f.Path, r.URL.Path)
		if f.Times != 0 && (f.Method == "" || f.Method == r.Method) && (f.Path == "" || at) {
			f.Times--
			return *f
		}
	}
	return Fault{}
}

// suffer carries out a call, and returns the response to it, as its fault has it.
func (s *Simulator) suffer(w http.ResponseWriter, r *http.Request, carryOut func() response) (res response) {
	f := s.faultOf(r)
	switch f.Kind {
	case "", FaultResetAfter, FaultErrorAfter, FaultTornBody, FaultHugeBody:
		res = carryOut()
	}
	switch f.Kind {
	case "":
	case FaultTimeout:
		select { // until the client gives up
		case <-r.Context().Done():
		case <-s.closing.Done():
		case <-time.After(cmp.Or(f.Hang, 30*time.Second)):
		}
		panic(http.ErrAbortHandler)
	case FaultReset, FaultResetAfter:
		reset(w)
		return response{}
	case FaultConflict:
		return s.failed(conflict(cmp.Or(f.Conflict, "BRQ00000000000000")))
	case FaultRateLimit:
		w.Header().Set("RateLimit-Limit", "1000")
		w.Header().Set("RateLimit-Remaining", "0")
		w.Header().Set("RateLimit-Reset", s.Now().Truncate(time.Minute).Add(time.Minute).UTC().Format(http.TimeFormat))
		return s.failed(usage(http.StatusTooManyRequests, "rate_limit_reached"))
	case FaultError, FaultErrorAfter:
		return s.failed(&apiError{status: http.StatusInternalServerError, kind: "gocardless", reason: "internal_server_error"})
	case FaultStringError:
		return response{http.StatusInternalServerError, encode(object{"error": "bank_authorisation_expired"})}
	case FaultTornBody:
		res.body = res.body[:len(res.body)/2]
	case FaultHugeBody:
		res.body = append(bytes.Repeat([]byte(" "), 16<<20), res.body...)
	case FaultForbidden:
		return s.failed(usage(http.StatusForbidden, "forbidden"))
	case FaultHTML:
		return response{http.StatusBadGateway, []byte("<html><body><h1>502 Bad Gateway</h1></body></html>")}
	}
	return res
}

// reset breaks the connection so that the client sees it reset.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // closing then resets
	}
	_ = conn.Close()
}
