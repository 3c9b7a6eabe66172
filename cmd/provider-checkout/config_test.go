package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/settingsfile"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

func TestFileGivesWayToVariablesAndFlags(t *testing.T) {
	file := proc.TempFile(t, `{"addr": "127.0.0.1:1", "ops_addr": "127.0.0.1:2", "base_url": "http://pay.example", "rate_limit": 7.5,
		"allow_private_destinations": true, "trusted_proxies": ["10.1.2.3/8", "::1"], "setup_lifetime": "24h", "store": "env:STORE"}`)
	s := served(t, []string{"PROVIDER_CHECKOUT_CONFIG=" + file, "PROVIDER_CHECKOUT_OPS_ADDR=127.0.0.1:3",
		"PROVIDER_CHECKOUT_BASE_URL=http://variable.example", "STORE=sqlite:a.db"}, "--base-url", "http://flag.example")
	if s.Addr != "127.0.0.1:1" || s.OpsAddr != "127.0.0.1:3" || s.BaseURL != "http://flag.example" || s.RateLimit != 7.5 || !s.AllowPrivate ||
		len(s.TrustedProxies) != 2 || s.SetupLifetime.Hours() != 24 || s.Store != "sqlite:a.db" || s.Processor != "fake" {
		t.Errorf("settings = %+v", s)
	}
}

func TestCommandsTakeTheirSettingsFromTheFile(t *testing.T) {
	dir := t.TempDir()
	file := proc.TempFile(t, `{"store": "sqlite:`+filepath.Join(dir, "a.db")+`", "environment": "production", "secret": "env:MINE", "smtp": "smtp://mail.example:587"}`)
	env := []string{"PROVIDER_CHECKOUT_CONFIG=" + file, "MINE=0123456789abcdef0123456789abcdef"}
	if got := try(t, env, "", "apply", "-f", "demo.json"); got.code != exitDone {
		t.Fatalf("apply = %+v", got)
	}
	got := try(t, append(env, "PROVIDER_CHECKOUT_ENVIRONMENT=production"), "", "keys", "issue", "--provider", "KOWHAI")
	if got.code != exitDone || !strings.HasPrefix(got.stdout, "pck_sandbox_") {
		t.Errorf("keys issue = %+v, want a key of the provider's own environment", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.db.secret")); err == nil {
		t.Error("the store has a secret of its own, want that of the file")
	}
	other := append(env, "PROVIDER_CHECKOUT_SECRET=another-0123456789abcdef0123456789")
	if got := try(t, other, "", "keys", "issue", "--provider", "KOWHAI"); got.code != exitFailed || !strings.Contains(got.stderr, "secret") {
		t.Errorf("keys issue with another secret in the variable = %+v, want a refusal", got)
	}
}

func TestFaultyFileGetsOneLineAndStatus2(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"no file", "", "no such file"},
		{"a literal secret", `{"secret": "hunter2"}`, ": secret must be env:NAME or file:PATH"},
		{"an unknown setting", `{"sekret": "hunter2"}`, ": sekret is not a setting"},
		{"a setting of a command", `{"file": "hunter2"}`, ": file is not a setting"},
		{"the file itself", `{"config": "hunter2"}`, ": config is not a setting"},
		{"a value that is refused", `{"rate_limit": -1}`, ": rate_limit: must be a number of requests a second"},
		{"a variable that is not set", `{"store": "env:HUNTER"}`, ": store: the variable HUNTER is not set"},
		{"all faults", `{"setup_lifetime": "0s", "environment": "x"}`, ": environment: must be one of sandbox,production; "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "settings.json")
			if tt.file != "" {
				path = proc.TempFile(t, tt.file)
			}
			got := try(t, nil, "", "serve", "--addr=127.0.0.1:0", "--config", path)
			got.refuses(t, exitUsage, path, tt.want)
			saysNot(t, got.stderr, "hunter2")
		})
	}
}

func TestSettingsHaveTheirKinds(t *testing.T) {
	kinds := settingKinds()
	for field, want := range map[string]settingsfile.Kind{
		"base_url": settingsfile.Text, "terms": settingsfile.Text, "setup_lifetime": settingsfile.Text, "rate_limit": settingsfile.Number,
		"erase_agreed_years": settingsfile.Number, "trusted_proxies": settingsfile.List, "allow_private_destinations": settingsfile.Switch,
		"secret": settingsfile.Secret, "smtp_password": settingsfile.Secret, "smtp_user": settingsfile.Open, "store": settingsfile.Open,
	} {
		if got, known := kinds[field]; !known || got != want {
			t.Errorf("%s is of kind %v, want %v", field, got, want)
		}
	}
}

func TestEverySettingStandsInAManual(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var manuals strings.Builder
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		manuals.Write(text)
	}
	for field := range settingKinds() {
		flag, variable := "--"+strings.ReplaceAll(field, "_", "-"), "PROVIDER_CHECKOUT_"+strings.ToUpper(field)
		if !regexp.MustCompile(`[^\w-](` + field + `|` + flag + `|` + variable + `)[^\w-]`).MatchString(manuals.String()) {
			t.Errorf("%s stands in no manual", field)
		}
	}
}

