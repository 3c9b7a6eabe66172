// Package control serves the control path of a simulator, by which its owner moves it over HTTP. Bodies and answers are
// JSON; a mistake is 400 or 404 with {"error":"…"}. It asks for no secret, so it belongs on a listener that only its
// owner reaches.
package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// maxBody is the largest body, in bytes, that is read.
const maxBody = 1 << 20

// Handle carries out one request; id is what {id} stands for in the path. nil as the answer is an empty object.
type Handle func(r *http.Request, id string) (answer any, err error)

// Do is a Handle for what has neither a body nor an answer.
func Do(do func(id string) error) Handle {
	return func(_ *http.Request, id string) (any, error) { return nil, do(id) }
}

// New returns the handler of a control path. The patterns are as of http.ServeMux, without the prefix: "POST flows/{id}".
func New(prefix string, handles map[string]Handle) http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range handles {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+prefix+path, func(w http.ResponseWriter, r *http.Request) { serve(w, r, handle) })
	}
	mux.HandleFunc(prefix, func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusNotFound, errorWire{"there is no " + r.Method + " " + r.URL.Path})
	})
	return mux
}

func serve(w http.ResponseWriter, r *http.Request, handle Handle) {
	answer, err := handle(r, r.PathValue("id"))
	switch {
	case err != nil:
		write(w, http.StatusBadRequest, errorWire{err.Error()})
	case answer == nil:
		write(w, http.StatusOK, struct{}{})
	default:
		write(w, http.StatusOK, answer)
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(Encode(body)) // a client that went away is no fault
}

// Encode writes JSON with <, > and & as they are. It panics for what is no JSON, such as a channel.
func Encode(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic("control: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Read reads the body of a request. That it must be JSON keeps out the forms of other pages.
func Read(r *http.Request, into any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return errors.New("Content-Type must be application/json")
	}
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	return nil
}

// Clock is a clock that can be moved on.
type Clock interface {
	Now() time.Time
	Advance(time.Duration)
}

// Shifted is a clock that runs as another, ahead by the time that it was moved on.
type Shifted struct {
	Base  func() time.Time
	ahead atomic.Int64 // nanoseconds
}

// Now returns the time in UTC to the millisecond, as the APIs give times.
func (c *Shifted) Now() time.Time {
	return c.Base().Add(time.Duration(c.ahead.Load())).UTC().Truncate(time.Millisecond)
}

// Advance moves the clock on.
func (c *Shifted) Advance(by time.Duration) { c.ahead.Add(int64(by)) }

// stamp is the layout of times on the control path.
const stamp = "2006-01-02T15:04:05.000Z"

// Time returns the handle that answers with a clock's time: {"now":"2027-02-01T00:00:00.000Z"}.
func Time(clock Clock) Handle {
	return func(*http.Request, string) (any, error) { return clockWire{clock.Now().UTC().Format(stamp)}, nil }
}

// Advance returns the handle that moves a clock on, by {"advance":"1m30s"}, and answers with its time.
func Advance(clock Clock) Handle {
	return func(r *http.Request, id string) (any, error) {
		var w moveWire
		if err := Read(r, &w); err != nil {
			return nil, err
		}
		by, err := time.ParseDuration(w.Advance)
		if err != nil || by < 0 {
			return nil, errors.New("advance must be a duration, such as 1m30s")
		}
		clock.Advance(by)
		return Time(clock)(r, id)
	}
}

// Arm returns the handle that reads a fault as it is on the wire, and arms it.
func Arm[W, F any](read func(W) (F, error), arm func(...F)) Handle {
	return func(r *http.Request, _ string) (any, error) {
		var w W
		if err := Read(r, &w); err != nil {
			return nil, err
		}
		f, err := read(w)
		if err != nil {
			return nil, err
		}
		arm(f)
		return nil, nil
	}
}
