package full_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

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
	for name, text := range map[string]string{"operator.secret": strings.Repeat("0123456789abcdef", 4), "evidence.key": program.Run(t, "evidence", "key", "--new")} {
		if err := os.WriteFile(filepath.Join(credentials, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
	if strings.Contains(p.Log(), "no evidence is sealed") {
		t.Error("the evidence key of the unit is not taken")
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
