package scenario_test

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

const day = 24 * time.Hour

// advance moves the clock of a checkout, and returns the answer.
func (w *world) advance(t *testing.T, created sandbox.Response, by string) sandbox.Response {
	t.Helper()
	r := w.call(t, "KOWHAI", http.MethodPost, "/sandbox/v1/checkouts/"+created.String("checkout.checkout_id")+"/clock", `{"advance": "`+by+`"}`)
	if r.Status != http.StatusOK {
		t.Fatalf("advance by %s: %d %s", by, r.Status, r.Body)
	}
	return r
}

// moment returns the time at a path of an answer.
func moment(t *testing.T, r sandbox.Response, path string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, r.String(path))
	if err != nil {
		t.Fatalf("%s of %s: %v", path, r.Body, err)
	}
	return at
}

// within checks that a time is some time ahead of the world's clock.
func (w *world) within(t *testing.T, what string, at time.Time, ahead time.Duration) {
	t.Helper()
	if off := at.Sub(w.Clock.Now().Add(ahead)); off.Abs() > 5*time.Minute {
		t.Errorf("%s is %s, %s off; want it %s ahead", what, at, off, ahead)
	}
}

func TestClockOfALink(t *testing.T) { everywhere(t, testClockOfALink) }

func testClockOfALink(t *testing.T, w *world) {
	created := w.Create(t, "order-1")
	r := w.advance(t, created, "P6DT23H")
	w.within(t, "clock", moment(t, r, "clock"), 7*day-time.Hour)
	w.within(t, "expires_at", moment(t, r, "direct_debit.expires_at"), 7*day)
	if got := r.String("direct_debit.next_poll_after"); got != "" && got != "900" {
		t.Errorf("next_poll_after %s", got)
	}
	if page := sandbox.Fetch(t, created.SetupURL()); page.Status != http.StatusOK {
		t.Errorf("the page within its life: %d", page.Status)
	}
	w.advance(t, created, "PT1H1S")
	if page := sandbox.Fetch(t, created.SetupURL()); page.Status != http.StatusGone {
		t.Errorf("the page after its life: %d, want 410", page.Status)
	}
	if r := w.post(t, created.String("checkout.checkout_id"), "setup_succeeds"); r.Status != http.StatusConflict {
		t.Errorf("a setup on an expired link: %d %s, want 409", r.Status, r.Body)
	}
	again := w.Replay(t, "order-1")
	w.within(t, "expires_at of the next link", moment(t, again, "direct_debit.expires_at"), 14*day)
	w.play(t, again, "link_expires")
	if page := sandbox.Fetch(t, again.SetupURL()); page.Status != http.StatusGone {
		t.Errorf("the page after link_expires: %d, want 410", page.Status)
	}
	if r := w.play(t, w.Replay(t, "order-1"), "setup_succeeds"); !r.SetupComplete() {
		t.Errorf("a setup on the next link: %s", r.Body)
	}
}

// A process that ends between the move of a clock and that of the jobs leaves neither, so that the call may be sent again.
func TestClockAndJobsMoveInOneCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Environment: catalogue.Sandbox, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := newWorld(t, db)
	created := w.Create(t, "order-1")
	w.play(t, created, "setup_abandoned") // there is a job that looks for its end
	file, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	run := func(statement string) {
		t.Helper()
		if _, err := file.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// An integer overflows.
	run(`CREATE TRIGGER stop BEFORE UPDATE ON jobs WHEN NEW.due_ms <= OLD.due_ms - 86400000 BEGIN SELECT abs(-9223372036854775807 - 1); END`)
	r := w.call(t, "KOWHAI", http.MethodPost, "/sandbox/v1/checkouts/"+created.String("checkout.checkout_id")+"/clock", `{"advance": "P1D"}`)
	if r.Status != http.StatusInternalServerError {
		t.Fatalf("a move that is cut off: %d %s, want 500", r.Status, r.Body)
	}
	run(`DROP TRIGGER stop`)
	w.within(t, "the clock after a move that was cut off", moment(t, w.advance(t, created, "PT1S"), "clock"), 0)
	w.within(t, "the clock after the move", moment(t, w.advance(t, created, "P1D"), "clock"), day)
}

func TestClockOfWhatIsRecorded(t *testing.T) { everywhere(t, testClockOfWhatIsRecorded) }

