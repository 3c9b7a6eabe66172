package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
)

// result is the outcome of a run of the program.
type result struct {
	code           int
	stdout, stderr string
}

// try runs the program with an environment of its own.
func try(t *testing.T, env []string, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, env, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func TestMistakeGetsOneLineAndStatus2(t *testing.T) {
	store := "--store=sqlite:" + filepath.Join(t.TempDir(), "records.db")
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want string // on stderr
	}{
		{"no command", nil, nil, `provider-checkout: expected one of "demo", "listen", "serve", `},
		{"unknown command", nil, []string{"servve"}, `unexpected argument servve, did you mean "serve"?; see provider-checkout --help`},
		{"flag in place of a command", nil, []string{"--store=x"}, "unknown flag --store"},
		{"group without a command", nil, []string{"keys"}, `provider-checkout keys: expected one of "issue", "list", "revoke"; see provider-checkout keys --help`},
		{"unknown command of a group", nil, []string{"keys", "lost"}, `unexpected argument lost, did you mean "list"?`},
		{"unknown flag", nil, []string{"serve", "--adr", "x"}, `provider-checkout serve: unknown flag --adr, did you mean "--addr"?; see provider-checkout serve --help`},
		{"long flag with one dash", nil, []string{"serve", "-addr", "x"}, "unknown flag -a"},
		{"flags of an unknown command", nil, []string{"servve", "--addr", "x"}, "unexpected argument servve"},
		{"unknown flag of the program", nil, []string{"--verison"}, "unknown flag --verison"},
		{"help of an unknown command", nil, []string{"help", "keys", "revok"}, `unexpected argument revok, did you mean "revoke"?`},
		{"a switch that is neither", nil, []string{"agreements", "verify", "--all=perhaps"}, `but got "perhaps"`},
		{"flag without its value", nil, []string{"keys", "issue", "--provider"}, "--provider: needs a value"},
		{"argument that nothing takes", nil, []string{"export", "all"}, "unexpected argument all"},
		{"missing argument", nil, []string{"keys", "revoke"}, `expected "<key-or-id>"`},
		{"one argument too many", nil, []string{"keys", "revoke", "a", "b"}, "unexpected argument b"},
		{"missing provider", nil, []string{"keys", "issue", store}, "missing flags: --provider="},
		{"missing file to apply", nil, []string{"apply", store}, "missing flags: --file="},
		{"missing file to write", nil, []string{"agreements", "pdf", "PPA-2027-000001", store}, "missing flags: --out="},
		{"no agreement to write", nil, []string{"agreements", "pdf", "--out", "x", store}, `expected "<number>"`},
		{"a walk on a port", nil, []string{"demo", "--walk", "--addr", "127.0.0.1:0"}, "--addr and --walk can't be used together"},
		{"a job and all of a kind", nil, []string{"jobs", "retry", "evt_1", "--kind", "deliver", store}, "name one job, or select jobs by"},
		{"neither a job nor all of a kind", nil, []string{"jobs", "retry", store}, "name one job, or select jobs by"},
		{"retry of what is done", nil, []string{"jobs", "retry", "--state", "done", store}, `must be one of "failed","pending"`},
		{"a kind that no job has", nil, []string{"jobs", "list", "--kind", "events", store}, `must be one of "deliver",`},
		{"a state that no job has", nil, []string{"jobs", "list", "--state", "lost", store}, `must be one of "pending","done","failed"`},
		{"a time in words", nil, []string{"jobs", "list", "--since", "yesterday", store}, "must be a time such as"},
		{"missing file to back up to", nil, []string{"backup", store}, "missing flags: --out="},
		{"a sender without a mail server", nil, []string{"serve", store, "--mail-from", "plans@lender.example"}, "--mail-from needs --smtp"},
		{"a mail server without a sender", nil, []string{"serve", store, "--smtp", "smtp://mail.example"}, "--smtp needs --mail-from"},
		{"wrong environment", nil, []string{"serve", "--environment", "staging"}, `must be one of "sandbox","production"`},
		{"days of retention in words", nil, []string{"serve", "--erase-abandoned-days", "a month"}, "must be a whole number"},
		{"days of retention too few", nil, []string{"serve", store, "--addr=127.0.0.1:0", "--erase-abandoned-days", "30"}, "must be kept for 31 days at least"},
		{"missing address of a student", nil, []string{"privacy", "export", store}, "missing flags: --email="},
		{"missing reason of an erasure", nil, []string{"privacy", "erase", "--email", "a@b.nz", store}, "missing flags: --reason="},
		{"wrong processor", nil, []string{"serve", "--processor", "real"}, `must be one of "fake","gocardless"`},
		{"lifetime of nothing", nil, []string{"serve", "--setup-lifetime", "0s"}, "must be a duration above zero"},
		{"a drain of minutes", nil, []string{"serve", "--drain-delay", "2m"}, "must be a duration from 0s to 1m"},
		{"lifetime in words", nil, []string{"serve", "--setup-lifetime", "a week"}, "must be a duration above zero"},
		{"negative rate", nil, []string{"serve", "--rate-limit=-1"}, "must be a number of requests a second"},
		{"rate that is no number", nil, []string{"serve", "--rate-limit", "NaN"}, "must be a number of requests a second"},
		{"proxies in words", nil, []string{"serve", "--trusted-proxies", "10.0.0.0/8,proxy"}, "must be addresses or networks"},
		{"address without a port", nil, []string{"serve", store, "--addr", "localhost"}, `--addr "localhost" must be HOST:PORT`},
		{"operator's address without a port", nil, []string{"serve", store, "--addr=127.0.0.1:0", "--ops-addr", "localhost"},
			`--ops-addr "localhost" must be HOST:PORT`},
		{"base URL with a query", nil, []string{"serve", "--base-url", "https://pay.example/x?a=b"}, "must be a scheme and a host"},
		{"base URL with a fragment", nil, []string{"serve", "--base-url", "https://pay.example/x#a"}, "must be a scheme and a host"},
		{"base URL without a host", nil, []string{"serve", "--base-url", "https://"}, "must be a scheme and a host"},
		{"base URL with another scheme", nil, []string{"serve", "--base-url", "ftp://pay.example"}, "must be a scheme and a host"},
		{"wrong value of a variable", []string{"PROVIDER_CHECKOUT_RATE_LIMIT=fast"}, []string{"serve"},
			"PROVIDER_CHECKOUT_RATE_LIMIT: must be a number"},
		{"store of another kind", nil, []string{"export", "--store", "mysql://u:hunter2@db/x"}, "--store cannot be used: it must be sqlite:PATH"},
		{"store of another kind, from its variable", []string{"PROVIDER_CHECKOUT_STORE=mysql://u:hunter2@db/x"},
			[]string{"keys", "list"}, "PROVIDER_CHECKOUT_STORE cannot be used: it must be sqlite:PATH"},
		{"store without a path", nil, []string{"export", "--store", "sqlite:"}, "--store cannot be used: it must be sqlite:PATH"},
		{"a store's address of words", []string{"PROVIDER_CHECKOUT_STORE=host=h user=u password=hunter2 dbname=d"}, []string{"today"}, "sqlite:PATH or postgres"},
		{"a connection string that is none", nil, []string{"export", "--store", "postgres://u:hunter2@[/x"}, "cannot be read"},
		{"a connection string with an unknown setting", nil, []string{"export", "--store", "postgres://u:hunter2@h/db?sslmode=bogus"}, "cannot be read"},
		{"two sources of the secret", []string{secretVariable + "=a", secretVariable + "_FILE=b"}, []string{"serve", store, "--addr=127.0.0.1:0"},
			"set only one of"},
		{"two sources of the token", []string{tokenVariable + "=live_hunter2", tokenVariable + "_FILE=token", webhookVariable + "=0123456789abcdef"},
			[]string{"serve", store, "--addr=127.0.0.1:0", "--processor", "gocardless"}, "set only one of " + tokenVariable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := try(t, tt.env, "", tt.args...)
			got.refuses(t, exitUsage, tt.want)
			saysNot(t, got.stderr, "hunter2")
		})
	}
}

