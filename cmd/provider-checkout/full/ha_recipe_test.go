package full_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// recipe is the installation of packaging/ha on this machine: three nodes, and HAProxy before them. Only addresses, folders
// and passwords differ.
type recipe struct {
	nodes    [3]*recipeNode
	balancer string         // HAProxy's address
	programs recipePrograms // by name
	files    string         // folder of the recipe
	folder   string         // of everything that runs; each process has its working folder in it
	running  sync.WaitGroup
}

// recipePrograms is the paths of the recipe's programs, by name.
type recipePrograms map[string]string

// findPrograms returns the recipe's programs, or skips the test where one is missing.
func findPrograms(t *testing.T) recipePrograms {
	t.Helper()
	found := make(recipePrograms)
	var err error
	found["postgres"], err = postgrestest.FindPrograms()
	for _, name := range []string{"patroni", "patronictl", "etcd", "haproxy"} {
		path, missing := exec.LookPath(name)
		if missing != nil {
			path, missing = exec.LookPath("/usr/sbin/" + name) // which is not in everybody's PATH
		}
		if missing != nil {
			err = missing
		}
		found[name] = path
	}
	if _, missing := os.Stat("/proc/self/cwd"); missing != nil {
		err = missing // a node's processes are found by it
	}
	if err != nil {
		testlevel.Missing(t, fmt.Errorf("the recipe cannot be started here: %w", err))
	}
	return found
}

// recipePassword is that of every role.
const recipePassword = "not-a-secret"

// startRecipe starts the recipe, and waits until it is whole. All of it ends with the test.
func startRecipe(t *testing.T, found recipePrograms, rng *rand.Rand) *recipe {
	t.Helper()
	r := &recipe{programs: found, balancer: proc.QuietAddr(t, rng)}
	var err error
	if r.files, err = filepath.Abs("../packaging/ha"); err != nil {
		t.Fatal(err)
	}
	r.makeFolder(t)
	r.guard(t)
	var cluster, hosts []string
	for i := range r.nodes {
		n := newRecipeNode(t, r, fmt.Sprintf("node%d", i+1), rng)
		cluster, hosts = append(cluster, n.name+"=http://"+n.peers), append(hosts, n.etcd)
		r.nodes[i] = n
	}
	for _, n := range r.nodes {
		n.configure(t, strings.Join(cluster, ","), strings.Join(hosts, ","))
		n.start(t)
	}
	env := readEnv(t, r.files, "haproxy.env", r.balancerEnv())
	r.run(t, r.folder, "haproxy", env, found["haproxy"], "-db", "-f", filepath.Join(r.files, "haproxy.cfg"))
	r.awaitWhole(t)
	r.makeDatabase(t)
	return r
}

// makeFolder makes the folder of everything that runs, whose path is short, for a socket's is limited.
func (r *recipe) makeFolder(t *testing.T) {
	t.Helper()
	var err error
	if r.folder, err = os.MkdirTemp("", "provider-checkout-ha-"); err != nil {
		t.Fatal(err)
	}
	r.own(t, r.folder)
}

// own gives a folder to the user of the processes.
func (r *recipe) own(t *testing.T, folder string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	uid, gid, err := postgrestest.UnprivilegedUser()
	if err == nil {
		err = os.Chown(folder, uid, gid)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// recipeGuard waits until its input ends, and then kills every process whose working folder is in the folder that is its
// argument, and removes that folder. It ends with the test process, even if that is killed.
const recipeGuard = `
read -r _
found=yes
while [ "$found" ]; do
	found=
	for p in /proc/[0-9]*; do
		case $(readlink "$p/cwd" 2>/dev/null) in
		"$1" | "$1"/*) kill -9 "${p#/proc/}" 2>/dev/null && found=yes ;;
		esac
	done
	sleep 0.05
done
rm -rf "$1"
`

// guard has everything end with the test.
func (r *recipe) guard(t *testing.T) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", recipeGuard, "guard", r.folder)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal does not reach it
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			r.logTails(t)
		}
		input.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("stop the recipe: %v", err)
		}
		r.running.Wait()
	})
}

