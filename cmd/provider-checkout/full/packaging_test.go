package full_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/oasdiff/yaml"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const packagingFolder = "../packaging"

// packaged returns the text of a file of the packaging.
func packaged(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(packagingFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// judge runs a program of this machine in the folder of the packaging, and returns what it says.
func judge(t *testing.T, name string, args ...string) (said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = packagingFolder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestPackagingFitsTheProgram(t *testing.T) {
	t.Parallel()
	program := built(t)
	for name, test := range map[string]func(*testing.T, proc.Binary){
		"variables are settings":             variablesAreSettings,
		"rules name its metrics":             metricsExist,
		"the image runs":                     imageRuns,
		"the unit's command and settings do": unitServes,
	} {
		t.Run(name, func(t *testing.T) { test(t, program) })
	}
}

// The program reads every variable that a file sets: it refuses others.
func variablesAreSettings(t *testing.T, program proc.Binary) {
	for _, file := range []string{"Dockerfile", "compose.yaml", "provider-checkout.service"} {
		names := regexp.MustCompile(`PROVIDER_CHECKOUT_[A-Z_]+`).FindAllString(packaged(t, file), -1)
		if len(names) < 2 {
			t.Errorf("%s names %d variables", file, len(names))
		}
		for _, name := range names {
			cmd := program.Command("version")
			cmd.Env = append(cmd.Env, name+"=x")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s sets %s: %v, %s", file, name, err, out)
			}
		}
	}
}

const unitFile = "provider-checkout.service"

// values returns the values of a setting of the unit.
func values(t *testing.T, name string) (list []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^`+name+`=(.*)$`).FindAllStringSubmatch(packaged(t, unitFile), -1) {
		list = append(list, m[1])
	}
	if len(list) == 0 {
		t.Fatalf("the unit has no %s", name)
	}
	return list
}

// unitServes starts the command of the unit with its settings, in folders of the test.
func unitServes(t *testing.T, program proc.Binary) {
	credentials, state := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(credentials, "operator.secret"), []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	command := strings.Fields(values(t, "ExecStart")[0])
	cmd := program.Command(append(command[1:], "--addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0")...)
	cmd.Dir = state
	for _, pair := range values(t, "Environment") {
		cmd.Env = append(cmd.Env, strings.NewReplacer("%d", credentials, "/var/lib/provider-checkout", state).Replace(pair))
	}
	p := proc.Start(t, cmd)
	started := p.Await(t, "listening")
	if got := sandbox.Fetch(t, "http://"+started.OpsAddr+"/readyz"); got.Status != http.StatusOK {
		t.Errorf("/readyz answers %d %s", got.Status, got.Body)
	}
	p.Stop(t, syscall.SIGTERM)
	made, err := filepath.Glob(filepath.Join(state, "*"))
	if err != nil || len(made) == 0 || strings.Contains(strings.Join(made, " "), ".secret") {
		t.Errorf("%q are in the folder of the state, %v; want the store, and no secret of its own", made, err)
	}
}

func TestUnitIsValidAndHardened(t *testing.T) {
	t.Parallel()
	there, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, dropIn := range map[string]string{"unit": "", "with the drop-in of production": "production/systemd.conf"} {
		t.Run(name, func(t *testing.T) {
			here := strings.NewReplacer("/usr/local/bin/provider-checkout", there) // a program that is on this machine
			unit := filepath.Join(t.TempDir(), unitFile)
			files := map[string]string{unit: packaged(t, unitFile)}
			if dropIn != "" {
				files[filepath.Join(unit+".d", "production.conf")] = packaged(t, dropIn)
			}
			for path, text := range files {
				err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(here.Replace(text)), 0o600))
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=true", "--threshold=15", "--no-pager", unit}} {
				said, err := judge(t, "systemd-analyze", args...)
				if err != nil || args[0] == "verify" && said != "" {
					t.Errorf("systemd-analyze %q: %v\n%s", args, err, said)
				}
			}
		})
	}
}

// named returns the metrics that an expression is about.
func named(expression string) (names []string) {
	for _, name := range regexp.MustCompile(`\b(?:provider_checkout|process|go)_[a-z0-9_]+`).FindAllString(expression, -1) {
		for _, part := range []string{"_bucket", "_sum", "_count"} { // of a histogram
			if base, cut := strings.CutSuffix(name, part); cut && !strings.HasSuffix(base, "_total") {
				name = base
			}
		}
		names = append(names, name)
	}
	return names
}

// rule is a rule of alerts.yaml.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if _, err := yaml.Unmarshal([]byte(packaged(t, "alerts.yaml")), &file, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// metricsExist checks that the rules ask for metrics that a running server exports.
func metricsExist(t *testing.T, _ proc.Binary) {
	m := newMeasured(t)
	m.confirm(t, m.setUp(t))
	m.scrape(t) // the counters of each provider begin
	known := map[string]bool{"process_start_time_seconds": true}
	for series := range m.scrape(t) {
		known[named(series)[0]] = true
	}
	for _, rule := range rules(t) {
		for _, name := range named(rule.Expr) {
			if !known[name] {
				t.Errorf("%s asks for %s, which there is not", rule.Alert, name)
			}
		}
	}
}
