package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/provider-checkout/provider-checkout/adapters/in/settingsfile"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

const configHelp = "The file of --config is one JSON object with a field a setting: that of --base-url is base_url. A secret is never in it, but a\n" +
	"reference, \"env:NAME\" or \"file:PATH\"; so may be the store. Its secrets are secret, evidence_key, gocardless_token and so on, as the\n" +
	"variables are named. A flag overrides its variable, and both override the file."

// credential is a setting without a flag: other users of the machine can read flags.
type credential struct {
	variable string
	meaning  string
	open     bool // it is no secret, and may stand in the file of --config
}

// field returns the name of the setting in the file of --config.
func (c credential) field() string {
	return strings.ToLower(strings.TrimPrefix(c.variable, cli.Variable(program, "")))
}

// credentials returns every setting that has no flag.
func credentials() []credential {
	return []credential{
		{secretVariable, "the operator's secret", false},
		{evidenceVariable, "the evidence key", false},
		{tokenVariable, "GoCardless' access token", false},
		{webhookVariable, "the secret of GoCardless' webhook endpoint", false},
		{clientIDVariable, "the client id of Salesforce's connected app", true},
		{clientSecretVariable, "the client secret of Salesforce's connected app", false},
		{jwtKeyVariable, "the JWT key of Salesforce's connected app", false},
		{smtpUserVariable, "the user of the mail server", true},
		{smtpPasswordVariable, "the password of the mail server", false},
	}
}

// credentialOf returns the setting of a variable.
func credentialOf(variable string) credential {
	all := credentials()
	return all[slices.IndexFunc(all, func(c credential) bool { return c.variable == variable })]
}

