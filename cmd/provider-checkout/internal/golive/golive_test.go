package golive_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/golive"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/events"
)

// secret is the operator's.
var secret = bytes.Repeat([]byte("s"), checkout.MinSecret)

// eachStore runs a test on a store of each kind.
func eachStore(t *testing.T, test func(*testing.T, site.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, memory.New()) })
	t.Run("sqlite", func(t *testing.T) {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"),
			sqlite.Options{Secrets: [][]byte{secret}, Environment: catalogue.Sandbox, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		test(t, db)
	})
	t.Run("postgres", func(t *testing.T) {
		db, err := postgres.Open(t.Context(), postgrestest.URL(t),
			postgres.Options{Secrets: [][]byte{secret}, Environment: catalogue.Sandbox, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		test(t, db)
	})
}

// world is a sandbox as a program serves it, with two providers.
type world struct {
	*sandbox.Sandbox
	config site.Config
}

func newWorld(t *testing.T, store site.Store) *world {
	w := &world{Sandbox: &sandbox.Sandbox{Store: store, Clock: &sandbox.Clock{}, Receiver: sandbox.NewReceiver(t), Keys: make(map[string]string)}}
	w.config = site.Config{Store: store, Secrets: [][]byte{secret}, AllowPrivate: true, Now: w.Clock.Now,
		Service: service.Config{Environment: catalogue.Sandbox}, Log: slog.New(slog.DiscardHandler)}
	w.Configure(t, sandbox.Providers)
	w.serve(t)
	for _, code := range []string{"KOWHAI", "TUI"} {
		w.Keys[code] = sandbox.IssueKey(t, w.Store, code, catalogue.Sandbox)
	}
	return w
}

// serve runs a process on the store, to which all requests go from now on. stop ends it before the test does.
func (w *world) serve(t *testing.T) (stop func()) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	w.URL = "http://" + server.Listener.Addr().String()
	w.config.Service.BaseURL = w.URL
	s, err := site.New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = s.Handler
	server.Start()
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); s.Run(ctx) }()
	stop = func() { server.Close(); cancel(); <-ran }
	t.Cleanup(stop)
	return stop
}

// integration is the header of requests that no program of ours has sent.
var integration = []string{"User-Agent", "a provider's backend"}

func (w *world) call(t *testing.T, provider, method, path, body string) sandbox.Response {
	t.Helper()
	r, err := apiclient.New(w.URL, w.Keys).Call(t.Context(), provider, method, path, body, integration...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// poll polls a checkout of KOWHAI a time after its latest poll.
func (w *world) poll(t *testing.T, created sandbox.Response, after time.Duration) {
	t.Helper()
	w.Clock.Forward(after)
	w.Get(t, "KOWHAI", created.CheckoutPath())
}

// eventually waits until a condition holds: the log has a request a moment after its answer.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it does not happen", what)
		}
	}
}

// missing returns the steps that a provider has not done, and what the answer says of the steps that it has.
func (w *world) missing(t *testing.T, provider string) (missing []string, done map[string]apiclient.Object) {
	t.Helper()
	r := w.call(t, provider, "GET", "/sandbox/v1/golive", "")
	if r.Status != http.StatusOK || r.At("success") != true {
		t.Fatalf("golive of %s: %d %s", provider, r.Status, r.Body)
	}
	done = map[string]apiclient.Object{}
	for _, item := range r.At("steps").([]any) {
		step := apiclient.Object(item.(map[string]any))
		if !strings.HasPrefix(step.Text("help"), w.URL+"/docs#") {
			t.Errorf("the help of a step is %q", step.Text("help"))
		}
		if step.At("done") == true {
			done[step.Text("step")] = step
		} else {
			missing = append(missing, step.Text("step"))
		}
	}
	if ready := len(missing) == 0; r.At("ready") != ready {
		t.Errorf("%s is ready: %v, with %q missing", provider, r.At("ready"), missing)
	}
	return missing, done
}

