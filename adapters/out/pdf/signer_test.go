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
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

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
