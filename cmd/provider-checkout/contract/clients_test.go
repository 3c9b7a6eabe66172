package contract_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

const (
	typeScriptClient = "../../../adapters/clients/typescript"
	pythonClient     = "../../../adapters/clients/python"
)

// nodeClient is a folder with the compiled client for TypeScript among its packages.
var nodeClient = sync.OnceValues(func() (folder string, err error) {
	folder, err = os.MkdirTemp("", "provider-checkout-client-")
	if err != nil {
		return "", err
	}
	installed := filepath.Join(folder, "node_modules", "provider-checkout")
	if err := os.CopyFS(installed, os.DirFS(typeScriptClient)); err != nil {
		return folder, err
	}
	out, err := exec.Command("tsc", "--project", installed).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("tsc: %w\n%s", err, out)
	}
	return folder, err
})

// dependOnPrograms has the results of the tests depend on the programs that they run: go test would otherwise answer from its
// cache, for it does not see what interpreters and compilers read.
func dependOnPrograms(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"../../../adapters/clients", "../../../testdata/recipes", "testdata/exercise"} {
		err := filepath.WalkDir(folder, func(_ string, _ os.DirEntry, err error) error { return err })
		if err != nil {
			t.Fatal(err)
		}
	}
}

// forNode returns a copy of a program, beside which Node finds the client.
func forNode(t *testing.T, source string) string {
	t.Helper()
	installed, err := nodeClient()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	copied := filepath.Join(folder, filepath.Base(source))
	if err := os.WriteFile(copied, read(t, source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type": "module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return copied
}

// alone leaves out a test of the clients without the service, which is to run once.
func alone(t *testing.T) {
	t.Helper()
	testlevel.Full(t)
	dependOnPrograms(t)
	if *simulated != "" {
		t.Skip("the clients are the same over any system")
	}
}

// recipesWith returns the recipes whose names end so and that use the client.
func recipesWith(t *testing.T, end string) []string {
	t.Helper()
	programs, err := filepath.Glob(recipeFile("*" + end))
	if err != nil || len(programs) == 0 {
		t.Fatal(programs, err)
	}
	return slices.DeleteFunc(programs, func(name string) bool { return strings.Contains(name, "verify_") })
}

// A provider may use the recipes for Node as TypeScript.
func TestRecipesForNodeAreTyped(t *testing.T) {
	alone(t)
	t.Parallel()
	program := forNode(t, "testdata/exercise/node.d.ts")
	args := []string{"--strict", "--noEmit", "--target", "ES2022", "--module", "Node16", program}
	for _, name := range recipesWith(t, ".mjs") {
		program = filepath.Join(filepath.Dir(program), strings.Replace(filepath.Base(name), ".mjs", ".mts", 1))
		if err := os.WriteFile(program, read(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, program)
	}
	if out, err := exec.CommandContext(t.Context(), "tsc", args...).CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, out)
	}
}

// The compiler checks the client for TypeScript when the tests build it.
func TestClientForPythonAndItsRecipesAreTyped(t *testing.T) {
	alone(t)
	t.Parallel()
	programs := recipesWith(t, ".py")
	args := append([]string{"--strict", "--scripts-are-modules", "--cache-dir", t.TempDir()}, programs...)
	cmd := exec.CommandContext(t.Context(), "mypy", append(args, "testdata/exercise/exercise.py")...)
	cmd.Env = append(os.Environ(), "MYPYPATH="+pythonClient)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("mypy: %v\n%s", err, out)
	}
}

