package full_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// witnessProcess is a witness that a provider runs.
type witnessProcess struct {
	*proc.Process
	args     []string
	key, url string
}

func newWitness(t *testing.T, b proc.Binary, name, log string) *witnessProcess {
	t.Helper()
	file := proc.TempFile(t, b.Run(t, "evidence", "key", "--new", "--name", name))
	w := &witnessProcess{args: []string{"witness", "serve", "--key-file", file, "--log", log, "--state", t.TempDir()}}
	cmd := b.Command(append(w.args, "--addr", "127.0.0.1:0")...)
	said, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	must(t, err)
	defer said.Close()
	cmd.Stdout = said
	w.Process = proc.Start(t, cmd)
	w.url = w.Listening(t)
	eventually(t, "the witness has said its key", func() bool {
		text, err := os.ReadFile(said.Name())
		w.key = strings.TrimSpace(string(text))
		return err == nil && w.key != ""
	})
	return w
}

// again starts the witness again, with the same files and address.
func (w *witnessProcess) again(t *testing.T, b proc.Binary) {
	t.Helper()
	w.Process = proc.Start(t, b.Command(append(w.args, "--addr", strings.TrimPrefix(w.url, "http://"))...))
	w.Listening(t)
}

// shows returns what the witness shows of the log, or "".
func (w *witnessProcess) shows(t *testing.T, log, file string) string {
	t.Helper()
	name, _, _ := strings.Cut(log, "+")
	resp, err := http.Get(fmt.Sprintf("%s/%x/%s", w.url, sha256.Sum256([]byte(name)), file))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return ""
	}
	return string(body)
}

// Two witnesses cosign what a server seals, also when one was killed and is back; and each alone finds that the store was rolled back,
// though the operator's own file of checkpoints is gone.
func TestWitnessesCosignAndFindARollback(t *testing.T) {
	testlevel.Full(t)
	t.Parallel()
	b, folder := built(t), t.TempDir()
	store, kept := "sqlite:"+filepath.Join(folder, "records.db"), filepath.Join(folder, "checkpoint")
	workload.Configure(t, b, store, sandbox.NewReceiver(t).URL)
	started := b.Serve(t, store) // which makes the key
	started.Listening(t)
	log := strings.TrimSpace(b.Run(t, "evidence", "key", "--store", store))
	started.Stop(t, syscall.SIGTERM)
	one, two := newWitness(t, b, "one.test", log), newWitness(t, b, "two.test", log)
	list := proc.TempFile(t, one.key+" "+one.url+"\n"+two.key+" "+two.url+"\n")
	args := serveArgs(store, "--witnesses", list)
	s := serve(t, b.Command(append(args, "--checkpoint-file", kept)...))
	entries := 3 // of the configuration
	cosigned := func(by ...*witnessProcess) {
		t.Helper()
		eventually(t, fmt.Sprintf("a checkpoint of %d entries is cosigned by %d", entries, len(by)), func() bool {
			answer, file := sandbox.Fetch(t, s.base+"/.well-known/provider-checkout/evidence/checkpoint").Body, []byte(nil)
			file, _ = os.ReadFile(kept)
			if !strings.Contains(answer, fmt.Sprintf("\n%d\n", entries)) || string(file) != answer {
				return false
			}
			for _, w := range by {
				name, _, _ := strings.Cut(w.key, "+")
				if !strings.Contains(answer, "\n— "+name+" ") {
					return false
				}
			}
			return strings.Count(answer, "\n— ") == 1+len(by)
		})
	}
	cosigned(one, two)
	backup := filepath.Join(folder, "backup")
	b.Run(t, "backup", "--store", store, "--out", backup)
	two.Kill(t)
	for range 2 {
		b.Run(t, "keys", "issue", "--provider", "TUI", "--store", store)
		entries++
	}
	cosigned(one)
	two.again(t, b)
	cosigned(one, two)
	b.Run(t, "agreements", "verify", "--all", "--store", store, "--checkpoint", kept, "--witness", one.key, "--witness", two.key)
	if text := sandbox.Fetch(t, s.ops+"/metrics").Body; strings.Count(text, "evidence_witnessed_timestamp_seconds{") != 2 || strings.Contains(text, `.test"} 0`) {
		t.Errorf("metrics say of the witnesses %s", text)
	}
	s.Stop(t, syscall.SIGTERM)

	before := two.shows(t, log, "checkpoint")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(strings.TrimPrefix(store, "sqlite:") + suffix)
	}
	b.Run(t, "restore", "--store", store, "--in", backup)
	time.Sleep(time.Second) // checkpoints have the time in seconds
	proc.Start(t, b.Command(args...)).Listening(t)
	b.Run(t, "keys", "issue", "--provider", "TUI", "--store", store)
	for _, w := range []*witnessProcess{one, two} {
		eventually(t, "the witness has found the rollback", func() bool { return w.shows(t, log, "unproven") != "" })
	}
	if kept := two.shows(t, log, "unproven"); !strings.HasPrefix(kept, before+"\n") || two.shows(t, log, "checkpoint") != before {
		t.Errorf("the witness keeps %s; it had cosigned %s", kept, before)
	}
}
