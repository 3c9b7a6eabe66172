package pdf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// factsName is the name of the file with the agreement's facts that is attached to its document.
const factsName = "agreement.json"

// dateForm is the form of a time in UTC.
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
type papers struct{ inCatalogue, onPage string }

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
		at, textString(signedBy(a)), textString("Payment Plan Agreement "+a.Number), rangeBlank, 2*room, 0)
	field := p.object("<</Type /Annot /Subtype /Widget /FT /Sig /T (Signature) /Rect [0 0 0 0] /F 132 /P %d 0 R /V %d 0 R>>", firstPage, signature)
	return papers{
		inCatalogue: fmt.Sprintf("/AF [%[1]d 0 R] /Names <</EmbeddedFiles <</Names [(%[2]s) %[1]d 0 R]>>>> "+
			"/AcroForm <</Fields [%[3]d 0 R] /SigFlags 3>> /Perms <</DocMDP %[4]d 0 R>> ", file, factsName, field, signature),
		onPage: fmt.Sprintf(" /Annots [%d 0 R]", field),
	}
}

// signedBy returns the name of whose signature it is.
func signedBy(a agreement.Agreement) string {
	if a.Terms.Lender.Name != "" {
		return oneLine(a.Terms.Lender.Name)
	}
	return oneLine(a.Provider.Name)
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

// certify fills the place of the signature in a document.
func (s *Signer) certify(ctx context.Context, document []byte) error {
	begin := bytes.LastIndex(document, []byte("/ByteRange "+rangeBlank+" /Contents <"))
	if begin < 0 {
		return fmt.Errorf("there is no place for a signature")
	}
	value := begin + len("/ByteRange "+rangeBlank+" /Contents ")
	after := value + bytes.IndexByte(document[value:], '>') + 1
	copy(document[begin+len("/ByteRange "):], fmt.Sprintf(rangeForm, value, after, len(document)-after))
	sum := sha256.New()
	sum.Write(document[:value])
	sum.Write(document[after:])
	by, err := s.sign(sum.Sum(nil))
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
