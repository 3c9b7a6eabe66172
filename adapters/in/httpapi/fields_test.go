package httpapi_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// A field has one name: in refusals, in the JSON API and in its description.
func TestFieldsAreThoseOfTheDescribedRequests(t *testing.T) {
	declared := slices.Sorted(slices.Values(declaredFields(t)))
	described := describedParameters(t)
	for _, request := range []string{"LegacyCreateRequest", "CatalogueCreateRequest", "ConfirmRequest", "CancelRequest"} {
		maps.Copy(described, describedFields(t, request))
	}
	if want := slices.Sorted(maps.Keys(described)); !slices.Equal(declared, want) {
		t.Errorf("fields.go names\n%q, openapi.json\n%q", declared, want)
	}
}

// Each request names its own fields only.
func TestRequestsNameTheirOwnFields(t *testing.T) {
	var create checkout.Create
	legacy := refusedFields(t, create.Check(catalogue.Legacy))
	authoritative := refusedFields(t, create.Check(catalogue.Authoritative))
	confirm := refusedFields(t, checkout.Confirm{}.Check())
	for _, tt := range []struct {
		request string
		named   []string
	}{
		{"LegacyCreateRequest", legacy},
		{"CatalogueCreateRequest", authoritative},
		{"ConfirmRequest", confirm},
		{"CancelRequest", refusedFields(t, checkout.Cancel{}.Check())},
	} {
		described := describedFields(t, tt.request)
		for _, field := range tt.named {
			if !described[field] {
				t.Errorf("%s is required of %s, which does not have it", field, tt.request)
			}
		}
	}
	if want := slices.Sorted(maps.Keys(describedFields(t, "ConfirmRequest"))); !slices.Equal(slices.Sorted(slices.Values(confirm)), want) {
		t.Errorf("a confirm requires\n%q, its description has\n%q", confirm, want)
	}
}

// refusedFields returns the names of the fields that a refusal names.
func refusedFields(t *testing.T, err error) []string {
	t.Helper()
	refusal, ok := errors.AsType[*checkout.Error](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return strings.Fields(refusal.Fields())
}

// declaredFields returns the values of the constants in package checkout's fields.go.
func declaredFields(t *testing.T) (values []string) {
	t.Helper()
	source, err := os.ReadFile("../../../checkout/fields.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`= "(.*)"`).FindAllSubmatch(source, -1) {
		values = append(values, string(m[1]))
	}
	return values
}

type schema struct {
	Ref        string            `json:"$ref"`
	Properties map[string]schema `json:"properties"`
}

// describedParameters returns the names of the headers and of the parameters in queries of all operations.
func describedParameters(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var description struct {
		Paths map[string]map[string]struct{ Parameters []struct{ Name, In string } }
	}
	if err := json.Unmarshal(text, &description); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, methods := range description.Paths {
		for _, operation := range methods {
			for _, p := range operation.Parameters {
				if p.In != "path" {
					names[p.Name] = true
				}
			}
		}
	}
	return names
}

// describedFields returns the dotted paths of the fields of a request.
func describedFields(t *testing.T, request string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var description struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &description); err != nil {
		t.Fatal(err)
	}
	schemas, fields := description.Components.Schemas, map[string]bool{}
	for section, s := range schemas[request].Properties {
		if s.Ref != "" {
			s = schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		}
		for field := range s.Properties {
			fields[section+"."+field] = true
		}
		if s.Properties == nil { // a field outside of every section
			fields[section] = true
		}
	}
	if len(fields) == 0 {
		t.Fatalf("openapi.json describes no %s", request)
	}
	return fields
}