// A student is enrolled at the demonstration, by the program as it is.
func TestClientsEnrolAtTheDemonstration(t *testing.T) {
	alone(t)
	t.Parallel()
	cmd := proc.Build(t).Command("demo", "--addr", "127.0.0.1:0")
	cmd.Env = append(cmd.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	demo := proc.Start(t, cmd)
	guide := proc.ReadUntil(bufio.NewScanner(out), "# The events")
	go io.Copy(io.Discard, out) // the events
	said := regexp.MustCompile(`(?m)^BASE=.+|^KEY=.+`).FindAllString(guide, -1)
	payer := func(t *testing.T, address string) {
		if err := apiclient.NewBrowser(http.DefaultClient).SetUp(t.Context(), address); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("by recipes", func(t *testing.T) {
		for _, r := range recipes {
			t.Run(r.language, func(t *testing.T) {
				t.Parallel()
				enrol := recipe(t, r.interpreter, r.checkout)
				enrol.Env = append(append(enrol.Environ(), said...), "PROVIDER=KOWHAI", "ORDER=RECIPE-"+r.language, "COURSE=NZDIP-BUS",
					"FIRST_PAYMENT="+time.Now().AddDate(0, 0, 14).Format(time.DateOnly))
				if printed := enrolsBy(t, enrol, payer); !strings.HasPrefix(printed, "agreement PPA-") {
					t.Errorf("the recipe prints %q", printed)
				}
			})
		}
	})
	demo.Stop(t, syscall.SIGINT)
}

// answerOf is one answer of the misbehaving server.
type answerOf struct {
	status int // 0: the connection is cut, -1: nothing comes within the client's time-out
	after  string
	body   string
}

const goodAnswer = `{"success": true, "checkout": {"checkout_id": "A-1-b", "status": "confirmed"}}`

// misbehaviours are calls of the client, each with the answers to its attempts.
var misbehaviours = []struct {
	name    string
	answers []answerOf
	want    string
	waits   []time.Duration // at least, before the attempts after the first
}{
	{"answered", []answerOf{{200, "", goodAnswer}}, "answered", nil},
	{"cut", []answerOf{{}, {200, "", goodAnswer}}, "answered", []time.Duration{time.Second}},
	{"cut-short", []answerOf{{200, "", `{"success":`}, {200, "", goodAnswer}}, "answered", []time.Duration{time.Second}},
	{"slow", []answerOf{{status: -1}, {200, "", goodAnswer}}, "answered", []time.Duration{11 * time.Second}},
	{"busy", []answerOf{{503, "2", ""}, {200, "", goodAnswer}}, "answered", []time.Duration{2 * time.Second}},
	{"limited", []answerOf{{429, "2", ""}, {200, "", goodAnswer}}, "answered", []time.Duration{2 * time.Second}},
	{"failed", []answerOf{{500, "", ""}, {502, "", "<html>"}, {200, "", goodAnswer}}, "answered",
		[]time.Duration{time.Second, 2 * time.Second}},
	{"gone", []answerOf{{}, {}, {}}, "lost", []time.Duration{time.Second, 2 * time.Second}},
	{"never", []answerOf{{503, "1", ""}, {503, "1", ""}, {503, "1", `{"error": {"code": "INTERNAL_ERROR"}}`}}, "503 INTERNAL_ERROR",
		[]time.Duration{time.Second, time.Second}},
	{"away", []answerOf{{503, "61", ""}}, "503 ", nil},
	{"foreign", []answerOf{{404, "", `{"error": "no such site"}`}}, "404 ", nil},
	{"redirected", []answerOf{{307, "", ""}}, "307 ", nil},
	{"refused", []answerOf{{400, "", `{"error": {"code": "VALIDATION_ERROR", "message": "wrong",
		"details": [{"field": "student.email", "message": "is required"}]}}`}}, "400 VALIDATION_ERROR student.email", nil},
}

// misbehaving is a server whose answers go wrong.
type misbehaving struct {
	mu    sync.Mutex
	sent  map[string][]string // requests, by the last step of their paths
	times map[string][]time.Time
}

func (m *misbehaving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a client that goes away is part of the test
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	m.mu.Lock()
	m.sent[name] = append(m.sent[name], strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("Authorization"),
		r.Header.Get("Idempotency-Key"), string(body)}, " "))
	m.times[name] = append(m.times[name], time.Now())
	count := len(m.sent[name])
	m.mu.Unlock()
	if name == "provider-checkouts" {
		if count == 1 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"success": true, "pricing": {"course_price": 1000.10}, "plan": {"number_of_instalments": 3}}`)
		return
	}
	for _, c := range misbehaviours {
		if c.name == name && count <= len(c.answers) {
			c.answers[count-1].send(w, r)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

func (a answerOf) send(w http.ResponseWriter, r *http.Request) {
	switch a.status {
	case 0:
		panic(http.ErrAbortHandler)
	case -1:
		<-r.Context().Done()
		return
	case http.StatusTemporaryRedirect:
		w.Header().Set("Location", "/v1/provider-checkouts/answered")
	}
	if a.after != "" {
		w.Header().Set("Retry-After", a.after)
	}
	if a.status == http.StatusOK && a.body != goodAnswer {
		w.Header().Set("Content-Length", "100")
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// The clients in all languages have the same rules, which an exercise in each of them shows.
func TestClientsKeepTheRulesOfRetriesSignaturesAndAmounts(t *testing.T) {
	alone(t)
	t.Parallel()
	want := "vectors: 0 wrong\ncreated: 1000.10 3 <nil>\n"
	var names []string
	for _, c := range misbehaviours {
		names = append(names, c.name)
		want += c.name + ": " + c.want + "\n"
	}
	for language, program := range map[string]string{"Go": "", "TypeScript": "exercise.ts", "Python": "exercise.py"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			m := &misbehaving{sent: map[string][]string{}, times: map[string][]time.Time{}}
			mux := http.NewServeMux()
			mux.Handle("/v1/", m)
			mux.HandleFunc("/vectors", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(read(t, "../../../testdata/signatures.json"))
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			server.Config.SetKeepAlivesEnabled(false) // Go's transport would repeat a poll itself on a connection that was kept
			cmd := exercise(t, program)
			cmd.Args = append(cmd.Args, names...)
			cmd.Env = append(cmd.Environ(), "BASE="+server.URL)
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
				t.Errorf("%v, the exercise prints\n%s\nwant\n%s", err, out, want)
			}
			m.check(t)
		})
	}
}

// check checks that each request was repeated as it was, not too soon, and not by many clients at once.
func (m *misbehaving) check(t *testing.T) {
	t.Helper()
	created := m.sent["provider-checkouts"]
	const begins = "POST /v1/provider-checkouts Bearer pck_1 mine "
	if len(created) != 2 || created[0] != created[1] || !strings.HasPrefix(created[0], begins) {
		t.Fatalf("the create was sent as %q, want the same twice, with its Idempotency-Key", created)
	}
	var waits, spread int
	for _, c := range misbehaviours {
		sent, times := m.sent[c.name], m.times[c.name]
		if len(sent) != len(c.waits)+1 || len(slices.Compact(slices.Clone(sent))) != 1 {
			t.Errorf("%s: sent %q, want the same %d times", c.name, sent, len(c.waits)+1)
			continue
		}
		for i, least := range c.waits {
			from := times[i]
			if c.answers[i].status == -1 { // the client's time-out began before the call was here, but after the last create
				from = m.times["provider-checkouts"][1]
			}
			if wait := times[i+1].Sub(from); wait < least-10*time.Millisecond { // timers may be a little early
				t.Errorf("%s: attempt %d came after %v, want %v at least", c.name, i+2, wait, least)
			} else if waits++; wait > least+least/20 {
				spread++
			}
		}
	}
	if spread < waits/4 { // four in five are, by chance
		t.Errorf("%d of %d waits were longer than they had to be, want most of them up to a quarter longer", spread, waits)
	}
	compact := strings.ReplaceAll(strings.Join(created, ""), ": ", ":")
	if !strings.Contains(compact, `"course_price":1000.10,`) || !strings.Contains(compact, `"number_of_instalments":3,`) {
		t.Errorf("the create was sent as %q, want its amounts as exact numbers", created)
	}
}

// exercise returns the command that runs an exercise; "" is that for Go.
func exercise(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	source := filepath.Join("testdata", "exercise", program)
	switch filepath.Ext(program) {
	case ".ts":
		source = forNode(t, source)
		tsc := exec.Command("tsc", "--strict", "--target", "ES2022", "--module", "Node16", source)
		if out, err := tsc.CombinedOutput(); err != nil {
			t.Fatalf("tsc: %v\n%s", err, out)
		}
		return exec.CommandContext(t.Context(), "node", strings.TrimSuffix(source, ".ts")+".js")
	case ".py":
		return inPython(exec.CommandContext(t.Context(), "python3", source))
	}
	built := filepath.Join(t.TempDir(), "exercise")
	if out, err := exec.Command("go", "build", "-o", built, "./"+filepath.ToSlash(source)).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exec.CommandContext(t.Context(), built)
}

// inPython lets a command find the client for Python.
func inPython(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(cmd.Environ(), "PYTHONPATH="+pythonClient, "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}
