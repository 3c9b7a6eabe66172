package main

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"text/template"
	"time"

	"github.com/alecthomas/kong"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// commands has every command, in the order in which an operator needs them.
type commands struct {
	Demo   demonstrate  `cmd:""`
	Listen followEvents `cmd:""`
	Serve  serve        `cmd:""`
	Config struct {
		Check checkConfig `cmd:""`
	} `cmd:""`
	Apply apply `cmd:""`
	CRM   struct {
		Pull  pullProviders `cmd:""`
		Check checkCRM      `cmd:""`
		Sync  syncCRM       `cmd:""`
	} `cmd:"" name:"crm"`
	Jobs struct {
		List  listJobs  `cmd:""`
		Show  showJob   `cmd:""`
		Retry retryJobs `cmd:""`
	} `cmd:""`
	Today    today             `cmd:""`
	Find     find              `cmd:""`
	Show     show              `cmd:""`
	Cancel   cancelCheckout    `cmd:""`
	Withdraw withdrawAgreement `cmd:""`
	Link     mailLink          `cmd:""`
	Keys     struct {
		Issue  issueKey  `cmd:""`
		List   listKeys  `cmd:""`
		Revoke revokeKey `cmd:""`
	} `cmd:""`
	Agreements struct {
		PDF    agreementPDF    `cmd:"" name:"pdf"`
		Verify verifyAgreement `cmd:""`
	} `cmd:""`
	Privacy struct {
		Export exportStudent `cmd:""`
		Erase  eraseStudent  `cmd:""`
	} `cmd:""`
	Acts   listActs `cmd:""`
	Export export   `cmd:""`
	Store  struct {
		Distribute distributeStore `cmd:""`
	} `cmd:""`
	Backup  backup  `cmd:""`
	Version version `cmd:""`
}

// helpText has a template for each command.
//
//go:embed help.tmpl
var helpText string

// parser returns the parser of the command line for a call.
func parser(c *call, more ...kong.Option) *kong.Kong {
	options := append([]kong.Option{
		kong.Name(program),
		kong.Description("Payment-plan enrolments by direct debit. \"help COMMAND\" prints the help of a command."),
		kong.Writers(c.Stdout, c.Stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}),
		kong.Vars{"kinds": list(checkout.JobKinds()), "grounds": list(checkout.Grounds())},
		kong.ValueFormatter(func(v *kong.Value) string { return v.Help }),
		kong.Bind(c), kong.Resolvers(c), kong.PostBuild(addHelp),
		kong.BindToProvider(openReader), kong.BindSingletonProvider(openRecords), kong.BindToProvider(acting),
		kong.KindMapper(reflect.String, mapperOf(func(text string) (string, error) { return text, nil })),
		valueOf("since", parseSince), valueOf("last-day", parseLastDay), valueOf("rate", parseRate), valueOf("whole", parseWhole),
		valueOf("delay", parseDuration(0, time.Minute, "must be a duration from 0s to 1m")),
		valueOf("lifetime", parseDuration(1, math.MaxInt64, "must be a duration above zero, such as 168h")),
		valueOf("networks", parsePrefixes), valueOf("reason", operate.ParseReason),
		valueOf("authority", parseAddress(withoutPassword, "must be an http or https URL without a password")),
		valueOf("service", parseAddress(onlyPlace, "must be a scheme and a host, such as https://sandbox.example.nz")),
		valueOf("receiver", parseAddress(onThisMachine, "must be a URL on this machine, such as http://localhost:3000/events")),
		valueOf("webhook", parseAddress(anyURL, "must be a URL such as http://localhost:3000/events")),
		valueOf("terms", parseFile(c.Stdin, providerfile.ParseTerms)), valueOf("mapping", parseFile(c.Stdin, salesforce.ParseMapping)), valueOf("roles", parseFile(c.Stdin, desk.ParseRoles)),
	}, more...)
	k, err := kong.New(&commands{}, options...)
	if err != nil {
		panic(err) // the tags are part of the program
	}
	return k
}

// list returns names as the tag "enum" has them.
func list[T ~string](names []T) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(names), "[]"), " ", ",")
}

// valueOf names a kind of value, for the tag "type" of a flag, that a function parses.
func valueOf[T any](name string, parse func(string) (T, error)) kong.Option {
	return kong.NamedMapper(name, mapperOf(parse))
}

func mapperOf[T any](parse func(string) (T, error)) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		if ctx.Scan.Peek().IsEOL() {
			return errors.New("needs a value")
		}
		var text string
		if err := ctx.Scan.PopValueInto("text", &text); err != nil {
			return err
		}
		value, err := parse(text)
		if err == nil {
			target.Set(reflect.ValueOf(value).Convert(target.Type()))
		}
		return err
	})
}

// addHelp gives each command its text of help.tmpl: a line about it, and further paragraphs.
func addHelp(k *kong.Kong) error {
	help, err := template.New("").Parse(helpText)
	if err != nil {
		return err
	}
	for _, command := range k.Model.Leaves(false) {
		var text strings.Builder
		if err := help.ExecuteTemplate(&text, command.Path(), nil); err != nil {
			return fmt.Errorf("help of %s: %w", command.Path(), err)
		}
		command.Help, command.Detail, _ = strings.Cut(text.String(), "\n\n")
	}
	return nil
}