// isLine reports whether text is one whole line.
func isLine(text string) bool {
	return len(text) > 1 && strings.Index(text, "\n") == len(text)-1
}

func TestHelpIsAResult(t *testing.T) {
	for _, name := range append(commandNames(), "", "keys", "agreements") {
		words := strings.Fields(name)
		got := try(t, nil, "", append(words, "--help")...)
		usage, _, _ := strings.Cut(got.stdout, "\n")
		if got.code != exitDone || !strings.HasPrefix(usage+" ", strings.TrimSpace("Usage: provider-checkout "+name)+" ") || got.stderr != "" {
			t.Errorf("%s --help = %+v, want a usage on stdout and status 0", name, got)
		}
		if same := try(t, nil, "", append([]string{"help"}, words...)...); same != got {
			t.Errorf("help %s = %+v, want %+v", name, same, got)
		}
	}
}

func TestHelpNamesEveryCommand(t *testing.T) {
	help := try(t, nil, "", "--help").stdout
	for _, name := range commandNames() {
		if !regexp.MustCompile(`(?m)^  ` + name + ` +[A-Z]`).MatchString(help) {
			t.Errorf("%q is missing in\n%s", name, help)
		}
	}
}

func TestEveryTextOfHelpHasAUserAndNamesKnownVariables(t *testing.T) {
	used := map[string]bool{"": true} // the text around the others
	for _, name := range commandNames() {
		used[name] = true
	}
	for _, name := range regexp.MustCompile(`{{template "(.*?)"}}`).FindAllStringSubmatch(helpText, -1) {
		used[name[1]] = true
	}
	for _, text := range template.Must(template.New("").Parse(helpText)).Templates() {
		if !used[text.Name()] {
			t.Errorf("help.tmpl defines %q, which is no command and nothing uses", text.Name())
		}
	}
	known := map[string]bool{keyVariable: true, signingVariable: true, operatorVariable: true}
	for field := range settingKinds() {
		known["PROVIDER_CHECKOUT_"+strings.ToUpper(field)] = true
	}
	for _, c := range credentials() {
		known[c.variable+"_FILE"] = true
	}
	for _, variable := range regexp.MustCompile(`PROVIDER_CHECKOUT_\w+`).FindAllString(helpText, -1) {
		if !known[variable] {
			t.Errorf("help.tmpl names %s, which the program does not read", variable)
		}
	}
	if !strings.Contains(helpText, "<base-url>"+gocardless.WebhookPath) {
		t.Errorf("help.tmpl does not name %s", gocardless.WebhookPath)
	}
}