// steps lists what a provider must do, and how KOWHAI does it here. Later ones go on with what was created.
func steps() []struct {
	name string
	do   func(t *testing.T, w *world)
} {
	var created sandbox.Response
	const gap = 2 * time.Second
	return []struct {
		name string
		do   func(t *testing.T, w *world)
	}{
		{"create", func(t *testing.T, w *world) { created = w.Create(t, "order-1") }},
		{"replay", func(t *testing.T, w *world) { w.Replay(t, "order-1") }},
		{"conflict", func(t *testing.T, w *world) {
			other := strings.Replace(sandbox.Order(sandbox.CatalogueCreate, "order-1"), "2027-02-01", "2027-02-08", 1)
			w.Post(t, "KOWHAI", apiclient.CheckoutsPath, other)
			w.Get(t, "KOWHAI", created.CheckoutPath()) // and not the same wrong call
		}},
		{"early_confirm", func(t *testing.T, w *world) { w.Confirm(t, created) }},
		{"setup", func(t *testing.T, w *world) {
			w.poll(t, created, gap)
			w.SetUp(t, created)
		}},
		{"poll", func(t *testing.T, w *world) { w.poll(t, created, gap) }},
		{"confirm", func(t *testing.T, w *world) { w.Confirm(t, created) }},
		{"repeated_confirm", func(t *testing.T, w *world) { w.Confirm(t, created) }},
		{"event_twice", func(t *testing.T, w *world) {
			id := w.Get(t, "KOWHAI", "/v1/events?limit=1").At("events").([]any)[0].(map[string]any)["event_id"]
			w.call(t, "KOWHAI", "POST", fmt.Sprintf("/v1/events/%s/redeliver", id), "")
		}},
		{"event_forged", func(t *testing.T, w *world) {
			w.Receiver.AnswerWith(func(d sandbox.Delivery) int {
				if events.Verify("whsec_kowhai_0123456789abcdef", d.Header.Get(events.HeaderSignature), d.Body, time.Now(), time.Minute) != nil {
					return http.StatusUnauthorized
				}
				return http.StatusNoContent
			})
			w.Create(t, "order-3+event_forged")
		}},
		{"cancel", func(t *testing.T, w *world) {
			path := w.Create(t, "order-2").CheckoutPath()
			w.Post(t, "KOWHAI", path+"/cancel", `{"reason": "another course"}`)
		}},
	}
}

func TestAProviderThatDoesEveryStepIsReady(t *testing.T) {
	eachStore(t, func(t *testing.T, store site.Store) {
		w := newWorld(t, store)
		everything, done := w.missing(t, "KOWHAI")
		if len(everything) != 12 || len(done) != 0 {
			t.Fatalf("before the first call %q are missing, and %v done", everything, done)
		}
		for _, s := range steps() {
			s.do(t, w)
		}
		eventually(t, "KOWHAI is ready", func() bool { missing, _ := w.missing(t, "KOWHAI"); return len(missing) == 0 })
		_, done = w.missing(t, "KOWHAI")
		for name, step := range done {
			if at, err := time.Parse(time.RFC3339, step.Text("at")); err != nil || w.Clock.Now().Sub(at).Abs() > 10*time.Minute {
				t.Errorf("%s was done at %q", name, step.Text("at"))
			}
			if name != "setup" && !strings.HasPrefix(step.Text("request_id"), "req_") {
				t.Errorf("%s was done in request %q", name, step.Text("request_id"))
			}
		}
		if missing, _ := w.missing(t, "TUI"); !slices.Equal(missing, everything) {
			t.Errorf("what KOWHAI did counts for TUI, of which %q are missing", missing)
		}

		// The proofs outlive the requests and the process.
		w.Clock.Forward(25 * time.Hour)
		w.serve(t)
		_, again := w.missing(t, "KOWHAI")
		for name, step := range done {
			if got := again[name]; got.Text("at") != step.Text("at") || got.Text("request_id") != step.Text("request_id") {
				t.Errorf("a day later the proof of %s is %v, and was %v", name, got, step)
			}
		}
		if r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests", ""); len(r.At("requests").([]any)) != 0 {
			t.Errorf("a day later the log has %s", r.Body)
		}
	})
}

func TestAProviderThatMayNotCallReadsNothing(t *testing.T) {
	w := newWorld(t, memory.New())
	created := w.Create(t, "order-1")
	checkouts := "/sandbox/v1/checkouts/" + created.String("checkout.checkout_id")
	for _, tt := range []struct{ providers, want string }{
		{strings.Replace(sandbox.Providers, `"api_enabled": true`, `"api_enabled": false`, 1), "403 PROVIDER_NOT_ENABLED"},
		{strings.Replace(sandbox.Providers, `"provider_code": "KOWHAI",`, `"provider_code": "RIMU",`, 1), "404 PROVIDER_NOT_FOUND"},
	} {
		w.Configure(t, tt.providers)
		w.serve(t) // a process that does not know the former configuration
		for _, call := range [][3]string{{"GET", "/v1/events"}, {"GET", "/sandbox/v1/requests"}, {"GET", "/sandbox/v1/golive"},
			{"POST", checkouts + "/scenarios", `{"scenario": "event_twice"}`}, {"POST", checkouts + "/clock", `{"advance": "P1D"}`}} {
			if r := w.call(t, "KOWHAI", call[0], call[1], call[2]); fmt.Sprint(r.Status, " ", r.String("error.code")) != tt.want {
				t.Errorf("%s is answered %d %s, want %s", call[1], r.Status, r.Body, tt.want)
			}
		}
	}
}