// logTails logs the end of every log.
func (r *recipe) logTails(t *testing.T) {
	logs, _ := filepath.Glob(filepath.Join(r.folder, "*.log"))
	for _, path := range logs {
		text, err := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		t.Logf("%s (%v):\n%s", filepath.Base(path), err, strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}

// command returns a command with a working folder, as the user who may run PostgreSQL.
func (r *recipe) command(t *testing.T, folder string, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = folder
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "LC_ALL=C.UTF-8"}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		uid, gid, err := postgrestest.UnprivilegedUser()
		if err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return cmd
}

// run starts a program that runs until it is killed. Its log is named for its folder and itself.
func (r *recipe) run(t *testing.T, folder, program string, env []string, name string, args ...string) {
	t.Helper()
	path := filepath.Join(r.folder, filepath.Base(folder)+"-"+program+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the program has its own
	cmd := r.command(t, folder, env, name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.running.Go(func() { _ = cmd.Wait() }) // it fails because it is killed
}

// balancerEnv returns HAProxy's view of the nodes.
func (r *recipe) balancerEnv() map[string]string {
	env := map[string]string{"HAPROXY_LISTEN": r.balancer}
	for _, n := range r.nodes {
		host, port, _ := net.SplitHostPort(n.api)
		name := strings.ToUpper(n.name)
		env[name+"_HOST"], env[name+"_POSTGRES"], env[name+"_PATRONI_PORT"] = host, n.postgres, port
	}
	return env
}

// readEnv reads a file of the recipe that has a variable a line, with the values that are others here. The file must have
// every variable that is given.
func readEnv(t *testing.T, folder, name string, here map[string]string) (env []string) {
	t.Helper()
	unused := maps.Clone(here)
	for line := range strings.Lines(readRecipe(t, folder, name)) {
		variable, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if given, known := here[variable]; known {
			value = given
			delete(unused, variable)
		}
		env = append(env, variable+"="+value)
	}
	if len(unused) > 0 {
		t.Fatalf("%s has no %s", name, strings.Join(slices.Sorted(maps.Keys(unused)), ", "))
	}
	return env
}

// readRecipe reads a file of the recipe.
func readRecipe(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// makeDatabase runs the recipe's SQL through HAProxy.
func (r *recipe) makeDatabase(t *testing.T) {
	t.Helper()
	host, port, _ := net.SplitHostPort(r.balancer)
	cmd := r.command(t, r.folder, []string{"PGPASSWORD=" + recipePassword}, filepath.Join(r.programs["postgres"], "psql"),
		"-h", host, "-p", port, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-v", "password="+recipePassword)
	cmd.Stdin = strings.NewReader(readRecipe(t, r.files, "database.sql"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("database.sql: %v\n%s", err, out)
	}
}

// stores returns the two connection strings of the recipe: through HAProxy, and with a list of hosts.
func (r *recipe) stores(t *testing.T) (balanced, listed string) {
	t.Helper()
	here := []string{"PASSWORD", recipePassword, "127.0.0.1:5000", r.balancer}
	for i, n := range r.nodes {
		here = append(here, fmt.Sprintf("10.0.0.%d:5432", 11+i), n.postgres)
	}
	for line := range strings.Lines(readRecipe(t, r.files, "provider-checkout.env")) {
		commented := strings.HasPrefix(line, "#")
		_, store, found := strings.Cut(line, "PROVIDER_CHECKOUT_STORE=")
		store = strings.NewReplacer(here...).Replace(strings.TrimSpace(store))
		switch {
		case found && commented:
			listed = store
		case found:
			balanced = store
		}
	}
	if balanced == "" || listed == "" {
		t.Fatal("provider-checkout.env has not both ways to the store")
	}
	return balanced, listed
}
