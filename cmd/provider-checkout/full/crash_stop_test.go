package full_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// storeFiles are the files of a store that is not open.
const storeFiles = "records.db records.db.secret"

// The first start creates the store and its secret. It is killed soon after it created one of the files, in
// the middle of the next step.
func (b suite) finishesAKilledFirstStart(t *testing.T) {
	const kills = 45
	rng, half := newRand(), 0
	for n := range kills {
		dir := t.TempDir()
		path := filepath.Join(dir, "records.db")
		store := "sqlite:" + path
		p := b.Serve(t, store)
		awaitFile(t, path+[]string{"", "-wal", ".secret"}[n%3])
		<-time.After(within(rng, 0, 3*time.Millisecond))
		p.Kill(t)
		ownersAlone(t, dir)
		if !strings.Contains(p.Log(), "listening") {
			half++
		}
		p = b.Serve(t, store)
		p.Listening(t)
		p.Stop(t, syscall.SIGTERM)
		if left := ownersAlone(t, dir); left != storeFiles {
			t.Errorf("the next start leaves %s, want %s", left, storeFiles)
		}
		b.Run(t, "export", "--store", store)
	}
	t.Logf("%d of %d kills left a store half created", half, kills)
	if half == 0 {
		t.Error("void: no kill left a store half created")
	}
}

// awaitFile waits until there is a file whose path begins with path.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	for began := time.Now(); ; runtime.Gosched() {
		if found, err := filepath.Glob(path + "*"); err != nil || len(found) > 0 {
			return
		}
		if testlevel.Elapsed(began) > patience {
			t.Fatalf("there is no %s after %v", path, patience)
		}
	}
}

// Two requests are in progress when the server gets SIGTERM: the receiver of one answers late, that of
// the other never. Both requests are answered. The event that was not accepted is not attempted again: it
// stays pending for the next server, which recovers it as it does after a kill.
func (b suite) drains(t *testing.T) {
	h := sandbox.NewReceiver(t)
	arrived, late, never := make(chan string, 8), make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(never) })
	h.AnswerWith(func(got sandbox.Delivery) int {
		arrived <- got.Provider
		if got.Provider == "TUI" {
			<-late
		} else {
			<-never
		}
		return http.StatusNoContent
	})
	store := newFile(t)
	keys := configure(t, b.Binary, store, h.URL)
	p := b.Serve(t, store)
	c := apiclient.New(p.Listening(t), keys)

	answers := make(chan string, 2)
	for provider, body := range map[string]string{"TUI": sandbox.LegacyCreate, "KOWHAI": sandbox.CatalogueCreate} {
		go func() {
			r, err := c.Call(t.Context(), provider, http.MethodPost, "/v1/provider-checkouts", sandbox.Order(body, "DRAIN"))
			answers <- fmt.Sprintf("%s %d %v", provider, r.Status, err)
		}()
	}
	for range 2 {
		<-arrived
	}
	stopped := time.Now()
	p.Signal(t, syscall.SIGTERM)
	p.Await(t, "draining")
	close(late)
	p.Wait(t)
	took := testlevel.Elapsed(stopped)
	t.Logf("the server stopped after %v", took)
	if took > 15*time.Second {
		t.Errorf("the server stopped after %v, want within 15 s", took)
	}
	got := []string{<-answers, <-answers}
	if slices.Sort(got); !slices.Equal(got, []string{"KOWHAI 201 <nil>", "TUI 201 <nil>"}) {
		t.Errorf("answers %q, want 201 twice", got)
	}
	for _, s := range readRecords(t, b.Run(t, "export", "--store", store)) {
		want := map[string]string{"TUI": "delivered 1", "KOWHAI": "pending 1"}[s.Text("provider_code")]
		for _, e := range s.related["event"] {
			if got := fmt.Sprint(e.At("status"), " ", e.At("attempts")); got != want {
				t.Errorf("the event of %s is %s, want %s:\n%s", s.Text("provider_code"), got, want, p.Log())
			}
		}
	}
}