func testClockOfWhatIsRecorded(t *testing.T, w *world) {
	created := w.Create(t, "order-1")
	w.advance(t, created, "P2D")
	if r := w.play(t, created, "setup_succeeds"); !r.SetupComplete() {
		t.Fatal(r.Body)
	}
	w.advance(t, created, "P1W")
	w.Receiver.Forget()
	if r := w.Confirm(t, created); r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	r := w.play(t, created, "mandate_cancelled")
	w.within(t, "mandate_since", moment(t, r, "direct_debit.mandate_since"), 9*day)
	for began := time.Now(); len(w.Receiver.Deliveries()) < 3 && time.Since(began) < 2*time.Minute; {
		time.Sleep(10 * time.Millisecond)
	}
	got := w.Receiver.Deliveries()
	if len(got) != 3 {
		t.Fatalf("received %q, want the events of the confirm and of the mandate", w.received())
	}
	for _, d := range got {
		created, err := time.Parse(time.RFC3339, d.JSON.Text("created_at"))
		if err != nil {
			t.Fatal(err)
		}
		w.within(t, "created_at of "+d.JSON.Text("event"), created, 9*day)
		sent, err := strconv.ParseInt(d.Header.Get("X-Service-Timestamp"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		w.within(t, "X-Service-Timestamp", time.Unix(sent, 0), 0)
	}
	all := w.Records(t)
	for _, m := range all[0].Moments {
		if m.Kind == checkout.MomentConfirmed {
			w.within(t, "the moment of the confirm", m.At, 9*day)
		}
	}
	w.within(t, "the acceptance", all[0].Agreement.AcceptedAt, 9*day)
	w.within(t, "withdrawn_at", moment(t, w.play(t, created, "operator_withdraws"), "agreement.withdrawn_at"), 9*day)
}

func TestClockOfAMandate(t *testing.T) {
	w := newWorld(t, memory.New())
	first := w.Create(t, "order-1")
	w.advance(t, first, "P1D")
	if err := w.Payer().SetUp(t.Context(), first.SetupURL()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ by, mandate string }{{"PT1S", "pending_submission"}, {"PT1M", "submitted"}, {"PT1M", "active"}} {
		if r := w.advance(t, first, step.by); r.At("direct_debit.mandate_status") != step.mandate {
			t.Errorf("after another %s: %s, want %s", step.by, r.Body, step.mandate)
		}
	}
}

func TestAccountNumbers(t *testing.T) {
	w := newWorld(t, memory.New())
	for suffix, want := range map[string]string{"00": "submitted ", "03": "failed DISHONOUR-AC03", "04": "cancelled DISHONOUR-AC04",
		"10": "blocked ", "11": "expired ", "12": " "} {
		created, payer := w.Create(t, "account-"+suffix), w.Payer()
		page, err := payer.Open(t.Context(), http.MethodGet, created.SetupURL(), nil)
		if err == nil {
			page, err = payer.Submit(t.Context(), page)
		}
		if err != nil {
			t.Fatal(err)
		}
		form := apiclient.FillIn(page.Form)
		form.Set("account_number", "01-0902-0068389-"+suffix)
		form.Del("step") // the details are not shown first
		if _, err := payer.Open(t.Context(), http.MethodPost, page.Action, form); err != nil {
			t.Fatal(err)
		}
		r := w.advance(t, created, "PT1M")
		if got := r.String("direct_debit.mandate_status") + " " + r.String("direct_debit.mandate_reason_code"); got != want {
			t.Errorf("account -%s: %q, want %q", suffix, got, want)
		}
		if failed := r.At("direct_debit.billing_request_status") == "cancelled"; failed != (suffix == "12") {
			t.Errorf("account -%s: %s", suffix, r.Body)
		}
	}
}

func TestClockOfRetention(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testClockOfRetention(t, memory.New()) })
	t.Run("sqlite and GoCardless", func(t *testing.T) { testClockOfRetention(t, inSQLite(t, ""), overGoCardless(t)) })
}

