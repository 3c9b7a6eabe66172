package full_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// citusVariable is the connection string of the coordinator of a Citus cluster, as a superuser who may connect to each node.
const citusVariable = "PROVIDER_CHECKOUT_TEST_CITUS"

// TestCitus checks that nothing is lost on a store of 20 providers that is distributed over the nodes of a Citus cluster, each of which
// serves a process of the program, while a process and a worker are killed:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_CITUS=postgres://… go test -run TestCitus -v ./cmd/provider-checkout/full
func TestCitus(t *testing.T) {
	coordinator := os.Getenv(citusVariable)
	if coordinator == "" {
		t.Skipf("%s is not set: nothing is tested on a cluster", citusVariable)
	}
	c, enrolments := newCitusCluster(t, newSuite(t), coordinator), testlevel.Runs(t, 1000)
	clients := c.newBackend(&c.addrs)
	stop := c.load(t, clients, apiclient.IsCut)
	c.awaitBegun(t, enrolments/4)
	c.servers[0].Kill(t)
	c.launch(t, 0)
	c.servers[0].awaitListening(t)
	c.awaitBegun(t, enrolments/2)
	// A server of PostgreSQL of which a process is killed ends all others, and recovers.
	worker := c.nodes[len(c.nodes)-1]
	if err := execute(worker, `COPY (SELECT 1) TO PROGRAM 'kill -9 $PPID'`); err == nil {
		t.Error("void: the worker was not killed")
	}
	c.awaitBegun(t, enrolments)
	c.recoverPrepared(t)
	stop()
	c.completes(t, clients)
}

// citusCluster is processes of the program, each at a node of a Citus cluster, in turn.
type citusCluster struct {
	*cluster
	nodes []string // connection strings of the store, the coordinator's first
}

// newCitusCluster configures a store of 20 providers, distributes it, and starts the processes.
func newCitusCluster(t *testing.T, b suite, coordinator string) *citusCluster {
	t.Helper()
	schema := "test_" + strings.ToLower(rand.Text())
	if err := execute(coordinator, `SET citus.enable_schema_based_sharding = off`, `CREATE SCHEMA `+schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(coordinator, `DROP SCHEMA `+schema+` CASCADE`); err != nil {
			t.Errorf("remove the store: %v", err)
		}
	})
	c := &citusCluster{nodes: citusNodes(t, coordinator, schema)}
	c.cluster = &cluster{workload: newWorkload(t, b.Binary, c.nodes[0]), servers: make([]*server, clusterSize)}
	c.multiply(t, 10)
	c.Run(t, "store", "distribute", "--store", c.place)
	for i := range clusterSize {
		c.addrs.all = append(c.addrs.all, proc.QuietAddr(t, c.rand))
		c.launch(t, i)
	}
	for _, s := range c.servers {
		s.awaitListening(t)
	}
	return c
}

// launch starts process i at its node.
func (c *citusCluster) launch(t *testing.T, i int) {
	t.Helper()
	c.servers[i] = &server{Process: proc.Start(t, c.Command(clusterArgs(c.nodes[i%len(c.nodes)], c.addrs.all[i])...))}
}

func (c *citusCluster) awaitBegun(t *testing.T, n int) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Minute); c.enrolments.begun() < n; <-time.After(calm) {
		if time.Now().After(limit) {
			t.Fatalf("%d enrolments were begun, want %d", c.enrolments.begun(), n)
		}
	}
}

// recoverPrepared ends the fault of a killed worker: each node ends what it had prepared there, and its locks. Citus alone does it once
// a minute (citus.recover_2pc_interval).
func (c *citusCluster) recoverPrepared(t *testing.T) {
	t.Helper()
	for _, node := range c.nodes {
		if err := execute(node, `SELECT recover_prepared_transactions()`); err != nil {
			t.Errorf("recover prepared transactions: %v", err)
		}
	}
}

// citusNodes returns the connection strings of a schema at all nodes of a cluster.
func citusNodes(t *testing.T, coordinator, schema string) (nodes []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), coordinator)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE isactive ORDER BY groupid`)
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(hosts) < 2 {
		t.Fatalf("the nodes of the cluster are %q, %v; want a coordinator and workers", hosts, err)
	}
	for _, host := range hosts {
		u, err := url.Parse(coordinator)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("search_path", schema)
		u.Host, u.RawQuery = host, q.Encode()
		nodes = append(nodes, u.String())
	}
	return nodes
}

// execute runs statements at a node.
func execute(node string, statements ...string) error {
	conn, err := pgx.Connect(context.Background(), node)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	for _, s := range statements {
		if _, err := conn.Exec(context.Background(), s); err != nil {
			return err
		}
	}
	return nil
}
