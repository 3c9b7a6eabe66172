package demo

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// note prints a line.
func (s *scenario) note(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// call sends one request of the provider, prints it with its response, and checks the response.
func (s *scenario) call(ctx context.Context, method, path, body string, status int, checks ...check) (apiclient.Response, error) {
	r, err := s.backend.Call(ctx, providerCode, method, path, body)
	if err != nil {
		return r, err
	}
	s.note("  %s %s: %s", method, path, r.StatusLine())
	if r.Status != status || r.JSON == nil {
		return r, fmt.Errorf("%s %s answered %d, want %d: %s", method, path, r.Status, status, r.Body)
	}
	for _, check := range checks {
		if err := check.verify(r); err != nil {
			return r, err
		}
		s.note("    %s: %v", check.path, r.At(check.path))
	}
	return r, nil
}

// check is a condition on a response.
type check struct {
	path string
	want any // nil for any string but the empty one
}

func expectEqual(path string, want any) check { return check{path, want} }
func expectPresent(path string) check         { return check{path, nil} }

// expectSame expects the value in the response to the create.
func (s *scenario) expectSame(path string) check { return check{path, s.created.At(path)} }

func (c check) verify(r apiclient.Response) error {
	switch got := r.At(c.path); {
	case c.want == nil && r.JSON.Text(c.path) == "":
		return fmt.Errorf("%s is %v, want a value", c.path, got)
	case c.want != nil && got != c.want:
		return fmt.Errorf("%s is %v, want %v", c.path, got, c.want)
	}
	return nil
}
