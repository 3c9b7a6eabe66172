package pdf

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/klauspost/compress/zlib"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// Why a document is not verified.
var (
	ErrUnsigned = errors.New("it has no signature of this program")
	ErrChanged  = errors.New("it was changed after it was signed")
)

// maxFacts is the size in bytes of the largest facts that are read.
const maxFacts = 4 << 20

var (
	signatureValue = regexp.MustCompile(`/ByteRange \[0 (\d{10}) (\d{10}) (\d{10})\] /Contents <([0-9A-F]*)>`)
	factsHead      = regexp.MustCompile(`<</Type /EmbeddedFile [^\n]*/Filter /FlateDecode /Length (\d{1,9})>>\nstream\n`)
)

// Verify returns the agreement whose facts are attached to a document, and the certificate under which it is signed. The error wraps
// ErrUnsigned or ErrChanged. Whose certificate it is, the caller finds out: see Signer.Knows.
func Verify(document []byte) (a agreement.Agreement, under *x509.Certificate, err error) {
	places := signatureValue.FindAllSubmatchIndex(document, -1)
	if len(places) == 0 {
		return a, nil, ErrUnsigned
	}
	at := places[0]
	part := func(i int) []byte { return document[at[2*i]:at[2*i+1]] }
	value, after := at[8]-1, at[9]+1 // with the angle brackets
	if len(places) > 1 || number(part(1)) != value || number(part(2)) != after || number(part(3)) != len(document)-after {
		return a, nil, ErrChanged
	}
	der, err := hex.DecodeString(string(part(4)))
	if err != nil {
		return a, nil, ErrChanged
	}
	sum := sha256.New()
	sum.Write(document[:value])
	sum.Write(document[after:])
	if under, err = verified(der, sum.Sum(nil)); err != nil {
		return a, under, err
	}
	facts, err := attached(document)
	if err == nil {
		a, err = agreement.ParseFacts(facts)
	}
	if err != nil {
		return a, under, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return a, under, nil
}

// verified returns the certificate under which a message signs a digest. The message must be just what sign makes: nothing else of it is read.
func verified(der, digest []byte) (*x509.Certificate, error) {
	var m contentInfo
	_, err := asn1.Unmarshal(der, &m)
	if err != nil || len(m.Content.Signers) != 1 {
		return nil, fmt.Errorf("%w: the signature cannot be read", ErrChanged)
	}
	certificates, err := x509.ParseCertificates(m.Content.Certificates.Bytes)
	if err != nil || len(certificates) == 0 {
		return nil, fmt.Errorf("%w: the signature has no certificate", ErrChanged)
	}
	own, signature := certificates[0], m.Content.Signers[0].Signature
	set := signedAttributes(own, digest)
	by := signed(own, set, signature)
	by.Unsigned = m.Content.Signers[0].Unsigned
	same := message(by, certificates)
	if filling, ok := bytes.CutPrefix(der, same); !ok || len(bytes.Trim(filling, "\x00")) > 0 {
		return own, ErrChanged
	}
	if err := own.CheckSignature(algorithmOf(own).x509, set, signature); err != nil {
		return own, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return own, nil
}

// attached returns the facts that are attached to a document of this program.
func attached(document []byte) ([]byte, error) {
	heads := factsHead.FindAllSubmatchIndex(document, -1)
	if len(heads) != 1 {
		return nil, fmt.Errorf("%d files of facts are attached", len(heads))
	}
	begin, length := heads[0][1], number(document[heads[0][2]:heads[0][3]])
	if length > len(document)-begin {
		return nil, io.ErrUnexpectedEOF
	}
	unpacked, err := zlib.NewReader(bytes.NewReader(document[begin : begin+length]))
	if err != nil {
		return nil, err
	}
	facts, err := io.ReadAll(io.LimitReader(unpacked, maxFacts+1))
	if err == nil && len(facts) > maxFacts {
		err = errors.New("the facts are too long")
	}
	return facts, err
}

// number returns the value of at most ten digits.
func number(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}
