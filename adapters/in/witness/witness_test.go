package witness_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/torchwood"
	client "github.com/transparency-dev/witness/client/http"
	public "github.com/transparency-dev/witness/witness"
	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/witness"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

const origin = "log.test"

// tree is a log in memory.
type tree struct {
	evidence.Head
	leaves [][]byte
	nodes  [][]evidence.Hash
}

func (t *tree) add(leaves ...string) *tree {
	for _, leaf := range leaves {
		t.leaves = append(t.leaves, []byte(leaf))
		t.nodes = append(t.nodes, t.Append([]byte(leaf)))
	}
	return t
}

func (t *tree) read(positions []int64) (list [][]evidence.Hash, _ error) {
	for _, p := range positions {
		list = append(list, t.nodes[p])
	}
	return list, nil
}

// fork returns a log that has the first entries of this one.
func (t *tree) fork(entries int) *tree {
	other := &tree{}
	for _, leaf := range t.leaves[:entries] {
		other.add(string(leaf))
	}
	return other
}

// proof returns a proof that the log goes on from its first entries.
func (t *tree) proof(tb fataler, known int64) (hashes [][]byte) {
	s, err := evidence.Submit(nil, t.checkpoint(0), known, t.read)
	if err != nil {
		tb.Fatal(err)
	}
	for _, h := range s.Proof {
		hashes = append(hashes, h[:])
	}
	return hashes
}

// checkpoint returns what the log says of itself at a time, in minutes.
func (t *tree) checkpoint(minute int) evidence.Checkpoint {
	return evidence.Checkpoint{Size: t.Size, Root: t.Root(), At: time.Date(2026, time.December, 1, 0, minute, 0, 0, time.UTC)}
}

// signed returns the signed checkpoint of the log at a time.
func (t *tree) signed(tb fataler, minute int) []byte {
	signed, err := logKeys(tb, 1).Sign(t.checkpoint(minute))
	if err != nil {
		tb.Fatal(err)
	}
	return signed
}

type fataler interface{ Fatal(args ...any) }