func testClockOfRetention(t *testing.T, store site.Store, changes ...func(*site.Config)) {
	w := newWorld(t, store, append(changes, func(c *site.Config) { c.Service.Retention = checkout.Retention{AbandonedDays: 31} })...)
	first, other := w.Create(t, "order-1"), w.Create(t, "order-2")
	w.play(t, first, "crm_away")
	script := fakeprocessor.ScriptPrefix(checkout.Checkout{ProviderCode: "KOWHAI", OrderID: "order-1"}.SetupKey(catalogue.Sandbox, 1)) + "0"
	if _, err := store.SandboxRecord(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	id := first.String("checkout.checkout_id")
	r := w.call(t, "KOWHAI", http.MethodPost, "/sandbox/v1/checkouts/"+id+"/clock", `{"advance": "P40D"}`)
	if r.Status != http.StatusGone || r.String("error.code") != "CHECKOUT_ERASED" {
		t.Errorf("the clock after the retention: %d %s, want 410", r.Status, r.Body)
	}
	if r := w.Get(t, "KOWHAI", first.CheckoutPath()); r.Status != http.StatusGone {
		t.Errorf("GET after the retention: %d %s, want 410", r.Status, r.Body)
	}
	if _, err := store.SandboxRecord(t.Context(), script); !errors.Is(err, ports.ErrNotFound) {
		t.Errorf("the script of an erased checkout: %v, want that it is not found", err)
	}
	if r := w.Get(t, "KOWHAI", other.CheckoutPath()); r.Status != http.StatusOK {
		t.Errorf("GET of another checkout: %d %s", r.Status, r.Body)
	}
	w.erasedTakesNothing(t)
}

// erasedTakesNothing checks that no record is written of a checkout that still answers after its erasure: nothing would erase it.
func (w *world) erasedTakesNothing(t *testing.T) {
	t.Helper()
	const order = "order-3+next_answer_lost"
	if r, err := apiclient.New(w.URL, w.Keys).Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, order)); err == nil {
		t.Errorf("the create: %d %s, want no answer", r.Status, r.Body)
	}
	created := w.Replay(t, order)
	id := created.String("checkout.checkout_id")
	w.play(t, created, "operator_cancels")
	w.advance(t, created, "P40D")
	for began := time.Now(); time.Since(began) < 2*time.Minute; time.Sleep(10 * time.Millisecond) {
		if c, err := w.Store.Checkout(t.Context(), id); err != nil || c.Erased() {
			break
		}
		w.call(t, "KOWHAI", http.MethodPost, "/sandbox/v1/checkouts/"+id+"/clock", `{"advance": "P1D"}`)
	}
	for call, body := range map[string]string{"scenarios": `{"scenario": "crm_away"}`, "clock": `{"advance": "P1D"}`} {
		r := w.call(t, "KOWHAI", http.MethodPost, "/sandbox/v1/checkouts/"+id+"/"+call, body)
		if r.Status != http.StatusConflict || r.String("error.code") != "CONFLICT" {
			t.Errorf("%s of an erased checkout: %d %s, want 409", call, r.Status, r.Body)
		}
	}
	if r := w.Get(t, "KOWHAI", created.CheckoutPath()); r.Status != http.StatusOK {
		t.Errorf("GET of an erased checkout: %d %s, want 200", r.Status, r.Body)
	}
	list := w.Get(t, "KOWHAI", "/v1/events?provider_order_id="+url.QueryEscape(order))
	event := list.String("events.0.event_id")
	if r := w.call(t, "KOWHAI", http.MethodPost, "/v1/events/"+event+"/redeliver", ""); event == "" || r.Status != http.StatusAccepted {
		t.Errorf("an event of an erased checkout, of %s, sent again: %d %s", list.Body, r.Status, r.Body)
	}
	script := fakeprocessor.ScriptPrefix(checkout.Checkout{ProviderCode: "KOWHAI", OrderID: order}.SetupKey(catalogue.Sandbox, 1))
	for _, name := range []string{script + "0", script + "suffix/taken"} {
		if _, err := w.Store.SandboxRecord(t.Context(), name); !errors.Is(err, ports.ErrNotFound) {
			t.Errorf("the script of an erased checkout: %v, want that it is not found", err)
		}
	}
}

func TestClockRefusals(t *testing.T) {
	w := newWorld(t, memory.New())
	created := w.Create(t, "order-1")
	for _, by := range []string{"", "P", "PT", "P0D", "-P1D", "P1M", "P1Y", "P1DT", "1D", "P1.5D", "PT1H30", "P7D ", "p7d", "P3286D", "P999999W", "PT999999H"} {
		r := w.call(t, "KOWHAI", http.MethodPost, "/sandbox/v1/checkouts/"+created.String("checkout.checkout_id")+"/clock", `{"advance": "`+by+`"}`)
		if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, `"field":"advance"`) {
			t.Errorf("advance by %q: %d %s, want 400", by, r.Status, r.Body)
		}
	}
	w.advance(t, created, "P3284D")
	if r := w.advance(t, created, "PT23H59M59S"); moment(t, r, "clock").Before(w.Clock.Now().Add(3284 * day)) {
		t.Error(r.Body)
	}
	if r := w.call(t, "TUI", http.MethodPost, "/sandbox/v1/checkouts/"+created.String("checkout.checkout_id")+"/clock", `{"advance": "P1D"}`); r.Status != http.StatusNotFound {
		t.Errorf("the clock of another provider's checkout: %d %s, want 404", r.Status, r.Body)
	}
}

