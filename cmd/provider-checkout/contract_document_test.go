package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
)

// The OpenAPI document and the service are held together both ways: every answer and every event
// that a contract test sees must be as the document says (sandbox.send and hooks see to it), and
// whatever the document says must have been seen when all tests have run (TestMain sees to it).

// description is the document, and what of it was seen.
type description struct {
	doc   *openapi3.T
	paths map[string]*regexp.Regexp // by path of the document

	mu   sync.Mutex
	seen map[string]bool
}

// documented is the document as the tests of one run share it.
var documented = sync.OnceValue(func() *description {
	d := &description{paths: map[string]*regexp.Regexp{}, seen: map[string]bool{}}
	text, err := os.ReadFile("../../adapters/httpapi/openapi.json")
	if err == nil {
		d.doc, err = openapi3.NewLoader().LoadFromData(text)
	}
	if err != nil {
		panic(err)
	}
	for path := range d.doc.Paths.Map() {
		pattern := regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), "[^/]+")
		d.paths[path] = regexp.MustCompile("^" + pattern + "$")
	}
	for name, schema := range d.doc.Components.Schemas {
		if !strings.HasSuffix(name, "Request") {
			closed(schema.Value)
		}
	}
	return d
})

// closed has a schema allow no fields but those that it names. The document does not say so, for the
// sake of clients: an answer may get further fields. These tests are to notice when it does.
func closed(s *openapi3.Schema) {
	if s.Type.Is("object") {
		no := false
		s.AdditionalProperties.Has = &no
	}
	for _, p := range s.Properties {
		closed(p.Value)
	}
	if s.Items != nil {
		closed(s.Items.Value)
	}
}

func (d *description) note(what ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[strings.TrimSpace(fmt.Sprintln(what...))] = true
}

// check holds an answer of the API to the document. Pages and other servers are none of its business.
func (d *description) check(method, path, body string, r response) error {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || strings.HasPrefix(u.Path, "/api/dd-setup") || strings.HasPrefix(u.Path, "/sandbox/processor/") ||
		strings.HasPrefix(u.Path, "/docs") || u.Path == "/v1/openapi.json" {
		return nil
	}
	code := r.string("error.code")
	if message := r.string("error.message"); strings.HasSuffix(message, "; see /docs#error-"+code) || code == "" {
		d.note(code, message)
	} else {
		return fmt.Errorf("the message %q does not say where to read more", message)
	}
	operation := d.operation(method, u.EscapedPath())
	switch {
	case operation == nil && method == http.MethodHead:
		return nil // there is nothing to look at
	case operation == nil:
		if r.status != http.StatusNotFound || code != "NOT_FOUND" {
			return errors.New("the document has no such path")
		}
		return visit(d.doc.Components.Schemas["Error"].Value, r.text)
	}
	response := operation.Responses.Status(r.status)
	if response == nil {
		return fmt.Errorf("%s has no answer %d", operation.OperationID, r.status)
	}
	for name, header := range response.Value.Headers {
		if v := r.header.Get(name); v == "" {
			return fmt.Errorf("the header %s is missing", name)
		} else if err := header.Value.Schema.Value.VisitJSON(v); err != nil {
			return fmt.Errorf("the header %s: %w", name, err)
		}
	}
	if method == http.MethodHead {
		return nil
	}
	content := response.Value.Content["application/json"]
	if !slices.Contains(codes(content), code) {
		return fmt.Errorf("%s %d has no code %s", operation.OperationID, r.status, code)
	}
	d.note(operation.OperationID, r.status, code)
	if r.status < 300 && operation.RequestBody != nil {
		if err := visit(operation.RequestBody.Value.Content["application/json"].Schema.Value, body); err != nil {
			return fmt.Errorf("the document does not allow a request that was accepted: %w", err)
		}
	}
	return visit(content.Schema.Value, r.text)
}

