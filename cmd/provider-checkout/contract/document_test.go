package contract_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
)

// The OpenAPI document and the service are compared in both directions: every answer and every event that a test gets
// must match the document (the sandbox checks that), and everything that the document describes must have been seen
// when all tests have run (TestMain checks that).
func TestMain(m *testing.M) { os.Exit(runTests(m)) }

// runTests runs the tests and returns the exit status.
func runTests(m *testing.M) int {
	flag.Parse()
	if err := chooseWorld(); err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if code != 0 || !whole() {
		return code
	}
	if missing := apidoc.Shared().Unseen(); len(missing) > 0 {
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

func TestDocumentIsSoundAndItsExamplesFitIt(t *testing.T) {
	text, err := os.ReadFile("../../../adapters/in/httpapi/openapi.json")
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
	d := apidoc.Shared()
	enum := d.Spec.Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Enum
	for _, code := range enum {
		if example := d.Spec.Components.Examples[fmt.Sprint(code)]; example == nil || apidoc.ErrorCode(example.Value.Value) != code {
			t.Errorf("%s has no example of its own", code)
		}
	}
}
