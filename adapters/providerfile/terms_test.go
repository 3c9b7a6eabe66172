package providerfile_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/providerfile"
	"github.com/provider-checkout/provider-checkout/agreement"
)

func TestParseTerms(t *testing.T) {
	tests := []struct {
		name, file string
		want       agreement.Terms
	}{
		{"no terms are terms", `{}`, agreement.Terms{}},
		{"a lender and blocks in their order", `{"lender": {"name": " Pu\u0304tea Limited ", "address": "1 Quay", "registration": "FSP1"},
			"terms": [{"title": "Hardship", "text": "Ask."}, {"title": "Disputes", "text": "Complain."}]}`,
			agreement.Terms{Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Quay", Registration: "FSP1"},
				Blocks: []agreement.Block{{Title: "Hardship", Text: "Ask."}, {Title: "Disputes", Text: "Complain."}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := providerfile.ParseTerms([]byte(tt.file))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ParseTerms = %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func TestParseTermsRefuses(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"no JSON", `lender: us`, "the file "},
		{"a field that is mistyped", `{"lendor": {}}`, "lendor is not a field here; the fields are lender, privacy, terms"},
		{"a block without its text", `{"terms": [{"title": "Hardship"}]}`, "terms[0].text must be given"},
		{"a lender without an address", `{"lender": {"name": "Pūtea"}}`, "lender.address must be given"},
		{"an agency without a contact", `{"privacy": {"agency": {"name": "Pūtea", "address": "1 Quay"}}}`, "privacy.agency.contact must be given"},
		{"an agency in the wrong place", `{"privacy": {"name": "Pūtea"}}`, "privacy.name is not a field here; the fields are agency"},
		{"a text of two paragraphs", `{"terms": [{"title": "a", "text": "b\nc"}]}`, "terms[0].text must not contain control characters"},
		{"terms that are no list", `{"terms": "none"}`, "terms must be a list in square brackets"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := providerfile.ParseTerms([]byte(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !got.IsZero() {
				t.Errorf("ParseTerms = %+v, %v; want an error with %q alone", got, err, tt.want)
			}
		})
	}
}

func FuzzParseTerms(f *testing.F) {
	f.Add(`{"lender": {"name": "Pūtea", "address": "1 Quay"}, "terms": [{"title": "a", "text": "b"}]}`)
	f.Fuzz(func(t *testing.T, file string) {
		terms, err := providerfile.ParseTerms([]byte(file))
		switch {
		case err == nil && terms.Check() != nil:
			t.Errorf("ParseTerms(%q) lets %v pass", file, terms.Check())
		case err != nil && !terms.IsZero():
			t.Errorf("ParseTerms(%q) gives both %+v and %v", file, terms, err)
		}
	})
}

func TestParseAgency(t *testing.T) {
	got, err := providerfile.ParseAgency([]byte(`{"privacy": {"agency": {"name": " Pu\u0304tea Limited", "address": "1 Quay", "contact": "privacy@putea.example"}}}`))
	if want := (agreement.Agency{Name: "Pūtea Limited", Address: "1 Quay", Contact: "privacy@putea.example"}); got != want || err != nil {
		t.Errorf("ParseAgency = %+v, %v; want %+v", got, err, want)
	}
	if got, err := providerfile.ParseAgency([]byte(`{"terms": []}`)); got != (agreement.Agency{}) || err != nil {
		t.Errorf("ParseAgency of a file without one = %+v, %v", got, err)
	}
}
