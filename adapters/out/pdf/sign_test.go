package pdf_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// A document says of itself what it states, and by whom it is signed.
func TestASignedDocumentHasItsFacts(t *testing.T) {
	a := sample.Agreement(52)
	got, under, err := pdf.Verify(printed(t, a))
	if err != nil || !reflect.DeepEqual(got, a) {
		t.Fatalf("Verify = %+v, %v; want %+v", got, err, a)
	}
	other, err := pdf.Derived(bytes.Repeat([]byte{1}, 32), "Kōwhai Lending")
	if err != nil || !signer(t).Knows(under) || other.Knows(under) {
		t.Errorf("it is signed under %s, %v", under.Subject, err)
	}
}

// Whatever is changed in a document, appended to it or cut off, is noticed.
func TestAChangedDocumentIsNotVerified(t *testing.T) {
	document, step := printed(t, sample.Agreement(4)), 97
	if testlevel.IsLong() {
		step = 1 // every byte
	}
	for at := 0; at < len(document); at += 1 + at%step {
		changed := bytes.Clone(document)
		changed[at] ^= 1
		if _, _, err := pdf.Verify(changed); err == nil {
			t.Errorf("with another byte at %d, near %q, it is verified", at, document[max(0, at-20):at+1])
		}
	}
	for name, changed := range map[string][]byte{"appended": append(bytes.Clone(document), "\n%%EOF\n"...),
		"cut off": document[:len(document)-1], "twice": append(bytes.Clone(document), document...)} {
		if _, _, err := pdf.Verify(changed); !errors.Is(err, pdf.ErrChanged) {
			t.Errorf("%s: %v, want ErrChanged", name, err)
		}
	}
	if _, _, err := pdf.Verify([]byte("%PDF-1.7\n")); !errors.Is(err, pdf.ErrUnsigned) {
		t.Errorf("without a signature: %v", err)
	}
}

// Two other programs say of a hundred documents, in every script of a lawful name, that each is signed, whole and unchanged. They say
// otherwise of each after a change: another byte, bytes behind its end, and its attachment taken out.
func TestOtherReadersVerifyTheSignature(t *testing.T) {
	testlevel.Full(t)
	all, n := people(t), 100
	if n < len(all) {
		t.Fatalf("there are %d names, and %d documents", len(all), n)
	}
	r := readers{folder: t.TempDir()}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signer(t).Certificate().Raw})
	r.write(t, "own.pem", own)
	for i := range n {
		p := all[i%len(all)]
		a := sample.Agreement(1 + i%52)
		a.Student.FirstName, a.Student.LastName, a.DirectDebit.AccountHolder = p.Given, p.Family, p.Name
		document := printed(t, a)
		if got := r.verify(t, document); got != (verdicts{true, true, true}) {
			t.Errorf("document %d, of %s: valid and whole are %+v\n%s", i, p.Name, got, r.says)
		}
		changed := bytes.Clone(document)
		if i%2 == 0 {
			changed[(i*7919)%bytes.Index(document, []byte("/Contents <"))] ^= 1
		} else {
			changed = bytes.Replace(document, []byte("/EmbeddedFiles"), []byte("/ExbeddedFiles"), 1)
		}
		if got := r.verify(t, changed); got.pdfsig || got.openssl {
			t.Errorf("document %d, changed: %+v\n%s", i, got, r.says)
		}
		if got := r.verify(t, append(bytes.Clone(document), "\n% more\n"...)); got.whole {
			t.Errorf("document %d, longer: %+v\n%s", i, got, r.says)
		}
		if _, _, err := pdf.Verify(changed); err == nil {
			t.Errorf("document %d, changed, is verified", i)
		}
	}
}

// readers are pdfsig, of Poppler, and OpenSSL.
type readers struct{ folder, says string }

// verdicts are the answers of both: the signature is valid to each, and it covers the whole document.
type verdicts struct{ pdfsig, whole, openssl bool }

func (r *readers) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r *readers) verify(t *testing.T, document []byte) (v verdicts) {
	t.Helper()
	at := bytes.Index(document, []byte("/Contents <")) + len("/Contents ")
	end := at + bytes.IndexByte(document[at:], '>') + 1
	der, err := hex.DecodeString(string(document[at+1 : end-1]))
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, "agreement.pdf", document)
	r.write(t, "signature.der", der)
	r.write(t, "signed", slices.Concat(document[:at], document[end:]))
	run := func(args ...string) (string, error) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = r.folder
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	says, err := run("pdfsig", "-nocert", "agreement.pdf")
	valid := err == nil && strings.Contains(says, "ETSI.CAdES.detached") && strings.Contains(says, "Kōwhai Lending")
	v.pdfsig = valid && strings.Contains(says, "Signature is Valid")
	v.whole = valid && strings.Contains(says, "Total document signed")
	more, err := run("openssl", "cms", "-verify", "-binary", "-cades", "-inform", "DER", "-in", "signature.der", "-content", "signed",
		"-CAfile", "own.pem", "-purpose", "any", "-out", os.DevNull)
	v.openssl, r.says = err == nil, says+more
	return v
}

func newKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// certificateOf returns a certificate of a key; by and its certificate sign it, or the key itself if by is nil.
func certificateOf(t testing.TB, key crypto.Signer, usage x509.KeyUsage, by crypto.Signer, issuer *x509.Certificate) *x509.Certificate {
	t.Helper()
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "Kōwhai Lending"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: usage, IsCA: issuer == nil, BasicConstraintsValid: true}
	if by == nil {
		by, issuer = key, c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, issuer, key.Public(), by)
	if err == nil {
		c, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inPEM returns a key, unless it is nil, and certificates as the file of a signer has them.
func inPEM(t testing.TB, key crypto.Signer, certificates ...*x509.Certificate) []byte {
	t.Helper()
	var text bytes.Buffer
	if key != nil {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		_ = pem.Encode(&text, &pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	for _, c := range certificates {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	return text.Bytes()
}

// A key is used that is in a file with its certificate, by itself or from an authority, and with the certificates of keys before it.
func TestASignerIsReadFromPEM(t *testing.T) {
	authority, old := newKey(t, elliptic.P256()), newKey(t, elliptic.P256())
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	root, former := certificateOf(t, authority, x509.KeyUsageCertSign, nil, nil), certificateOf(t, old, x509.KeyUsageDigitalSignature, nil, nil)
	for name, key := range map[string]crypto.Signer{"ECDSA": newKey(t, elliptic.P256()), "RSA": long} {
		t.Run(name, func(t *testing.T) {
			own := certificateOf(t, key, x509.KeyUsageDigitalSignature, authority, root)
			s, err := pdf.ParseSigner(inPEM(t, key, own, root, former))
			if err != nil || !s.Signs() || s.Certificate() == nil || s.Valid(time.Now()) != nil || s.Valid(time.Now().Add(2*time.Hour)) == nil {
				t.Fatalf("ParseSigner: %+v, %v", s, err)
			}
			p, err := pdf.New(1, s)
			if err != nil {
				t.Fatal(err)
			}
			document, err := p.Print(t.Context(), sample.Agreement(4))
			if err != nil {
				t.Fatal(err)
			}
			_, under, err := pdf.Verify(document)
			alone, aloneErr := pdf.ParseSigner(inPEM(t, nil, own, former))
			if err != nil || aloneErr != nil || !s.Knows(under) || !alone.Knows(under) || alone.Signs() {
				t.Errorf("it is signed under %v: %v, %v", under, err, aloneErr)
			}
			if !s.Knows(former) || s.Knows(root) {
				t.Error("it does not know just its own certificate and the former one")
			}
		})
	}
}

func TestASignerThatCannotSignIsRefused(t *testing.T) {
	key, other := newKey(t, elliptic.P256()), newKey(t, elliptic.P384())
	own, ca := certificateOf(t, key, x509.KeyUsageDigitalSignature, nil, nil), certificateOf(t, key, x509.KeyUsageCertSign, nil, nil)
	for says, text := range map[string][]byte{
		"there is no certificate":                 nil,
		"must be the first":                       inPEM(t, key),
		"is not the private key's own":            inPEM(t, newKey(t, elliptic.P256()), own),
		"must be on the curve P-256":              inPEM(t, other, certificateOf(t, other, x509.KeyUsageDigitalSignature, nil, nil)),
		"not for signatures":                      inPEM(t, key, ca),
		"several private keys":                    append(inPEM(t, key, own), inPEM(t, key)...),
		"the private key cannot be read":          pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("hunter2")}),
		"certificate 1 cannot be read":            pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("hunter2")}),
		"neither a certificate (CERTIFICATE) nor": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("hunter2")}),
	} {
		if _, err := pdf.ParseSigner(text); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got error %v, want one that says %q", err, says)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(printed(f, sample.Agreement(1)))
	f.Add([]byte("/ByteRange [0 0000000000 0000000000 0000000000] /Contents <>"))
	f.Fuzz(func(t *testing.T, document []byte) {
		if a, _, err := pdf.Verify(document); err == nil && a.Number == "" {
			t.Error("a document of no agreement is verified")
		}
	})
}

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