func TestHelpSaysDefaults(t *testing.T) {
	for _, tt := range []struct{ command, want string }{
		{"serve", `--addr="127.0.0.1:8080" to listen on`},
		{"serve", "--setup-lifetime=168h "},
		{"serve", "--rate-limit=100 "},
		{"serve", "PROVIDER_CHECKOUT_BASE_URL"},
		{"export", "(default sqlite:provider-checkout.db)"},
		{"apply", "-f, --file=FILE of providers; - is standard input (required)"},
	} {
		if got := try(t, nil, "", tt.command, "--help").stdout; !strings.Contains(strings.Join(strings.Fields(got), " "), tt.want) {
			t.Errorf("%s --help =\n%s\nwant %q in it", tt.command, got, tt.want)
		}
	}
}

func TestVersion(t *testing.T) {
	got := try(t, nil, "", "version")
	if got.code != exitDone || !isLine(got.stdout) || !strings.Contains(got.stdout, "commit ") || !strings.Contains(got.stdout, "go1.") {
		t.Errorf("version = %+v, want a line with version, commit and Go's version", got)
	}
}

// served returns the settings of serve after its flags were parsed from the arguments and the environment.
func served(t *testing.T, env []string, args ...string) ServerFlags {
	t.Helper()
	parsed, err := parser(&call{Env: variables(env)}).Parse(append([]string{"serve"}, args...))
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return parsed.Selected().Target.Addr().Interface().(*serve).ServerFlags
}

// commandNames returns the name of every command.
func commandNames() (names []string) {
	for _, command := range parser(&call{}).Model.Leaves(false) {
		names = append(names, command.Path())
	}
	return names
}