func (b suite) demonstrates(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	cmd := b.Command("demo", "--addr", "127.0.0.1:0")
	cmd.Env = []string{"TMPDIR=" + tmp}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := proc.Start(t, cmd)
	lines := bufio.NewScanner(out)
	guide := proc.ReadUntil(lines, "# The events")
	go io.Copy(io.Discard, out) // the events

	said := runsInShell(t, b, guide)
	// The environment, two creates, a poll and a confirm.
	if good, bad := strings.Count(said, `"success":true`), strings.Count(said, `"success":false`); good != 5 || bad != 0 {
		t.Errorf("the curl lines had %d good answers and %d bad ones, want 5 and 0:\n%s", good, bad, said)
	}
	for _, want := range []string{`"setup_complete":true`, `"already_confirmed":false`, ".pdf\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is missing in\n%s", want, said)
		}
	}

	// The manual, from its second block on: the first starts the demonstration, and takes these variables from what it prints.
	manual, err := os.ReadFile("../docs/integrating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(proc.QuietAddr(t, newRand()), ":")
	script := strings.Join(regexp.MustCompile(`(?m)^[A-Z_]*(?:BASE|KEY)=.*$`).FindAllString(guide, -1), "\n")
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(manual), -1)[1:] {
		script += "\n" + strings.ReplaceAll(block[1], ":3000", ":"+port)
	}
	said = runsInShell(t, b, script+"\nfor n in $(seq 100); do grep -q ^agreement said && break; sleep 0.1; done")
	for _, want := range []string{`"setup_complete":true`, `"already_confirmed":false`, "\nconfirmed ENROL-", "\nagreement PPA-", `"event":"agreement.generated"`} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is missing in\n%s", want, said)
		}
	}

	p.Stop(t, syscall.SIGINT)
	if log := p.Log(); log != "" {
		t.Errorf("stderr is %s, want nothing", log)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v; want nothing", left, err)
	}
}

// runsInShell runs a script beside the program and the recipes, and returns the output of the script and of its background jobs,
// which the script can read from the file said.
func runsInShell(t *testing.T, b suite, script string) string {
	t.Helper()
	dir := t.TempDir()
	recipes, err := filepath.Abs("../../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"provider-checkout": string(b.Binary), "testdata": recipes} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := os.Create(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	shell := exec.Command("/bin/sh", "-eu")
	shell.Dir, shell.Stdin, shell.Stdout, shell.Stderr = dir, strings.NewReader(script), out, out
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	failed := shell.Run()
	_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) // its background jobs
	said, err := os.ReadFile(out.Name())
	if err := errors.Join(failed, err); err != nil {
		t.Errorf("sh: %v\n%s", err, said)
	}
	return string(said)
}

// The log may be lost, and the service may not: 10,000 requests are answered while the reader of the log is gone, reads a line and then
// no more, or never reads. The lines that were lost are counted, and each signal that would end the process drains it.
func (b suite) servesWithoutALog(t *testing.T) {
	hangUps := make(chan os.Signal, 1) // under nohup the processes would ignore the signal
	signal.Notify(hangUps, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangUps) })
	for name, tt := range map[string]struct {
		reads func(r *os.File)
		ends  syscall.Signal
	}{
		"gone":            {func(r *os.File) { r.Close() }, syscall.SIGTERM},
		"gone after once": {func(r *os.File) { _, _ = r.Read(make([]byte, 1)); r.Close() }, syscall.SIGHUP},
		"stuck":           {func(*os.File) {}, syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { read.Close() })
			rng := newRand()
			addr, private := proc.QuietAddr(t, rng), proc.QuietAddr(t, rng)
			cmd := b.Command("serve", "--store", newFile(t), "--addr", addr, "--ops-addr", private, "--rate-limit", "0")
			cmd.Stderr = write
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			write.Close()
			go tt.reads(read)
			text := func(path string) string {
				resp, err := http.Get("http://" + path)
				if err != nil {
					return ""
				}
				defer resp.Body.Close()
				body, _ := io.ReadAll(resp.Body)
				return string(body)
			}
			eventually(t, "the server answers", func() bool { return text(private+"/healthz") != "" })
			var clients sync.WaitGroup
			for range 8 {
				clients.Go(func() {
					for range 10_000 / 8 {
						resp, err := http.Post("http://"+addr+"/v1/provider-checkouts", "application/json", strings.NewReader("{}"))
						if err != nil {
							t.Error(err)
							return
						}
						resp.Body.Close()
					}
				})
			}
			clients.Wait()
			if counted := text(private + "/metrics"); !strings.Contains(counted, "provider_checkout_log_lines_lost_total ") ||
				strings.Contains(counted, "provider_checkout_log_lines_lost_total 0\n") {
				t.Error("no line of the log is counted as lost")
			}
			began := time.Now()
			defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
			if err := errors.Join(cmd.Process.Signal(tt.ends), cmd.Wait()); err != nil || testlevel.Elapsed(began) > 15*time.Second {
				t.Errorf("%v ends it with %v after %v, want status 0 within 15 s", tt.ends, err, time.Since(began))
			}
		})
	}
}