// operation returns the operation of a request; for a method that the path does not have, the one that
// says so, which is the path's only one.
func (d *description) operation(method, path string) *openapi3.Operation {
	for template, pattern := range d.paths {
		if !pattern.MatchString(path) {
			continue
		}
		item := d.doc.Paths.Value(template)
		if method == http.MethodHead {
			method = http.MethodGet
		}
		return cmp.Or(item.GetOperation(method), item.Get, item.Post)
	}
	return nil
}

// codes returns the error codes of the examples of an answer, "" for one that is no error.
func codes(content *openapi3.MediaType) (all []string) {
	for _, example := range content.Examples {
		all = append(all, codeOf(example.Value.Value))
	}
	return all
}

func codeOf(envelope any) string {
	tree, _ := envelope.(map[string]any)
	return demo.Object(tree).Text("error.code")
}

// visit holds JSON to a schema. A null is left out first: for the API it is an absent field.
func visit(schema *openapi3.Schema, text string) error {
	value, err := demo.ParseObject([]byte(text))
	if err != nil {
		return err
	}
	return schema.VisitJSON(withoutNulls(members(value)))
}

func withoutNulls(v any) any {
	if object, ok := v.(map[string]any); ok {
		maps.DeleteFunc(object, func(_ string, v any) bool { return v == nil })
		for name := range object {
			object[name] = withoutNulls(object[name])
		}
	}
	return v
}

// checkEvent holds a delivery to the document.
func (d *description) checkEvent(got hook) error {
	name := got.header.Get("X-Service-Event")
	item := d.doc.Webhooks[name]
	if item == nil {
		return fmt.Errorf("the document has no event %q", name)
	}
	d.note("event", name)
	for _, p := range item.Post.Parameters {
		text := got.header.Get(p.Value.Name)
		if text == "" && p.Value.Required {
			return fmt.Errorf("%s has no header %s", name, p.Value.Name)
		}
		var value any = text
		if p.Value.Schema.Value.Type.Is("integer") {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%s: header %s: %w", name, p.Value.Name, err)
			}
			value = n
		}
		if err := p.Value.Schema.Value.VisitJSON(value); err != nil {
			return fmt.Errorf("%s: header %s: %w", name, p.Value.Name, err)
		}
	}
	return visit(item.Post.RequestBody.Value.Content["application/json"].Schema.Value, string(got.raw))
}

// unseen returns what the document says and no test saw.
func (d *description) unseen() (missing []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	want := func(what ...any) {
		if text := strings.TrimSpace(fmt.Sprintln(what...)); !d.seen[text] {
			missing = append(missing, text)
		}
	}
	for _, item := range d.doc.Paths.Map() {
		for _, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				for _, code := range codes(response.Value.Content["application/json"]) {
					want(operation.OperationID, status, code)
				}
			}
		}
	}
	for name := range d.doc.Webhooks {
		want("event", name)
	}
	for _, example := range d.doc.Components.Examples {
		envelope, _ := example.Value.Value.(map[string]any)
		want(codeOf(envelope), demo.Object(envelope).Text("error.message"))
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// runTests runs the tests; all of them together must have seen what the document says.
func runTests(m *testing.M) int {
	code := m.Run()
	if code != 0 || !whole() {
		return code
	}
	if missing := documented().unseen(); len(missing) > 0 {
		fmt.Printf("the document says what no test has seen:\n%s\n", strings.Join(missing, "\n"))
		return 1
	}
	return 0
}

// whole tells whether all tests were asked for.
func whole() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

func TestDocumentIsSoundAndItsExamplesFitIt(t *testing.T) {
	text, err := os.ReadFile("../../adapters/httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestContract7EveryCodeOfTheDocumentIsOneOfTheEnvelope(t *testing.T) {
	d := documented()
	enum := d.doc.Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Enum
	for _, code := range enum {
		if example := d.doc.Components.Examples[fmt.Sprint(code)]; example == nil || codeOf(example.Value.Value) != code {
			t.Errorf("%s has no example of its own", code)
		}
	}
}
