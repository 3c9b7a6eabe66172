package contract_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// The tests of this folder test the contract with the provider from outside: each sends HTTP requests to the handler
// that the binary serves, with the memory store at the quick level, and once with every store at the full level. Their names
// are a table of contents of the contract; the number after "Contract" is the section.

// suite is a sandbox, with methods that the tests of the contract share.
type suite struct{ *sandbox.Sandbox }

func newSuite(t *testing.T, open sandbox.Opener, changes ...func(*service.Config, *httpapi.Options)) *suite {
	t.Helper()
	return &suite{sandbox.NewOver(t, outside, open, changes...)}
}

// Short names for what almost every test needs.

type (
	response = sandbox.Response
	delivery = sandbox.Delivery
)

const (
	createPath      = "/v1/provider-checkouts"
	providers       = sandbox.Providers
	catalogueCreate = sandbox.CatalogueCreate
	legacyCreate    = sandbox.LegacyCreate
)

func order(body, id string) string { return sandbox.Order(body, id) }

func set(t *testing.T, body, path, raw string) string {
	t.Helper()
	return sandbox.Set(t, body, path, raw)
}

// kind is a kind of store; open opens an empty one.
type kind struct {
	name string
	open sandbox.Opener
}

const (
	// patience is the time within which something happens at all, on a slow machine too.
	patience = 2 * time.Minute
	day      = 24 * time.Hour
	// setupLifetime is the time in which a setup page opens.
	setupLifetime = 7 * day
	// testsAtOnce is the number of tests that run at the same time at the full level: they wait more than they compute.
	testsAtOnce = "4"
)

// overSystems makes the tests run over simulators of GoCardless and Salesforce, not over the sandbox's own systems.
var overSystems = flag.Bool("over-systems", false, "run over GoCardless and Salesforce")

// outside says which systems are simulated, and stores which kinds of stores the contract is tested with.
var (
	outside sandbox.Outside
	stores  []kind
)

// chooseWorld sets outside and stores, once the flags are parsed. The store in memory is for the quick level.
func chooseWorld() {
	if *overSystems {
		outside, stores = sandbox.Outside{GoCardless: true, Salesforce: true}, kindsOfStores[1:2]
	} else {
		stores = testlevel.Of(kindsOfStores[:1], kindsOfStores[1:])
	}
}

// The whole contract holds over GoCardless and Salesforce, as their simulators play them.
func TestContractOverSystemsOutside(t *testing.T) {
	if *overSystems {
		t.Skip("this is such a run")
	}
	testlevel.Full(t)
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), os.Args[0], "-over-systems").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// kindsOfStores is all kinds of stores.
var kindsOfStores = []kind{
	{"memory", sandbox.Memory},
	{"sqlite", func(t testing.TB, now func() time.Time) site.Store {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"),
			sqlite.Options{Environment: catalogue.Sandbox, Now: now, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}},
	{"postgres", func(t testing.TB, now func() time.Time) site.Store {
		url := postgrestest.URL(t)
		db, err := postgres.Open(t.Context(), url, postgres.Options{Environment: catalogue.Sandbox, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return forwarded{db, t, url}
	}},
}

// forwarded is a store whose jobs are leased by the clock of the database. To move that forward, all times that it is compared
// with are moved back.
type forwarded struct {
	*postgres.DB
	t   testing.TB
	url string
}

// Jobs waits, before it lists events, for the transactions of other tests on the same server: a list passes no open transaction.
func (f forwarded) Jobs(ctx context.Context, filter checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	if filter.After != nil {
		if err := f.awaitOlder(ctx); err != nil {
			return nil, err
		}
	}
	return f.DB.Jobs(ctx, filter, limit)
}

// awaitOlder waits until the transactions that are open now have ended.
func (f forwarded) awaitOlder(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, f.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var next, oldest uint64
	err = conn.QueryRow(ctx, `SELECT CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint)`).Scan(&next)
	for err == nil && oldest < next {
		time.Sleep(time.Millisecond)
		err = conn.QueryRow(ctx, `SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)`).Scan(&oldest)
	}
	return err
}

func (f forwarded) Forward(d time.Duration) {
	conn, err := pgx.Connect(f.t.Context(), f.url)
	if err == nil {
		_, err = conn.Exec(f.t.Context(), `UPDATE jobs SET due_ms = due_ms - $1::bigint, leased_until_ms = leased_until_ms - $1::bigint
			WHERE state = 'pending'`, d.Milliseconds())
		conn.Close(f.t.Context())
	}
	if err != nil {
		f.t.Error(err)
	}
}

// often returns how often a test repeats at the full level what depends on the store: less often over a system outside, where
// the stores are the same.
func often(times int) int {
	if *overSystems {
		return times / 10
	}
	return times
}

// contract runs a test of the contract with every store, beside other tests.
func contract(t *testing.T, test func(t *testing.T, s *suite), changes ...func(*service.Config, *httpapi.Options)) {
	all := func(c *service.Config, o *httpapi.Options) any {
		for _, change := range changes {
			change(c, o)
		}
		return nil
	}
	contractWith(t, all, func(t *testing.T, s *suite, _ any) { test(t, s) })
}

// contractWith is contract with one part of the configuration replaced by swap.
func contractWith[T any](t *testing.T, swap func(*service.Config, *httpapi.Options) T, test func(*testing.T, *suite, T)) {
	t.Parallel()
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			var put T
			s := newSuite(t, store.open, func(c *service.Config, o *httpapi.Options) { put = swap(c, o) })
			test(t, s, put)
		})
	}
}

