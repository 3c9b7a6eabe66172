package pdf

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// Signer signs documents with a private key, and knows the certificates by which its documents are verified. It is safe for concurrent use.
type Signer struct {
	key    crypto.Signer       // nil: it verifies alone
	chain  []*x509.Certificate // of the key: its own certificate, and the certificates of its issuers
	former []*x509.Certificate // of keys that signed before

	// Stamper adds time-stamps to signatures; nil: they have no time-stamp.
	Stamper *Stamper
}

// NewSigner returns a signer with a key wherever that is kept. The first certificate is the key's own, and the certificates of its issuers follow.
func NewSigner(key crypto.Signer, certificates ...*x509.Certificate) (*Signer, error) {
	s := &Signer{key: key}
	for i, c := range certificates {
		if key != nil && (i == 0 || i == len(s.chain) && !c.Equal(s.chain[i-1]) && s.chain[i-1].CheckSignatureFrom(c) == nil) {
			s.chain = append(s.chain, c)
		} else {
			s.former = append(s.former, c)
		}
	}
	return s, s.check()
}

// Derived returns a signer of a sandbox: its key, and a certificate of its own, follow from a secret. It proves nothing to others.
func Derived(secret []byte, name string) (*Signer, error) {
	var key *ecdsa.PrivateKey
	for n := 0; key == nil; n++ { // one of 2³² texts is no key
		text, err := hkdf.Key(sha256.New, secret, nil, fmt.Sprint("provider-checkout sandbox signer ", n), 32)
		if err != nil {
			return nil, fmt.Errorf("derive a key: %w", err)
		}
		key, _ = ecdsa.ParseRawPrivateKey(elliptic.P256(), text)
	}
	from := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: from.AddDate(50, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment}
	der, err := x509.CreateCertificate(nil, c, c, key.Public(), key) // without randomness it is always the same
	if err == nil {
		c, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return NewSigner(key, c)
}

// ParseSigner reads a signer from PEM: a private key in PKCS #8, its certificate, the certificates of its issuers and of former keys. A
// text without a key is a signer that verifies. No error repeats anything of the text.
func ParseSigner(text []byte) (*Signer, error) {
	var key crypto.Signer
	var certificates []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		switch block.Type {
		case "CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("certificate %d cannot be read", len(certificates)+1)
			}
			certificates = append(certificates, c)
		case "PRIVATE KEY":
			if key != nil {
				return nil, errors.New("there are several private keys")
			}
			parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
			if key, _ = parsed.(crypto.Signer); key == nil {
				return nil, errors.New("the private key cannot be read: it must be an ECDSA or RSA key in PKCS #8")
			}
		default:
			return nil, errors.New("a block of PEM is neither a certificate (CERTIFICATE) nor a private key in PKCS #8 (PRIVATE KEY)")
		}
	}
	return NewSigner(key, certificates...)
}

func (s *Signer) check() error {
	switch {
	case s.key == nil && len(s.former) == 0:
		return errors.New("there is no certificate")
	case s.key == nil:
		return nil
	case len(s.chain) == 0:
		return errors.New("the certificate of the private key is missing: it must be the first")
	}
	own := s.chain[0]
	switch public := s.key.Public().(type) {
	case *ecdsa.PublicKey:
		if public.Curve != elliptic.P256() {
			return errors.New("the private key must be on the curve P-256")
		}
	case *rsa.PublicKey:
		if public.N.BitLen() < 2048 {
			return errors.New("the private key must have 2048 bits or more")
		}
	default:
		return errors.New("the private key must be an ECDSA or RSA key")
	}
	if public, ok := s.key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(own.PublicKey) {
		return errors.New("the first certificate is not the private key's own")
	}
	if own.KeyUsage != 0 && own.KeyUsage&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0 {
		return errors.New("the certificate is not for signatures (key usage)")
	}
	return nil
}

// Signs reports whether the signer has a private key.
func (s *Signer) Signs() bool { return s.key != nil }

// Certificate returns the certificate of the private key, or nil without one.
func (s *Signer) Certificate() *x509.Certificate {
	if s.key == nil {
		return nil
	}
	return s.chain[0]
}

// Fingerprint returns the SHA-256 of a certificate, in hex.
func Fingerprint(c *x509.Certificate) string { return fmt.Sprintf("%x", sha256.Sum256(c.Raw)) }

// Valid returns an error unless the certificate of the private key holds at a time.
func (s *Signer) Valid(now time.Time) error {
	switch own := s.chain[0]; {
	case now.Before(own.NotBefore):
		return fmt.Errorf("the certificate holds from %s on", own.NotBefore.UTC().Format(time.DateOnly))
	case now.After(own.NotAfter):
		return fmt.Errorf("the certificate held until %s", own.NotAfter.UTC().Format(time.DateOnly))
	}
	return nil
}

// Knows reports whether a document may be signed under a certificate.
func (s *Signer) Knows(c *x509.Certificate) bool {
	same := func(own *x509.Certificate) bool { return own.Equal(c) }
	return len(s.chain) > 0 && same(s.chain[0]) || slices.ContainsFunc(s.former, same)
}
