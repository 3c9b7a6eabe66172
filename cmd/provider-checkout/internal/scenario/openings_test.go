package scenario_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestAnEndingActsOnARightCreateAlone(t *testing.T) {
	everywhere(t, testAnEndingActsOnARightCreateAlone)
}

func testAnEndingActsOnARightCreateAlone(t *testing.T, w *world) {
	create := func(body string, header ...string) sandbox.Response {
		t.Helper()
		r, err := apiclient.New(w.URL, w.Keys).Call(t.Context(), "KOWHAI", http.MethodPost, apiclient.CheckoutsPath, body, header...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	taken := []string{"Idempotency-Key", "taken"}
	if r := create(sandbox.Order(sandbox.CatalogueCreate, "order-1"), taken...); r.Status != http.StatusCreated {
		t.Fatalf("create: %d %s", r.Status, r.Body)
	}
	for ending, refused := range map[string]int{"next_answer_403": 403, "next_answer_404": 404, "next_answer_410": 410, "next_answer_500": 500,
		"next_answer_503": 503} {
		right := sandbox.Order(sandbox.CatalogueCreate, "o+"+ending)
		for _, step := range []struct {
			name, body string
			header     []string
			status     int
			code       string
		}{
			{"without an e-mail address", sandbox.Set(t, right, "student.email", ""), nil, 400, "VALIDATION_ERROR"},
			{"of an unknown course", sandbox.Set(t, right, "course.course_code", `"NONE"`), nil, 400, "VALIDATION_ERROR"},
			{"of another provider", sandbox.Set(t, right, "provider.provider_code", `"TUI"`), nil, 403, "PROVIDER_KEY_MISMATCH"},
			{"under the key of another order", right, taken, 409, "IDEMPOTENCY_CONFLICT"},
			{"that is right", right, nil, refused, ""},
			{"without an e-mail address, again", sandbox.Set(t, right, "student.email", ""), nil, 400, "VALIDATION_ERROR"},
			{"sent again", right, nil, 201, ""},
			{"sent a third time", right, nil, 200, ""},
		} {
			if r := create(step.body, step.header...); r.Status != step.status || step.code != "" && r.String("error.code") != step.code {
				t.Errorf("a create of o+%s %s: %d %s, want %d %s", ending, step.name, r.Status, r.Body, step.status, step.code)
			}
		}
	}
}

// noting is a store that notes the names of the records of scenarios.
type noting struct {
	*memory.Store
	mu    sync.Mutex
	names []string
}

func (n *noting) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names = append(n.names, name)
	return n.Store.KeepSandboxRecord(ctx, name, data)
}

// left returns the names of the records that are there.
func (n *noting) left(t *testing.T) (left []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range n.names {
		switch _, err := n.SandboxRecord(t.Context(), name); {
		case err == nil:
			left = append(left, name)
		case !errors.Is(err, ports.ErrNotFound):
			t.Fatal(err)
		}
	}
	return left
}

// failing is a store that fails to write a record of a script, after some that it writes.
type failing struct {
	*memory.Store
	after atomic.Int32
}

func (f *failing) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	if strings.HasPrefix(name, "script/") && f.after.Add(-1) == -1 {
		return errors.New("the disk is full")
	}
	return f.Store.KeepSandboxRecord(ctx, name, data)
}

func TestAnEndingThatWasCutOffHappensInTheNextCreate(t *testing.T) {
	for _, tt := range []struct {
		ending          string
		after           int32
		request, status any
	}{
		{"setup_fails", 0, "cancelled", nil},
		{"setup_succeeds", 0, "fulfilled", "pending_submission"},
		{"mandate_failed", 0, "fulfilled", "failed"},
		{"mandate_failed", 1, "fulfilled", "failed"},
	} {
		store := &failing{Store: memory.New()}
		store.after.Store(tt.after)
		w := newWorld(t, store)
		body := sandbox.Order(sandbox.CatalogueCreate, "order-1+"+tt.ending)
		if r := w.Post(t, "KOWHAI", apiclient.CheckoutsPath, body); r.Status != http.StatusInternalServerError {
			t.Fatalf("a create that ends with %s, and is cut off: %d %s, want 500", tt.ending, r.Status, r.Body)
		}
		for range 2 {
			got := w.Get(t, "KOWHAI", w.Replay(t, "order-1+"+tt.ending).CheckoutPath())
			if got.At("direct_debit.billing_request_status") != tt.request || got.At("direct_debit.mandate_status") != tt.status {
				t.Errorf("%s, cut off after %d records and sent again: %s", tt.ending, tt.after, got.Body)
			}
		}
	}
}

// meeting is a store in which the first two moves of a clock wait for each other.
type meeting struct {
	*memory.Store
	moves atomic.Int32
	both  chan struct{}
}

func (m *meeting) HastenJobs(ctx context.Context, name string, data []byte, id string, by time.Duration) error {
	if m.moves.Add(1) == 2 {
		close(m.both)
	}
	<-m.both
	return m.Store.HastenJobs(ctx, name, data, id, by)
}

func TestALinkExpiresOnceThoughItsCreateIsSentTwiceAtOnce(t *testing.T) {
	w := newWorld(t, &meeting{Store: memory.New(), both: make(chan struct{})})
	const order = "order-1+link_expires"
	var twice sync.WaitGroup
	for range 2 {
		twice.Go(func() {
			r, err := apiclient.New(w.URL, w.Keys).Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, order))
			if err != nil || r.Status > http.StatusCreated {
				t.Errorf("create: %d %s, %v", r.Status, r.Body, err)
			}
		})
	}
	twice.Wait()
	ahead := moment(t, w.advance(t, w.Replay(t, order), "PT1S"), "clock").Sub(w.Clock.Now())
	if ahead < 6*day || ahead > 8*day {
		t.Errorf("the clock of the checkout is ahead by %v, want the week of one link", ahead)
	}
}

func TestNoRecordStaysOfAnOrderWithoutACheckout(t *testing.T) {
	store := &noting{Store: memory.New()}
	w := newWorld(t, store)
	for _, s := range scenario.All() {
		body := sandbox.Set(t, sandbox.Order(sandbox.CatalogueCreate, "order-1+"+string(s)), "student.email", "")
		if r := w.Post(t, "KOWHAI", apiclient.CheckoutsPath, body); r.Status != http.StatusBadRequest {
			t.Errorf("a wrong create that ends with %s: %d %s", s, r.Status, r.Body)
		}
	}
	if left := store.left(t); len(left) != 0 {
		t.Errorf("of wrong creates there are the records %q", left)
	}

	for _, order := range []string{"a+next_answer_503", "b+next_answer_503"} {
		if r := w.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, order)); r.Status != 503 {
			t.Fatalf("a create of %s: %d %s, want 503", order, r.Status, r.Body)
		}
	}
	tidyADayLater := func() {
		t.Helper()
		w.Clock.Forward(day)
		if err := scenario.Tidy(t.Context(), store, w.Clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	tidyADayLater()
	w.Create(t, "a+next_answer_503") // it was refused, and is not refused a day later
	tidyADayLater()
	if left := strings.Join(store.left(t), " "); strings.Contains(left, "refused/") {
		t.Errorf("two days later there are the records %s", left)
	}
	w.serve(t) // a process that does not know of the order
	w.Replay(t, "a+next_answer_503")
}