func TestThePageOfEachStepIsThere(t *testing.T) {
	w := newWorld(t, memory.New())
	docs := sandbox.Fetch(t, w.URL+"/docs").Body
	check, err := golive.Run(t.Context(), w.Store, "KOWHAI", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range check.Steps {
		if _, anchor, _ := strings.Cut(s.Help, "#"); !strings.Contains(docs, fmt.Sprintf("id=%q", anchor)) {
			t.Errorf("the help of %s is %s, which is not there", s.Name, s.Help)
		}
	}
}

func TestAStepThatLacksIsNamed(t *testing.T) {
	follow := map[string][]string{ // steps that cannot be done without another one
		"create": {"create", "replay", "conflict", "early_confirm", "setup", "poll", "confirm", "repeated_confirm", "event", "event_forged",
			"event_twice", "cancel"},
		"setup":   {"setup", "poll", "confirm", "repeated_confirm"},
		"confirm": {"confirm", "repeated_confirm"},
	}
	for _, lacking := range steps() {
		t.Run(lacking.name, func(t *testing.T) {
			want := follow[lacking.name]
			if want == nil {
				want = []string{lacking.name}
			}
			w := newWorld(t, memory.New())
			for _, s := range stepsWithout(want) {
				s(t, w)
			}
			var missing []string
			eventually(t, "the other steps are done", func() bool {
				missing, _ = w.missing(t, "KOWHAI")
				return len(missing) <= len(want)
			})
			if !slices.Equal(missing, want) {
				t.Errorf("missing are %q, want %q", missing, want)
			}
		})
	}
	t.Run("event", func(t *testing.T) {
		w := newWorld(t, memory.New())
		w.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusInternalServerError })
		for _, s := range stepsWithout([]string{"event_forged"}) {
			s(t, w)
		}
		eventually(t, "the other steps are done", func() bool {
			missing, _ := w.missing(t, "KOWHAI")
			return slices.Equal(missing, []string{"event", "event_forged", "event_twice"})
		})
	})
}

// stepsWithout returns the steps but for some.
func stepsWithout(without []string) (todo []func(*testing.T, *world)) {
	for _, s := range steps() {
		if !slices.Contains(without, s.name) {
			todo = append(todo, s.do)
		}
	}
	return todo
}

func TestTheRequestsOfAProvider(t *testing.T) {
	eachStore(t, func(t *testing.T, store site.Store) {
		w := newWorld(t, store)
		created := w.Create(t, "order-1")
		refused := w.Confirm(t, created)
		w.Post(t, "TUI", apiclient.CheckoutsPath, sandbox.Order(sandbox.LegacyCreate, "order-1"))
		w.call(t, "KOWHAI", "GET", created.CheckoutPath()+"?token=secret", "")
		w.call(t, "KOWHAI", "GET", "/v1/provider-checkouts/"+strings.Repeat("x", 65), "")
		var list []any
		var next string
		eventually(t, "the log has four requests", func() bool {
			r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests", "")
			list, next = r.At("requests").([]any), r.String("next")
			return len(list) == 4
		})
		var got []string
		for _, item := range list {
			o := apiclient.Object(item.(map[string]any))
			got = append(got, fmt.Sprint(o.Text("method"), " ", o.Text("path"), " ", o.At("status"), " ", o.At("error_code")))
			if at, err := time.Parse(time.RFC3339, o.Text("at")); err != nil || w.Clock.Now().Sub(at).Abs() > 10*time.Minute {
				t.Errorf("a request was made at %q", o.Text("at"))
			}
			if len(o) != 5 && len(o) != 6 {
				t.Errorf("a request has the fields %v", o)
			}
		}
		path := created.CheckoutPath()
		want := []string{"POST /v1/provider-checkouts 201 <nil>", "POST " + path + "/confirm 409 DIRECT_DEBIT_SETUP_INCOMPLETE",
			"GET " + path + " 200 <nil>", "GET /v1/provider-checkouts/... 404 CHECKOUT_NOT_FOUND"}
		if !slices.Equal(got, want) {
			t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if id := list[1].(map[string]any)["request_id"]; id != refused.Header.Get("X-Request-Id") {
			t.Errorf("the request of the confirm is %v, want %s", id, refused.Header.Get("X-Request-Id"))
		}

		newest := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests?limit=1", "")
		if got := newest.At("requests").([]any); fmt.Sprint(got) != fmt.Sprint(list[3:]) || newest.String("next") != next {
			t.Errorf("the newest request is %v, and the log goes on at %s; want %v, %s", got, newest.String("next"), list[3:], next)
		}
		one := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests?limit=1&after=0", "")
		rest := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests?after="+one.String("next"), "")
		if pages := append(one.At("requests").([]any), rest.At("requests").([]any)...); fmt.Sprint(pages) != fmt.Sprint(list) || rest.String("next") != next {
			t.Errorf("in pages the log is %v, and goes on at %s; want %v, %s", pages, rest.String("next"), list, next)
		}
		if r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests?after="+next, ""); len(r.At("requests").([]any)) != 0 || r.String("next") != next {
			t.Errorf("behind its end the log has %s", r.Body)
		}
		for _, wrong := range []string{"after=x", "limit=0", "limit=101", "limit=1&limit=2"} {
			if r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests?"+wrong, ""); r.Status != http.StatusBadRequest || r.String("error.code") != "VALIDATION_ERROR" {
				t.Errorf("the page %s is answered %d %s", wrong, r.Status, r.Body)
			}
		}

		w.serve(t) // another process has the same log
		if r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests", ""); fmt.Sprint(r.At("requests")) != fmt.Sprint(list) {
			t.Errorf("another process has the log %s", r.Body)
		}
	})
}

