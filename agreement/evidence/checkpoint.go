package evidence

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// emptyRoot is the hash of a tree without entries (RFC 6962, section 2.1).
var emptyRoot = tlog.Hash(sha256.Sum256(nil))

var (
	// ErrCheckpoint: a checkpoint cannot be read, or no key that is known signed it.
	ErrCheckpoint = errors.New("it is no checkpoint, or not one that the key has signed")

	errDamaged = errors.New("the evidence log lacks a part of its tree")
)

// Checkpoint says what a log held at a time. Its signed text is a note as of C2SP's tlog-checkpoint: the name of the key,
// the size, the root in base64, the time, how far it is complete, an empty line, and the signature.
type Checkpoint struct {
	Size int64
	Root tlog.Hash
	At   time.Time // of the signature, UTC, to the second, as the clock of the sealer said
	// Complete is a size of the tree, at most Size: every entry that says that it had seen a smaller tree is in this one.
	Complete int64
}

// Late is the longest time between the time in an entry and its sealing, while the clocks of the machines agree.
const Late = 2 * time.Minute

const (
	timeField     = "time "
	completeField = "complete "
)

// text returns what is signed.
func (c Checkpoint) text(origin string) string {
	return fmt.Sprintf("%s\n%d\n%s\n%s%s\n%s%d\n", origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]),
		timeField, c.At.UTC().Format(time.RFC3339), completeField, c.Complete)
}

// parseCheckpoint reads what was signed. It skips further lines, which a later version may sign.
func parseCheckpoint(text, origin string) (c Checkpoint, err error) {
	var name, root, at string
	const form = "%s\n%d\n%s\n" + timeField + "%s\n" + completeField + "%d\n"
	if _, err := fmt.Sscanf(text, form, &name, &c.Size, &root, &at, &c.Complete); err != nil || c.Complete < 0 || c.Complete > c.Size {
		return c, ErrCheckpoint
	}
	var errRoot, errTime error
	c.Root, errRoot = tlog.ParseHash(root)
	c.At, errTime = time.Parse(time.RFC3339, at)
	further, ours := strings.CutPrefix(text, c.text(origin))
	if errRoot != nil || errTime != nil || !ours || strings.Contains("\n"+further, "\n\n") {
		return c, ErrCheckpoint
	}
	return c, nil
}

// Keys sign and verify checkpoints. The zero Keys do neither.
type Keys struct {
	signer    note.Signer
	verifiers []note.Verifier
	public    string
}

const privatePrefix = "PRIVATE+KEY+"

// NewKey returns the private key (Ed25519) that has a random seed, and a name that stands in every checkpoint. It is a line
// of text, as of package note.
func NewKey(name string, seed [ed25519.SeedSize]byte) (private string, err error) {
	private, _, err = note.GenerateKey(bytes.NewReader(seed[:]), name)
	if err != nil {
		return "", fmt.Errorf("make an evidence key: %w", err)
	}
	if _, err := note.NewSigner(private); err != nil {
		return "", errors.New("make an evidence key: the name may hold no white space and no plus sign")
	}
	return private, nil
}

// ParseKeys reads a list of keys, private or public. The first one signs, if it is private, and all verify: what former
// keys have signed stays proven. Its error repeats no key.
func ParseKeys(list ...string) (Keys, error) {
	var keys Keys
	for i, text := range list {
		text = strings.TrimSpace(text)
		public := text
		if strings.HasPrefix(text, privatePrefix) {
			signer, key, err := PrivateKey(text)
			if err == nil {
				public, err = note.NewEd25519VerifierKey(signer.Name(), key.Public().(ed25519.PublicKey))
			}
			if err != nil {
				return Keys{}, fmt.Errorf("evidence key %d is no private key of a signed note", i+1)
			}
			if i == 0 {
				keys.signer = signer
			}
		}
		verifier, err := note.NewVerifier(public)
		if err != nil {
			return Keys{}, fmt.Errorf("evidence key %d is no key of a signed note", i+1)
		}
		if i == 0 {
			keys.public = public
		}
		keys.verifiers = append(keys.verifiers, verifier)
	}
	return keys, nil
}

// PrivateKey reads a private key, as NewKey returns it.
func PrivateKey(private string) (note.Signer, ed25519.PrivateKey, error) {
	signer, err := note.NewSigner(private)
	if err != nil {
		return nil, nil, errors.New("it is no private key of a signed note")
	}
	parts := strings.SplitN(private, "+", 5) // the last one, in base64, may have plus signs
	data, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(data) != 1+ed25519.SeedSize {
		return nil, nil, errors.New("it is no Ed25519 key")
	}
	return signer, ed25519.NewKeyFromSeed(data[1:]), nil
}

// CanSign reports whether there is a private key.
func (k Keys) CanSign() bool { return k.signer != nil }

// CanVerify reports whether there is any key.
func (k Keys) CanVerify() bool { return len(k.verifiers) > 0 }

// Public returns the text of the first key's public half, which anybody may have; "" without keys.
func (k Keys) Public() string { return k.public }

// Sign returns the checkpoint as a signed note.
func (k Keys) Sign(c Checkpoint) ([]byte, error) {
	if !k.CanSign() {
		return nil, errors.New("sign a checkpoint: there is no private key")
	}
	signed, err := note.Sign(&note.Note{Text: c.text(k.signer.Name())}, k.signer)
	if err != nil {
		return nil, fmt.Errorf("sign a checkpoint: %w", err)
	}
	return signed, nil
}

// Signed reports whether one of the keys signed the checkpoint.
func (k Keys) Signed(signed []byte) bool {
	_, err := k.Open(signed)
	return err == nil
}

// Signer returns which key signed a note, as far as the note says: the name and the hash with which the key's public half
// begins. It is "" if the text is no signed note. Nothing is verified.
func Signer(signed []byte) string {
	_, err := note.Open(signed, note.VerifierList())
	unverified, ok := errors.AsType[*note.UnverifiedNoteError](err)
	if !ok || len(unverified.Note.UnverifiedSigs) == 0 {
		return ""
	}
	sig := unverified.Note.UnverifiedSigs[0]
	return fmt.Sprintf("%s+%08x", sig.Name, sig.Hash)
}

// Open returns what a signed note says, or ErrCheckpoint.
func (k Keys) Open(signed []byte) (Checkpoint, error) {
	opened, err := note.Open(signed, note.VerifierList(k.verifiers...))
	if err != nil || !exact(opened) {
		return Checkpoint{}, ErrCheckpoint
	}
	return parseCheckpoint(opened.Text, opened.Sigs[0].Name)
}

// OpenHead returns the newest checkpoint of a log, which is zero for an empty log without any. The error is ErrCheckpoint if none of
// the keys signed it, or if it does not sign the end of the log as it is: the log was tampered with.
func (k Keys) OpenHead(h Head) (c Checkpoint, err error) {
	if h.Size == 0 && len(h.Checkpoint) == 0 {
		return c, nil
	}
	if c, err = k.Open(h.Checkpoint); err == nil && (c.Size != h.Size || c.Root != h.Root()) {
		err = ErrCheckpoint
	}
	return c, err
}

// exact reports whether no signature of a note is another text of the same bytes.
func exact(n *note.Note) bool {
	return !slices.ContainsFunc(slices.Concat(n.Sigs, n.UnverifiedSigs), func(sig note.Signature) bool {
		_, err := base64.StdEncoding.Strict().DecodeString(sig.Base64)
		return err != nil
	})
}
