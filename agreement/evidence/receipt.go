package evidence

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Receipt is the operator's signed word that an agreement is on record, and the promise to seal it in the log by a time. Whoever
// holds it can show that the promise was broken. It is to a checkpoint what a signed certificate timestamp is to the signed tree
// head of Certificate Transparency (RFC 6962, section 3).
//
// Its text is one line of seven words with one space between them: a mark of the format, the number of the agreement, the hash of
// its record in base64 (the leaf hash of RFC 6962), the time of the record, the time by which it is sealed, both as RFC 3339 in UTC,
// the name of the key with a plus sign and its hash in hexadecimal, as a signed note has them, and the signature in base64 (Ed25519)
// of everything before the last space. No checkpoint can be taken for a receipt, because the signed text of a note ends in a line
// break, and that of a receipt does not.
type Receipt struct {
	Number string
	Leaf   Hash
	At     time.Time // to the millisecond
	Until  time.Time // to the millisecond
}

const receiptMark = "provider-checkout-receipt-v1"

// ErrReceipt: a receipt cannot be read, or no key that is known signed it.
var ErrReceipt = errors.New("it is no receipt, or not one that the key has signed")

// ReceiptOf returns the receipt of the entry of an agreement, with the time that its sealing may take at most.
func ReceiptOf(number string, e Entry, within time.Duration) Receipt {
	return Receipt{Number: number, Leaf: tlog.RecordHash(e.Leaf), At: e.At, Until: e.At.Add(within)}
}

// Receipt returns the text of a receipt, signed by the first key; "" if that cannot sign.
func (k Keys) Receipt(r Receipt) (string, error) {
	if !k.CanSign() {
		return "", nil
	}
	text := fmt.Sprintf("%s %s %s %s %s %s+%08x", receiptMark, r.Number, base64.StdEncoding.EncodeToString(r.Leaf[:]), instant(r.At),
		instant(r.Until), k.signer.Name(), k.signer.KeyHash())
	signature, err := k.signer.Sign([]byte(text))
	if err != nil {
		return "", fmt.Errorf("sign a receipt: %w", err)
	}
	return text + " " + base64.StdEncoding.EncodeToString(signature), nil
}

var receiptLine = regexp.MustCompile(`^(` + receiptMark + ` (\S+) (\S+) (\S+) (\S+) (\S+)\+([0-9a-f]{8})) (\S+)$`)

// OpenReceipt returns what the text of a receipt says, or ErrReceipt. Only the one text is read that Keys.Receipt writes.
func (k Keys) OpenReceipt(text string) (r Receipt, err error) {
	word := receiptLine.FindStringSubmatch(text)
	if word == nil {
		return r, ErrReceipt
	}
	signed, name, signature := word[1], word[6], word[8]
	hash, _ := strconv.ParseUint(word[7], 16, 32)
	leaf, errLeaf := tlog.ParseHash(word[3])
	at, errAt := time.Parse(time.RFC3339, word[4])
	until, errUntil := time.Parse(time.RFC3339, word[5])
	r = Receipt{Number: word[2], Leaf: leaf, At: at, Until: until}
	sig, errSig := base64.StdEncoding.Strict().DecodeString(signature)
	if err := errors.Join(errLeaf, errAt, errUntil, errSig); err != nil || len(sig) != ed25519.SignatureSize ||
		leaf.String() != word[3] || instant(at) != word[4] || instant(until) != word[5] {
		return Receipt{}, ErrReceipt
	}
	if !slices.ContainsFunc(k.verifiers, func(v note.Verifier) bool {
		return v.Name() == name && v.KeyHash() == uint32(hash) && v.Verify([]byte(signed), sig)
	}) {
		return Receipt{}, ErrReceipt
	}
	return r, nil
}

// Of reports whether the receipt is of this leaf.
func (r Receipt) Of(leaf []byte) bool { return tlog.RecordHash(leaf) == r.Leaf }
