package listen

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// world is a service and a receiver without a network.
type world struct {
	list     []entry
	faults   []fault        // of the service, for its next answers
	refuses  map[string]int // how many more attempts at an event are refused, by its id
	downTill time.Time      // nobody listens at the receiver's address until then

	environment string // of the service; "" is sandbox
	lists       fault  // of the list; zero for an answer

	adding             sync.Mutex // to the list
	got, printed, said []string   // ids, and lines
	keys               []string
	asked              []time.Time
	attempts           []int // numbers
}

type fault struct {
	status     int
	retryAfter string
}

const base, hook, secret = "http://sandbox.test", "http://localhost:3000/hook", "whsec_test"

// newWorld returns a world with events of checkouts, in their order: "aab" has two of a and one of b. Capitals are checkouts of
// another provider.
func newWorld(checkouts string) *world {
	w := &world{refuses: map[string]int{}}
	for i, c := range checkouts {
		at := time.Now().Add(time.Duration(i) * time.Millisecond)
		provider := "KOWHAI"
		if c < 'a' {
			provider = "TUI"
		}
		e := events.Created(events.Origin{RequestID: fmt.Sprint("req_", i), Environment: "sandbox", CreatedAt: at},
			events.Subject{ProviderCode: provider, OrderID: "ENROL-" + string(c), CheckoutID: string(c)}, "", "")
		w.list = append(w.list, entry{checkout.CursorAt(at).String(), string(e.Body), e})
	}
	return w
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// serve is the service.
func (w *world) serve(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	w.asked, w.keys = append(w.asked, time.Now()), append(w.keys, r.Header.Get("Authorization"))
	if w.lists.status > 0 && r.URL.Path == "/v1/events" {
		w.faults = []fault{w.lists}
	}
	if len(w.faults) > 0 {
		f := w.faults[0]
		w.faults = w.faults[1:]
		answer.Header().Set("Retry-After", f.retryAfter)
		answer.WriteHeader(f.status)
		fmt.Fprint(answer, `{"error": {"code": "FAULT"}}`)
		return answer.Result(), nil
	}
	if r.URL.Path == "/v1/environment" {
		answer.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
		fmt.Fprintf(answer, `{"environment": %q}`, cmp.Or(w.environment, "sandbox"))
		return answer.Result(), nil
	}
	after, ok := checkout.ParseCursor(r.URL.Query().Get("after"))
	if !ok {
		answer.WriteHeader(http.StatusBadRequest)
		return answer.Result(), nil
	}
	p := page{Next: after.String()}
	w.adding.Lock()
	defer w.adding.Unlock()
	for _, e := range w.list {
		if c, _ := checkout.ParseCursor(e.Cursor); c > after && len(p.Events) < 3 {
			p.Events, p.Next = append(p.Events, e), e.Cursor
		}
	}
	err := json.NewEncoder(answer).Encode(p)
	return answer.Result(), err
}

// thinking is the time between a receiver's taking of an event and its answer.
const thinking = 300 * time.Millisecond

// Send is the receiver.
func (w *world) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) (checkout.Answer, error) {
	if time.Now().Before(w.downTill) {
		return checkout.Answer{}, fmt.Errorf("send: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	}
	id := d.Event.ID
	if to.URL != hook || events.Verify(secret, d.Signature, d.Event.Body, time.Now(), time.Minute) != nil {
		w.said = append(w.said, "FORGED")
	}
	w.attempts = append(w.attempts, attempt)
	if w.refuses[id]--; w.refuses[id] >= 0 {
		return checkout.Answer{Status: 500}, errors.New("answered 500")
	}
	w.got = append(w.got, id)
	return checkout.Answer{Status: 204}, sleep(ctx, thinking)
}

// config returns the configuration of a listener from the beginning.
func (w *world) config() Config {
	return Config{BaseURL: base, Key: func() (string, error) { return "pck", nil }, ForwardTo: hook, Secret: secret, Since: time.Unix(1, 0),
		Taken: func(e events.Event, _ checkout.Attempt) error { w.printed = append(w.printed, e.ID); return nil },
		Say:   func(line string) { w.said = append(w.said, line) }}
}

// listens runs a listener for a time.
func (w *world) listens(t testing.TB, cfg Config, d time.Duration) error {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	l, err := open(cfg)
	if err != nil {
		return err
	}
	l.api.HTTP.Transport = transport(w.serve)
	l.sender = w
	return l.run(ctx)
}

// ids returns the ids of the events of a checkout, or of all for "".
func (w *world) ids(checkout string) (ids []string) {
	for _, e := range w.list {
		if checkout == "" || e.event.CheckoutID == checkout {
			ids = append(ids, e.event.ID)
		}
	}
	return ids
}

// life is the time of a listener until it is ended.
type life struct {
	down, lasts time.Duration // of the receiver, and of the listener
	faults      []fault
}

// Whatever the receiver refuses, whenever nobody listens, and whenever the listener is ended and started again: the receiver takes
// each event once, and the events of a checkout in their order.
func TestEachEventIsTakenOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		checkouts := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 12, -1).Draw(rt, "checkouts")
		refusals := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 1, 3, 5, 10}), 12, 12).Draw(rt, "refusals")
		lives := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) life {
			return life{time.Duration(rapid.IntRange(0, 20).Draw(rt, "down")) * time.Second,
				time.Duration(rapid.IntRange(0, 9000).Draw(rt, "lasts")) * time.Millisecond,
				rapid.SliceOfN(rapid.SampledFrom([]fault{{503, "2"}, {429, "1"}, {401, ""}}), 0, 2).Draw(rt, "faults")}
		}), 0, 4).Draw(rt, "lives")
		var w *world
		var fault error
		synctest.Test(t, func(t *testing.T) {
			w = newWorld(checkouts)
			for i, id := range w.ids("") {
				w.refuses[id] = refusals[i]
			}
			cfg := w.config()
			cfg.State = filepath.Join(t.TempDir(), "state")
			for _, l := range append(lives, life{lasts: 10 * time.Minute}) {
				w.downTill, w.faults = time.Now().Add(l.down), l.faults
				fault = errors.Join(fault, w.listens(t, cfg, l.lasts))
			}
		})
		if fault != nil {
			rt.Fatal(fault)
		}
		for _, c := range []string{"a", "b", "c"} {
			of := w.ids(c)
			got := slices.DeleteFunc(slices.Clone(w.got), func(id string) bool { return !slices.Contains(of, id) })
			if !slices.Equal(got, of) {
				rt.Fatalf("of checkout %s the receiver took\n%q, want\n%q\n%q", c, got, of, w.said)
			}
		}
		if !slices.Equal(w.got, w.printed) || slices.Contains(w.said, "FORGED") {
			rt.Fatalf("printed is\n%q, want\n%q\n%q", w.printed, w.got, w.said)
		}
	})
}

func TestARefusedCheckoutHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("aabab")
		all := w.ids("")
		w.refuses[all[0]] = 1 << 30
		if err := w.listens(t, w.config(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if want := w.ids("b"); !slices.Equal(w.got, want) {
			t.Errorf("taken %q, want those of b, %q", w.got, want)
		}
		if n := len(w.attempts); n < 3*60 || n > 3*70 { // a run a minute
			t.Errorf("%d attempts in an hour", n)
		}
	})
}

// The service keeps a log of its provider's requests, which a listener must not fill overnight.
func TestALongSilenceIsAskedAboutLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		if err := w.listens(t, w.config(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if n := len(w.asked); n < 60 || n > 65 {
			t.Errorf("asked %d times in the first minute", n)
		}
		w.asked = nil
		if err := w.listens(t, w.config(), 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		if n := len(w.asked); n > 9000 {
			t.Errorf("asked %d times in a day", n)
		}
	})
}

// While nobody listens at the receiver's address no event is passed over, and that is said once.
func TestEverythingWaitsForAReceiverThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("abcab")
		w.downTill = time.Now().Add(time.Hour)
		if err := w.listens(t, w.config(), 2*time.Hour); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.got, w.ids("")) || len(w.said) != 1 || !strings.Contains(w.said[0], "everything waits") {
			t.Errorf("taken %q of %q, and said %q", w.got, w.ids(""), w.said)
		}
	})
}

func TestMoreThanAHundredEventsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(strings.Repeat("a", 2*maxWaiting))
		w.refuses[w.ids("")[0]] = 7
		if err := w.listens(t, w.config(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.got, w.ids("")) {
			t.Errorf("taken are %d of %d", len(w.got), len(w.list))
		}
	})
}

func TestAttemptsAreCountedAsTheServiceDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.refuses[w.ids("")[0]] = 5
		if err := w.listens(t, w.config(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if want := []int{1, 2, 3, 1, 2, 3}; !slices.Equal(w.attempts, want) {
			t.Errorf("attempts %v, want %v", w.attempts, want)
		}
	})
}