func TestAnOrderWhoseScenarioIsMisspeltIsNoted(t *testing.T) {
	w := newWorld(t, memory.New())
	for order, note := range map[string]string{"order-1+setup_fial": "the order id ends with +setup_fial, which is no scenario",
		"order-2+setup_fails": "", "order-3": "", "order-4+Aroha N.": ""} {
		w.Create(t, order)
		eventually(t, order+" has its note", func() bool {
			r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests?limit=1", "")
			return r.At("requests.0.status") != nil && r.String("requests.0.note") == note
		})
		w.Clock.Forward(25 * time.Hour)
	}
}

func TestALostAnswerIsNoProof(t *testing.T) {
	w := newWorld(t, memory.New())
	const order = "order-1+next_answer_lost"
	if r, err := apiclient.New(w.URL, w.Keys).Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, order), integration...); err == nil {
		t.Fatalf("the create is answered %d %s", r.Status, r.Body)
	}
	eventually(t, "the log has the create", func() bool {
		r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests", "")
		return strings.Contains(r.Body, `"path":"/v1/provider-checkouts","status":0}`)
	})
	if _, done := w.missing(t, "KOWHAI"); done["create"] == nil || done["replay"] != nil {
		t.Errorf("after a create whose answer was lost %v are done", done)
	}
	replay := w.Replay(t, order)
	eventually(t, "the replay is proven", func() bool {
		_, done := w.missing(t, "KOWHAI")
		return done["replay"].Text("request_id") == replay.Header.Get("X-Request-Id")
	})
}

func TestACreateWhoseAnswerIsLostGoesOnAfterAConflict(t *testing.T) {
	w := newWorld(t, memory.New())
	w.Create(t, "order-1")
	other := strings.Replace(sandbox.Order(sandbox.CatalogueCreate, "order-1"), "2027-02-01", "2027-02-08", 1)
	conflict := w.Post(t, "KOWHAI", apiclient.CheckoutsPath, other)
	const order = "order-2+next_answer_lost"
	body := sandbox.Order(sandbox.CatalogueCreate, order)
	if r, err := apiclient.New(w.URL, w.Keys).Create(t.Context(), "KOWHAI", body, integration...); err == nil {
		t.Fatalf("the create is answered %d %s", r.Status, r.Body)
	}
	w.Replay(t, order)
	eventually(t, "the conflict is proven", func() bool {
		_, done := w.missing(t, "KOWHAI")
		return done["conflict"].Text("request_id") == conflict.Header.Get("X-Request-Id")
	})
}

