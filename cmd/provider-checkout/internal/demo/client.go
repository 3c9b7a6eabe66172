package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// session sends HTTP requests and prints what it sends and gets, unless out is nil.
type session struct {
	http *http.Client
	out  io.Writer
}

// note prints a line.
func (s session) note(format string, args ...any) {
	if s.out != nil {
		fmt.Fprintf(s.out, format+"\n", args...)
	}
}

// reply is the answer at the end of all redirects.
type reply struct {
	at     *url.URL
	status int
	body   []byte
}

// send sends a request and prints its line and the answer's status.
func (s session) send(req *http.Request) (reply, error) {
	resp, err := s.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	s.note("  %s %s: %s", req.Method, req.URL.Path, resp.Status)
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return reply{resp.Request.URL, resp.StatusCode, body}, err
}

// call sends one request of the provider, prints it with its answer, and checks the answer.
func (s *scenario) call(ctx context.Context, method, path string, body fields, status int, checks ...check) (Object, error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.Base+path, sent)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.Keys[providerCode])
	got, err := s.send(req)
	if err != nil {
		return nil, err
	}
	if got.status != status {
		return nil, fmt.Errorf("%s %s answered %d, want %d: %s", method, path, got.status, status, got.body)
	}
	a, err := ParseObject(got.body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	for _, check := range checks {
		if err := check.verify(a); err != nil {
			return nil, err
		}
		s.note("    %s: %v", check.path, a.At(check.path))
	}
	return a, nil
}

// Object is a JSON object that was received. Its numbers keep their text.
type Object fields

// fields are the members of a JSON object.
type fields = map[string]any

// ParseObject parses a JSON object.
func ParseObject(text []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var o Object
	if err := decoder.Decode(&o); err != nil {
		return nil, fmt.Errorf("read %.200q: %w", text, err)
	}
	return o, nil
}

// At returns the value at a dotted path, or nil.
func (o Object) At(path string) any {
	var value any = fields(o)
	for name := range strings.SplitSeq(path, ".") {
		object, _ := value.(fields)
		value = object[name]
	}
	return value
}

// Text returns the string at a dotted path, or "".
func (o Object) Text(path string) string {
	s, _ := o.At(path).(string)
	return s
}

// check is a condition on an answer.
type check struct {
	path string
	want any // nil for any string but the empty one
}

func expectEqual(path string, want any) check { return check{path, want} }
func expectPresent(path string) check         { return check{path, nil} }

// expectSame expects the value in the answer to the create.
func (s *scenario) expectSame(path string) check { return check{path, s.created.At(path)} }

func (c check) verify(o Object) error {
	switch got := o.At(c.path); {
	case c.want == nil && o.Text(c.path) == "":
		return fmt.Errorf("%s is %v, want a value", c.path, got)
	case c.want != nil && got != c.want:
		return fmt.Errorf("%s is %v, want %v", c.path, got, c.want)
	}
	return nil
}
