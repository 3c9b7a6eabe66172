package evidence

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// ErrStatement: a statement cannot be read, is of another kind, or no key that is known signed it.
var ErrStatement = errors.New("it is no such statement, or not one that the key has signed")

// SignStatement returns lines of text as a signed note, under a first line that names the kind of the statement. The kind has a space,
// which no name of a key has: no statement can be taken for a checkpoint.
func (k Keys) SignStatement(kind, text string) ([]byte, error) {
	if !k.CanSign() {
		return nil, fmt.Errorf("sign a %s: there is no private key", kind)
	}
	signed, err := note.Sign(&note.Note{Text: kind + "\n" + text}, k.signer)
	if err != nil {
		return nil, fmt.Errorf("sign a %s: %w", kind, err)
	}
	return signed, nil
}

// OpenStatement returns the text of a signed statement of a kind, or ErrStatement.
func (k Keys) OpenStatement(kind string, signed []byte) (text string, err error) {
	opened, err := note.Open(signed, note.VerifierList(k.verifiers...))
	if err != nil || !exact(opened) {
		return "", ErrStatement
	}
	text, ok := strings.CutPrefix(opened.Text, kind+"\n")
	if !ok {
		return "", ErrStatement
	}
	return text, nil
}
