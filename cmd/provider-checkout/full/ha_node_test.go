package full_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// recipeNode is a machine of the recipe: the processes whose working folder is in its own.
type recipeNode struct {
	*recipe
	name, folder               string
	etcd, peers, api, postgres string // addresses: of etcd for its clients and its peers, of Patroni, of PostgreSQL
	env                        []string
}

func newRecipeNode(t *testing.T, r *recipe, name string, rng *rand.Rand) *recipeNode {
	t.Helper()
	addr := func() string { return proc.QuietAddr(t, rng) }
	n := &recipeNode{recipe: r, name: name, folder: filepath.Join(r.folder, name),
		etcd: addr(), peers: addr(), api: addr(), postgres: addr()}
	if err := os.Mkdir(n.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	r.own(t, n.folder)
	return n
}

// configure sets the node's environment: that of the recipe, with its own addresses and folders.
func (n *recipeNode) configure(t *testing.T, cluster, hosts string) {
	t.Helper()
	n.env = append(readEnv(t, n.files, "etcd.env", nil), readEnv(t, n.files, "node.env", map[string]string{
		"ETCD_NAME": n.name, "ETCD_DATA_DIR": filepath.Join(n.folder, "etcd"), "ETCD_INITIAL_CLUSTER": cluster,
		"ETCD_LISTEN_CLIENT_URLS": "http://" + n.etcd, "ETCD_ADVERTISE_CLIENT_URLS": "http://" + n.etcd,
		"ETCD_LISTEN_PEER_URLS": "http://" + n.peers, "ETCD_INITIAL_ADVERTISE_PEER_URLS": "http://" + n.peers,
		"PATRONI_NAME": n.name, "PATRONI_ETCD_HOSTS": hosts,
		"PATRONI_RESTAPI_LISTEN": n.api, "PATRONI_RESTAPI_CONNECT_ADDRESS": n.api,
		"PATRONI_POSTGRESQL_LISTEN": n.postgres, "PATRONI_POSTGRESQL_CONNECT_ADDRESS": n.postgres,
		"PATRONI_POSTGRESQL_DATA_DIR": n.data(), "PATRONI_POSTGRESQL_BIN_DIR": n.programs["postgres"],
		"PATRONI_POSTGRESQL_PGPASS": filepath.Join(n.folder, "pgpass"), "PATRONI_SUPERUSER_PASSWORD": recipePassword,
		"PATRONI_REPLICATION_PASSWORD": recipePassword, "PATRONI_REWIND_PASSWORD": recipePassword,
	})...)
}

func (n *recipeNode) data() string { return filepath.Join(n.folder, "data") }

// start starts what the node does not run: etcd and Patroni, which starts PostgreSQL.
func (n *recipeNode) start(t *testing.T) {
	t.Helper()
	n.run(t, n.folder, "etcd", n.env, n.programs["etcd"])
	n.startPatroni(t)
}

func (n *recipeNode) startPatroni(t *testing.T) {
	t.Helper()
	n.run(t, n.folder, "patroni", n.env, n.programs["patroni"], filepath.Join(n.files, "patroni.yml"))
}

// Programs of a node. Each selects processes by the program's name and working folder.
var (
	allPrograms  = func(string, string) bool { return true }
	onlyPatroni  = func(program, _ string) bool { return program == "patroni" }
	onlyPostgres = func(_, folder string) bool { return filepath.Base(folder) == "data" }
)

// processes returns the ids of the node's processes that are selected.
func (n *recipeNode) processes(selected func(program, folder string) bool) (all []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		folder, err := os.Readlink(link)
		if err != nil || folder != n.folder && !strings.HasPrefix(folder, n.folder+"/") {
			continue
		}
		name, err := os.ReadFile(filepath.Join(filepath.Dir(link), "comm"))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err == nil && selected(strings.TrimSpace(string(name)), folder) {
			all = append(all, pid)
		}
	}
	return all
}

