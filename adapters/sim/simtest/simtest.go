// Package simtest has a client of simulators, for their tests.
package simtest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Started is the time at which the clocks of tests begin, a Monday.
func Started() time.Time { return time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC) }

// Client sends requests to a simulator for a test.
type Client struct {
	testing.TB
	URL   string
	Below string // the path below which paths without a slash in front are
	Edits []Edit // of every request, before its own
}

// Simulator is a simulator as tests start and end it.
type Simulator interface {
	http.Handler
	Close()
}

// Serve serves a simulator until the test ends, and returns a client of it.
func Serve(t testing.TB, sim Simulator, edits ...Edit) *Client {
	t.Helper()
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		sim.Close()
		server.Close()
	})
	return &Client{TB: t, URL: server.URL, Edits: edits}
}

// Edit changes a request before it is sent.
type Edit func(*http.Request)

// With sets a header, or takes it away where the value is "".
func With(name, value string) Edit {
	return func(r *http.Request) {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}

// Request makes a request as a client of the API does.
func (c *Client) Request(method, path, body string, edits ...Edit) *http.Request {
	c.Helper()
	if !strings.HasPrefix(path, "/") {
		path = c.Below + path
	}
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, list := range [][]Edit{c.Edits, edits} {
		for _, edit := range list {
			edit(r)
		}
	}
	return r
}

// Do sends a request and reads the reply.
func (c *Client) Do(r *http.Request) (Reply, error) {
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return Reply{}, err
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		return Reply{}, err
	}
	out := Reply{Status: got.StatusCode, Header: got.Header, Raw: raw}
	if json.Unmarshal(raw, &out.Body) != nil {
		out.Body = nil
	}
	return out, nil
}

// Call sends a request, and fails the test where there is no reply.
func (c *Client) Call(method, path, body string, edits ...Edit) Reply {
	c.Helper()
	got, err := c.Do(c.Request(method, path, body, edits...))
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// OK is Call for a reply of that status.
func (c *Client) OK(status int, method, path, body string, edits ...Edit) Reply {
	c.Helper()
	got := c.Call(method, path, body, edits...)
	if got.Status != status {
		c.Fatalf("%s %s = %d, want %d:\n%s", method, path, got.Status, status, got.Raw)
	}
	return got
}

// Control is OK for a request of the simulator's owner.
func (c *Client) Control(status int, method, path, body string) Reply {
	c.Helper()
	return (&Client{TB: c.TB, URL: c.URL}).OK(status, method, "/simulator/"+path, body)
}

// HangsUntilClosed checks that a call that hangs ends with its client, and with the simulator. hung returns the number of
// calls that hang or hung.
func (c *Client) HangsUntilClosed(path string, hung func() int, closeSimulator func()) {
	c.Helper()
	client := &http.Client{Timeout: 20 * time.Millisecond}
	if got, err := client.Do(c.Request("GET", path, "")); err == nil {
		got.Body.Close()
		c.Errorf("answer = %d, want a time-out", got.StatusCode)
	}
	before, ended := hung(), make(chan error)
	go func() {
		_, err := c.Do(c.Request("GET", path, ""))
		ended <- err
	}()
	for hung() == before {
		time.Sleep(time.Millisecond)
	}
	closeSimulator()
	if err := <-ended; err == nil {
		c.Error("the call was answered, want it broken")
	}
}

// CheckFaults checks the answers of the faults that every simulator has. arm arms the fault of a name for a number of
// calls, or for all calls if it is 0. The last fault stays armed.
func (c *Client) CheckFaults(path string, arm func(name string, times int)) {
	c.Helper()
	arm("torn_body", 1)
	if got := c.Call("GET", path, ""); got.Body != nil || len(got.Raw) == 0 || got.Status != 200 {
		c.Errorf("torn body = %d %.60s", got.Status, got.Raw)
	}
	arm("huge_body", 1)
	if got := c.Call("GET", path, ""); len(got.Raw) < 16<<20 {
		c.Errorf("huge body = %d bytes", len(got.Raw))
	}
	arm("reset", 0) // a client may send a GET again by itself
	if _, err := c.Do(c.Request("GET", path, "")); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		c.Errorf("error = %v, want the connection reset", err)
	}
}

// Object is any JSON object.
type Object = map[string]any

// Reply is a reply of an API.
type Reply struct {
	Status int
	Header http.Header
	Raw    []byte
	Body   any // nil where it is no JSON
}

// At returns the value under a path of names and indexes in the body, such as "error.errors.0.reason", or nil.
func (r Reply) At(path string) any {
	v := r.Body
	for name := range strings.SplitSeq(path, ".") {
		switch holder := v.(type) {
		case Object:
			v = holder[name]
		case []any:
			i := int(name[0] - '0')
			if i >= len(holder) {
				return nil
			}
			v = holder[i]
		default:
			return nil
		}
	}
	return v
}

// Text returns the text under a path, or "".
func (r Reply) Text(path string) string {
	s, _ := r.At(path).(string)
	return s
}
