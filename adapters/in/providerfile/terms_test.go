package providerfile_test

import (
	"reflect"
	"slices"
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
		{"a notice that the initiator's bank approved", `{"notice_days": 2}`, agreement.Terms{NoticeDays: 2}},
		{"another one where payments are frequent", `{"notice_days": 7, "frequent_notice_business_days": 3}`, agreement.Terms{NoticeDays: 7, FrequentNotice: 3}},
		{"a right to cancel that is not by law", `{"cancellation": {"working_days": 9, "how": "Call."}, "profile": "none", "profile_reason": "A gift."}`,
			agreement.Terms{Cancellation: agreement.Cancellation{WorkingDays: 9, How: "Call."}}},
		{"what the law wants", `{"lender": {"name": "Pūtea", "address": "1 Quay", "email": "help@putea.example"},
			"dispute_resolution": {"scheme": "A scheme", "contact": "0800 000 000"}, "hardship": {"contact": "0800 111 111"},
			"cancellation": {"working_days": 5, "how": "Write.\n(a) Soon."}}`,
			agreement.Terms{Lender: agreement.Lender{Name: "Pūtea", Address: "1 Quay", Email: "help@putea.example"},
				Disputes:     agreement.DisputeScheme{Name: "A scheme", Contact: "0800 000 000"},
				Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write.\n(a) Soon.", PayWithin: 15}, Hardship: "0800 111 111"}},
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
		{"a field that is mistyped", `{"lendor": {}}`, "lendor is not a field here; the fields are profile, profile_reason, privacy, lender, dispute_resolution, cancellation, notice_days, frequent_notice_business_days, hardship, default_fees, authority, terms"},
		{"no days of notice", `{"notice_days": 0}`, "notice_days"},
		{"more than a month of notice", `{"notice_days": 31}`, "notice_days"},
		{"more than two weeks of business days", `{"frequent_notice_business_days": 11}`, "frequent_notice_business_days"},
		{"half a day of notice", `{"notice_days": 2.5}`, "notice_days"},
		{"days of notice in quotation marks", `{"notice_days": "2"}`, "notice_days"},
		{"a block without its text", `{"terms": [{"title": "Hardship"}]}`, "terms[0].text must be given"},
		{"a lender without an address", `{"lender": {"name": "Pūtea"}}`, "lender.address must be given"},
		{"an agency without a contact", `{"privacy": {"agency": {"name": "Pūtea", "address": "1 Quay"}}}`, "privacy.agency.contact must be given"},
		{"an agency in the wrong place", `{"privacy": {"name": "Pūtea"}}`, "privacy.name is not a field here; the fields are agency, recipients"},
		{"a recipient without a country", `{"privacy": {"recipients": [{"name": "A", "purpose": "to collect"}]}}`, "privacy.recipients[0].country must be given"},
		{"a recipient of a purpose that shows nothing", `{"privacy": {"recipients": [{"name": "A", "country": "B", "purpose": ""}]}}`, "privacy.recipients[0].purpose must"},
		{"a tab", `{"terms": [{"title": "a", "text": "b\tc"}]}`, "terms[0].text must not contain control characters"},
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
		{"a profile of another country", `{"profile": "uk"}`, `profile must be "consumer-credit", which is the default, or "none"`},
		{"a profile that is no text", `{"profile": 1}`, `profile must be "consumer-credit"`},
		{"no profile, and no reason", `{"profile": "none"}`, "profile_reason must be given"},
		{"no profile, and an empty reason", `{"profile": "none", "profile_reason": " "}`, "profile_reason must be given"},
		{"a reason for the default", `{"profile_reason": "We like it."}`, `profile_reason belongs to the profile "none" alone`},
		{"a reason of two lines", `{"profile": "none", "profile_reason": "a\nb"}`, "profile_reason must not contain control characters"},
		{"a reason that does not end", `{"profile": "none", "profile_reason": "` + strings.Repeat("a", 501) + `"}`,
			"profile_reason must have at most 500 characters"},
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

func TestParseTermsReadsTheRecipients(t *testing.T) {
	got, err := providerfile.ParseTerms([]byte(`{"privacy": {"recipients": [
		{"name": "GoCardless Ltd", "country": "United Kingdom", "purpose": "to collect the payments"},
		{"name": "Salesforce, Inc.", "country": "Japan", "purpose": "to keep records"}]}}`))
	want := []agreement.Recipient{{Name: "GoCardless Ltd", Country: "United Kingdom", Purpose: "to collect the payments"},
		{Name: "Salesforce, Inc.", Country: "Japan", Purpose: "to keep records"}}
	if !slices.Equal(got.Recipients, want) || err != nil {
		t.Errorf("the recipients are %+v, %v; want %+v", got.Recipients, err, want)
	}
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

// lawful is a file that lacks nothing.
const lawful = `{"lender": {"name": "Pūtea", "address": "1 Quay", "registration": "FSP123456", "email": "help@putea.example"},
	"authority": {"authorisation_code": "0123456"}, "default_fees": "none", "dispute_resolution": {"scheme": "A", "contact": "0800 000 000"},
	"cancellation": {"working_days": 5, "how": "Write."}, "hardship": {"contact": "https://putea.example/hardship"}}`

func TestMissingSaysWhatTheTermsLack(t *testing.T) {
	change := func(old, replacement string) string {
		if !strings.Contains(lawful, old) {
			t.Fatalf("the file has no %s", old)
		}
		return strings.Replace(lawful, old, replacement, 1)
	}
	for _, tt := range []struct{ name, file, want string }{
		{"nothing", lawful, ""},
		{"a file that says nothing", `{}`, "lender.name must be given; lender.address must be given; lender.registration must be given; " +
			"lender.email must be given; dispute_resolution.scheme must be given; dispute_resolution.contact must be given; " +
			"cancellation.working_days must be given; cancellation.how must be given; hardship.contact must be given; " +
			"default_fees must be given; authority.authorisation_code must be given"},
		{"the same, and why", `{"profile": "none", "profile_reason": "Not credit."}`, ""},
		{"a number of another register", change("FSP123456", "NZBN 123"),
			"lender.registration must be a number of the Financial Service Providers Register, such as FSP123456"},
		{"the register's name alone", change("FSP123456", "FSP"), "lender.registration must be a number of the"},
		{"words after the number", change("FSP123456", "FSP123456 (registered)"), "lender.registration must be a number of the"},
		{"no e-mail address", change("help@putea.example", "putea.example"), "lender.email must be an e-mail address"},
		{"a right to cancel that the law does not allow", change("5,", "4,"), "cancellation.working_days must be 5 or more"},
		{"a contact that nobody can use", change("0800 000 000", "B"),
			"dispute_resolution.contact must be an e-mail address, a web page (https://…) or a telephone number"},
		{"a contact without encryption", change("https://putea.example/hardship", "http://putea.example/hardship"), "hardship.contact must be"},
		{"a contact by e-mail", change("https://putea.example/hardship", "help@putea.example"), ""},
		{"default fees that are not stated", change(`"default_fees": "none",`, ""), "default_fees must be given"},
		{"no authorisation code", change(`"authority": {"authorisation_code": "0123456"},`, ""), "authority.authorisation_code must be given"},
	} {
		got, err := providerfile.ParseTerms([]byte(tt.file))
		if missing := strings.Join(got.Missing(false), "; "); err != nil || !strings.HasPrefix(missing, tt.want) || (tt.want == "") != (missing == "") {
			t.Errorf("%s: lacks %q, %v; want %q", tt.name, missing, err, tt.want)
		}
	}
	if missing := (providerfile.TermsFile{}).Missing(true); len(missing) != 10 || slices.ContainsFunc(missing, isCode) {
		t.Errorf("without a file, and with a processor that names who debits, the terms lack %q", missing)
	}
}

func isCode(missing string) bool { return strings.HasPrefix(missing, "authority.") }

func TestProfileOfAFile(t *testing.T) {
	for file, want := range map[string]providerfile.TermsFile{
		`{}`:                             {Profile: providerfile.ConsumerCredit},
		`{"profile": "consumer-credit"}`: {Profile: providerfile.ConsumerCredit},
		`{"profile": "none", "profile_reason": " Not credit. "}`: {Profile: providerfile.NoProfile, Reason: "Not credit."},
	} {
		if got, err := providerfile.ParseTerms([]byte(file)); err != nil || got.Profile != want.Profile || got.Reason != want.Reason {
			t.Errorf("%s: %q because %q, %v; want %q because %q", file, got.Profile, got.Reason, err, want.Profile, want.Reason)
		}
	}
}