// refused checks that an answer is the error envelope with this status, code and these fields.
func refused(t *testing.T, r response, status int, code string, fields ...string) {
	t.Helper()
	var got []string
	for _, d := range faults(r) {
		got = append(got, d.field)
		if d.message == "" {
			t.Errorf("the detail of %s has no message", d.field)
		}
	}
	if r.Status != status || r.String("error.code") != code || r.At("success") != false ||
		r.String("error.message") == "" || r.String("request_id") != r.Header.Get("X-Request-Id") ||
		fmt.Sprint(got) != fmt.Sprint(fields) {
		t.Errorf("answer %d %s\nwant %d %s in %q", r.Status, r.Body, status, code, fields)
	}
}

// fault is a field that a refusal names, and its message about it.
type fault struct{ field, message string }

// faults returns the fields that a refusal names, with its messages about them.
func faults(r response) (all []fault) {
	details, _ := r.At("error.details").([]any)
	for _, d := range details {
		one := response{JSON: d.(map[string]any)}
		all = append(all, fault{one.String("field"), one.String("message")})
	}
	return all
}

// record returns what is on record about an order, or the zero CheckoutRecord.
func (s *suite) record(t *testing.T, order string) (found checkout.CheckoutRecord) {
	t.Helper()
	for _, d := range s.Records(t) {
		if d.Checkout.OrderID == order {
			if found.Checkout.ID != "" {
				t.Errorf("order %s has two checkouts: %s and %s", order, found.Checkout.ID, d.Checkout.ID)
			}
			found = d
		}
	}
	return found
}

// unchanged checks that the record is the same as before.
func unchanged(t *testing.T, s *suite, before []checkout.CheckoutRecord) {
	t.Helper()
	if after := s.Records(t); !reflect.DeepEqual(after, before) {
		t.Errorf("on record %+v\nbefore    %+v", after, before)
	}
}

// confirmAs sends a confirm with a body of its own to a checkout of KOWHAI.
func (s *suite) confirmAs(t *testing.T, created response, body string) response {
	t.Helper()
	return s.Post(t, "KOWHAI", created.CheckoutPath()+"/confirm", body)
}

// page opens the setup page of an answer.
func (s *suite) page(t *testing.T, r response) response {
	t.Helper()
	return s.Send(t, http.MethodGet, r.String("direct_debit.setup_url"), "")
}

// replayed returns the answer to a replay of a create that was answered with r.
func replayed(r response, key string) string {
	return strings.Replace(r.Body, `"idempotent_replay":false,`, `"idempotent_replay":true,"idempotency_key":"`+key+`",`, 1)
}

// act returns an act of a test's operator.
func act(name string) checkout.Act {
	return checkout.Act{ID: "act_" + rand.Text(), At: time.Now().UTC().Truncate(time.Millisecond), Operator: "test", Name: name}
}

// longestName returns the largest number of characters of a student's name: that of the contract, or of Salesforce's own fields.
func longestName(field string) int {
	if !outside.Salesforce {
		return 255
	}
	return map[string]int{"student.first_name": 40, "student.last_name": 80}[field]
}

// withTheFake leaves out a test of what only the fake processor has, such as its own pages and its two minutes to an active
// mandate, where the processor is another. GoCardless' pages are tested beside its simulator and in a browser.
func withTheFake(t *testing.T) {
	t.Helper()
	if outside.GoCardless {
		t.Skip("the processor is GoCardless")
	}
}
