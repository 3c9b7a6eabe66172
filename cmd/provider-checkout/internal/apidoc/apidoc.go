// Package apidoc checks answers and events of the API against its OpenAPI document. It also records what was seen, so that
// parts of the document that no test has seen can be found.
package apidoc

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// Doc is the OpenAPI document, and which parts of it were seen.
type Doc struct {
	Spec  *openapi3.T
	paths map[string]*regexp.Regexp // by path of the document

	mu   sync.Mutex
	seen map[string]bool
}

var (
	parameter = regexp.MustCompile(`\\\{\w+\\\}`)                                    // of a quoted path
	sent      = regexp.MustCompile(`Response$|Event$|^(Error|Service|Environment)$`) // schemas of what the service sends
)

// Document returns the API's document, with what the tests of this run have seen of it. It is narrowed: what the service sends has only
// the fields and the words that its schema names. The document itself allows more, so that they can be added; the tests must notice an
// added one.
var Document = sync.OnceValue(func() *Doc {
	root, err := testlevel.Root()
	if err != nil {
		panic(err)
	}
	spec, err := openapi3.NewLoader().LoadFromFile(filepath.Join(root, "adapters", "in", "httpapi", "openapi.json"))
	if err != nil {
		panic(err)
	}
	d := &Doc{Spec: spec, paths: map[string]*regexp.Regexp{}, seen: map[string]bool{}}
	for path := range spec.Paths.Map() {
		d.paths[path] = regexp.MustCompile("^" + parameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
	}
	for name, schema := range spec.Components.Schemas {
		if sent.MatchString(name) {
			narrow(schema.Value)
		}
	}
	return d
})

// laterWord stands in tests for a processor's word that is not known yet.
const laterWord = "on_hold"

func narrow(s *openapi3.Schema) {
	if s.Type.Is("object") {
		no := false
		s.AdditionalProperties.Has = &no
	}
	if len(s.AnyOf) > 0 { // known words, or any string
		s.AnyOf[1] = openapi3.NewStringSchema().WithEnum(laterWord).NewRef()
	}
	for _, p := range s.Properties {
		narrow(p.Value)
	}
	if s.Items != nil {
		narrow(s.Items.Value)
	}
}

func (d *Doc) note(what ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[strings.TrimSpace(fmt.Sprintln(what...))] = true
}

// Check returns an error if the document does not allow an answer to a request. It ignores pages and other servers.
func (d *Doc) Check(method, path, request string, x apiclient.Response) error {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || strings.HasPrefix(u.Path, "/api/dd-setup") || strings.HasPrefix(u.Path, "/sandbox/processor/") ||
		strings.HasPrefix(u.Path, "/docs") || u.Path == "/" || u.Path == "/v1/openapi.json" {
		return nil
	}
	code := x.JSON.Text("error.code")
	if place := x.JSON.Text("error.doc_url"); code != "" && !strings.HasSuffix(place, "/docs#error-"+code) {
		return fmt.Errorf("doc_url %q is not the place of %s in the reference", place, code)
	}
	d.note(code, x.JSON.Text("error.message"))
	operation := d.operation(method, u.EscapedPath())
	switch {
	case operation == nil && method == http.MethodHead:
		return nil // there is nothing to check
	case operation == nil:
		if x.Status != http.StatusNotFound || code != "NOT_FOUND" {
			return errors.New("the document has no such path")
		}
		return validate(d.Spec.Components.Schemas["Error"].Value, x.Body)
	}
	response := operation.Responses.Status(x.Status)
	if response == nil {
		return fmt.Errorf("%s has no answer %d", operation.OperationID, x.Status)
	}
	for name, header := range response.Value.Headers {
		if v := x.Header.Get(name); v == "" {
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
		return fmt.Errorf("%s %d has no code %s", operation.OperationID, x.Status, code)
	}
	d.note(operation.OperationID, x.Status, code)
	if x.Status < 300 && operation.RequestBody != nil {
		if err := validate(operation.RequestBody.Value.Content["application/json"].Schema.Value, request); err != nil {
			return fmt.Errorf("the document does not allow a request that was accepted: %w", err)
		}
	}
	return validate(content.Schema.Value, x.Body)
}

// operation returns the operation of a request. For a method that the path does not have, it is the path's only one,
// whose answers include that refusal.
func (d *Doc) operation(method, path string) *openapi3.Operation {
	for template, pattern := range d.paths {
		if !pattern.MatchString(path) {
			continue
		}
		item := d.Spec.Paths.Value(template)
		if method == http.MethodHead {
			method = http.MethodGet
		}
		return cmp.Or(item.GetOperation(method), item.Get, item.Post)
	}
	return nil
}

// codes returns the error codes in the examples of an answer, "" for an example that is no error.
func codes(content *openapi3.MediaType) (all []string) {
	for _, example := range content.Examples {
		all = append(all, ErrorCode(example.Value.Value))
	}
	return all
}

// ErrorCode returns the code of an error envelope, or "".
func ErrorCode(envelope any) string {
	tree, _ := envelope.(map[string]any)
	return apiclient.Object(tree).Text("error.code")
}

// validate checks JSON against a schema. A null is left out first: for the API it is an absent field.
func validate(schema *openapi3.Schema, text string) error {
	value, err := apiclient.ParseObject([]byte(text))
	if err != nil {
		return err
	}
	return schema.VisitJSON(withoutNulls(map[string]any(value)))
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

// CheckEvent returns an error if the document does not allow an event that was delivered.
func (d *Doc) CheckEvent(header http.Header, body []byte) error {
	name := header.Get("X-Service-Event")
	item := d.Spec.Webhooks[name]
	if item == nil {
		return fmt.Errorf("the document has no event %q", name)
	}
	d.note("event", name)
	for _, p := range item.Post.Parameters {
		text := header.Get(p.Value.Name)
		var value any = text
		if n, err := strconv.ParseFloat(text, 64); err == nil && p.Value.Schema.Value.Type.Is("integer") {
			value = n
		}
		err := p.Value.Schema.Value.VisitJSON(value)
		if text == "" && p.Value.Required {
			err = errors.New("it is missing")
		}
		if err != nil {
			return fmt.Errorf("%s: header %s: %w", name, p.Value.Name, err)
		}
	}
	return validate(item.Post.RequestBody.Value.Content["application/json"].Schema.Value, string(body))
}

// Unseen returns what the document describes and no test has seen.
func (d *Doc) Unseen() (missing []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	want := func(what ...any) {
		if text := strings.TrimSpace(fmt.Sprintln(what...)); !d.seen[text] {
			missing = append(missing, text)
		}
	}
	for _, path := range d.Spec.Paths.Map() {
		for _, operation := range path.Operations() {
			for status, response := range operation.Responses.Map() {
				for _, code := range codes(response.Value.Content["application/json"]) {
					want(operation.OperationID, status, code)
				}
			}
		}
	}
	for name := range d.Spec.Webhooks {
		want("event", name)
	}
	for _, example := range d.Spec.Components.Examples {
		envelope, _ := example.Value.Value.(map[string]any)
		want(ErrorCode(envelope), apiclient.Object(envelope).Text("error.message"))
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}
