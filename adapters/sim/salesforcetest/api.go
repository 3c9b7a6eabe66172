package salesforcetest

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
)

// dataPath is the path of the API; a version and a resource follow.
const dataPath = "/services/data"

// versions are the versions of the API that there are.
func versions() []versionWire {
	var list []versionWire
	for _, number := range []string{"61.0", "62.0", "63.0", "64.0", "65.0"} {
		list = append(list, versionWire{dataPath + "/v" + number, number})
	}
	return list
}

// versionOf returns the path of the version of a path: "/services/data/v61.0".
func versionOf(path string) string {
	parts := strings.SplitN(path, "/", 5)
	return strings.Join(parts[:min(len(parts), 4)], "/")
}

// call is one request of the API that is to be carried out, or one part of a composite request.
type call struct {
	method  string
	path    string // as it was sent, without the query
	route   *route
	params  map[string]string // of the route
	table   *table            // that the route names, if it names one
	query   url.Values
	header  http.Header
	body    strictjson.Value
	unit    compositeWire     // of a composite request
	content map[string]string // parts of a form that come beside the body, by name
	tx      *transaction
}

// version returns the path of the call's version.
func (c *call) version() string { return versionOf(c.path) }

// answer is the result of a call.
type answer struct {
	status   int
	body     any    // may be nil
	content  string // bytes of a file, in place of body
	id       string // of the record that it is about
	location string
}

// handler carries out a call. A failed call leaves nothing behind.
type handler func(*org, *call) (answer, *apiError)

// route is one call of the API, below a version.
type route struct {
	method string
	path   string // {name} stands for one segment
	handle handler
}

// routes lists the whole API.
func routes() []route {
	return []route{
		{"GET", "limits", limits},
		{"GET", "query", runQuery},
		{"GET", "query/{locator}", nextPage},
		{"GET", "sobjects", describeAll},
		{"POST", "sobjects/{type}", createRecord},
		{"GET", "sobjects/{type}/describe", describe},
		{"GET", "sobjects/{type}/{id}", onRecord(getRecord)},
		{"PATCH", "sobjects/{type}/{id}", onRecord(updateRecord)},
		{"DELETE", "sobjects/{type}/{id}", onRecord(deleteRecord)},
		{"GET", "sobjects/{type}/{field}/{value}", getByKey},
		{"PATCH", "sobjects/{type}/{field}/{value}", upsertRecord},
		{"POST", "composite", composite},
	}
}

// handle carries out the call, if there is the object that it names.
func (c *call) handle(g *org) (answer, *apiError) {
	if name, ok := c.params["type"]; ok {
		if c.table = g.table(name); c.table == nil {
			return answer{}, notFound()
		}
	}
	return c.route.handle(g, c)
}

// name names a call for the statistics, with the object if there is one: "PATCH /sobjects/Contact/{id}".
func (c *call) name(g *org) string {
	path := c.route.path
	if table := g.table(c.params["type"]); table != nil {
		path = strings.Replace(path, "{type}", table.Name, 1)
	}
	return c.method + " /" + path
}

// match returns the call that a method and an escaped path stand for.
func match(method, escaped string) (*call, *apiError) {
	rest, ok := strings.CutPrefix(escaped, dataPath+"/")
	version, rest, _ := strings.Cut(rest, "/")
	known := slices.ContainsFunc(versions(), func(v versionWire) bool { return dataPath+"/"+version == v.URL })
	if !ok || !known {
		return nil, notFound()
	}
	var allowed []string
	for _, candidate := range routes() {
		params, ok := matchPath(candidate.path, strings.TrimSuffix(rest, "/"))
		switch {
		case ok && candidate.method == method:
			return &call{method: method, path: escaped, route: &candidate, params: params}, nil
		case ok && !slices.Contains(allowed, candidate.method):
			allowed = append(allowed, candidate.method)
		}
	}
	if len(allowed) > 0 {
		return nil, methodNotAllowed(method, allowed)
	}
	return nil, notFound()
}

// matchPath reports whether an escaped path is one of a route's, and returns the segments that its names stand for.
func matchPath(pattern, path string) (params map[string]string, ok bool) {
	names, segments := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(names) != len(segments) {
		return nil, false
	}
	params = map[string]string{}
	for i, name := range names {
		segment, err := url.PathUnescape(segments[i])
		switch param, isParam := strings.CutPrefix(name, "{"); {
		case err != nil:
			return nil, false
		case isParam && segment != "":
			params[strings.TrimSuffix(param, "}")] = segment
		case name != segment || isParam:
			return nil, false
		}
	}
	return params, true
}

