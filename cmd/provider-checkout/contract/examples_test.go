package contract_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// breakable is a sandbox whose store can be broken.
type breakable struct {
	*suite
	store *faulty
}

// create sends a valid create, changed by edit if that is not nil.
func (s breakable) create(t *testing.T, edit func(body string) string) response {
	t.Helper()
	body := order(catalogueCreate, "ENROL-1")
	if edit != nil {
		body = edit(body)
	}
	return s.Post(t, "KOWHAI", "/v1/provider-checkouts", body)
}

// failing gets a checkout while the store fails with err.
func (s breakable) failing(t *testing.T, err error) response {
	t.Helper()
	s.store.fail(func(string) error { return err })
	return s.Get(t, "KOWHAI", "/v1/provider-checkouts/unknown")
}

// provoked has, by the name of each example of a refusal in the document, a function that provokes that answer.
var provoked = map[string]func(t *testing.T, s breakable) response{
	"VALIDATION_ERROR": func(t *testing.T, s breakable) response {
		return s.create(t, func(body string) string {
			body = set(t, body, "student.email", `"aroha"`)
			return set(t, set(t, body, "plan.payment_frequency", ""), "plan.payment_frequancy", `"Weekly"`)
		})
	},
	"MISSING_API_KEY": func(t *testing.T, s breakable) response {
		return s.Send(t, http.MethodPost, "/v1/provider-checkouts", "{}")
	},
	"INVALID_API_KEY": func(t *testing.T, s breakable) response {
		return s.Send(t, http.MethodPost, "/v1/provider-checkouts", "{}", "Authorization", "Bearer unknown")
	},
	"PROVIDER_KEY_MISMATCH": func(t *testing.T, s breakable) response {
		return s.create(t, func(body string) string { return strings.ReplaceAll(body, "KOWHAI", "Kowhai") })
	},
	"PROVIDER_NOT_ENABLED": func(t *testing.T, s breakable) response {
		s.Clock.Forward(5 * time.Second) // within which a running server sees it
		if err := s.operator("complaint 12").SetDisabled(t.Context(), "KOWHAI", true); err != nil {
			t.Fatal(err)
		}
		return s.create(t, nil)
	},
	"PROVIDER_NOT_FOUND": func(t *testing.T, s breakable) response {
		s.Configure(t, `{"providers": []}`)
		return s.create(t, nil)
	},
	"CHECKOUT_NOT_FOUND": func(t *testing.T, s breakable) response {
		return s.Get(t, "KOWHAI", "/v1/provider-checkouts/unknown")
	},
	"NOT_FOUND": func(t *testing.T, s breakable) response { return s.Get(t, "KOWHAI", "/v1/provider-checkout") },
	"METHOD_NOT_ALLOWED": func(t *testing.T, s breakable) response {
		return s.Send(t, http.MethodDelete, "/v1/environment", "")
	},
	"CONFLICT": func(t *testing.T, s breakable) response {
		created := s.create(t, nil)
		s.SetUp(t, created)
		return s.Post(t, "KOWHAI", created.CheckoutPath()+"/confirm", set(t, created.ConfirmBody(), "checkout.dda_id", `"another"`))
	},
	"IDEMPOTENCY_CONFLICT": func(t *testing.T, s breakable) response {
		s.create(t, nil)
		return s.create(t, func(string) string { return otherIntent("ENROL-1") })
	},
	"DIRECT_DEBIT_SETUP_INCOMPLETE": func(t *testing.T, s breakable) response { return s.Confirm(t, s.create(t, nil)) },
	"CHECKOUT_ERASED": func(t *testing.T, s breakable) response {
		created := s.create(t, nil)
		s.erase(t, created)
		again := s.create(t, nil)
		for _, r := range []response{s.Get(t, "KOWHAI", created.CheckoutPath()), s.Confirm(t, created)} {
			if r.Status != again.Status || r.String("error.code") != again.String("error.code") {
				t.Errorf("a poll or a confirm answers %d %s, want what a create does: %d %s", r.Status, r.Body, again.Status, again.Body)
			}
		}
		return again
	},
	"CHECKOUT_CANCELLED": func(t *testing.T, s breakable) response {
		created := s.create(t, nil)
		s.cancel(t, created, "wrong course")
		return s.create(t, nil)
	},
	"REQUEST_TOO_LARGE": func(t *testing.T, s breakable) response {
		return s.create(t, func(body string) string { return body + strings.Repeat(" ", 64<<10) })
	},
	"UNSUPPORTED_MEDIA_TYPE": func(t *testing.T, s breakable) response {
		return s.Send(t, http.MethodPost, "/v1/provider-checkouts", "{}",
			"Authorization", "Bearer "+s.Keys["KOWHAI"], "Content-Type", "text/plain")
	},
	"RATE_LIMITED": func(t *testing.T, s breakable) response {
		for range 100 {
			if r := s.Get(t, "KOWHAI", "/v1/provider-checkouts/unknown"); r.Status == http.StatusTooManyRequests {
				return r
			}
		}
		return response{}
	},
	"INTERNAL_ERROR": func(t *testing.T, s breakable) response { return s.failing(t, errors.New(inside)) },
	"busy":           func(t *testing.T, s breakable) response { return s.failing(t, ports.ErrBusy) },
}

func TestContract7EveryCodeComesInTheSameEnvelopeAndAsTheDocumentsExampleSays(t *testing.T) {
	examples := sandbox.Document().Spec.Components.Examples
	for name := range provoked {
		if examples[name] == nil {
			t.Errorf("the document has no example %s", name)
		}
	}
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			cause := provoked[name]
			if cause == nil {
				t.Fatal("provoked lacks it")
			}
			var s breakable
			s.suite = newSuite(t, sandbox.Memory, func(c *service.Config, o *httpapi.Options) {
				s.store = withFaultyStore(c, o)
				o.RateLimit = 5
			})
			r := cause(t, s)
			said, err := json.Marshal(r.At("error"))
			if err != nil {
				t.Fatal(err)
			}
			written, err := json.Marshal(example.Value.Value.(map[string]any)["error"])
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(string(written), "https://pay.example.nz", s.URL, 1); string(said) != want {
				t.Errorf("the service says\n%s\nand the document\n%s", said, want)
			}
		})
	}
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
	if missing := sandbox.Document().Unseen(); len(missing) > 0 {
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

func TestContract7EveryCodeOfTheDocumentIsOneOfTheEnvelope(t *testing.T) {
	d := sandbox.Document()
	enum := d.Spec.Components.Schemas["Error"].Value.Properties["error"].Value.Properties["code"].Value.Enum
	for _, code := range enum {
		if example := d.Spec.Components.Examples[fmt.Sprint(code)]; example == nil || apidoc.ErrorCode(example.Value.Value) != code {
			t.Errorf("%s has no example of its own", code)
		}
	}
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
		for name, required := range requiredFields(sandbox.Document().Spec.Components.Schemas[tt.request].Value) {
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
