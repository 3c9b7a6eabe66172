package full_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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

// imageRuns serves in a root file system that has what the last stage of the Dockerfile copies, as the user of the image, who may write
// to the volume alone.
func imageRuns(t *testing.T, program proc.Binary) {
	if os.Getuid() != 0 {
		t.Fatal("only root may change the root of a process")
	}
	_, stage, _ := strings.Cut(packaged(t, "Dockerfile"), "\nFROM scratch\n")
	says := func(pattern string) []string {
		m := regexp.MustCompile(`(?m)^` + pattern + `$`).FindStringSubmatch(stage)
		if m == nil {
			t.Fatalf("the last stage of the Dockerfile has no %s", pattern)
		}
		return m[1:]
	}
	root, place := t.TempDir(), says(`COPY --from=build /out/provider-checkout (\S+)`)[0]
	volume := says(`COPY --from=build --chown=(\d+):\d+ --chmod=0700 /out/data (\S+)`)
	user := says(`USER (\d+):\d+`)[0]
	id, err := strconv.Atoi(user)
	data, there := filepath.Join(root, volume[1]), filepath.Join(root, place)
	if err = errors.Join(err, os.Chmod(root, 0o755), os.Mkdir(data, 0o700), os.Chown(data, id, id), os.MkdirAll(filepath.Dir(there), 0o755),
		os.Link(string(program), there)); err != nil || id == 0 || volume[0] != user || says(`VOLUME (\S+)`)[0] != volume[1] {
		t.Fatalf("user %s, volume %q, %v", user, volume, err)
	}
	var env []string
	for _, m := range regexp.MustCompile(`(?m)^ENV (.*)$`).FindAllStringSubmatch(stage, -1) {
		env = append(env, m[1])
	}
	cmd := exec.CommandContext(t.Context(), says(`ENTRYPOINT \["(\S+)"\]`)[0], says(`CMD \["(\S+)"\]`)[0])
	cmd.Env, cmd.Dir = append(env, "PROVIDER_CHECKOUT_ADDR=127.0.0.1:0"), says(`WORKDIR (\S+)`)[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}}
	p := proc.Start(t, cmd)
	if got := sandbox.Fetch(t, p.Listening(t)+"/v1"); got.Status != http.StatusOK {
		t.Errorf("GET /v1 in the image answers %d %s", got.Status, got.Body)
	}
	p.Stop(t, syscall.SIGTERM)
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