func TestConfigCheckSaysWhatIsMissing(t *testing.T) {
	const secret = "hunter2-0123456789abcdef0123456789abcdef"
	file := proc.TempFile(t, `{"environment": "production", "processor": "gocardless", "base_url": "https://pay.example",
		"store": "env:DSN", "secret": "env:MINE", "gocardless_token": "env:TOKEN", "salesforce_url": "https://x.my.salesforce.com",
		"smtp": "smtp://mail.example:587", "mail_from": "plans@pay.example", "smtp_user": "plans", "typo": "hunter2", "smtp_password": "file:/nowhere/key"}`)
	env := []string{"DSN=postgres://checkout:hunter2@db/checkouts", "MINE=" + secret}
	got := try(t, env, "", "config", "check", "--config", file, "--ops-addr", "localhost")
	if got.code != exitFailed || !isLine(got.stderr) {
		t.Fatalf("%+v, want status 1 and one line on stderr", got)
	}
	says(t, got.stdout, "problem: "+file+": typo is not a setting", "problem: "+file+": gocardless_token: the variable TOKEN is not set",
		"problem: "+file+": smtp_password: open /nowhere/key:", `problem: --ops-addr "localhost" must be HOST:PORT`,
		"problem: the secret of GoCardless' webhook endpoint is missing",
		"problem: the agency that the privacy notice names is missing")
	if strings.Contains(got.stdout+got.stderr, "hunter2") {
		t.Errorf("a secret is printed:\n%s", got.stdout)
	}
}

// A setting is named as its source wrote it, and what follows from another problem is no problem of its own.
func TestConfigCheckNamesTheSourceOfAProblem(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.json")
	file := proc.TempFile(t, `{"addr": "localhost", "terms": "/nowhere/terms.json", "environment": "production", "smtp": "smtp://mail.example:587"}`)
	for _, tt := range []struct {
		name       string
		env        []string
		config     string
		want, none []string
	}{
		{"a field", nil, file, []string{"problem: " + file + `: addr "localhost" must be`, "problem: " + file + ": terms: open /nowhere",
			"problem: " + file + ": smtp needs mail_from"}, []string{"--", "agency"}},
		{"a variable", []string{"PROVIDER_CHECKOUT_ADDR=localhost"}, file, []string{`problem: PROVIDER_CHECKOUT_ADDR "localhost" must be`}, nil},
		{"no file", []string{"PROVIDER_CHECKOUT_BASE_URL=http://pay.example"}, gone, []string{"problem: open " + gone + ": no such file or directory"}, []string{"addr", "missing"}},
		{"no object", nil, proc.TempFile(t, `[]`), []string{"file: the document must be an object"}, []string{"addr", "missing"}},
	} {
		got := try(t, tt.env, "", "config", "check", "--config", tt.config)
		problems := strings.Count(got.stdout, "problem: ")
		if want := counted(problems, "problem") + "\n"; got.code != exitFailed || !strings.HasSuffix(got.stderr, ": "+want) {
			t.Errorf("%s: %+v, want status 1 and %q", tt.name, got, want)
		}
		says(t, got.stdout, tt.want...)
		saysNot(t, strings.ReplaceAll(got.stdout, "of --config", ""), tt.none...)
	}
}

func TestEveryProblemOfConfigCheckNamesItsSetting(t *testing.T) {
	short, guessed := proc.TempFile(t, "hunter2"), proc.TempFile(t, "0123456789abcdef,short")
	for _, more := range []string{
		`"base_url": "http://pay.example/", "erase_abandoned_days": 1, "erase_agreed_years": 1, "allow_private_destinations": true`,
		`"processor": "gocardless", "gocardless_url": "http://pay.example", "gocardless_token": "file:` + short + `", "gocardless_webhook_secret": "file:` + guessed + `"`,
		`"crm": "salesforce", "salesforce_url": "http://pay.example", "salesforce_client_id": "a", "salesforce_jwt_key": "file:` + short + `"`,
		`"smtp": "smtp://u@mail.example/x", "mail_from": "nobody", "smtp_user": "plans"`,
		`"secret": "file:` + short + `", "store": "other:x", "ops_addr": "x"`,
		`"salesforce_mapping": "/nowhere", "rate_limit": -1`,
	} {
		file := proc.TempFile(t, `{"environment": "production", `+more+`}`)
		got := try(t, nil, "", "config", "check", "--config", file)
		problems := strings.Split(strings.TrimSpace(got.stdout), "\n")
		if got.code != exitFailed {
			t.Errorf("%s: %+v, want problems", more, got)
		}
		for _, problem := range problems {
			named := false
			for field := range settingKinds() {
				named = named || regexp.MustCompile(`\b`+field+`\b`).MatchString(strings.ReplaceAll(problem, file, ""))
			}
			if !named || strings.Contains(problem, "hunter2") {
				t.Errorf("%s: a problem names no setting, or a secret: %s", more, problem)
			}
		}
	}
}

