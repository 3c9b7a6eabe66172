package main

import (
	_ "embed"
	"strings"
	"text/template"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
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
		{"serve", "", serve},
		{"config check", "", checkConfig},
		{"apply", "", apply},
		{"crm pull", "", pullProviders},
		{"crm check", "", checkCRM},
		{"crm sync", "", syncCRM},
		{"jobs list", "", listJobs},
		{"jobs show", "ID", showJob},
		{"jobs retry", "[ID]", retryJobs},
		{"today", "", today},
		{"find", "QUERY", find},
		{"show", "ID", show},
		{"cancel", "CHECKOUT", cancelCheckout},
		{"withdraw", "NUMBER", withdrawAgreement},
		{"link", "CHECKOUT", mailLink},
		{"keys issue", "", issueKey},
		{"keys list", "", listKeys},
		{"keys revoke", "KEY-OR-ID", revokeKey},
		{"agreements pdf", "NUMBER", agreementPDF},
		{"agreements verify", "[NUMBER]", verifyAgreement},
		{"privacy export", "", exportStudent},
		{"privacy erase", "", eraseStudent},
		{"acts", "", listActs},
		{"export", "", export},
		{"store distribute", "", distributeStore},
		{"backup", "", backup},
		{"version", "", version},
	} {
		var text strings.Builder
		if err := help.ExecuteTemplate(&text, c.name, nil); err != nil {
			panic(err) // help.tmpl is part of the program
		}
		about, more, _ := strings.Cut(text.String(), "\n\n")
		all = append(all, cli.Command{Name: c.name, Args: strings.Fields(c.args), About: about, More: more, Setup: command(c.define)})
	}
	return all
}
