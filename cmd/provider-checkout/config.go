package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/provider-checkout/provider-checkout/adapters/in/settingsfile"
)

// credential is a setting without a flag: other users of the machine can read flags.
type credential struct {
	variable string
	meaning  string // for the error that it is missing
	open     bool   // it is no secret, and may stand in the file of --config
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

// credentialOf returns the setting of a variable, and reports whether there is one.
func credentialOf(variable string) (credential, bool) {
	for _, c := range credentials() {
		if c.variable == variable {
			return c, true
		}
	}
	return credential{}, false
}

const variablePrefix = "PROVIDER_CHECKOUT_"

// variableOf returns the variable of a setting, by the name of its flag.
func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fieldOf returns the name of a setting in the file of --config, by its variable.
func fieldOf(variable string) string {
	return strings.ToLower(strings.TrimPrefix(variable, variablePrefix))
}

// settingsOf returns the flags of a command that are settings.
func settingsOf(command *kong.Node) (flags []*kong.Flag) {
	for _, f := range command.Flags {
		if f.Group != nil {
			flags = append(flags, f)
		}
	}
	return flags
}

// serveSettings returns the settings of serve. Those of other commands are among them.
func serveSettings() []*kong.Flag {
	commands := parser(&call{}).Model.Children
	return settingsOf(commands[slices.IndexFunc(commands, func(n *kong.Node) bool { return n.Name == "serve" })])
}

// settingKinds returns the kinds of all settings, by their names in the file of --config: the flags of serve and the credentials.
func settingKinds() map[string]settingsfile.Kind {
	kinds := make(map[string]settingsfile.Kind)
	for _, f := range serveSettings() {
		kinds[fieldOf(variableOf(f.Name))] = map[reflect.Kind]settingsfile.Kind{reflect.Int: settingsfile.Number,
			reflect.Float64: settingsfile.Number, reflect.Bool: settingsfile.Switch, reflect.Slice: settingsfile.List}[f.Target.Kind()]
	}
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

// settings has the origins of the settings of a call.
type settings struct {
	flags      map[string]*kong.Flag // of the command, by name
	given      map[string]string     // the flags of the command line, by name, with their values
	configFile string
	config     map[string]settingsfile.Setting // that file, by the names of its fields; nil if it cannot be read
	refused    map[string]bool                 // flags whose value in the file or in a variable is not taken
	wrong      error                           // names everything that is wrong with the file and the variables, a line each
}

// BeforeResolve reads the file of --config.
func (*commands) BeforeResolve(c *call, parsed *kong.Context) error {
	c.flags, c.given, c.refused = map[string]*kong.Flag{}, map[string]string{}, map[string]bool{}
	if selected := parsed.Selected(); selected != nil {
		for _, f := range settingsOf(selected) {
			c.flags[f.Name] = f
		}
	}
	for _, part := range parsed.Path {
		if part.Flag != nil {
			c.given[part.Flag.Name] = fmt.Sprint(parsed.Value(part))
		}
	}
	if c.flags["config"] == nil {
		return nil
	}
	if c.configFile = cmp.Or(c.given["config"], c.Env(variableOf("config"))); c.configFile == "" {
		return nil
	}
	data, err := readText(c.Stdin, c.configFile)
	if err == nil {
		c.config, err = settingsfile.Parse(data, settingKinds())
		err = about(c.configName(), err)
	}
	c.wrong = errors.Join(c.wrong, err)
	return nil
}

// AfterApply gives the call the values of the flags that many commands have.
func (*commands) AfterApply(c *call, parsed *kong.Context) error {
	for _, f := range parsed.Flags() {
		switch f.Name {
		case "store":
			c.store = f.Target.String()
		case "reason":
			c.reason = f.Target.String()
		case "json":
			c.json = f.Target.Bool()
		}
	}
	return nil
}

// Validate implements [kong.Resolver].
func (*call) Validate(*kong.Application) error { return nil }

// Resolve returns the text of a setting that is no flag of the command line: of its variable, or of the file of --config. A wrong text
// is noted, and not taken.
func (c *call) Resolve(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
	s, err := c.setting(variableOf(f.Name))
	if s.name == "" {
		return nil, nil
	}
	text := strings.TrimSpace(s.text)
	if err == nil {
		if err = fmt.Errorf("must be one of %s", f.Enum); f.Enum == "" || slices.Contains(f.EnumSlice(), text) {
			decoding := &kong.DecodeContext{Value: f.Value, Scan: kong.Scan().PushTyped(text, kong.FlagValueToken)}
			err = f.Mapper.Decode(decoding, reflect.New(f.Target.Type()).Elem())
		}
		err = about(s.name, err)
	}
	if err != nil {
		c.refused[f.Name], c.wrong = true, errors.Join(c.wrong, err)
		return nil, nil
	}
	return text, nil
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

// setting is the value of a setting as an operator gave it, which may be several secrets. The zero setting was not given.
type setting struct {
	text      string // "" for a flag of the command line, which is parsed already
	separator string // a comma in a variable, a line feed in a file
	name      string // as its source has it
	source    string // the name, and its file where it has one
}

// setting returns a setting by its variable: from its flag, that variable, for a credential the file that the variable with _FILE after
// its name names, or the file of --config. A setting that cannot be read, or has two sources, is an error, and has its name.
func (c *call) setting(variable string) (setting, error) {
	inline, file, field := c.Env(variable), "", fieldOf(variable)
	f := c.flags[strings.ReplaceAll(field, "_", "-")]
	if _, ok := credentialOf(variable); ok {
		file = c.Env(variable + "_FILE")
	} else if f == nil {
		return setting{}, nil
	} else if _, ok := c.given[f.Name]; ok {
		return setting{name: "--" + f.Name}, nil
	}
	switch from := c.config[field]; {
	case inline != "" && file != "":
		return setting{name: variable}, usageError("set only one of " + variable + " and " + variable + "_FILE")
	case inline != "":
		return c.read(variable, settingsfile.Setting{Variable: variable})
	case file != "":
		return c.read("read "+variable+"_FILE", settingsfile.Setting{File: file})
	case from != settingsfile.Setting{}:
		return c.read(c.configName()+": "+field, from)
	}
	return setting{}, nil
}

// read returns the named setting that a reference leads to, or that is a text.
func (c *call) read(name string, from settingsfile.Setting) (setting, error) {
	s := setting{from.Text, ",", name, name}
	switch {
	case from.Variable != "":
		if s.text = c.Env(from.Variable); s.text == "" {
			return s, fmt.Errorf("%s: the variable %s is not set", name, from.Variable)
		}
	case from.File != "":
		text, err := os.ReadFile(from.File)
		if err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		s.text, s.separator, s.source = string(withoutMark(text)), "\n", name+": "+from.File
	}
	return s, nil
}

// parsed returns the value of a credential as a function parses it; the zero value if it is not set.
func parsed[T any](c *call, variable string, parse func(setting) (T, error)) (value T, err error) {
	s, err := c.setting(variable)
	if err != nil || s.name == "" {
		return value, err
	}
	if value, err = parse(s); err != nil {
		err = fmt.Errorf("%s: %w", s.source, err)
	}
	return value, err
}

// required returns the value of a credential, or an error that says that it is missing.
func (c *call) required(variable string) (setting, error) {
	s, err := c.setting(variable)
	if err == nil && strings.TrimSpace(s.text) == "" {
		err = missing(variable)
	}
	return s, err
}

func missing(variable string) error {
	of, _ := credentialOf(variable)
	return fmt.Errorf("%s is missing (%s)", of.meaning, namesOf(variable))
}

// namesOf returns the names of a credential where an operator may set it.
func namesOf(variable string) string {
	return fmt.Sprintf("%s or %[1]s_FILE, or %s in the file of --config", variable, fieldOf(variable))
}

// name returns a setting as its source wrote it: as a flag, a variable, or a field of the file of --config. A setting without a source
// has the name that it would have in that file, where there is one. A credential is named as a flag of its name would be.
func (c *call) name(flag string) string {
	variable := variableOf(flag)
	s, _ := c.setting(variable)
	_, isCredential := credentialOf(variable)
	switch {
	case s.name != "":
		return s.name
	case c.configFile != "":
		return fieldOf(variable)
	case isCredential:
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
	return usageError(c.name(flag) + " needs " + c.name(other))
}

// checkConfig prints a line for each setting of serve that is missing or wrong, all of them together, and the environment by whose rules
// they were judged. It asks neither the store nor the network.
type checkConfig struct{ ServerFlags }

func (f *checkConfig) Run(c *call) error {
	s := &server{call: c, ServerFlags: f.ServerFlags}
	judged := "checked as a server of the environment " + string(s.Environment)
	if from, _ := c.setting(variableOf("environment")); from.name == "" {
		judged += ", the default: no setting names another"
	}
	fmt.Fprintln(c.Stdout, judged)
	if signer, err := s.signer(); err == nil && signer != nil {
		own := signer.Certificate()
		fmt.Fprintf(c.Stdout, "agreements are signed by %s, until %s\n", oneLine(own.Subject.String()), own.NotAfter.UTC().Format(time.DateOnly))
	}
	problems := c.wrong
	if c.configFile == "" || c.config != nil { // else the file may have what is missing
		_, err := s.site()
		problems = errors.Join(problems, err)
	}
	if problems == nil {
		_, err := fmt.Fprintln(c.Stdout, "nothing is missing")
		return err
	}
	lines := strings.Split(problems.Error(), "\n")
	slices.Sort(lines)
	lines = slices.Compact(lines)
	for _, line := range lines {
		fmt.Fprintln(c.Stdout, "problem:", oneLine(strings.TrimSpace(line)))
	}
	return errors.New(counted(len(lines), "problem"))
}