// signal sends a signal to the node's processes that are selected.
func (n *recipeNode) signal(signal syscall.Signal, selected func(program, folder string) bool) {
	for _, pid := range n.processes(selected) {
		_ = syscall.Kill(pid, signal) // a process that has ended meanwhile needs no signal
	}
}

// kill kills the node's processes that are selected, all at once: no process sees the end of another.
func (n *recipeNode) kill(t *testing.T, selected func(program, folder string) bool) {
	t.Helper()
	n.signal(syscall.SIGSTOP, selected)
	for began := time.Now(); len(n.processes(selected)) > 0; <-time.After(10 * time.Millisecond) {
		n.signal(syscall.SIGKILL, selected)
		if testlevel.Elapsed(began) > patience {
			t.Fatalf("processes of %s cannot be killed", n.name)
		}
	}
}

// patroniMember is a node as Patroni describes it.
type patroniMember struct {
	Name, Role, State string
	Timeline          int
	Lag               any // a number of bytes, or "unknown"
}

// members asks a node about all of them.
func (n *recipeNode) members() (all []patroniMember, err error) {
	client := http.Client{Timeout: time.Second}
	resp, err := client.Get("http://" + n.api + "/cluster")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var cluster struct{ Members []patroniMember }
	err = json.NewDecoder(resp.Body).Decode(&cluster)
	return cluster.Members, err
}

// primary returns the node that holds the leader's lease as one of the others sees it; nil if nobody does.
func (r *recipe) primary(except *recipeNode) *recipeNode {
	for _, n := range r.nodes {
		if n == except {
			continue
		}
		all, err := n.members()
		if err != nil {
			continue
		}
		for _, m := range all {
			if m.Role == "leader" && m.State == "running" {
				return r.named(m.Name)
			}
		}
	}
	return nil
}

// standby returns a node that is not the primary.
func (r *recipe) standby(primary *recipeNode) *recipeNode {
	if r.nodes[0] == primary {
		return r.nodes[1]
	}
	return r.nodes[0]
}

func (r *recipe) named(name string) *recipeNode {
	for _, n := range r.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// isWhole reports whether there are a primary and two synchronous standbys, on one timeline, and every node says so.
func (r *recipe) isWhole() bool {
	for _, n := range r.nodes {
		all, err := n.members()
		if err != nil || len(all) != len(r.nodes) {
			return false
		}
		roles := make(map[string]int)
		for _, m := range all {
			// A standby that streams is "running" to older versions of Patroni.
			if m.State != "running" && m.State != "streaming" || m.Timeline != all[0].Timeline {
				return false
			}
			roles[m.Role]++
		}
		if roles["leader"] != 1 || roles["sync_standby"] != 2 {
			return false
		}
	}
	return true
}

// awaitWhole waits until every node is back in its place, and returns how long that took.
func (r *recipe) awaitWhole(t *testing.T) time.Duration {
	t.Helper()
	for began := time.Now(); ; <-time.After(100 * time.Millisecond) {
		if r.isWhole() {
			return time.Since(began)
		}
		if testlevel.Elapsed(began) > 2*time.Minute {
			all, err := r.nodes[0].members()
			t.Fatalf("the nodes are not in their places after two minutes: %+v, %v", all, err)
		}
	}
}

// lease returns the time of the leader's lease.
func (r *recipe) lease(t *testing.T) time.Duration {
	t.Helper()
	resp, err := http.Get("http://" + r.nodes[0].api + "/config")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var config struct{ TTL int }
	if err := json.NewDecoder(resp.Body).Decode(&config); err != nil || config.TTL == 0 {
		t.Fatalf("the lease is %d s: %v", config.TTL, err)
	}
	return time.Duration(config.TTL) * time.Second
}

// switchOver hands the primary's role over as an operator does.
func (n *recipeNode) switchOver(t *testing.T) {
	t.Helper()
	cmd := n.command(t, n.folder, n.env, n.programs["patronictl"], "-c", filepath.Join(n.files, "patroni.yml"),
		"switchover", "provider-checkout", "--force")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("patronictl switchover: %v\n%s", err, out)
	}
}