func logKeys(tb fataler, seed byte) evidence.Keys {
	private, err := evidence.NewKey(origin, [32]byte{seed})
	if err != nil {
		tb.Fatal(err)
	}
	keys, err := evidence.ParseKeys(private)
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

func signer(tb fataler) *torchwood.CosignatureSigner {
	private, err := evidence.NewKey("witness.test", [32]byte{7})
	if err != nil {
		tb.Fatal(err)
	}
	_, key, err := evidence.PrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := torchwood.NewCosignatureSigner("witness.test", key)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func write(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }

// served is a witness over HTTP, asked by the client of the public network.
type served struct {
	client.Witness
	*httptest.Server
	folder string
	logged *bytes.Buffer
}

func options(tb fataler, folder string) witness.Options {
	keys, err := evidence.ParseKeys(logKeys(tb, 1).Public())
	if err != nil {
		tb.Fatal(err)
	}
	return witness.Options{Logs: keys, Signer: signer(tb), Folder: folder, Write: write, Log: slog.New(slog.DiscardHandler)}
}

func serve(t *testing.T) served {
	t.Helper()
	s := served{folder: t.TempDir(), logged: new(bytes.Buffer)}
	o := options(t, s.folder)
	o.Log = slog.New(slog.NewTextHandler(s.logged, nil))
	h, err := witness.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.Witness = client.NewWitness(u, s.Client())
	return s
}

// shows returns what the witness shows of the log.
func (s served) shows(t *testing.T, file string) string {
	t.Helper()
	resp, err := http.Get(fmt.Sprintf("%s/%x/%s", s.URL, sha256.Sum256([]byte(origin)), file))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusNotFound {
		return ""
	}
	return string(body)
}

// Client and verifiers of the public network's own witnesses and logs judge what the witness answers.
func TestPublicClientIsServed(t *testing.T) {
	s, log := serve(t), new(tree)
	policy := torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(origin), torchwood.SingleVerifierPolicy(signer(t).Verifier()))
	known := uint64(0)
	for i := range 20 {
		log.add(fmt.Sprint("leaf ", i))
		signed := log.signed(t, i)
		lines, _, err := s.Update(t.Context(), known, signed, log.proof(t, int64(known)))
		if err != nil {
			t.Fatalf("checkpoint %d: %v", i, err)
		}
		cosigned := append(signed, lines...)
		if c, _, err := torchwood.VerifyCheckpoint(cosigned, policy); err != nil || c.N != log.Size {
			t.Errorf("the cosigned checkpoint is read as %+v, %v", c, err)
		}
		if shown := s.shows(t, "checkpoint"); shown != string(cosigned) {
			t.Errorf("the witness shows %q, want %q", shown, cosigned)
		}
		known = uint64(log.Size)
	}
	if _, size, err := s.Update(t.Context(), 3, log.add("more").signed(t, 30), log.proof(t, 3)); !errors.Is(err, public.ErrCheckpointStale) || size != known {
		t.Errorf("an older size is answered %d, %v; want %d, %v", size, err, known, public.ErrCheckpointStale)
	}
	if left := s.shows(t, "fork") + s.shows(t, "unproven") + s.logged.String(); left != "" {
		t.Errorf("of an honest log it keeps %s", left)
	}
}

func TestPublicClientIsRefused(t *testing.T) {
	log := new(tree).add("a", "b", "c", "d", "e")
	foreign, err := logKeys(t, 2).Sign(log.checkpoint(0))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := bytes.ReplaceAll(log.signed(t, 0), []byte(origin), []byte("elsewhere"))
	for name, tt := range map[string]struct {
		known  uint64
		signed []byte
		proof  [][]byte
		want   error
	}{
		"another log":                {0, elsewhere, nil, public.ErrUnknownLog},
		"another key of that name":   {0, foreign, nil, public.ErrNoValidSignature},
		"an edited checkpoint":       {0, bytes.Replace(log.signed(t, 0), []byte("\n5\n"), []byte("\n6\n"), 1), nil, public.ErrNoValidSignature},
		"no checkpoint":              {0, []byte("\n\n"), nil, public.ErrUnknownLog},
		"a size above the log's":     {6, log.signed(t, 0), nil, public.ErrOldSizeInvalid},
		"a size that is not known":   {3, log.signed(t, 0), log.proof(t, 3), public.ErrCheckpointStale},
		"a proof for the first size": {0, log.signed(t, 0), log.proof(t, 3), public.ErrInvalidProof},
	} {
		s := serve(t)
		if lines, _, err := s.Update(t.Context(), tt.known, tt.signed, tt.proof); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %s, %v; want %v", name, lines, err, tt.want)
		}
		if files, err := os.ReadDir(s.folder); err != nil || len(files) > 0 {
			t.Errorf("%s leaves %v, %v", name, files, err)
		}
	}
}

// A fork or a rollback of the log is refused, and the witness has both checkpoints, each of which the log has signed.
func TestContradictionsAreKept(t *testing.T) {
	before := new(tree).add("a", "b", "c", "d", "e")
	for name, tt := range map[string]struct {
		then *tree
		kind string
		want error
	}{
		"another root of the same size": {before.fork(3).add("x", "y"), "fork", public.ErrInvalidProof},
		"a log that went back":          {before.fork(3), "unproven", public.ErrOldSizeInvalid},
		"one that grew otherwise since": {before.fork(3).add("x", "y", "z"), "unproven", public.ErrInvalidProof},
	} {
		s := serve(t)
		first, second := before.signed(t, 0), tt.then.signed(t, 1)
		if _, _, err := s.Update(t.Context(), 0, first, nil); err != nil {
			t.Fatal(err)
		}
		cosigned := s.shows(t, "checkpoint")
		proof := tt.then.proof(t, min(5, tt.then.Size))
		for _, line := range []string{"", "— x AAAAAAA=\n"} { // the second time with a line that a stranger added
			submitted := append(bytes.Clone(second), line...)
			if lines, _, err := s.Update(t.Context(), 5, submitted, proof); !errors.Is(err, tt.want) {
				t.Errorf("%s: got %s, %v; want %v", name, lines, err, tt.want)
			}
		}
		kept := s.shows(t, tt.kind)
		if !strings.HasPrefix(kept, string(first)) || !strings.HasSuffix(kept, string(second)) || kept != cosigned+"\n"+string(second) {
			t.Errorf("%s: it keeps %q", name, kept)
		}
		if strings.Count(s.logged.String(), "does not go on") != 1 {
			t.Errorf("%s, twice: it logs %q", name, s.logged)
		}
		if s.shows(t, "checkpoint") != cosigned {
			t.Errorf("%s: it has cosigned another one", name)
		}
		// The honest log is cosigned as before.
		log := before.fork(5).add("f")
		if _, _, err := s.Update(t.Context(), 5, log.signed(t, 2), log.proof(t, 5)); err != nil {
			t.Errorf("%s: the honest log: %v", name, err)
		}
	}
}

