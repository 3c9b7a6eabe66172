package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/provider-checkout/provider-checkout/adapters/in/settingsfile"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// credential is a setting without a flag: other users of the machine can read flags.
type credential struct {
	variable string
	meaning  string
	open     bool // it is no secret, and may stand in the file of --config
}

// field returns the name of the setting in the file of --config.
func (c credential) field() string { return fieldOf(c.variable) }

// credentials returns every setting that has no flag.
func credentials() []credential {
	return []credential{
		{secretVariable, "the operator's secret", false},
		{signerVariable, "the signer of agreements", false},
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

// fieldOf returns the name of a setting in the file of --config, by its variable.
func fieldOf(variable string) string {
	return strings.ToLower(strings.TrimPrefix(variable, cli.Variable(program, "")))
}

// variableOf returns the variable of a flag.
func variableOf(f *pflag.Flag) string { return cli.Variable(program, f.Name) }

// settingKinds returns the kinds of all settings, by their names in the file of --config: the flags of serve and the credentials.
func settingKinds() map[string]settingsfile.Kind {
	kinds := make(map[string]settingsfile.Kind)
	flags := cli.NewFlags()
	newServer(&call{flags: flags})
	flags.VisitAll(func(f *pflag.Flag) {
		kinds[fieldOf(variableOf(f))] = map[string]settingsfile.Kind{
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
	data, err := readText(c.Stdin, c.configFile)
	if err != nil {
		return err
	}
	c.config, err = settingsfile.Parse(data, settingKinds())
	faults := []error{err}
	c.refused = map[string]bool{}
	c.flags.VisitAll(func(f *pflag.Flag) {
		from, _ := c.source(variableOf(f))
		if !from.inConfig {
			return
		}
		from.name = fieldOf(variableOf(f))
		list, err := c.resolve(from)
		if err == nil {
			if err = f.Value.Set(strings.TrimSpace(list.text)); err != nil {
				err = fmt.Errorf("%s: %w", from.name, err)
			}
		}
		if err != nil {
			c.refused[f.Name] = true
			faults = append(faults, err)
		}
	})
	return about(c.configName(), errors.Join(faults...))
}

// about returns an error, nil for nil, with the name of what it is about before each of its lines.
func about(name string, err error) error {
	if err == nil {
		return nil
	}
	return errors.New(name + ": " + strings.ReplaceAll(err.Error(), "\n", "\n"+name+": "))
}

// configName returns the name of the file of --config in messages.
func (c *call) configName() string { return inputName(c.configFile) }

// source is the origin of a setting. The zero source is of a setting that is not set.
type source struct {
	settingsfile.Setting        // the reference, or a text in the file of --config; zero for a flag
	name                 string // of the setting, as the source wrote it
	place                string // for people
	inConfig             bool   // it is in the file of --config
}

// source returns the source of a setting, by its variable: its flag, that variable, for a credential the file that the variable with
// _FILE after its name names, or the file of --config. The error says that there are two.
func (c *call) source(variable string) (source, error) {
	fileVariable, file := variable+"_FILE", ""
	field := fieldOf(variable)
	f := c.flags.Lookup(strings.ReplaceAll(field, "_", "-"))
	if f == nil {
		file = c.Env(fileVariable)
	}
	from := c.config[field]
	switch inline := c.Env(variable) != ""; {
	case f != nil && f.Changed:
		return source{name: "--" + f.Name, place: "--" + f.Name}, nil
	case f != nil && !c.flags.HasVariable(f.Name):
		return source{}, nil
	case inline && file != "":
		return source{name: variable}, cli.UsageError("set only one of " + variable + " and " + fileVariable)
	case inline:
		return source{settingsfile.Setting{Variable: variable}, variable, "env " + variable, false}, nil
	case file != "":
		return source{settingsfile.Setting{File: file}, "read " + fileVariable, "file " + file, false}, nil
	case from.Variable != "":
		return source{from, c.configName() + ": " + field, "env " + from.Variable, true}, nil
	case from.File != "":
		return source{from, c.configName() + ": " + field, "file " + from.File, true}, nil
	case from.Text != "":
		return source{from, c.configName() + ": " + field, c.configName(), true}, nil
	}
	return source{}, nil
}

// secretList is one or several secrets as an operator gave them. The zero secretList was not given.
type secretList struct {
	text      string
	separator string // a comma in a variable, a line feed in a file
	source    string // the setting, and its file where it has one
}

// secretList returns the value of a credential.
func (c *call) secretList(variable string) (secretList, error) {
	from, err := c.source(variable)
	if err != nil {
		return secretList{}, err
	}
	return c.resolve(from)
}

// parsed returns the value of a credential as a function parses it; the zero value if it is not set.
func parsed[T any](c *call, variable string, parse func(secretList) (T, error)) (value T, err error) {
	list, err := c.secretList(variable)
	if err != nil || list.source == "" {
		return value, err
	}
	if value, err = parse(list); err != nil {
		err = fmt.Errorf("%s: %w", list.source, err)
	}
	return value, err
}

// resolve returns the value of a setting that has no flag.
func (c *call) resolve(from source) (secretList, error) {
	switch {
	case from.Variable != "":
		text := c.Env(from.Variable)
		if text == "" {
			return secretList{}, fmt.Errorf("%s: the variable %s is not set", from.name, from.Variable)
		}
		return secretList{text, ",", from.name}, nil
	case from.File != "":
		text, err := os.ReadFile(from.File)
		if err != nil {
			return secretList{}, fmt.Errorf("%s: %w", from.name, err)
		}
		return secretList{string(withoutMark(text)), "\n", from.name + ": " + from.File}, nil
	case from.Text != "":
		return secretList{from.Text, ",", from.name}, nil
	}
	return secretList{}, nil
}

// exposedFiles returns the files with secrets that every user of the machine can read, each after the setting that names it.
func (c *call) exposedFiles() (exposed []string) {
	variables := []string{cli.Variable(program, "store")}
	for _, setting := range credentials() {
		if !setting.open {
			variables = append(variables, setting.variable)
		}
	}
	for _, variable := range variables {
		from, _ := c.source(variable)
		if open, err := privatefile.IsExposed(from.File); from.File != "" && err == nil && open {
			exposed = append(exposed, from.name+": "+from.File)
		}
	}
	return exposed
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
// has the name that it would have in that file, where there is one. A credential is named as a flag of its name would be.
func (c *call) name(flag string) string {
	variable := cli.Variable(program, flag)
	switch from, _ := c.source(variable); {
	case from.name != "":
		return from.name
	case c.configFile != "":
		return fieldOf(variable)
	case c.flags.Lookup(flag) == nil:
		return variable
	}
	return "--" + flag
}

// names returns the names of settings of which one or several are wrong.
func (c *call) names(flags ...string) string {
	names := make([]string, len(flags))
	for i, flag := range flags {
		names[i] = strings.TrimPrefix(c.name(flag), c.configName()+": ")
	}
	return strings.Join(names, ", ")
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
		problems := []error{c.wrongConfig}
		table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
		line := func(variable, shown, meaning string) {
			fmt.Fprintf(table, "%s\t%s\t%s\n", fieldOf(variable), shown, meaning)
		}
		c.flags.VisitAll(func(f *pflag.Flag) {
			if c.flags.HasVariable(f.Name) && f.Name != "config" {
				_, meaning := pflag.UnquoteUsage(f)
				meaning, _, _ = strings.Cut(meaning, "\n")
				value := f.Value.String()
				if f.Name == "store" {
					value = shownStore(value)
				}
				line(variableOf(f), c.shown(variableOf(f), value, c.refused[f.Name]), meaning)
			}
		})
		for _, setting := range credentials() {
			from, _ := c.source(setting.variable)
			_, err := c.secretList(setting.variable)
			value := from.Text
			if from != (source{}) && value == "" {
				value = "set"
			}
			problems = append(problems, err)
			line(setting.variable, c.shown(setting.variable, value, err != nil), setting.meaning)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if signer, err := s.signer(); err == nil && signer != nil {
			own := signer.Certificate()
			fmt.Fprintf(c.Stdout, "agreements are signed by %s, until %s\n", cli.OneLine(own.Subject.String()), own.NotAfter.UTC().Format(time.DateOnly))
		}
		for _, field := range slices.Sorted(maps.Keys(c.config)) {
			if adapter := s.unusedAdapter(field); adapter != "" {
				fmt.Fprintf(c.Stdout, "unused: %s, for %s is not in use\n", field, adapter)
			}
		}
		if c.unknown() { // the file may have what is missing
			return c.printProblems(c.wrongConfig)
		}
		_, err := s.outside()
		return c.printProblems(append(problems, err, s.checkPlaces())...)
	}
}

// unknown reports whether nothing is known of the settings in the file of --config.
func (c *call) unknown() bool { return c.wrongConfig != nil && c.config == nil }

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

// shown returns the value of a setting with its source. A value that may hold a password is not shown.
func (c *call) shown(variable, value string, faulty bool) string {
	from, twice := c.source(variable)
	switch {
	case twice != nil:
		return "set twice"
	case from == source{} && c.unknown():
		return "not known"
	case from == source{} && value != "":
		return oneLine(value) + ", by default"
	case faulty:
		value = "cannot be used"
	case value == "":
		return "not set"
	case from.inConfig && from.Text == "" || settingsfile.HasPassword(value):
		value = "set"
	}
	return oneLine(value) + ", from " + from.place
}

// unusedAdapter returns the adapter of a setting if that adapter is not in use.
func (s *server) unusedAdapter(field string) string {
	adapter, _, _ := strings.Cut(field, "_")
	switch {
	case adapter == gocardlessName && s.processor != gocardlessName,
		adapter == salesforceName && s.crm != salesforceName,
		adapter == "smtp" && (s.smtp == "" || s.smtp == noMail):
		return adapter
	}
	return ""
}

// checkPlaces checks the store's name and the addresses.
func (s *server) checkPlaces() error {
	_, _, wrongStore := s.place()
	problems := []error{wrongStore, s.checkAddress("addr", s.addr)}
	if s.opsAddr != "" {
		problems = append(problems, s.checkAddress("ops-addr", s.opsAddr))
	}
	return errors.Join(problems...)
}
