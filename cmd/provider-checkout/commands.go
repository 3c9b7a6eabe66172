package main

import (
	_ "embed"
	"strings"
	"text/template"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
)

// helpText has a template for each command.
//
//go:embed help.tmpl
var helpText string

// commands returns every command, in the order in which an operator needs them.
func commands() (all []cli.Command) {
	help := template.Must(template.New("").Parse(helpText))
	for _, c := range []struct {
		name, args string
		define     func(*call) action
	}{
		{"demo", "", demonstrate},
		{"listen", "", followEvents},
		{"trigger", "SCENARIO", trigger},
		{"serve", "", serve},
		{"config check", "", checkConfig},
		{"apply", "", apply},
		{"providers ping", "CODE", pingProvider},
		{"providers pull", "", pullProviders},
		{"crm check", "", checkCRM},
		{"jobs list", "", listJobs},
		{"jobs show", "JOB-ID", showJob},
		{"jobs retry", "JOB-ID", retryJob},
		{"today", "", today},
		{"find", "QUERY", find},
		{"show", "ID", show},
		{"funnel", "", funnel},
		{"month", "YYYY-MM", month},
		{"cancel", "CHECKOUT", cancelCheckout},
		{"withdraw", "NUMBER", withdrawAgreement},
		{"link", "CHECKOUT", mailLink},
		{"keys issue", "", issueKey},
		{"keys list", "", listKeys},
		{"keys revoke", "KEY-OR-ID", revokeKey},
		{"agreements pdf", "[NUMBER]", agreementPDF},
		{"agreements verify", "[NUMBER]", verifyAgreement},
		{"agreements prove", "NUMBER", proveAgreement},
		{"verify-proof", "FILE", verifyProof},
		{"evidence checkpoint", "", printCheckpoint},
		{"evidence key", "", printEvidenceKey},
		{"privacy export", "", exportStudent},
		{"privacy erase", "", eraseStudent},
		{"witness serve", "", serveWitness},
		{"evidence list", "", listEvidence},
		{"events list", "", listEvents},
		{"events show", "EVENT-ID", showEvent},
		{"events redeliver", "[EVENT-ID]", redeliverEvents},
		{"golive", "", checkGoLive},
		{"golive verify", "FILE", verifyGoLive},
		{"export", "", export},
		{"store distribute", "", distributeStore},
		{"backup", "", backup},
		{"restore", "", restore},
		{"simulate gocardless", "", simulateGoCardless},
		{"simulate salesforce", "", simulateSalesforce},
		{"conformance", "", conform},
		{"conformance provider", "", checkProvider},
		{"version", "", version},
	} {
		var text strings.Builder
		if err := help.ExecuteTemplate(&text, c.name, scenario.All()); err != nil {
			panic(err) // help.tmpl is part of the program
		}
		about, more, _ := strings.Cut(text.String(), "\n\n")
		all = append(all, cli.Command{Name: c.name, Args: strings.Fields(c.args), About: about, More: more, Setup: command(c.define)})
	}
	return all
}