// A rolled back log that names the size that the witness has is refused too, as the public network's witnesses do.
func TestAnOldCheckpointIsNoContradiction(t *testing.T) {
	s, log := serve(t), new(tree).add("a", "b", "c")
	old := log.signed(t, 0)
	if _, _, err := s.Update(t.Context(), 0, log.add("d").signed(t, 1), nil); err != nil {
		t.Fatal(err)
	}
	if _, size, err := s.Update(t.Context(), 3, old, nil); !errors.Is(err, public.ErrCheckpointStale) || size != 4 || s.shows(t, "fork")+s.shows(t, "unproven") != "" {
		t.Errorf("an old checkpoint, sent again: %d, %v, and it keeps %q", size, err, s.shows(t, "unproven"))
	}
}

// The log's checkpoints are public: a stranger who submits two of them in turn, without a proof, fills no disk.
func TestStrangersFillNoDisk(t *testing.T) {
	s, log := serve(t), new(tree).add("a", "b", "c")
	if _, _, err := s.Update(t.Context(), 0, log.signed(t, 0), nil); err != nil {
		t.Fatal(err)
	}
	first, second := log.add("d").signed(t, 1), log.add("e").signed(t, 2)
	for range 10 {
		for _, signed := range [][]byte{first, second} {
			if _, _, err := s.Update(t.Context(), 3, signed, nil); !errors.Is(err, public.ErrInvalidProof) {
				t.Fatal(err)
			}
		}
	}
	if n := strings.Count(s.logged.String(), "does not go on"); n != 2 || !strings.HasSuffix(s.shows(t, "unproven"), string(second)) {
		t.Errorf("it logs %d contradictions, want each checkpoint once", n)
	}
}

// errKilled ends a write as a kill does.
var errKilled = errors.New("killed")

// However the witness is killed, and whatever histories are submitted, no two cosignatures that anybody has seen are of
// different histories, and the honest log goes on.
func TestKillsMakeNoTwoHistories(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		honest := new(tree)
		logs := []*tree{honest}
		var seen []*tree // as they were when they were cosigned
		known := int64(0)
		for minute := range rapid.IntRange(1, 25).Draw(t, "submissions") {
			log := rapid.SampledFrom(logs).Draw(t, "log")
			for range rapid.IntRange(0, 3).Draw(t, "added") {
				log.add(fmt.Sprintf("%p %d", log, log.Size))
			}
			if rapid.IntRange(0, 4).Draw(t, "forks") == 0 {
				logs = append(logs, log.fork(rapid.IntRange(0, int(log.Size)).Draw(t, "first")))
			}
			o := options(t, filepath.Join(folder))
			kill := rapid.SampledFrom([]string{"", "", "", "before the write", "after the write", "before the answer"}).Draw(t, "killed")
			o.Write = func(path string, data []byte) error {
				if kill == "before the write" {
					return errKilled
				}
				if err := write(path, data); err != nil || kill != "after the write" {
					return err
				}
				return errKilled
			}
			// Each submission is to another process: the folder is locked by one at a time.
			h, err := witness.New(o)
			if err != nil {
				t.Fatal(err)
			}
			status, size, answer := submit(t, h, log, known, minute)
			if status == http.StatusConflict && size <= log.Size {
				known = size
				status, _, answer = submit(t, h, log, known, minute)
			}
			h.Unlock()
			if status != http.StatusOK || kill == "before the answer" {
				continue
			}
			if _, err := note.Open(append(log.signed(t, minute), answer...), note.VerifierList(signer(t).Verifier())); err != nil {
				t.Fatalf("the answer %q: %v", answer, err)
			}
			known = log.Size
			seen = append(seen, log.fork(int(log.Size)))
		}
		for i := range len(seen) - 1 {
			if a, b := seen[i], seen[i+1]; b.Size < a.Size || b.fork(int(a.Size)).Root() != a.Root() {
				t.Fatalf("it has cosigned two histories: %s and %s", a.leaves, b.leaves)
			}
		}
	})
}

