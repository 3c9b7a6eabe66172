package main

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

// members are those of a JSON object.
type members = map[string]any

// call sends one request of the provider, prints it with its answer, and checks the answer.
func (w *walker) call(ctx context.Context, method, path string, body members, status int, checks ...check) (answer, error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, w.Base+path, sent)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+w.Keys[walkProvider])
	got, err := w.send(req)
	if err != nil {
		return nil, err
	}
	if got.status != status {
		return nil, fmt.Errorf("%s %s answered %d, want %d: %s", method, path, got.status, status, got.body)
	}
	a, err := readAnswer(got.body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	for _, check := range checks {
		if err := check.of(a); err != nil {
			return nil, err
		}
		w.note("    %s: %v", check.path, a.at(check.path))
	}
	return a, nil
}

// reply is what came back at the end of all redirects.
type reply struct {
	at     *url.URL
	status int
	body   []byte
}

// send sends a request, and prints its line and the answer's.
func (w *walker) send(req *http.Request) (reply, error) {
	resp, err := w.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	w.note("  %s %s: %s", req.Method, req.URL.Path, resp.Status)
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return reply{resp.Request.URL, resp.StatusCode, body}, err
}

// answer is a JSON object that was received. Its numbers keep their text.
type answer members

func readAnswer(text []byte) (answer, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var a answer
	if err := decoder.Decode(&a); err != nil {
		return nil, fmt.Errorf("read %.200q: %w", text, err)
	}
	return a, nil
}

// at returns the value at a dotted path, or nil.
func (a answer) at(path string) any {
	var value any = members(a)
	for name := range strings.SplitSeq(path, ".") {
		object, _ := value.(members)
		value = object[name]
	}
	return value
}

// text returns the string at a dotted path, or "".
func (a answer) text(path string) string {
	s, _ := a.at(path).(string)
	return s
}

// check is something that must hold of an answer.
type check struct {
	path string
	want any // nil for any string but the empty one
}

func holds(path string, want any) check  { return check{path, want} }
func given(path string) check            { return check{path, nil} }
func (w *walker) same(path string) check { return check{path, w.created.at(path)} }
func (c check) of(a answer) error {
	switch got := a.at(c.path); {
	case c.want == nil && a.text(c.path) == "":
		return fmt.Errorf("%s is %v, want a value", c.path, got)
	case c.want != nil && got != c.want:
		return fmt.Errorf("%s is %v, want %v", c.path, got, c.want)
	}
	return nil
}
