package pdf

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
)

// Identifiers of a signature (RFC 5652, 5035, 5754 and 5758).
var (
	oidData               = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidContentType        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningCertificate = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	oidSHA256             = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidECDSA              = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
	oidRSA                = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}
)

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content signedData `asn1:"explicit,tag:0"`
}

type signedData struct {
	Version          int
	DigestAlgorithms []pkix.AlgorithmIdentifier `asn1:"set"`
	Content          struct{ Type asn1.ObjectIdentifier }
	Certificates     asn1.RawValue
	Signers          []signerInfo `asn1:"set"`
}

type signerInfo struct {
	Version            int
	Certificate        issuerAndSerial
	DigestAlgorithm    pkix.AlgorithmIdentifier
	Signed             asn1.RawValue
	SignatureAlgorithm pkix.AlgorithmIdentifier
	Signature          []byte
	Unsigned           []attribute `asn1:"optional,omitempty,set,tag:1"`
}

type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial *big.Int
}

type attribute struct {
	Type   asn1.ObjectIdentifier
	Values []asn1.RawValue `asn1:"set"`
}

// signingCertificate names the signer's certificate by its SHA-256 (RFC 5035).
type signingCertificate struct {
	Certificates []struct{ SHA256 []byte }
}

// attributeOf returns an attribute with one value.
func attributeOf(kind asn1.ObjectIdentifier, value any) attribute {
	return attribute{kind, []asn1.RawValue{{FullBytes: must(asn1.Marshal(value))}}}
}

// algorithm is that of a signature.
type algorithm struct {
	pkix.AlgorithmIdentifier
	x509 x509.SignatureAlgorithm
}

func algorithmOf(c *x509.Certificate) algorithm {
	if _, ok := c.PublicKey.(*ecdsa.PublicKey); ok {
		return algorithm{pkix.AlgorithmIdentifier{Algorithm: oidECDSA}, x509.ECDSAWithSHA256}
	}
	return algorithm{pkix.AlgorithmIdentifier{Algorithm: oidRSA, Parameters: asn1.NullRawValue}, x509.SHA256WithRSA}
}

// signedAttributes returns what a key signs in the place of a document with this SHA-256: a set in DER.
func signedAttributes(own *x509.Certificate, digest []byte) []byte {
	hash := sha256.Sum256(own.Raw)
	names := signingCertificate{Certificates: []struct{ SHA256 []byte }{{hash[:]}}}
	return must(asn1.MarshalWithParams([]attribute{attributeOf(oidContentType, oidData), attributeOf(oidMessageDigest, digest),
		attributeOf(oidSigningCertificate, names)}, "set"))
}

// sign returns a detached signature of a document with this SHA-256, in the form ETSI.CAdES.detached: without a time of its own.
func (s *Signer) sign(digest []byte) (signerInfo, error) {
	own := s.chain[0]
	set := signedAttributes(own, digest)
	sum := sha256.Sum256(set)
	random := rand.Reader
	if _, ok := s.key.(*ecdsa.PrivateKey); ok {
		random = nil // the same document has the same signature
	}
	signature, err := s.key.Sign(random, sum[:], crypto.SHA256)
	if err != nil {
		return signerInfo{}, fmt.Errorf("sign: %w", err)
	}
	return signed(own, set, signature), nil
}

// signed returns what a message says of a signature of attributes.
func signed(own *x509.Certificate, set, signature []byte) signerInfo {
	var attributes asn1.RawValue
	must(asn1.Unmarshal(set, &attributes))
	return signerInfo{Version: 1, Certificate: issuerAndSerial{asn1.RawValue{FullBytes: own.RawIssuer}, own.SerialNumber},
		DigestAlgorithm:    pkix.AlgorithmIdentifier{Algorithm: oidSHA256},
		Signed:             asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: attributes.Bytes},
		SignatureAlgorithm: algorithmOf(own).AlgorithmIdentifier, Signature: signature}
}

// message returns a signature as it stands in a document, with the certificates by which it is verified.
func message(by signerInfo, certificates []*x509.Certificate) []byte {
	var raw []byte
	for _, c := range certificates {
		raw = append(raw, c.Raw...)
	}
	data := signedData{Version: 1, DigestAlgorithms: []pkix.AlgorithmIdentifier{by.DigestAlgorithm}, Signers: []signerInfo{by},
		Certificates: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: raw}}
	data.Content.Type = oidData
	return must(asn1.Marshal(contentInfo{oidSignedData, data}))
}