func TestVariableGivesWayToItsFlag(t *testing.T) {
	s := served(t, []string{"PROVIDER_CHECKOUT_ADDR=127.0.0.1:1", "PROVIDER_CHECKOUT_RATE_LIMIT=7.5",
		"PROVIDER_CHECKOUT_TRUSTED_PROXIES=10.1.2.3/8, ::1", "PROVIDER_CHECKOUT_ALLOW_PRIVATE_DESTINATIONS=true"}, "--addr", "127.0.0.1:2")
	if s.Addr != "127.0.0.1:2" || s.RateLimit != 7.5 || !s.AllowPrivate || len(s.TrustedProxies) != 2 ||
		s.TrustedProxies[0].String() != "10.0.0.0/8" || s.TrustedProxies[1].String() != "::1/128" {
		t.Errorf("settings = %+v", s)
	}
}

func TestFailureGetsOneLineAndStatus1(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.db")
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{"no store to export", nil, []string{"export", "--store", "sqlite:" + missing}, "there is no store at " + missing},
		{"no store to list", nil, []string{"keys", "list", "--store", "sqlite:" + missing}, "there is no store at"},
		{"no file to apply", nil, []string{"apply", "-f", filepath.Join(dir, "none.json"), "--store", "sqlite:" + missing}, "no such file"},
		{"no server", nil, []string{"export", "--store", "postgres://u:hunter2@127.0.0.1:1/x"}, "connection refused"},
		{"no server, from its variable", []string{"PROVIDER_CHECKOUT_STORE=postgres://u:hunter2@127.0.0.1:1/x"},
			[]string{"keys", "list"}, "connection refused"},
		{"a password in the mail server's URL", nil, []string{"serve", "--addr", "127.0.0.1:0", "--store", "sqlite:" + missing,
			"--smtp", "smtp://u:hunter2@mail.example", "--mail-from", "plans@lender.example"}, "must not have the user"},
		{"no password of the mail server", []string{smtpUserVariable + "=plans"}, []string{"serve", "--addr", "127.0.0.1:0", "--store", "sqlite:" + missing,
			"--smtp", "smtp://mail.example", "--mail-from", "plans@lender.example"}, "password"},
		{"no file with the mail server's password", []string{smtpPasswordVariable + "_FILE=/nonexistent"}, []string{"serve", "--addr", "127.0.0.1:0",
			"--store", "sqlite:" + missing, "--smtp", "smtp://mail.example", "--mail-from", "plans@lender.example"}, smtpPasswordVariable + "_FILE"},
		{"a backup of PostgreSQL", nil, []string{"backup", "--out", "x.db", "--store", "postgres://user:hunter2@127.0.0.1:1/none"}, "its server's own tools, such as pg_basebackup"},
		{"short secret", []string{secretVariable + "=0123456789abcdef0123456789abcdef,hunter2"},
			[]string{"serve", "--addr", "127.0.0.1:0", "--store", "sqlite:" + missing}, "PROVIDER_CHECKOUT_SECRET: secret 2 has 7 bytes"},
		{"no secret file", []string{secretVariable + "_FILE=" + filepath.Join(dir, "secret")},
			[]string{"serve", "--addr", "127.0.0.1:0", "--store", "sqlite:" + missing}, "read PROVIDER_CHECKOUT_SECRET_FILE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := try(t, tt.env, "", tt.args...)
			got.refuses(t, exitFailed, tt.want)
			saysNot(t, got.stderr, "hunter2")
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v were made, %v; want nothing", left, err)
	}
}

// signing returns the variable with a key and its certificate.
func signing(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Kōwhai Lending"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(100 * 24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature}
	certificate, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signerVariable + "=" + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})) +
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
}

