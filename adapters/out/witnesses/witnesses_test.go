package witnesses_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	f_note "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/witness/persistence/inmemory"
	public "github.com/transparency-dev/witness/witness"
	"golang.org/x/mod/sumdb/note"

	"github.com/provider-checkout/provider-checkout/adapters/out/witnesses"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

const origin = "log.test"

// log is an evidence log that is sealed by hand.
type log struct {
	*memory.Store
	keys evidence.Keys
	n    int
}

func newLog(t *testing.T) *log {
	t.Helper()
	private, err := evidence.NewKey(origin, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := evidence.ParseKeys(private)
	if err != nil {
		t.Fatal(err)
	}
	return &log{Store: memory.New(), keys: keys}
}

// seal seals further entries, and returns the checkpoint.
func (l *log) seal(t *testing.T, entries int) []byte {
	t.Helper()
	for range entries {
		l.n++
		if err := l.RecordEvidence(t.Context(), evidence.Entry{ID: fmt.Sprint(l.n), Leaf: fmt.Append(nil, rand.Text()), At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	var signed []byte
	err := l.SealEvidence(t.Context(), entries, func(h evidence.Head, all []evidence.Entry) (s evidence.Sealing, err error) {
		for _, e := range all {
			s.Places = append(s.Places, evidence.Place{ID: e.ID, Position: h.Size, Nodes: h.Append(e.Leaf)})
		}
		h.Checkpoint, err = l.keys.Sign(evidence.Checkpoint{Size: h.Size, Root: h.Root(), At: time.Now()})
		s.Head, signed = h, h.Checkpoint
		return s, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func (l *log) newest(ctx context.Context) ([]byte, error) {
	head, err := l.EvidenceHead(ctx)
	return head.Checkpoint, err
}

// judge is a witness of the public network, which is reached without a network.
type judge struct {
	t        *testing.T
	handler  *public.HTTPHandler
	key      note.Verifier
	line     string // of the list
	statuses []int  // of its answers

	mu     sync.Mutex
	before http.HandlerFunc // in its place, where there is one
}

func newJudge(t *testing.T, name string, l *log) *judge {
	t.Helper()
	private, plain, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := f_note.NewSignerForCosignatureV1(private)
	if err != nil {
		t.Fatal(err)
	}
	vkey, err := f_note.VKeyToCosignatureV1(plain)
	if err != nil {
		t.Fatal(err)
	}
	of, err := note.NewVerifier(l.keys.Public())
	if err != nil {
		t.Fatal(err)
	}
	w, err := public.New(t.Context(), public.Opts{Persistence: inmemory.New(), Signers: []note.Signer{signer},
		VerifierForLog: func(_ context.Context, name string) (note.Verifier, bool, error) { return of, name == origin, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return &judge{t: t, handler: public.NewHTTPHandler(w), key: signer.Verifier(), line: vkey + " https://" + name + "/prefix/\n"}
}

// RoundTrip implements [http.RoundTripper].
func (j *judge) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	j.mu.Lock()
	before := j.before
	j.mu.Unlock()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/prefix/add-checkpoint":
		j.t.Errorf("%s %s is asked for", r.Method, r.URL)
	case before != nil:
		before(w, r)
	default:
		j.handler.AddCheckpoint(w, r)
		j.mu.Lock()
		j.statuses = append(j.statuses, w.Code)
		j.mu.Unlock()
	}
	return w.Result(), r.Context().Err()
}

// network reaches judges by the names of their hosts.
type network []*judge

// RoundTrip implements [http.RoundTripper].
func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, j := range n {
		if r.URL.Host == j.key.Name() {
			return j.RoundTrip(r)
		}
	}
	return nil, errors.New("no route to " + r.URL.Host)
}

// answers has the judge answer so; as a witness does, for nil.
func (j *judge) answers(h http.HandlerFunc) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.before = h
}

// asking is a run of the witnesses of a log.
type asking struct {
	witnesses.Witnesses
	reports chan string // lines of its log
	stop    func()
}

// Write has a line of the log for a report.
func (a *asking) Write(line []byte) (int, error) {
	a.reports <- string(line)
	return len(line), nil
}

func newAsking(t *testing.T, l *log, judges ...*judge) *asking {
	t.Helper()
	a := &asking{reports: make(chan string, 100)}
	a.Witnesses = witnesses.Witnesses{List: listOf(t, judges...), Store: l.Store, Keys: l.keys, Newest: l.newest, Transport: network(judges),
		Log: slog.New(slog.NewTextHandler(a, nil))}
	return a
}

// start runs the task until the end of the test.
func (a *asking) start(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if _, _, err := a.Run(ctx, ""); err != nil {
			t.Error(err)
		}
	})
	a.stop = func() { stop(); running.Wait() }
	t.Cleanup(a.stop)
}

func ask(t *testing.T, l *log, judges ...*judge) *asking {
	t.Helper()
	a := newAsking(t, l, judges...)
	a.start(t)
	return a
}

func listOf(t *testing.T, judges ...*judge) *witnesses.List {
	t.Helper()
	text := "# witnesses of the log\n\n"
	for _, j := range judges {
		text += j.line
	}
	list, err := witnesses.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// reported waits for a report that says this.
func (a *asking) reported(t *testing.T, want string) {
	t.Helper()
	select {
	case line := <-a.reports:
		if !strings.Contains(line, want) {
			t.Errorf("reported is %s, want %q", line, want)
		}
	case <-time.After(time.Hour):
		t.Errorf("nothing is reported, want %q", want)
	}
}

// cosigned waits until all of them have cosigned the newest checkpoint, and returns it.
func (l *log) cosigned(t *testing.T, by ...*judge) (newest []byte) {
	t.Helper()
	for limit := time.Now().Add(time.Hour); time.Now().Before(limit); time.Sleep(time.Second) {
		all := true
		var err error
		if newest, err = l.newest(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, j := range by {
			all = all && evidence.Cosigned(newest, j.key)
		}
		if all {
			return newest
		}
	}
	t.Fatalf("not cosigned by all: %s", newest)
	return nil
}

// Witnesses of the public network cosign every checkpoint; what the log says is as before, with their lines below.
func TestPublicWitnessesCosign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		one, two := newJudge(t, "one", l), newJudge(t, "two", l)
		a := ask(t, l, one, two)
		for _, entries := range []int{1, 0, 3, 5, 1} {
			signed := l.seal(t, entries)
			cosigned := l.cosigned(t, one, two)
			if !strings.HasPrefix(string(cosigned), string(signed)) || strings.Count(string(cosigned), "\n— ") != 3 {
				t.Errorf("%s is cosigned as %s", signed, cosigned)
			}
		}
		a.stop()
		b := ask(t, l, one, two) // of another process, which the witnesses tell what they know
		l.seal(t, 2)
		l.cosigned(t, one, two)
		if want := []int{200, 200, 200, 200, 200, 409, 200}; !slices.Equal(one.statuses, want) || !slices.Equal(two.statuses, want) {
			t.Errorf("the witnesses answer %v and %v, want %v", one.statuses, two.statuses, want)
		}
		if len(a.reports)+len(b.reports) > 0 {
			t.Errorf("something is reported")
		}
	})
}

// A witness that is away delays no other. It is reported once, and its cosignature comes when it is back.
func TestAWitnessThatIsAwayIsAskedAgain(t *testing.T) {
	for name, away := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"an error": {unavailable, `level=ERROR msg="a witness does not cosign" witness=one error="it answered 503"`},
		"silence":  {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, `witness=one error="context deadline exceeded"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLog(t)
				one, two := newJudge(t, "one", l), newJudge(t, "two", l)
				const hours = 3
				var asked atomic.Int64
				one.answers(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); away.answer(w, r) })
				a := ask(t, l, one, two)
				for range 60 * hours {
					l.seal(t, 1)
					start := time.Now()
					if l.cosigned(t, two); time.Since(start) > 3*time.Second {
						t.Fatalf("the other witness has cosigned after %s", time.Since(start))
					}
					time.Sleep(time.Minute)
				}
				a.reported(t, away.says)
				if n := asked.Load(); n < 80*hours || n > 130*hours {
					t.Errorf("it is asked %d times in %d hours", n, hours)
				}
				one.answers(nil)
				l.cosigned(t, one, two)
				a.reported(t, "level=INFO msg=\"a witness cosigns again\" witness=one")
				if len(a.reports) > 0 {
					t.Errorf("also reported is %v", <-a.reports)
				}
			})
		})
	}
}

func unavailable(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
}

func TestBadAnswersAreNotKept(t *testing.T) {
	text := func(status int, text string) func(*judge) http.HandlerFunc {
		return func(*judge) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				fmt.Fprint(w, text)
			}
		}
	}
	for name, tt := range map[string]struct {
		answer func(namesake *judge) http.HandlerFunc
		says   string
	}{
		"nothing":              {text(200, ""), evidence.ErrCosignature.Error()},
		"no signature":         {text(200, "hello\n"), evidence.ErrCosignature.Error()},
		"another's signature":  {func(namesake *judge) http.HandlerFunc { return namesake.handler.AddCheckpoint }, evidence.ErrCosignature.Error()},
		"a megabyte":           {text(200, strings.Repeat("— one AAAAAAA=\n", 1<<16)), evidence.ErrCosignature.Error()},
		"a redirect":           {text(307, ""), "it answered 307"},
		"an unknown log":       {text(404, ""), "it answered 404"},
		"an unknown key":       {text(403, ""), "it answered 403"},
		"a fork":               {text(422, ""), "the store was restored or changed"},
		"a larger log":         {text(409, "4\n"), "has cosigned a log of 4 entries, and this one has 3"},
		"other sizes for ever": {text(409, "2\n"), "it answered 409"},
		"a negative size":      {text(409, "-2\n"), "it answered 409"},
		"a size over 63 bits":  {text(409, "9223372036854775808"), "it answered 409"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLog(t)
				signed := l.seal(t, 3)
				one := newJudge(t, "one", l)
				one.answers(tt.answer(newJudge(t, "one", l)))
				a := ask(t, l, one)
				a.reported(t, tt.says)
				time.Sleep(time.Hour)
				if newest, err := l.newest(t.Context()); err != nil || string(newest) != string(signed) || len(a.reports) > 0 {
					t.Errorf("kept is %s, %v, with %d more reports", newest, err, len(a.reports))
				}
			})
		})
	}
}

// A cosignature that comes when another checkpoint is the newest is left out.
func TestLateCosignaturesAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		one := newJudge(t, "one", l)
		late := ""
		one.answers(func(w http.ResponseWriter, r *http.Request) {
			if late == "" {
				late = "sealed"
				l.seal(t, 2)
			}
			one.handler.AddCheckpoint(w, r)
		})
		l.seal(t, 3)
		a := ask(t, l, one)
		if c, err := l.keys.Open(l.cosigned(t, one)); err != nil || c.Size != 5 || len(a.reports) > 0 {
			t.Errorf("cosigned is %v, %v, with %d reports", c, err, len(a.reports))
		}
	})
}

// busy is a store that has no time for the first cosignature.
type busy struct {
	*memory.Store
	asked int
}

func (b *busy) SealEvidence(ctx context.Context, limit int, seal func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	if b.asked++; b.asked == 1 {
		return ports.ErrBusy
	}
	return b.Store.SealEvidence(ctx, limit, seal)
}

func TestACosignatureThatABusyStoreDidNotTakeIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		one := newJudge(t, "one", l)
		l.seal(t, 3)
		a := newAsking(t, l, one)
		a.Store = &busy{Store: l.Store}
		a.start(t)
		l.cosigned(t, one)
	})
}

// A process that was stopped has an old checkpoint when it goes on, and another process has had a newer one cosigned meanwhile.
func TestAnOldCheckpointAccusesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		one := newJudge(t, "one", l)
		old, before := l.seal(t, 3), time.Now().Add(time.Minute)
		a := newAsking(t, l, one)
		a.Newest = func(ctx context.Context) ([]byte, error) {
			if time.Now().Before(before) {
				return old, nil
			}
			return l.newest(ctx)
		}
		l.seal(t, 2)
		ask(t, l, one)
		l.cosigned(t, one)
		a.start(t)
		time.Sleep(2 * time.Minute)
		l.seal(t, 1)
		l.cosigned(t, one)
		if len(a.reports) > 0 {
			t.Errorf("reported is %s", <-a.reports)
		}
	})
}

// A store that was rolled back is found by the witness alone: while the log is smaller than it was, and when it has grown otherwise.
func TestRollbacksAreFound(t *testing.T) {
	for entries, says := range map[int]string{3: "has cosigned a log of 5 entries, and this one has 3",
		5: "the store was restored or changed", 8: "the store was restored or changed"} {
		t.Run(fmt.Sprint(entries), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLog(t)
				one := newJudge(t, "one", l)
				a := ask(t, l, one)
				l.seal(t, 5)
				l.cosigned(t, one)
				a.stop()
				l.Store, l.n = memory.New(), 0
				l.seal(t, entries)
				ask(t, l, one).reported(t, says)
			})
		})
	}
}

// What another process got of a witness is seen too.
func TestSeenIsTheTimeOfTheNewestCosignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		one, two := newJudge(t, "one", l), newJudge(t, "two", l)
		two.answers(unavailable)
		ask(t, l, one, two)
		away := errors.New("the store is away")
		other := newAsking(t, l, one, two) // of a process that asks nobody
		other.Newest = func(ctx context.Context) ([]byte, error) {
			if away != nil {
				return nil, away
			}
			return l.newest(ctx)
		}
		seen := make(map[string]func() float64)
		other.EachSeen(func(name string, f func() float64) { seen[name] = f })
		l.seal(t, 2)
		l.cosigned(t, one)
		now := float64(time.Now().Unix())
		for name, want := range map[string]float64{"one": now, "two": 0} {
			away = errors.New("the store is away")
			if got := seen[name](); got != 0 {
				t.Errorf("%s: seen at %v before anything was", name, got)
			}
			if away = nil; seen[name]() != want {
				t.Errorf("%s: seen at %v, want %v", name, seen[name](), want)
			}
		}
		away = errors.New("the store is away")
		if time.Sleep(time.Hour); seen["one"]() != now {
			t.Errorf("without the store: seen at %v, want %v", seen["one"](), now)
		}
	})
}

// Nothing is asked, and no witness blamed, while there is no checkpoint that can be read.
func TestWitnessesAreNotBlamedForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		one := newJudge(t, "one", l)
		a := ask(t, l, one)
		time.Sleep(time.Minute) // before the first checkpoint
		l.keys = newLog(t).keys
		other, err := evidence.NewKey("other", [32]byte{9})
		if err != nil {
			t.Fatal(err)
		}
		if l.keys, err = evidence.ParseKeys(other); err != nil {
			t.Fatal(err)
		}
		l.seal(t, 1) // by a key that is not the log's
		time.Sleep(time.Minute)
		if len(one.statuses) > 0 || len(a.reports) > 0 {
			t.Errorf("it was asked %d times, with %d reports", len(one.statuses), len(a.reports))
		}
	})
}

// Over a network, a witness that streams for ever is left after the time limit or the longest answer.
func TestAnswersAreBounded(t *testing.T) {
	l := newLog(t)
	one := newJudge(t, "one", l)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, strings.Repeat("— one AAAAAAA=\n", 1000)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	key, _, _ := strings.Cut(one.line, " ")
	one.line = key + " " + server.URL
	a := newAsking(t, l, one)
	l.seal(t, 1)
	a.Transport = nil
	a.start(t)
	a.reported(t, evidence.ErrCosignature.Error())
}

func TestListsAreRefused(t *testing.T) {
	j := newJudge(t, "one", newLog(t))
	key, _, _ := strings.Cut(j.line, " ")
	plain := newLog(t).keys.Public()
	for name, text := range map[string]string{
		"a key without a URL":       key,
		"a URL without a key":       "https://witness.example",
		"a key of another kind":     plain + " https://witness.example",
		"half a key":                key[:len(key)-5] + " https://witness.example",
		"http":                      key + " http://witness.example",
		"another scheme":            key + " ftp://witness.example",
		"no host":                   key + " https:///x",
		"more words":                key + " https://witness.example x",
		"the same name twice":       j.line + j.line,
		"a key in a comment's line": "one # " + j.line,
	} {
		if _, err := witnesses.Parse([]byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for name, text := range map[string]string{"": "", "comments": " # none\n\n", "https": key + "\thttps://witness.example/x # the provider's",
		"loopback": key + " http://127.0.0.1:1"} {
		if _, err := witnesses.Parse([]byte(text)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("witness.example/w1+aa+bb https://witness.example # comment\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := witnesses.Parse(text)
		if (list == nil) != (err != nil) {
			t.Errorf("Parse(%q) = %v, %v", text, list, err)
		}
	})
}
