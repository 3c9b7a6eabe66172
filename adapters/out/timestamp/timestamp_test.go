package timestamp_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/out/timestamp"
)

// authority is OpenSSL's, served over HTTP.
type authority struct {
	dir string
	*httptest.Server
	asked  int
	before func(w http.ResponseWriter, answer []byte) bool // answers itself, if it returns true
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		testlevel.Missing(t, err)
	}
	a := &authority{dir: t.TempDir()}
	config := `[tsa]
default_tsa = it
[it]
serial = ` + a.dir + `/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
accuracy = secs:1
ess_cert_id_chain = no
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = A test's authority
[extensions]
extendedKeyUsage = critical,timeStamping
`
	if err := os.WriteFile(a.path("openssl.cnf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	a.openssl(t, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-config", a.path("openssl.cnf"),
		"-keyout", a.path("key.pem"), "-out", a.path("authority.pem"))
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.asked++
		question, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/timestamp-query" {
			t.Errorf("request of type %q, %v", r.Header.Get("Content-Type"), err)
		}
		if err := os.WriteFile(a.path("question.tsq"), question, 0o600); err != nil {
			t.Error(err)
		}
		cmd := exec.Command("openssl", "ts", "-reply", "-config", a.path("openssl.cnf"), "-queryfile", a.path("question.tsq"),
			"-inkey", a.path("key.pem"), "-signer", a.path("authority.pem"))
		answer, err := cmd.Output()
		if err != nil {
			t.Errorf("openssl ts -reply: %v", err)
		}
		if a.before == nil || !a.before(w, answer) {
			_, _ = w.Write(answer)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) openssl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("openssl", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("openssl %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func client(t *testing.T, url string) *timestamp.Authority {
	t.Helper()
	a, err := timestamp.New(url, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func write(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }

// OpenSSL verifies the file that is kept, without any code of ours.
func TestADaysCheckpointIsStampedOnce(t *testing.T) {
	a := newAuthority(t)
	folder, now := t.TempDir(), time.Date(2026, time.December, 1, 23, 59, 0, 0, time.UTC)
	newest := []byte(nil)
	d := timestamp.Daily{Authority: client(t, a.URL), Folder: folder, Write: write, Now: func() time.Time { return now },
		Newest: func(context.Context) ([]byte, error) { return newest, nil }}
	keep := func(wantAsked int) {
		t.Helper()
		if err := d.Keep(t.Context()); err != nil || a.asked != wantAsked {
			t.Fatalf("asked %d times, %v; want %d", a.asked, err, wantAsked)
		}
	}
	keep(0) // there is no checkpoint yet
	newest = []byte("the first checkpoint\n")
	keep(1)
	newest = []byte("the second checkpoint\n")
	keep(1)
	now = now.Add(2 * time.Minute)
	keep(2)
	for day, want := range map[string]string{"2026-12-01": "the first checkpoint\n", "2026-12-02": "the second checkpoint\n"} {
		path := filepath.Join(folder, "checkpoint-"+day)
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("the checkpoint of %s is %q, %v; want %q", day, got, err, want)
		}
		if out := a.openssl(t, "ts", "-verify", "-data", path, "-in", path+".tsr", "-CAfile", a.path("authority.pem")); !strings.Contains(out, "OK") {
			t.Errorf("openssl says %s", out)
		}
	}
	if err := exec.Command("openssl", "ts", "-verify", "-data", filepath.Join(folder, "checkpoint-2026-12-01"),
		"-in", filepath.Join(folder, "checkpoint-2026-12-02.tsr"), "-CAfile", a.path("authority.pem")).Run(); err == nil {
		t.Error("another day's stamp is good for a checkpoint")
	}
}

func TestWhatIsNoStampIsNotKept(t *testing.T) {
	a := newAuthority(t)
	var earlier []byte
	if answer, err := client(t, a.URL).Stamp(t.Context(), []byte("earlier")); err != nil {
		t.Fatal(err)
	} else {
		earlier = answer
	}
	for name, answer := range map[string]func(w http.ResponseWriter, answer []byte) bool{
		"a failure":  func(w http.ResponseWriter, _ []byte) bool { w.WriteHeader(http.StatusServiceUnavailable); return true },
		"a redirect": func(w http.ResponseWriter, _ []byte) bool { w.WriteHeader(http.StatusFound); return true },
		"nothing":    func(http.ResponseWriter, []byte) bool { return true },
		"no DER":     func(w http.ResponseWriter, _ []byte) bool { _, _ = w.Write([]byte("hello")); return true },
		"half of it": func(w http.ResponseWriter, a []byte) bool { _, _ = w.Write(a[:len(a)/2]); return true },
		"a refusal": func(w http.ResponseWriter, _ []byte) bool {
			_, _ = w.Write([]byte{0x30, 5, 0x30, 3, 2, 1, 2})
			return true
		},
		"an answer given before": func(w http.ResponseWriter, _ []byte) bool { _, _ = w.Write(earlier); return true },
		"more than an answer":    func(w http.ResponseWriter, a []byte) bool { _, _ = w.Write(append(bytes.Clone(a), 0)); return true },
		"an endless answer": func(w http.ResponseWriter, _ []byte) bool {
			_, _ = w.Write(make([]byte, 1<<20))
			return true
		},
	} {
		a.before = answer
		folder := t.TempDir()
		d := timestamp.Daily{Authority: client(t, a.URL), Folder: folder, Write: write, Now: time.Now,
			Newest: func(context.Context) ([]byte, error) { return []byte("earlier"), nil }}
		if err := d.Keep(t.Context()); err == nil {
			t.Errorf("%s is taken for a stamp", name)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v, %v", name, left, err)
		}
	}
	a.before = nil
	if _, err := client(t, a.URL).Stamp(t.Context(), []byte("earlier")); err != nil {
		t.Errorf("an honest answer: %v", err)
	}
}

func TestARunThatFailsIsRepeatedLater(t *testing.T) {
	failure := errors.New("no checkpoint")
	d := timestamp.Daily{Authority: client(t, "http://127.0.0.1:1"), Folder: t.TempDir(), Now: time.Now,
		Newest: func(context.Context) ([]byte, error) { return nil, failure }}
	if _, pause, err := d.Run(t.Context(), ""); !errors.Is(err, failure) || pause != 10*time.Minute {
		t.Errorf("Run = %s, %v; want the failure, and a pause of ten minutes", pause, err)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, address := range []string{"", "tsa.example", "ftp://tsa.example", "http://", "://"} {
		if _, err := timestamp.New(address, rand.Reader); err == nil {
			t.Errorf("%q is taken for an address", address)
		}
	}
}
