package pdf_test

import (
	"crypto"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// authority returns a time-stamp authority, which OpenSSL is.
func authority(t *testing.T) http.HandlerFunc {
	t.Helper()
	folder, key := t.TempDir(), newKey(t, elliptic.P256())
	c := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "Time"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtraExtensions: []pkix.Extension{{Id: []int{2, 5, 29, 37}, Critical: true, Value: []byte{0x30, 0x0a, 0x06, 0x08, 0x2b, 6, 1, 5, 5, 7, 3, 8}}}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), crypto.Signer(key))
	if err == nil {
		c, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	const config = "[tsa]\ndefault_tsa = t\n[t]\nserial = serial\nsigner_cert = tsa.pem\ncerts = tsa.pem\nsigner_key = tsa.pem\n" +
		"signer_digest = sha256\ndefault_policy = 1.2.3.4.1\ndigests = sha256\n"
	for name, text := range map[string][]byte{"tsa.pem": inPEM(t, key, c), "tsa.cnf": []byte(config)} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		query, _ := io.ReadAll(r.Body)
		_ = os.WriteFile(filepath.Join(folder, "query"), query, 0o600)
		cmd := exec.Command("openssl", "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "query", "-out", "reply")
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("openssl ts: %v\n%s", err, out)
		}
		http.ServeFile(w, r, filepath.Join(folder, "reply"))
	}
}

// With a time-stamp a document is verified as without one; an authority that fails or hangs costs the time-stamp, never the signature.
func TestDocumentsAreTimeStamped(t *testing.T) {
	testlevel.Full(t)
	stamps := authority(t)
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		stamped bool
	}{
		"an authority": {stamps, true},
		"it fails":     {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) }, false},
		"it is none":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, false},
		"it hangs": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}, false},
		"of another signature": {func(w http.ResponseWriter, r *http.Request) {
			query, _ := io.ReadAll(r.Body)
			query[40] ^= 1 // within the hash
			r.Body = io.NopCloser(strings.NewReader(string(query)))
			stamps(w, r)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.handler)
			defer server.Close()
			s, counted := signer(t), []bool(nil)
			s.Stamper = &pdf.Stamper{URL: server.URL, Client: server.Client(), Count: func(stamped bool) { counted = append(counted, stamped) }}
			p, err := pdf.New(1, s)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			document, err := p.Print(t.Context(), sample.Agreement(4))
			if err != nil {
				t.Fatal(err)
			}
			if took := testlevel.Elapsed(began); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
			if _, under, err := pdf.Verify(document); err != nil || !s.Knows(under) {
				t.Errorf("Verify: %v", err)
			}
			if len(counted) != 1 || counted[0] != tt.stamped {
				t.Errorf("counted %v, want %v", counted, tt.stamped)
			}
			path := filepath.Join(t.TempDir(), "agreement.pdf")
			if err := os.WriteFile(path, document, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("pdfsig", "-nocert", path).CombinedOutput(); err != nil || !strings.Contains(string(out), "Signature is Valid") {
				t.Errorf("pdfsig says %v\n%s", err, out)
			}
		})
	}
}
