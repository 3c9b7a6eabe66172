package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// An agreement keeps the terms of the time of its confirm, whatever the operator's file contains later.
func TestAgreementKeepsTheOperatorsTerms(t *testing.T) {
	file, err := parseFile(nil, providerfile.ParseTerms)("demo-terms.json")
	if err != nil || file.Agency.Name == "" {
		t.Fatalf("agency %+v, %v", file.Agency, err)
	}
	terms := file.Terms
	o := newOperator(t)
	number := o.confirmedOver(t, func(c *service.Config, _ *httpapi.Options) { c.Terms = terms })
	text := sandbox.DocumentText(t, o.open(t), number)
	said := []string{terms.Lender.Name, terms.Lender.Address, terms.Lender.Registration, terms.Lender.Email, terms.Hardship,
		terms.Disputes.Name, terms.Disputes.Contact}
	said = append(said, agreement.Lines(terms.Cancellation.How)...)
	for _, b := range terms.Blocks {
		said = append(append(said, b.Title), agreement.Lines(b.Text)...)
	}
	exported := o.prints(t, "export")
	for _, want := range said {
		if !strings.Contains(text, sandbox.WithoutSpace(want)) {
			t.Errorf("the PDF does not say %q:\n%s", want, text)
		}
		if !strings.Contains(exported, want) {
			t.Errorf("the export does not say %q", want)
		}
	}
}

// An agreement on one payment is two pages with everything that the terms of the demonstration say, and with parts of it.
func TestOnePaymentIsTwoPages(t *testing.T) {
	file, err := parseFile(nil, providerfile.ParseTerms)("demo-terms.json")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := pdf.Derived(make([]byte, 32), "Test")
	if err != nil {
		t.Fatal(err)
	}
	printer, err := pdf.New(1, signer)
	if err != nil {
		t.Fatal(err)
	}
	all := agreement.Terms{Lender: file.Terms.Lender}
	for _, part := range []struct {
		name string
		add  func(*agreement.Terms)
	}{
		{"a lender", func(*agreement.Terms) {}},
		{"an authority", func(t *agreement.Terms) { t.Authority = file.Terms.Authority }},
		{"fees", func(t *agreement.Terms) { t.DefaultFees = file.Terms.DefaultFees }},
		{"a right to cancel", func(t *agreement.Terms) { t.Cancellation = file.Terms.Cancellation }},
		{"all rights", func(t *agreement.Terms) { t.Hardship, t.Disputes = file.Terms.Hardship, file.Terms.Disputes }},
		{"all of the file", func(t *agreement.Terms) { *t = file.Terms }},
	} {
		part.add(&all)
		for _, sandboxed := range []bool{false, true} {
			a := sample.Agreement(1)
			a.Sandbox, a.Terms, a.CancelUntil = sandboxed, all, money.Date{}
			if a.Terms.Cancellation != (agreement.Cancellation{}) {
				a.CancelUntil = money.Date{Year: 2027, Month: time.January, Day: 26}
			}
			a.DirectDebit.AuthorityID = strings.Repeat("d", 32)
			a.Pricing = money.Pricing{Price: 120_00, Principal: 120_00}
			a.Plan.Instalments = money.Instalments{Number: 1, Regular: 120_00, Final: 120_00}
			a.Schedule = money.Schedule(0, a.Plan)
			a.Notice = agreement.Notice{Period: agreement.NoticePeriod{Days: 10}, NotBefore: money.Date{Year: 2027, Month: time.January, Day: 26}}
			a.DirectDebit.Consent = agreement.Consent{Terms: agreement.Version + "/10/0123456789abcdef", At: a.AcceptedAt, From: "203.0.113.77", Period: agreement.NoticePeriod{Days: 10},
				Disclosed: agreement.Disclosed{SHA256: strings.Repeat("0a1b2c3d", 8), Page: "/api/dd-setup"}}
			document, err := printer.Print(t.Context(), a)
			if got := bytes.Count(document, []byte("/Type /Page ")); err != nil || got != 2 {
				t.Errorf("with %s, sandbox %v, the agreement on one payment has %d pages, %v; want 2", part.name, sandboxed, got, err)
			}
		}
	}
}