// The service is asked again when it says, and what is wrong is said once.
func TestAFailureOfTheServiceIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.faults = []fault{{503, "60"}, {503, "60"}, {429, "7"}, {401, ""}}
		key := "old"
		cfg := w.config()
		cfg.Key = func() (string, error) { return key, nil }
		cfg.Say = func(line string) { w.said, key = append(w.said, line), "new" }
		if err := w.listens(t, cfg, time.Hour); err != nil {
			t.Fatal(err)
		}
		var waits []time.Duration
		for i := range 4 {
			waits = append(waits, w.asked[i+1].Sub(w.asked[i]))
		}
		if want := []time.Duration{60 * time.Second, 60 * time.Second, 7 * time.Second, 8 * time.Second}; !slices.Equal(waits, want) {
			t.Errorf("waited %v, want %v", waits, want)
		}
		if len(w.said) != 3 || len(w.got) != 1 || w.keys[0] != "Bearer old" || w.keys[4] != "Bearer new" {
			t.Errorf("said %q, got %q with the keys %q", w.said, w.got, w.keys)
		}
	})
}

// A service cannot silence the listener, or have it ask without a pause.
func TestTheLongestWaitIsAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a")
		w.faults = []fault{{503, "99999999999"}, {503, "9223372036854775807"}}
		if err := w.listens(t, w.config(), 3*time.Hour); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if wait := w.asked[i+1].Sub(w.asked[i]); wait != time.Hour {
				t.Errorf("waited %v, want an hour", wait)
			}
		}
	})
}

func TestAWrongQuestionEndsTheListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(*world, *Config){
			"no such service":   func(w *world, _ *Config) { w.faults = []fault{{404, ""}} },
			"production":        func(w *world, _ *Config) { w.environment = "production" },
			"an altered event":  func(w *world, _ *Config) { w.list[0].Body = "{}" },
			"another's place":   func(_ *world, c *Config) { c.State = kept(t, `{"base_url": "http://other.test"}`) },
			"no cursor":         func(_ *world, c *Config) { c.State = kept(t, `{"base_url": "`+base+`", "next": "x"}`) },
			"another program's": func(_ *world, c *Config) { c.State = kept(t, `{"name": "site", "version": "1.0.0"}`) },
			"no place":          func(_ *world, c *Config) { c.State = kept(t, `{"base_url": "`+base+`"}`) },
			"no object":         func(_ *world, c *Config) { c.State = kept(t, `null`) },
			"a state of others": func(_ *world, c *Config) { c.State = kept(t, `PK`) },
			"an altered state": func(_ *world, c *Config) {
				c.State = kept(t, `{"base_url": "`+base+`", "next": "1", "waiting": [{"cursor": "1", "body": "{}"}]}`)
			},
		} {
			w := newWorld("a")
			cfg := w.config()
			change(w, &cfg)
			before, _ := os.ReadFile(cfg.State)
			if err := w.listens(t, cfg, time.Hour); err == nil || len(w.got) > 0 {
				t.Errorf("%s: got %q, %v; want an error", name, w.got, err)
			}
			if after, _ := os.ReadFile(cfg.State); name == "another program's" && string(after) != string(before) {
				t.Errorf("%s: the file has %s now, and had %s", name, after, before)
			}
		}
	})
}

// A key of another provider does not go on from the place, and a new key of its own does.
func TestAPlaceIsOfOneProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, others := newWorld("a"), newWorld("BB")
		cfg := w.config()
		cfg.State = filepath.Join(t.TempDir(), "state")
		if err := w.listens(t, cfg, time.Minute); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(cfg.State)
		err := others.listens(t, cfg, time.Minute)
		if err == nil || !strings.Contains(err.Error(), "KOWHAI") || !strings.Contains(err.Error(), "TUI") || len(others.got) > 0 {
			t.Errorf("the other provider's receiver got %q, %v", others.got, err)
		}
		if after, _ := os.ReadFile(cfg.State); string(after) != string(before) {
			t.Errorf("the file has %s now, and had %s", after, before)
		}
		cfg.Key = func() (string, error) { return "pck_new", nil }
		w.list = append(w.list, newWorld("c").list...)
		if err := w.listens(t, cfg, time.Minute); err != nil || !slices.Equal(w.got, w.ids("")) {
			t.Errorf("with a new key the receiver got %q, %v; want %q", w.got, err, w.ids(""))
		}
	})
}

// kept returns a file with a text.
func kept(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "state")
	if err := privatefile.Replace(file, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return file
}

// A listener that is ended before it knows the end of the list has no place yet.
func TestABeginningThatIsCutShortKeepsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("aaaaa")
		cfg := w.config()
		cfg.Since, cfg.State = time.Time{}, filepath.Join(t.TempDir(), "state")
		w.lists = fault{503, "60"}
		if err := w.listens(t, cfg, time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(cfg.State); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("there is a place: %v", err)
		}
	})
}

func TestMain(m *testing.M) { testlevel.Main(m, 25) }
