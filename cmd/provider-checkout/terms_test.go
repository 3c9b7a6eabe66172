package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
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
	said := []string{terms.Lender.Name, terms.Lender.Address, terms.Lender.Registration}
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

func TestServeRefusesFaultyTerms(t *testing.T) {
	faulty := proc.TempFile(t, `{"lender": {"name": "Pūtea"}, "terms": [{"title": "", "text": "x"}]}`)
	missing := filepath.Join(t.TempDir(), "terms.json")
	nameless := proc.TempFile(t, `{"privacy": {"agency": {"name": "Pūtea", "address": "1 Quay"}}}`)
	for path, want := range map[string]string{
		nameless: "privacy.agency.contact must be given",
		faulty:   "lender.address must be given; terms[0].title must be given",
		missing:  "no such file",
	} {
		try(t, nil, "", "serve", "--terms", path).refuses(t, cli.ExitUsage, want)
	}
}

// By the profile of consumer credit the sandbox warns of what the terms do not say, and production is refused.
func TestServeWantsWhatALenderMustSay(t *testing.T) {
	lacking := proc.TempFile(t, `{"lender": {"name": "Pūtea", "address": "1 Quay"}, "hardship": {"contact": "0800 111 111"},
		"profile": "consumer-credit"}`)
	got := try(t, nil, "", "serve", "--environment", "production", "--terms", lacking)
	if want := "the terms lack what their profile wants: lender.registration, lender.email, dispute_resolution, cancellation, default_fees, authority.authorisation_code"; got.code != cli.ExitFailed ||
		!strings.Contains(got.stderr, want) {
		t.Errorf("serve in production = %+v, want status 1 and %q", got, want)
	}
	if got := try(t, nil, "", "serve", "--environment", "production", "--processor", "gocardless", "--terms", lacking); strings.Contains(got.stderr, "authorisation_code") ||
		!strings.Contains(got.stderr, "default_fees") {
		t.Errorf("serve over GoCardless, which knows the code, = %+v", got)
	}
	_, _, log := started(t, "--terms", lacking).stop()
	says(t, log, `"level":"WARN","msg":"the terms do not say what a lender must","missing":["lender.registration","lender.email","dispute_resolution","cancellation","default_fees","authority.authorisation_code"]`)
}