// fieldOf returns the name of a flag's setting in the file of --config.
func fieldOf(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// settingKinds returns the kinds of all settings, by their names in the file of --config: the flags of serve and the credentials.
func settingKinds() map[string]settingsfile.Kind {
	kinds := make(map[string]settingsfile.Kind)
	flags := cli.NewFlags()
	newServer(&call{flags: flags})
	flags.VisitAll(func(f *pflag.Flag) {
		kinds[fieldOf(f.Name)] = map[string]settingsfile.Kind{
			"number": settingsfile.Number, "bool": settingsfile.Switch, "list": settingsfile.List}[f.Value.Type()]
	})
	delete(kinds, "config")
	kinds["store"] = settingsfile.Open
	for _, c := range credentials() {
		kinds[c.field()] = settingsfile.Secret
		if c.open {
			kinds[c.field()] = settingsfile.Open
		}
	}
	return kinds
}

// readConfig reads the file of --config, and sets the flags that neither the command line nor a variable has set. Its error names
// everything that is wrong, a line each.
func (c *call) readConfig() error {
	if c.configFile == "" {
		return nil
	}
	data, err := readFile(c.Stdin, c.configFile)
	if err != nil {
		return err
	}
	c.config, err = settingsfile.Parse(data, settingKinds())
	faults := []error{err}
	c.refused = map[string]bool{}
	c.flags.VisitAll(func(f *pflag.Flag) {
		given := c.config[fieldOf(f.Name)]
		if given == (settingsfile.Setting{}) || c.origin(f) != c.configName() {
			return
		}
		list, err := c.resolve(given, fieldOf(f.Name))
		if err == nil {
			if err = f.Value.Set(strings.TrimSpace(list.text)); err != nil {
				err = fmt.Errorf("%s: %w", fieldOf(f.Name), err)
			}
		}
		if err != nil {
			c.refused[f.Name] = true
			faults = append(faults, err)
		}
	})
	if err := errors.Join(faults...); err != nil {
		return errors.New(c.configName() + ": " + strings.ReplaceAll(err.Error(), "\n", "\n"+c.configName()+": "))
	}
	return nil
}

// configName returns the name of the file of --config in messages.
func (c *call) configName() string { return inputName(c.configFile) }

// origin returns the place that sets a flag, or "" for a flag with its default.
func (c *call) origin(f *pflag.Flag) string {
	variable := cli.Variable(program, f.Name)
	switch _, inFile := c.config[fieldOf(f.Name)]; {
	case f.Changed:
		return "--" + f.Name
	case !c.flags.HasVariable(f.Name):
		return ""
	case c.Env(variable) != "":
		return "env " + variable
	case inFile:
		return c.configName()
	}
	return ""
}

// secretList is one or several secrets as an operator gave them. The zero secretList was not given.
type secretList struct {
	text      string
	separator string // a comma in a variable, a line feed in a file
	source    string // the variable or the file
}

// secretList returns the value of a credential: of its variable, of the file that the variable with _FILE after its name names,
// or of the file of --config.
func (c *call) secretList(variable string) (secretList, error) {
	from, by, err := c.reference(variable)
	if err != nil {
		return secretList{}, err
	}
	return c.resolve(from, by)
}

// reference returns the place of a credential, and the beginning of an error about it.
func (c *call) reference(variable string) (from settingsfile.Setting, by string, err error) {
	fileVariable := variable + "_FILE"
	file := c.Env(fileVariable)
	switch inline := c.Env(variable) != ""; {
	case inline && file != "":
		return from, "", cli.UsageError("set only one of " + variable + " and " + fileVariable)
	case inline:
		return settingsfile.Setting{Variable: variable}, variable, nil
	case file != "":
		return settingsfile.Setting{File: file}, "read " + fileVariable, nil
	}
	field := credentialOf(variable).field()
	return c.config[field], c.configName() + ": " + field, nil
}

// given reports whether a credential is set, readable or not.
func (c *call) given(variable string) bool {
	from, _, err := c.reference(variable)
	return err != nil || from != settingsfile.Setting{}
}

// resolve returns the value of a setting. Its error begins with by, the name of the reference.
func (c *call) resolve(from settingsfile.Setting, by string) (secretList, error) {
	switch {
	case from.Variable != "":
		text := c.Env(from.Variable)
		if text == "" {
			return secretList{}, fmt.Errorf("%s: the variable %s is not set", by, from.Variable)
		}
		return secretList{text, ",", from.Variable}, nil
	case from.File != "":
		text, err := os.ReadFile(from.File)
		if err != nil {
			return secretList{}, fmt.Errorf("%s: %w", by, err)
		}
		return secretList{string(text), "\n", from.File}, nil
	case from.Text != "":
		return secretList{from.Text, ",", by}, nil
	}
	return secretList{}, nil
}

// required returns the value of a credential, or an error that says that it is missing.
func (c *call) required(variable string) (secretList, error) {
	list, err := c.secretList(variable)
	if err == nil && strings.TrimSpace(list.text) == "" {
		err = missing(variable)
	}
	return list, err
}

func missing(variable string) error {
	return fmt.Errorf("%s is missing (%s)", credentialOf(variable).meaning, namesOf(variable))
}

// namesOf returns the names of a credential where an operator may set it.
func namesOf(variable string) string {
	return fmt.Sprintf("%s or %[1]s_FILE, or %s in the file of --config", variable, credentialOf(variable).field())
}

// name returns a setting as its source wrote it: as a flag, a variable, or a field of the file of --config. A setting without a source
// has the name that it would have in that file, where there is one.
func (c *call) name(flag string) string {
	switch origin := c.origin(c.flags.Lookup(flag)); {
	case origin == "" && c.configFile == "":
		return "--" + flag
	case origin == "":
		return fieldOf(flag)
	case origin == c.configName():
		return origin + ": " + fieldOf(flag)
	default:
		return strings.TrimPrefix(origin, "env ")
	}
}

// needs returns the error about a setting that is nothing without another.
func (c *call) needs(flag, other string) error {
	return cli.UsageError(c.name(flag) + " needs " + c.name(other))
}

// checkConfig prints a line for each setting of serve, and for everything that is missing or contradictory. It asks neither the
// store nor the network.
func checkConfig(c *call) action {
	s := newServer(c)
	c.checksConfig = true
	return func(context.Context) error {
		if c.wrongConfig != nil && c.config == nil { // nothing is known of the settings
			return c.printProblems(c.wrongConfig)
		}
		table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
		c.flags.VisitAll(func(f *pflag.Flag) {
			if c.flags.HasVariable(f.Name) && f.Name != "config" {
				_, meaning := pflag.UnquoteUsage(f)
				meaning, _, _ = strings.Cut(meaning, "\n")
				fmt.Fprintf(table, "%s\t%s\t%s\n", fieldOf(f.Name), c.shown(f), meaning)
			}
		})
		problems := []error{c.wrongConfig}
		for _, setting := range credentials() {
			shown, err := c.shownSecret(setting)
			problems = append(problems, err)
			fmt.Fprintf(table, "%s\t%s\t%s\n", setting.field(), shown, setting.meaning)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		for _, field := range slices.Sorted(maps.Keys(c.config)) {
			if adapter := s.unusedAdapter(field); adapter != "" {
				fmt.Fprintf(c.Stdout, "unused: %s, for %s is not in use\n", field, adapter)
			}
		}
		_, err := s.outside(nil)
		return c.printProblems(append(problems, err, s.checkPlaces())...)
	}
}

// printProblems prints each problem once, a line each.
func (c *call) printProblems(problems ...error) error {
	all := errors.Join(problems...)
	if all == nil {
		fmt.Fprintln(c.Stdout, "nothing is missing")
		return nil
	}
	lines := strings.Split(all.Error(), "\n")
	slices.Sort(lines)
	lines = slices.Compact(lines)
	for _, line := range lines {
		fmt.Fprintln(c.Stdout, "problem:", oneLine(strings.TrimSpace(line)))
	}
	return errors.New(counted(len(lines), "problem"))
}

// shown returns the value of a flag with its origin. A value that may hold a password is not shown.
func (c *call) shown(f *pflag.Flag) string {
	value, origin := oneLine(f.Value.String()), c.origin(f)
	from := c.config[fieldOf(f.Name)]
	isReference := origin == c.configName() && from.Text == "" && from != settingsfile.Setting{}
	switch {
	case origin == c.configName() && c.refused[f.Name]:
		value = "refused"
	case value == "":
		return "not set"
	case origin == "":
		return value + ", by default"
	case isReference || settingsfile.HasPassword(value):
		value = "set"
	}
	if isReference {
		origin = placeOf(from)
	}
	return value + ", from " + origin
}

// shownSecret returns whether a credential is set, and its origin.
func (c *call) shownSecret(setting credential) (string, error) {
	from, _, _ := c.reference(setting.variable)
	_, err := c.secretList(setting.variable)
	switch {
	case from == settingsfile.Setting{} && err == nil:
		return "not set", nil
	case from == settingsfile.Setting{}:
		return "set twice", err
	case from.Text != "":
		return oneLine(from.Text) + ", from " + c.configName(), err
	case err != nil:
		return "cannot be read, from " + placeOf(from), err
	}
	return "set, from " + placeOf(from), nil
}

// placeOf returns the name of the variable or file that a reference names.
func placeOf(from settingsfile.Setting) string {
	if from.Variable != "" {
		return "env " + from.Variable
	}
	return "file " + from.File
}

// unusedAdapter returns the adapter of a setting if that adapter is not in use.
func (s *server) unusedAdapter(field string) string {
	adapter, _, _ := strings.Cut(field, "_")
	switch {
	case adapter == gocardlessName && s.processor != gocardlessName,
		adapter == salesforceName && s.crm != salesforceName,
		adapter == "smtp" && s.smtp == "":
		return adapter
	}
	return ""
}

// checkPlaces checks the store's name, the addresses, and the files of checkpoints.
func (s *server) checkPlaces() error {
	_, _, wrongStore := s.place()
	problems := []error{wrongStore, s.checkAddress("addr", s.addr)}
	if s.opsAddr != "" {
		problems = append(problems, s.checkAddress("ops-addr", s.opsAddr))
	}
	if s.checkpointFile != "" {
		_, err := os.Stat(filepath.Dir(s.checkpointFile))
		problems = append(problems, err)
		if keys, err := s.givenEvidenceKeys(); err == nil && keys.CanVerify() {
			_, err := s.knownCheckpoint(keys)
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