// submit submits a log to a witness.
func submit(t *rapid.T, h http.Handler, log *tree, known int64, minute int) (status int, size int64, answer string) {
	s, err := evidence.Submit(log.signed(t, minute), log.checkpoint(minute), min(known, log.Size), log.read)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/add-checkpoint", bytes.NewReader(s.Text())))
	fmt.Sscan(w.Body.String(), &size)
	return w.Code, size, w.Body.String()
}

// Of many submissions at once one after the other is decided.
func TestSubmissionsAtOnceAreDecidedOneByOne(t *testing.T) {
	s, log := serve(t), new(tree).add("a")
	if _, _, err := s.Update(t.Context(), 0, log.signed(t, 0), nil); err != nil {
		t.Fatal(err)
	}
	var cosigned sync.Map
	var all sync.WaitGroup
	for i := range 16 {
		fork := log.fork(1).add(fmt.Sprint("fork ", i))
		signed, proof := fork.signed(t, i), fork.proof(t, 1)
		all.Go(func() {
			if lines, _, err := s.Update(context.Background(), 1, signed, proof); err == nil {
				cosigned.Store(i, string(lines))
			}
		})
	}
	all.Wait()
	n := 0
	cosigned.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d of the histories are cosigned, want 1", n)
	}
}

func TestOneProcessHasTheFolder(t *testing.T) {
	s := serve(t)
	if _, err := witness.New(options(t, s.folder)); err == nil {
		t.Error("two witnesses share a folder")
	}
	if _, err := witness.New(options(t, filepath.Join(s.folder, "none"))); err == nil {
		t.Error("a folder that is not there is taken")
	}
}

// What cannot be kept, or read again, is not cosigned.
func TestNothingIsCosignedThatIsNotKept(t *testing.T) {
	s, log := serve(t), new(tree).add("a")
	path := filepath.Join(s.folder, fmt.Sprintf("%x.checkpoint", sha256.Sum256([]byte(origin))))
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if lines, _, err := s.Update(t.Context(), 0, log.signed(t, 0), nil); err == nil {
		t.Errorf("without a place for it: %s", lines)
	}
	if err := errors.Join(os.Remove(path), write(path, []byte("damaged\n\n— x AAAAAAA=\n"))); err != nil {
		t.Fatal(err)
	}
	if lines, _, err := s.Update(t.Context(), 0, log.signed(t, 0), nil); err == nil {
		t.Errorf("with a damaged file: %s", lines)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	h, err := witness.New(options(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"an endless line":          "old " + strings.Repeat("1", 1<<20),
		"endless hashes":           "old 1\n" + strings.Repeat("PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n", 20_000),
		"endless signatures":       "old 0\n\n" + string(new(tree).add("a").signed(t, 0)) + strings.Repeat("— x AAAAAAA=\n", 20_000),
		"101 signatures":           "old 0\n\n" + string(new(tree).add("a").signed(t, 0)) + strings.Repeat("— x AAAAAAA=\n", 100),
		"a checkpoint of megabyte": "old 0\n\n" + origin + "\n" + strings.Repeat("x", 1<<20),
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/add-checkpoint", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest && w.Code != http.StatusForbidden {
			t.Errorf("%s is answered %d", name, w.Code)
		}
	}
	for _, path := range []string{"/", "/add-checkpoint", "/x/checkpoint", "/..%2f..%2fetc/checkpoint", "/%00/fork", "/x/lock"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code < 400 || w.Code >= 500 {
			t.Errorf("GET %s is answered %d: %s", path, w.Code, w.Body)
		}
	}
}

// A caller that never ends its body delays no other caller, and is cut off.
func TestSlowCallersHoldUpNobody(t *testing.T) {
	h, err := witness.New(options(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config = httpserver.New(h, slog.New(slog.DiscardHandler))
	server.Config.ReadTimeout = testlevel.Of(300*time.Millisecond, 3*time.Second) // 10 s
	server.Start()
	defer server.Close()
	for range 50 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "POST /add-checkpoint HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nold 0\n")
	}
	log := new(tree).add("a")
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := client.NewWitness(u, server.Client()).Update(t.Context(), 0, log.signed(t, 0), nil); err != nil {
		t.Errorf("beside slow callers: %v", err)
	}
}
