package evidencelog

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

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
		if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return evidence.Keys{}, fmt.Errorf("make %s: %w", path, err)
		}
	}
}

// abandoned is the age of a temporary file that no process still writes.
const abandoned = time.Second

// makeKey makes a file with a new key. The error is fs.ErrExist while another process does. The temporary file has one name,
// so that the next start removes it after a kill.
func makeKey(path string) error {
	private, err := NewKey(KeyName)
	if err != nil {
		return err
	}
	temporary := path + ".new"
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		time.Sleep(abandoned / 20)
		if info, err := os.Stat(temporary); err == nil && time.Since(info.ModTime()) > abandoned {
			return errors.Join(fs.ErrExist, os.Remove(temporary))
		}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(private + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// ParseKeys reads keys that stand a line each, or with commas between.
func ParseKeys(text string) (evidence.Keys, error) {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ',' || r == '\r' || r == ' ' })
	if len(list) == 0 {
		return evidence.Keys{}, errors.New("there is no evidence key")
	}
	return evidence.ParseKeys(list...)
}