func TestNoProofIsOfTheFuture(t *testing.T) {
	w := newWorld(t, memory.New())
	path := "/sandbox/v1/checkouts/" + w.Create(t, "order-1").String("checkout.checkout_id")
	w.call(t, "KOWHAI", "POST", path+"/clock", `{"advance": "P2D"}`)
	w.call(t, "KOWHAI", "POST", path+"/scenarios", `{"scenario": "setup_succeeds"}`)
	eventually(t, "the setup is proven", func() bool {
		_, done := w.missing(t, "KOWHAI")
		if at, err := time.Parse(time.RFC3339, done["setup"].Text("at")); err == nil && at.After(w.Clock.Now()) {
			t.Fatalf("the setup was done at %s, in the future", at)
		}
		return done["setup"] != nil
	})
}

func TestACancelByAClockThatIsAheadIsLearned(t *testing.T) {
	w := newWorld(t, memory.New())
	created := w.Create(t, "order-1")
	path := "/sandbox/v1/checkouts/" + created.String("checkout.checkout_id")
	w.call(t, "KOWHAI", "POST", path+"/clock", `{"advance": "P2D"}`)
	w.call(t, "KOWHAI", "POST", path+"/scenarios", `{"scenario": "operator_cancels"}`)
	if _, done := w.missing(t, "KOWHAI"); done["cancel"] != nil {
		t.Errorf("before any call has learned of the cancel it is proven by %v", done["cancel"])
	}
	poll := w.Get(t, "KOWHAI", created.CheckoutPath())
	eventually(t, "the poll proves the cancel", func() bool {
		_, done := w.missing(t, "KOWHAI")
		return done["cancel"].Text("request_id") == poll.Header.Get("X-Request-Id")
	})
}

func TestEventsThatAScenarioChanges(t *testing.T) {
	for name, missing := range map[string][]string{"event_lost": {"event", "event_forged", "event_twice"}, "event_twice": {"event_forged"},
		"event_forged": {"event", "event_forged", "event_twice"}} { // of a receiver that takes everything
		w := newWorld(t, memory.New())
		w.Create(t, "order-1+"+name)
		var got []string
		eventually(t, "the create is proven", func() (done bool) {
			got, _ = w.missing(t, "KOWHAI")
			return !slices.Contains(got, "create")
		})
		got = slices.DeleteFunc(got, func(step string) bool { return !strings.HasPrefix(step, "event") })
		if !slices.Equal(got, missing) {
			t.Errorf("after %s %q are missing, want %q", name, got, missing)
		}
	}
}

// noting is a store that notes the names of the records of the sandbox.
type noting struct {
	*memory.Store
	kept sync.Map // by name
}

func (n *noting) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	n.kept.Store(name, true)
	return n.Store.KeepSandboxRecord(ctx, name, data)
}

func (n *noting) left(t *testing.T) (left []string) {
	n.kept.Range(func(name, _ any) bool {
		if _, err := n.SandboxRecord(t.Context(), name.(string)); err == nil {
			left = append(left, name.(string))
		}
		return true
	})
	return left
}

func TestTheRecordOfACheckoutOfOursIsErasedWithIt(t *testing.T) {
	store := &noting{Store: memory.New()}
	w := newWorld(t, store)
	w.config.Service.Retention = checkout.Retention{AbandonedDays: 31}
	w.serve(t)
	client := apiclient.New(w.URL, w.Keys)
	created, err := client.Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, "order-1"))
	if err != nil {
		t.Fatal(err)
	}
	if len(store.left(t)) == 0 {
		t.Error("a create is answered before its checkout is on record as ours")
	}
	path := "/sandbox/v1/checkouts/" + created.String("checkout.checkout_id") + "/clock"
	if r, err := client.Call(t.Context(), "KOWHAI", "POST", path, `{"advance": "P40D"}`); err != nil || r.Status != http.StatusGone {
		t.Fatalf("the clock after the retention: %d %s, %v", r.Status, r.Body, err)
	}
	isClock := func(name string) bool { return strings.HasPrefix(name, "clock/") } // which does not go back
	if left := slices.DeleteFunc(store.left(t), isClock); len(left) > 0 {
		t.Errorf("of a checkout that was erased there are the records %q", left)
	}
}

func TestPollsOverTwoProcesses(t *testing.T) {
	w := newWorld(t, memory.New())
	created := w.Create(t, "order-1")
	first := w.URL
	w.poll(t, created, 2*time.Second)
	w.SetUp(t, created)
	w.serve(t) // whose log is stored first
	w.poll(t, created, 2*time.Second)
	eventually(t, "the last poll is stored", func() bool {
		r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests", "")
		return strings.Contains(r.Body, `"method":"GET"`)
	})
	w.URL = first
	eventually(t, "the polls are proven", func() bool {
		missing, _ := w.missing(t, "KOWHAI")
		return !slices.Contains(missing, "poll")
	})
}