// The evidence log is of all providers: its sealer would take a time in the future for a wrong clock of a machine, and alarm the operator.
func TestClockLeavesTheEvidenceLogAlone(t *testing.T) {
	everywhere(t, testClockLeavesTheEvidenceLogAlone)
}

func testClockLeavesTheEvidenceLogAlone(t *testing.T, w *world) {
	w.config.Service.Retention = checkout.Retention{AbandonedDays: 31}
	w.serve(t)
	created := w.Create(t, "order-1")
	w.play(t, created, "setup_succeeds")
	w.advance(t, created, "P1D")
	if r := w.Confirm(t, created); r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	abandoned := w.Create(t, "order-2").String("checkout.checkout_id")
	if r := w.call(t, "KOWHAI", http.MethodPost, "/sandbox/v1/checkouts/"+abandoned+"/clock", `{"advance": "P40D"}`); r.Status != http.StatusGone {
		t.Fatalf("the clock after the retention: %d %s", r.Status, r.Body)
	}
	entries, err := w.Store.UnsealedEvidence(t.Context(), 100)
	if err != nil || len(entries) < 2 {
		t.Fatalf("%d entries, %v; want those of the agreement and of its erasure", len(entries), err)
	}
	for _, e := range entries {
		if e.At.After(w.Clock.Now()) {
			t.Errorf("entry %s is of %s, in the future", e.ID, e.At)
		}
	}
}

func TestClockLeavesTheListsInThePresent(t *testing.T) {
	everywhere(t, testClockLeavesTheListsInThePresent)
}

func testClockLeavesTheListsInThePresent(t *testing.T, w *world) {
	created := w.Create(t, "order-1")
	w.advance(t, created, "P30D")
	w.play(t, created, "operator_cancels")
	w.Create(t, "order-2")
	for list, entries := range map[string]int{"events": 3, "enrolments": 2} {
		r := w.Get(t, "KOWHAI", "/v1/"+list)
		next, _ := checkout.ParseCursor(r.String("next"))
		if all, _ := r.At(list).([]any); len(all) != entries || next < checkout.CursorAt(w.Clock.Now().Add(-10*time.Minute)) ||
			next > checkout.CursorAt(w.Clock.Now().Add(10*time.Minute)) {
			t.Errorf("the list of %s is not in the present: %s", list, r.Body)
		}
	}
}

func TestClockKeepsItsBoundsWhateverIsStored(t *testing.T) {
	const years = 3285 * day
	for _, tt := range []struct {
		name  string
		moves []time.Duration
		want  time.Duration
	}{
		{"moves at once, each before it knew of the others", slices.Repeat([]time.Duration{years}, 40), years},
		{"a move back", []time.Duration{day, -day, time.Hour}, day + time.Hour},
		{"a move back before any other", []time.Duration{-day}, 0},
		{"a move that is too long for a sum", []time.Duration{day, math.MaxInt64}, years},
		{"a move back that is too long for a sum", []time.Duration{math.MinInt64, math.MinInt64, day}, day},
	} {
		store := memory.New()
		prefix := fakeprocessor.ScriptPrefix(checkout.Checkout{ProviderCode: "KOWHAI", OrderID: "order-1"}.SetupKey(catalogue.Sandbox, 1))
		for n, by := range tt.moves {
			entry := fmt.Sprintf(`{"scenario": "clock", "advance": %d, "nonce": "x"}`, by)
			if err := store.KeepSandboxRecord(t.Context(), prefix+strconv.Itoa(n), []byte(entry)); err != nil {
				t.Fatal(err)
			}
		}
		if got := scenario.Ahead(store)(t.Context(), checkout.About{ProviderCode: "KOWHAI", OrderID: "order-1"}); got != tt.want {
			t.Errorf("%s: the clock is %s ahead, want %s", tt.name, got, tt.want)
		}
	}
}