// A store's address may have a password anywhere. What serve refuses of it, config check says.
func TestConfigCheckReadsTheStoresAddressAsServeDoes(t *testing.T) {
	for address, ok := range map[string]bool{"postgres://u:hunter2?PW@h/db": true, "postgres://u:hunter2@h:notaport/db": false,
		"postgres://u:hunter2@h/db?sslmode=bogus": false, "host=h user=u password=hunter2": false, "postgres://u:hunter2@h:5432/db": true} {
		got := try(t, nil, "", "config", "check", "--store", address)
		if strings.Contains(got.stdout+got.stderr, "hunter2") || strings.Contains(got.stdout, "problem: --store cannot be used") == ok {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

func TestConfigCheckOfASandboxMissesNothing(t *testing.T) {
	got := try(t, []string{"PROVIDER_CHECKOUT_STORE=postgres://u:hunter2@db/x"}, "", "config", "check")
	if got.code != exitDone || got.stdout != "checked as a server of the environment sandbox, the default: no setting names another\nnothing is missing\n" {
		t.Errorf("%+v, want no problem, and status 0", got)
	}
	for _, got := range []result{try(t, nil, "", "config", "check", "--environment", "sandbox"),
		try(t, []string{"PROVIDER_CHECKOUT_ENVIRONMENT=sandbox"}, "", "config", "check")} {
		if got.code != exitDone || got.stdout != "checked as a server of the environment sandbox\nnothing is missing\n" {
			t.Errorf("with an environment: %+v", got)
		}
	}
}

// A variable that is wrong hides no other problem, and serve and the other commands refuse it.
func TestAWrongVariableIsOneProblemOfAll(t *testing.T) {
	env := []string{"PROVIDER_CHECKOUT_ENVIROMENT=production", "PROVIDER_CHECKOUT_RATE_LIMIT=fast", "PROVIDER_CHECKOUT_SEKRET=hunter2"}
	got := try(t, env, "", "config", "check", "--ops-addr", "localhost", "--smtp", "smtp://mail.example")
	if got.code != exitFailed || strings.Count(got.stdout, "problem: ") != 5 || strings.Contains(got.stdout, "hunter2") {
		t.Errorf("%+v, want five problems", got)
	}
	says(t, got.stdout, "PROVIDER_CHECKOUT_ENVIROMENT is no setting, do you mean PROVIDER_CHECKOUT_ENVIRONMENT?", "PROVIDER_CHECKOUT_SEKRET is no setting",
		"PROVIDER_CHECKOUT_RATE_LIMIT: must be a number", `--ops-addr "localhost" must be`, "--smtp needs --mail-from")
	for _, command := range []string{"serve", "version", "export"} {
		try(t, env, "", command).refuses(t, exitUsage, "PROVIDER_CHECKOUT_ENVIROMENT is no setting", "PROVIDER_CHECKOUT_SEKRET is no setting")
	}
}

// The example of the production page lacks nothing, and every file that it names is needed.
func TestProductionExampleIsComplete(t *testing.T) {
	example, err := os.ReadFile("packaging/production/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	terms, err := os.ReadFile("demo-terms.json")
	if err != nil {
		t.Fatal(err)
	}
	etc, state := t.TempDir(), t.TempDir()
	settings := strings.NewReplacer("/etc/provider-checkout", etc, "/var/lib/provider-checkout", state).Replace(string(example))
	const secret = "hunter2-0123456789abcdef0123456789abcdef"
	contents := map[string]string{"settings.json": settings, "terms.json": string(terms),
		"signer.pem": strings.TrimPrefix(signing(t), signerVariable+"="),
		"store.url":  "postgres://provider_checkout:hunter2@127.0.0.1:5000/provider_checkout\n"}
	for _, name := range regexp.MustCompile(`file:`+regexp.QuoteMeta(etc)+`/([a-z.]+)"`).FindAllStringSubmatch(settings, -1) {
		if _, known := contents[name[1]]; !known {
			contents[name[1]] = secret + "\n"
		}
	}
	for name, text := range contents {
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func() result {
		return try(t, nil, "", "config", "check", "--config", filepath.Join(etc, "settings.json"))
	}
	if got := check(); got.code != exitDone || strings.Contains(got.stdout, "hunter2") ||
		!strings.Contains(got.stdout, "agreements are signed by CN=Kōwhai Lending, until 20") {
		t.Fatalf("config check = %+v, want status 0 and no secret", got)
	}
	for name, text := range contents {
		if err := os.Remove(filepath.Join(etc, name)); err != nil {
			t.Fatal(err)
		}
		if got := check(); got.code != exitFailed || !strings.Contains(got.stdout, name+": no such file") {
			t.Errorf("without %s, config check = %+v, want status 1 and its name", name, got)
		}
		if err := os.WriteFile(filepath.Join(etc, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
