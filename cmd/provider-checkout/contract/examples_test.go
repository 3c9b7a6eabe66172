package contract_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Every example of a refusal in the document is the answer to a request of a conversation, and every code has one of its own.
func TestContract7EveryExampleOfARefusalIsAnsweredInAConversation(t *testing.T) {
	answered := map[string]bool{}
	for _, after := range strings.Split(source(t, "testdata/conversations/*.txt"), `"error":`)[1:] {
		var said any
		if err := json.NewDecoder(strings.NewReader(after)).Decode(&said); err != nil {
			t.Fatal(err)
		}
		answered[text(t, said)] = true
	}
	d := apidoc.Document()
	for name, example := range d.Spec.Components.Examples {
		written := text(t, example.Value.Value.(map[string]any)["error"])
		if !answered[strings.Replace(written, "https://pay.example.nz", "{base_url}", 1)] {
			t.Errorf("no conversation has the example %s:\n%s", name, written)
		}
	}
	for _, code := range d.Spec.Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Enum {
		if example := d.Spec.Components.Examples[fmt.Sprint(code)]; example == nil || apidoc.ErrorCode(example.Value.Value) != code {
			t.Errorf("%s has no example of its own", code)
		}
	}
}

// text returns a value as JSON.
func text(t *testing.T, value any) string {
	t.Helper()
	written, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

// The OpenAPI document and the service are compared in both directions: every answer and every event that a test gets
// must match the document (the sandbox checks that), and everything that the document describes must have been seen
// when all tests have run (TestMain checks that).
func TestMain(m *testing.M) { os.Exit(runTests(m)) }

// runTests runs the tests and returns the exit status.
func runTests(m *testing.M) int {
	flag.Parse()
	chooseWorld()
	if f := flag.Lookup("test.parallel"); testlevel.IsFull() && f.Value.String() == f.DefValue {
		_ = f.Value.Set(testsAtOnce)
	}
	testlevel.Elapsed(time.Now()) // it begins to measure
	code := m.Run()
	if code != 0 || !whole() || *overSystems { // over systems outside there are no conversations, which have seen most
		return code
	}
	if missing := apidoc.Document().Unseen(); len(missing) > 0 {
		fmt.Printf("the document describes what no test has seen:\n%s\n", strings.Join(missing, "\n"))
		return 1
	}
	return 0
}

// whole reports whether all tests run.
func whole() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}

// What the document says only in prose is true.
func TestContract21EveryFieldIsRequiredOfWhomTheDocumentSays(t *testing.T) {
	s := newSuite(t, sandbox.Memory)
	// Two equal instalments need no final one: that is required by the figures, not as a field.
	legacy := set(t, set(t, order(legacyCreate, "ORDER-1"), "plan.number_of_instalments", "2"), "plan.instalment_amount", "500")
	legacy = set(t, legacy, "plan.final_instalment_amount", "")
	for _, tt := range []struct{ request, provider, body string }{
		{"CatalogueCreateRequest", "KOWHAI", order(catalogueCreate, "ORDER-1")}, {"LegacyCreateRequest", "TUI", legacy},
	} {
		for name, required := range requiredFields(apidoc.Document().Spec.Components.Schemas[tt.request].Value) {
			r := s.Post(t, tt.provider, "/v1/provider-checkouts", set(t, tt.body, name, ""))
			got := slices.ContainsFunc(faults(r), func(f fault) bool { return f.field == name })
			if got != required {
				t.Errorf("%s, without %s: %d %s; required by the document: %t", tt.request, name, r.Status, r.Body, required)
			}
		}
	}
}

// requiredFields returns the fields of a request's sections, and whether each must be sent.
func requiredFields(request *openapi3.Schema) map[string]bool {
	fields := map[string]bool{}
	for section, inside := range request.Properties {
		for name := range inside.Value.Properties {
			fields[section+"."+name] = slices.Contains(inside.Value.Required, name)
		}
	}
	return fields
}
