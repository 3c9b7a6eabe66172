package rehearsal

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// request is a call of an integration.
type request struct {
	kind     kind
	at       time.Time
	checkout string // the id in the path
	header   http.Header
	body     []byte
	json     apiclient.Object // nil if the body is no JSON
	next     bool             // it has the next key of a provider
	intent   string           // the body of a create without the order id; "" if it is no JSON
}

// maxBody is more than the service takes, so that its own refusal is answered.
const maxBody = 128 << 10

// read reads a call of an integration, whose body can be read again then.
func read(r *http.Request, k kind, now time.Time) (q request, err error) {
	q = request{kind: k, at: now, checkout: r.PathValue("id"), header: r.Header.Clone()}
	q.body, err = io.ReadAll(io.LimitReader(r.Body, maxBody))
	r.Body = io.NopCloser(bytes.NewReader(q.body))
	q.json, _ = apiclient.ParseObject(q.body)
	if k == create {
		q.intent = apiclient.With(string(q.body), "provider.provider_order_id", "")
	}
	return q, err
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