func TestProductionIsRefusedWithEveryReason(t *testing.T) {
	const secret = secretVariable + "=0123456789abcdef0123456789abcdef"
	signer := signing(t)
	for _, tt := range []refusal{
		{"nothing is right", exitFailed, nil, []string{"--allow-private-destinations"},
			[]string{"fake processor", "no base URL", "secret is missing", "signer of agreements is missing", "mail server is missing", "privacy.agency", "lender.name must be given", "--allow-private-destinations"}, nil},
		{"base URL over http", exitFailed, []string{secret}, []string{"--base-url", "http://pay.example"},
			[]string{"fake processor", `base URL "http://pay.example" is not https`}, []string{"secret", "--allow-private"}},
		{"only the processor", exitFailed, []string{secret, signer}, []string{"--base-url", "https://pay.example", "--terms", "demo-terms.json", "--smtp", "none"},
			[]string{"fake processor"}, []string{"base URL", "secret", ";"}},
		{"GoCardless, and nothing else", exitFailed, nil, []string{"--processor", "gocardless"},
			[]string{"no base URL", "operator's secret is missing", "access token is missing", tokenVariable,
				"webhook endpoint is missing", webhookVariable}, []string{"fake"}},
		{"GoCardless' sandbox", exitFailed, []string{secret, signer, tokenVariable + "=live_hunter2", webhookVariable + "=0123456789abcdef"},
			[]string{"--processor", "gocardless", "--base-url", "https://pay.example", "--terms", "demo-terms.json", "--smtp", "none", "--gocardless-url", "https://api-sandbox.gocardless.com"},
			[]string{"refused on the sandbox host"}, []string{"base URL", "missing", "hunter2"}},
		{"GoCardless over http", exitFailed, []string{secret, signer, tokenVariable + "=live_hunter2", webhookVariable + "=0123456789abcdef"},
			[]string{"--processor", "gocardless", "--base-url", "https://pay.example", "--terms", "demo-terms.json", "--smtp", "none", "--gocardless-url", "http://127.0.0.1:1"},
			[]string{"must be https"}, []string{"missing", "hunter2"}},
		{"a webhook secret that can be guessed", exitFailed, []string{secret, tokenVariable + "=live_hunter2", webhookVariable + "=0123456789abcdef,short"},
			[]string{"--processor", "gocardless", "--base-url", "https://pay.example"}, []string{"secret has fewer than 16 bytes"}, []string{"hunter2", "short"}},
	} {
		tt.of(t, "serve", "--environment", "production")
	}
}

func TestATimeStampAuthorityNeedsASigner(t *testing.T) {
	serve := []string{"config", "check", "--tsa"}
	if got := try(t, nil, "", append(serve, "https://tsa.example")...); got.code != exitFailed || !strings.Contains(got.stdout, "--tsa needs a signer") {
		t.Errorf("without a signer: %+v", got)
	}
	if got := try(t, []string{signing(t)}, "", append(serve, "https://tsa.example")...); got.code != exitDone {
		t.Errorf("with a signer: %+v", got)
	}
	try(t, []string{signing(t)}, "", append(serve, "tsa.example")...).refuses(t, exitUsage, "must be an http or https URL")
}

// A variable that nobody reads is a setting that its operator believes in.
func TestAVariableThatIsNoSettingIsRefused(t *testing.T) {
	const prefix = "PROVIDER_CHECKOUT_"
	for name, meant := range map[string]string{"ENVIROMENT": "ENVIRONMENT", "BASEURL": "BASE_URL", "SECRET_FILES": "SECRET_FILE", "SMTP_PASWORD": "SMTP_PASSWORD",
		"STORE_": "STORE"} {
		if err := checkVariables([]string{"HOME=/", prefix + name + "=x"}); err == nil || !strings.Contains(err.Error(), prefix+name+" is no setting") ||
			!strings.HasSuffix(err.Error(), "do you mean "+prefix+meant+"?") {
			t.Errorf("%s: %v, want that it names %s", name, err, meant)
		}
	}
	if err := checkVariables([]string{prefix + "XYZZY=1"}); err == nil || strings.Contains(err.Error(), "mean") {
		t.Errorf("a name that is like no other: %v", err)
	}
	for _, name := range strings.Fields("STORE ADDR KEY SIGNING_SECRET SECRET_FILE SIGNER OPERATOR CONFIG TEST TEST_RUNS SERVICE_HOST SERVICE_PORT " +
		"SERVICE_PORT_HTTP PORT PORT_80_TCP PORT_80_TCP_ADDR PORT_80_TCP_PORT PORT_80_TCP_PROTO PORT_53_UDP_PROTO") {
		if err := checkVariables([]string{prefix + name + "=x"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
