package providerfile_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
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
		{"a term of paragraphs and a list", `{"terms": [{"title": "Cancelling", "text": "You may.\n\n(a) Write.\n(b) Pay.\n"}]}`,
			agreement.Terms{Blocks: []agreement.Block{{Title: "Cancelling", Text: "You may.\n\n(a) Write.\n(b) Pay."}}}},
		{"no default fees", `{"default_fees": "none"}`, agreement.Terms{DefaultFees: agreement.FeeList{Stated: true}}},
		{"an empty list of them", `{"default_fees": []}`, agreement.Terms{DefaultFees: agreement.FeeList{Stated: true}}},
		{"fees", `{"default_fees": [{"name": "Dishonour fee", "amount": 10.00, "when": "for each payment that fails"}]}`,
			agreement.Terms{DefaultFees: agreement.FeeList{Stated: true,
				Fees: []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that fails"}}}}},
		{"an authority", `{"authority": {"authorisation_code": "0123456", "initiator": "Pu\u0304tea", "particulars": "KOWHAI", "code": "PLAN",
			"reference": "COURSE", "collection_days": "business_days", "conditions": [{"title": "a", "text": "b"}]}}`,
			agreement.Terms{Authority: agreement.Authority{AuthorisationCode: "0123456", Initiator: "Pūtea",
				Statement: "particulars KOWHAI, code PLAN, reference COURSE", Calendar: money.BusinessDays,
				Conditions: []agreement.Block{{Title: "a", Text: "b"}}}}},
		{"what the law wants", `{"lender": {"name": "Pūtea", "address": "1 Quay", "email": "help@putea.example"},
			"dispute_resolution": {"scheme": "A scheme", "contact": "0800 000 000"}, "hardship": {"contact": "0800 111 111"},
			"cancellation": {"working_days": 5, "how": "Write.\n(a) Soon."}}`,
			agreement.Terms{Lender: agreement.Lender{Name: "Pūtea", Address: "1 Quay", Email: "help@putea.example"},
				Disputes:     agreement.DisputeScheme{Name: "A scheme", Contact: "0800 000 000"},
				Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write.\n(a) Soon."}, Hardship: "0800 111 111"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := providerfile.ParseTerms([]byte(tt.file))
			if err != nil || !reflect.DeepEqual(got.Terms, tt.want) {
				t.Errorf("ParseTerms = %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func TestParseTermsRefuses(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"no JSON", `lender: us`, "the file "},
		{"a field that is mistyped", `{"lendor": {}}`, "lendor is not a field here; the fields are fees, privacy, profile, lender, dispute_resolution, cancellation, hardship, default_fees, authority, terms"},
		{"a block without its text", `{"terms": [{"title": "Hardship"}]}`, "terms[0].text must be given"},
		{"a lender without an address", `{"lender": {"name": "Pūtea"}}`, "lender.address must be given"},
		{"an agency without a contact", `{"privacy": {"agency": {"name": "Pūtea", "address": "1 Quay"}}}`, "privacy.agency.contact must be given"},
		{"an agency in the wrong place", `{"privacy": {"name": "Pūtea"}}`, "privacy.name is not a field here; the fields are agency"},
		{"a tab", `{"terms": [{"title": "a", "text": "b\tc"}]}`, "terms[0].text must not contain control characters"},
		{"a fee for the credit", `{"fees": [{"name": "a", "amount": 1, "when": "b"}]}`, "fees cannot be charged: the payments of a plan sum to the course price"},
		{"no fee for the credit", `{"fees": "none"}`, "fees cannot be charged"},
		{"fees that are neither", `{"default_fees": "few"}`, `default_fees must be "none", or a list of fees`},
		{"a fee without an amount", `{"default_fees": [{"name": "a", "when": "b"}]}`, "default_fees[0].amount must be given"},
		{"a fee in words", `{"default_fees": [{"name": "a", "amount": "ten", "when": "b"}]}`, "default_fees[0].amount must be"},
		{"a long reference", `{"authority": {"reference": "KOWHAI PLANS 2"}}`, "authority.reference must have at most 12 characters"},
		{"a code that statements cannot show", `{"authority": {"code": "Pūtea"}}`, "authority.code must be plain letters, digits and punctuation"},
		{"a calendar of its own", `{"authority": {"collection_days": "tuesdays"}}`, "authority.collection_days must be"},
		{"half of a right to cancel", `{"cancellation": {"how": "Write."}}`, "cancellation.working_days must be given"},
		{"no contact of a scheme", `{"dispute_resolution": {"scheme": "A"}}`, "dispute_resolution.contact must be given"},
		{"a hardship without a contact", `{"hardship": {}}`, "hardship.contact must be given"},
		{"a code of six digits", `{"authority": {"authorisation_code": "012345"}}`, "authority.authorisation_code must be 7 digits"},
		{"a profile of another country", `{"profile": "uk"}`, `profile must be "consumer-credit", or left out`},
		{"terms that are no list", `{"terms": "none"}`, "terms must be a list in square brackets"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := providerfile.ParseTerms([]byte(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !reflect.DeepEqual(got, providerfile.TermsFile{}) {
				t.Errorf("ParseTerms = %+v, %v; want an error with %q alone", got, err, tt.want)
			}
		})
	}
}

func FuzzParseTerms(f *testing.F) {
	f.Add(`{"lender": {"name": "Pūtea", "address": "1 Quay"}, "terms": [{"title": "a", "text": "b"}]}`)
	f.Add(`{"default_fees": [{"name": "a", "amount": 1, "when": "b"}], "authority": {"code": "c"}, "profile": "consumer-credit"}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := providerfile.ParseTerms([]byte(text))
		switch {
		case err == nil && file.Terms.Check() != nil:
			t.Errorf("ParseTerms(%q) lets %v pass", text, file.Terms.Check())
		case err != nil && !reflect.DeepEqual(file, providerfile.TermsFile{}):
			t.Errorf("ParseTerms(%q) gives both %+v and %v", text, file, err)
		}
	})
}

func TestParseTermsReadsTheAgency(t *testing.T) {
	got, err := providerfile.ParseTerms([]byte(`{"privacy": {"agency": {"name": " Pu\u0304tea Limited", "address": "1 Quay", "contact": "privacy@putea.example"}}}`))
	if want := (agreement.Agency{Name: "Pūtea Limited", Address: "1 Quay", Contact: "privacy@putea.example"}); got.Agency != want || err != nil {
		t.Errorf("the agency is %+v, %v; want %+v", got.Agency, err, want)
	}
	if got, err := providerfile.ParseTerms([]byte(`{"terms": []}`)); got.Agency != (agreement.Agency{}) || err != nil {
		t.Errorf("the agency of a file without one is %+v, %v", got.Agency, err)
	}
}

func TestProfileNamesWhatTheTermsLack(t *testing.T) {
	for file, want := range map[string]string{
		`{}`: "",
		`{"profile": "consumer-credit"}`: "lender, lender.registration, lender.email, dispute_resolution, cancellation, hardship, " +
			"default_fees, authority.authorisation_code",
		`{"profile": "consumer-credit", "lender": {"name": "Pūtea", "address": "1 Quay", "registration": "FSP1", "email": "help@putea.example"},
			"authority": {"authorisation_code": "0123456"}, "default_fees": "none", "dispute_resolution": {"scheme": "A", "contact": "B"},
			"cancellation": {"working_days": 5, "how": "Write."}, "hardship": {"contact": "C"}}`: "",
	} {
		got, err := providerfile.ParseTerms([]byte(file))
		if missing := strings.Join(got.Missing(), ", "); err != nil || missing != want {
			t.Errorf("%s lacks %q, %v; want %q", file, missing, err, want)
		}
	}
}
