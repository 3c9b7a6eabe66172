package salesforce_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// mapped is a CRM with a mapping.
func mapped(t *testing.T, mapping string) func(*salesforcetest.Options, *salesforce.Options) {
	t.Helper()
	m, err := salesforce.ParseMapping([]byte(mapping))
	if err != nil {
		t.Fatal(err)
	}
	return func(_ *salesforcetest.Options, o *salesforce.Options) { o.Mapping = m }
}

func TestEveryFaultOfAMappingIsNamed(t *testing.T) {
	for mapping, wants := range map[string][]string{
		`[]`:                {"must be an object"},
		`{"Lead": "Lead2"}`: {"Lead is not known"},
		`{"Contact.Phone": "Phone", "Contact.": "X", "stages.other": "Other"}`: {"Contact.Phone is not known",
			"Contact. is not known", "stages.other is not known"},
		`{"Contact": "Contact; DROP", "Contact.Email": 5, "Opportunity": ""}`: {"Contact must be the API name", "Contact.Email must be",
			"Opportunity must be"},
		`{"stages.open": "@{Contact.id}", "stages.complete": " "}`: {"stages.open must be", "stages.complete must be"},
		`{"stages.complete": "Closed Lost"}`:                       {"stages.cancelled must not be", "stages.withdrawn must not be"},
		`{"Contact": "A", "Contact": "B"}`:                         {"Contact"},
	} {
		_, err := salesforce.ParseMapping([]byte(mapping))
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("ParseMapping(%s) = %v, want %q", mapping, err, want)
			}
		}
	}
}
