package pdf

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"

	"github.com/klauspost/compress/zlib"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// factsName is the name of the file with the agreement's facts that is attached to its document.
const factsName = "agreement.json"

const dateForm = "D:20060102150405Z"

// The signature is a certification that permits no change. Its value and the ranges that it signs are filled in once the rest is written:
// their places are as wide as anything that may come.
const (
	rangeForm  = "[0 %010d %010d %010d]"
	rangeBlank = "[0 0000000000 0000000000 0000000000]"
	// cmsRoom is the size in bytes of a signature beside its certificates and its time-stamp.
	cmsRoom = 1536
)

// papers are the entries of the catalogue and of the first page for the objects that attach the facts and certify the document.
type papers struct {
	inCatalogue, onPage string
	sum                 []byte // of the facts
}

// papers writes the objects of an agreement with its facts.
func (p *press) papers(a agreement.Agreement, facts []byte, firstPage, room int) papers {
	at := a.AcceptedAt.UTC().Format(dateForm)
	sum := sha256.Sum256(facts)
	embedded := p.stream(fmt.Sprintf("/Type /EmbeddedFile /Subtype /application#2Fjson /Params <</Size %d /ModDate (%s) /CheckSum <%X>>> ",
		len(facts), at, sum[:16]), p.compress(facts))
	file := p.object("<</Type /Filespec /F (%[1]s) /UF (%[1]s) /AFRelationship /Data /Desc (The facts of this agreement) "+
		"/EF <</F %[2]d 0 R /UF %[2]d 0 R>>>>", factsName, embedded)
	signature := p.object("<</Type /Sig /Filter /Adobe.PPKLite /SubFilter /ETSI.CAdES.detached /M (%s) /Name %s /Reason %s "+
		"/Reference [<</Type /SigRef /TransformMethod /DocMDP /TransformParams <</Type /TransformParams /P 1 /V /1.2>>>>] /ByteRange %s /Contents <%0*d>>>",
		at, textString(cmp.Or(oneLine(a.Terms.Lender.Name), oneLine(a.Provider.Name))), textString(a.Title()), rangeBlank, 2*room, 0)
	field := p.object("<</Type /Annot /Subtype /Widget /FT /Sig /T (Signature) /Rect [0 0 0 0] /F 132 /P %d 0 R /V %d 0 R>>", firstPage, signature)
	return papers{
		sum: sum[:16],
		inCatalogue: fmt.Sprintf("/AF [%[1]d 0 R] /Names <</EmbeddedFiles <</Names [(%[2]s) %[1]d 0 R]>>>> "+
			"/AcroForm <</Fields [%[3]d 0 R] /SigFlags 3>> /Perms <</DocMDP %[4]d 0 R>> ", file, factsName, field, signature),
		onPage: fmt.Sprintf(" /Annots [%d 0 R]", field),
	}
}

// room returns the size in bytes of the place for a signature.
func (s *Signer) room() (n int) {
	n = cmsRoom
	for _, c := range s.chain {
		n += len(c.Raw)
	}
	if s.Stamper != nil {
		n += stampRoom
	}
	return n
}

func (s *Signer) certify(ctx context.Context, document []byte) error {
	begin := bytes.LastIndex(document, []byte("/ByteRange "+rangeBlank+" /Contents <"))
	if begin < 0 {
		return fmt.Errorf("there is no place for a signature")
	}
	value := begin + len("/ByteRange "+rangeBlank+" /Contents ")
	after := value + bytes.IndexByte(document[value:], '>') + 1
	copy(document[begin+len("/ByteRange "):], fmt.Sprintf(rangeForm, value, after, len(document)-after))
	by, err := s.sign(digestOf(document[:value], document[after:]))
	if err != nil {
		return err
	}
	s.Stamper.add(ctx, &by)
	signed := message(by, s.chain)
	if hex.EncodedLen(len(signed)) > after-value-2 {
		return fmt.Errorf("a signature of %d bytes has no room", len(signed))
	}
	copy(document[value+1:], bytes.ToUpper([]byte(hex.EncodeToString(signed))))
	return nil
}

func digestOf(before, after []byte) []byte {
	sum := sha256.New()
	sum.Write(before)
	sum.Write(after)
	return sum.Sum(nil)
}

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

func attributeOf(kind asn1.ObjectIdentifier, value any) attribute {
	return attribute{kind, []asn1.RawValue{{FullBytes: must(asn1.Marshal(value))}}}
}

// algorithmOf returns the algorithm of the signatures under a certificate, by its name in a message and in package x509.
func algorithmOf(c *x509.Certificate) (pkix.AlgorithmIdentifier, x509.SignatureAlgorithm) {
	if _, ok := c.PublicKey.(*ecdsa.PublicKey); ok {
		return pkix.AlgorithmIdentifier{Algorithm: oidECDSA}, x509.ECDSAWithSHA256
	}
	return pkix.AlgorithmIdentifier{Algorithm: oidRSA, Parameters: asn1.NullRawValue}, x509.SHA256WithRSA
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
	algorithm, _ := algorithmOf(own)
	return signerInfo{Version: 1, Certificate: issuerAndSerial{asn1.RawValue{FullBytes: own.RawIssuer}, own.SerialNumber},
		DigestAlgorithm:    pkix.AlgorithmIdentifier{Algorithm: oidSHA256},
		Signed:             asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: attributes.Bytes},
		SignatureAlgorithm: algorithm, Signature: signature}
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

// Why a document is not verified.
var (
	ErrUnsigned = errors.New("it has no signature of this program")
	ErrChanged  = errors.New("it was changed after it was signed")
)

const maxFacts = 4 << 20

var (
	signatureValue = regexp.MustCompile(`/ByteRange \[0 (\d{10}) (\d{10}) (\d{10})\] /Contents <([0-9A-F]*)>`)
	factsHead      = regexp.MustCompile(`<</Type /EmbeddedFile [^\n]*/Filter /FlateDecode /Length \d+>>\nstream\n`)
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
	if under, err = verified(der, digestOf(document[:value], document[after:])); err != nil {
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
	_, algorithm := algorithmOf(own)
	if err := own.CheckSignature(algorithm, set, signature); err != nil {
		return own, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return own, nil
}

func attached(document []byte) ([]byte, error) {
	heads := factsHead.FindAllIndex(document, -1)
	if len(heads) != 1 {
		return nil, fmt.Errorf("%d files of facts are attached", len(heads))
	}
	unpacked, err := zlib.NewReader(bytes.NewReader(document[heads[0][1]:]))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(unpacked, maxFacts)) // JSON that is cut off is refused
}

func number(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}
