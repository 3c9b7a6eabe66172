package rehearsal

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// maxBody is more than the service takes, so that its own refusal is answered.
const maxBody = 128 << 10

// read reads a call of an integration, whose body can be read again then.
func read(r *http.Request, now time.Time) (q request, err error) {
	q = request{at: now, contentType: r.Header.Get("Content-Type"), idempotencyKey: r.Header.Get("Idempotency-Key"),
		key: r.Header.Get("Authorization")}
	q.kind, q.checkout = kindOf(r)
	if q.kind == "" {
		return q, nil
	}
	q.body, err = io.ReadAll(io.LimitReader(r.Body, maxBody))
	r.Body = io.NopCloser(bytes.NewReader(q.body))
	q.json, _ = apiclient.ParseObject(q.body) // nil if it is no JSON
	return q, err
}

// kindOf returns the kind of a call, "" where it is no part of an enrolment, and the checkout that it names.
func kindOf(r *http.Request) (kind, string) {
	rest, ok := strings.CutPrefix(r.URL.Path, apiclient.CheckoutsPath)
	id, act, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	switch {
	case !ok:
	case r.Method == http.MethodPost && id == "":
		return create, ""
	case r.Method == http.MethodGet && act == "":
		return poll, id
	case r.Method == http.MethodPost && act == string(confirm):
		return confirm, id
	}
	return "", ""
}

// isJSON reports whether a Content-Type is that of JSON.
func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

// hasPartsOfCents reports whether a JSON number is none of whole cents.
func hasPartsOfCents(number string) bool {
	_, fraction, _ := strings.Cut(number, ".")
	return len(strings.TrimRight(fraction, "0")) > 2
}

// whole returns a JSON number that is whole, or 0.
func whole(value any) int {
	number, _ := value.(json.Number)
	n, _ := number.Int64()
	return int(n)
}

// without returns an object without a field of one of its sections.
func without(o apiclient.Object, section, field string) apiclient.Object {
	inner, ok := o[section].(map[string]any)
	if !ok {
		return o
	}
	o, inner = maps.Clone(o), maps.Clone(inner)
	delete(inner, field)
	o[section] = inner
	return o
}

// answer is an answer of the service that is kept before it is sent.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(p []byte) (int, error) { a.WriteHeader(http.StatusOK); return a.body.Write(p) }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// ask has a handler answer a request.
func ask(h http.Handler, r *http.Request) *answer {
	a := &answer{header: http.Header{}}
	h.ServeHTTP(a, r)
	a.WriteHeader(http.StatusOK)
	return a
}

// send sends the answer.
func (a *answer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the integration is gone, and that is seen elsewhere
}