// response is an answer as it is written.
type response struct {
	status int
	media  string
	body   []byte
	header http.Header
}

// jsonMedia is the media type of the API's answers.
const jsonMedia = "application/json;charset=UTF-8"

// toResponse writes an answer.
func (a answer) toResponse() response {
	res := response{status: a.status, media: jsonMedia, header: http.Header{}}
	switch {
	case a.body != nil:
		res.body = control.Encode(a.body)
	case a.status == http.StatusOK:
		res.media, res.body = "application/octet-stream", []byte(a.content)
	}
	if a.location != "" {
		res.header.Set("Location", a.location)
	}
	return res
}

// failed writes an error.
func failed(err *apiError) response {
	return answer{status: err.status, body: err.toWire()}.toResponse()
}

// serveAPI serves one call, or what an armed fault makes of it.
func (s *Simulator) serveAPI(w http.ResponseWriter, r *http.Request) {
	if strings.TrimSuffix(r.URL.Path, "/") == dataPath && r.Method == http.MethodGet {
		s.serveVersions(w, r)
		return
	}
	name := otherCalls
	token, usage, err := s.admit(r)
	c, unknown := match(r.Method, r.URL.EscapedPath())
	if unknown == nil {
		name = c.name(s.org)
	}
	s.count(name)
	send := func(res response) {
		res.header.Set("Sforce-Limit-Info", "api-usage="+usage)
		write(w, res)
	}
	if err = cmp.Or(err, unknown); err != nil {
		send(failed(err))
		return
	}
	c.query, c.header = r.URL.Query(), r.Header
	if err := c.read(w, r); err != nil {
		send(failed(err))
		return
	}
	f, suffers := s.faults.Pick(r, s.options.Rand, func(f Fault) bool { return c.suffers(s.org, f) })
	if !suffers {
		send(s.carryOut(c, nil))
		return
	}
	s.suffer(w, r, f, sufferer{send: send, carryOut: func() response { return s.carryOut(c, &f) }, fail: func(err *apiError) response {
		if f.Kind == FaultExpiredToken {
			s.expire(token)
		}
		return failed(err)
	}})
}

// serveVersions answers a call for the versions, which needs no token and does not count for the limit of a day.
func (s *Simulator) serveVersions(w http.ResponseWriter, r *http.Request) {
	s.count("GET " + dataPath)
	carryOut := func() response { return answer{status: http.StatusOK, body: versions()}.toResponse() }
	send := func(res response) { write(w, res) }
	if f, ok := s.faults.Pick(r, s.options.Rand, fitsToken); ok {
		s.suffer(w, r, f, sufferer{send: send, carryOut: carryOut, fail: failed})
		return
	}
	send(carryOut())
}

// carryOut carries out a call, with a fault that is a record's.
func (s *Simulator) carryOut(c *call, f *Fault) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if f != nil && !suffersInRecord(*f) {
		f = nil
	}
	if f != nil && f.Kind == FaultDuplicateValue {
		_, _ = s.run(c, nil) // the other client's call
	}
	a, err := s.run(c, f)
	if err != nil {
		return failed(err)
	}
	return a.toResponse()
}

// run carries out a call in a transaction of its own.
func (s *Simulator) run(c *call, f *Fault) (answer, *apiError) {
	c.tx = &transaction{org: s.org, now: s.clock.Now(), call: s.calls, method: c.method, path: c.path, fault: f,
		duplicateRule: true, allowDuplicates: allowsDuplicates(c.header.Get(duplicateHeader))}
	a, err := c.handle(s.org)
	if err == nil {
		c.tx.commit()
	}
	return a, err
}

// duplicateHeader is the header that says what duplicate rules do.
const duplicateHeader = "Sforce-Duplicate-Rule-Header"

// allowsDuplicates reports whether the value of the header allows a duplicate to be saved.
func allowsDuplicates(header string) bool {
	for pair := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(strings.TrimSpace(name), "allowSave") && strings.EqualFold(strings.TrimSpace(value), "true") {
			return true
		}
	}
	return false
}

// write sends a response.
func write(w http.ResponseWriter, res response) {
	maps.Copy(w.Header(), res.header)
	if res.status != http.StatusNoContent {
		w.Header().Set("Content-Type", res.media)
		w.Header().Set("Content-Length", strconv.Itoa(len(res.body)))
	}
	w.Header().Set("Cache-Control", "no-cache,must-revalidate,max-age=0,no-store,private")
	w.WriteHeader(res.status)
	_, _ = w.Write(res.body) // a client that went away is no fault
}
