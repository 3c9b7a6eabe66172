package evidencelog

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// KeyName stands in the checkpoints of a key that has no other name.
const KeyName = "provider-checkout.evidence"

// NewKey makes a private key with a name.
func NewKey(name string) (private string, err error) {
	var seed [ed25519.SeedSize]byte
	rand.Read(seed[:])
	return evidence.NewKey(name, seed)
}

// ReadKeys returns the keys in a file, one a line. Without the file there are no keys.
func ReadKeys(path string) (evidence.Keys, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return evidence.Keys{}, nil
	}
	if err != nil {
		return evidence.Keys{}, err
	}
	keys, err := ParseKeys(string(text))
	if err != nil {
		return evidence.Keys{}, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// OwnKeys returns the keys in a file, which it makes, readable by its owner only, unless there is one. The file is made
// completely or not at all; of several processes that find no file, one makes it. newest is the newest checkpoint of the
// store: no key is made in the place of the key that signed it.
func OwnKeys(path string, newest []byte) (evidence.Keys, error) {
	for {
		keys, err := ReadKeys(path)
		switch {
		case err != nil || keys.CanVerify():
			return keys, err
		case len(newest) > 0:
			return evidence.Keys{}, fmt.Errorf("%s is missing, and the evidence log was signed by the key %s: put that key back there, or give it", path, evidence.Signer(newest))
		}
		private, err := NewKey(KeyName)
		if err == nil {
			err = privatefile.Write(path, []byte(private+"\n"))
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return evidence.Keys{}, fmt.Errorf("make %s: %w", path, err)
		}
	}
}

// ParseKeys reads keys that stand a line each, or with commas between.
func ParseKeys(text string) (evidence.Keys, error) {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' || r == '\r' || r == ' ' })
	if len(list) == 0 {
		return evidence.Keys{}, errors.New("there is no evidence key")
	}
	return evidence.ParseKeys(list...)
}