func TestServeRefusesFaultyTerms(t *testing.T) {
	faulty := proc.TempFile(t, `{"lender": {"name": "Pūtea"}, "terms": [{"title": "", "text": "x"}]}`)
	missing := filepath.Join(t.TempDir(), "terms.json")
	nameless := proc.TempFile(t, `{"privacy": {"agency": {"name": "Pūtea", "address": "1 Quay"}}}`)
	for path, want := range map[string]string{
		nameless: "privacy.agency.contact must be given",
		faulty:   "lender.address must be given; terms[0].title must be given",
		missing:  "no such file",
	} {
		try(t, nil, "", "serve", "--terms", path).refuses(t, exitUsage, want)
	}
}

// By the profile of consumer credit, which is the default, production is refused with a line for each field that is missing, and
// config check has the same lines. The sandbox warns.
func TestServeWantsWhatALenderMustSay(t *testing.T) {
	lacking := proc.TempFile(t, `{"lender": {"name": "Pūtea", "address": "1 Quay", "registration": "1234", "email": "help@putea.example"},
		"hardship": {"contact": "0800 111 111"}, "privacy": {"agency": {"name": "Pūtea", "address": "1 Quay", "contact": "0800 111 111"}}}`)
	want := []string{
		"lender.registration must be a number of the Financial Service Providers Register, such as FSP123456",
		"dispute_resolution.scheme must be given", "dispute_resolution.contact must be given",
		"cancellation.working_days must be given", "cancellation.how must be given", "default_fees must be given",
		"authority.authorisation_code must be given",
	}
	for _, args := range [][]string{{"serve"}, {"config", "check"}} {
		got := try(t, nil, "", append(args, "--environment", "production", "--terms", lacking)...)
		for _, sentence := range want {
			if line := "--terms: " + sentence + " (profile consumer-credit)"; got.code != exitFailed || strings.Count(got.stdout+got.stderr, line) != 1 {
				t.Errorf("%q = %+v, want status 1 and %q", args, got, line)
			}
		}
		if given := "lender.email"; strings.Contains(got.stdout+got.stderr, given) {
			t.Errorf("%q = %+v, which names %s", args, got, given)
		}
	}
	got := try(t, nil, "", "serve", "--environment", "production", "--processor", "gocardless", "--terms", lacking)
	if strings.Contains(got.stderr, "authorisation_code") || !strings.Contains(got.stderr, want[0]) {
		t.Errorf("with a processor that says who debits: %+v", got)
	}
	if got := try(t, nil, "", "serve", "--environment", "production"); strings.Count(got.stderr, "(profile consumer-credit)") != 11 {
		t.Errorf("without a file of terms: %+v, want 11 fields", got)
	}
	if got := try(t, nil, "", "serve", "--environment", "production", "--processor", "gocardless", "--terms", lacking); strings.Contains(got.stderr, "authorisation_code") ||
		!strings.Contains(got.stderr, "default_fees") {
		t.Errorf("serve over GoCardless, which knows the code, = %+v", got)
	}
	_, _, log := started(t, "--terms", lacking).stop()
	says(t, log, `"level":"WARN","msg":"production would refuse these terms","missing":["`+want[0]+`","`)
}

// The log says at each start who turned the profile off, and why.
func TestTheProfileOfTheTermsIsLogged(t *testing.T) {
	none := proc.TempFile(t, `{"profile": "none", "profile_reason": "The school gives no credit."}`)
	got := try(t, nil, "", "serve", "--environment", "production", "--terms", none)
	if strings.Contains(got.stderr, "profile") || strings.Contains(got.stderr, "lender") {
		t.Errorf("production wants %s", got.stderr)
	}
	_, _, log := started(t, "--terms", none).stop()
	says(t, log, `"msg":"terms profile","profile":"none","reason":"The school gives no credit."`)
	_, _, log = started(t, "--terms", "demo-terms.json").stop()
	saysNot(t, log, "terms profile")
}
