package evidence_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

func TestAStatementIsOpenedByItsKindAndKeyAlone(t *testing.T) {
	const kind, text = "provider-checkout test v1", "line 1\nline 2\n"
	key := func(name string, seed byte) evidence.Keys {
		private, err := evidence.NewKey(name, [32]byte{seed})
		if err != nil {
			t.Fatal(err)
		}
		keys, err := evidence.ParseKeys(private)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	keys := key("log.example", 1)
	signed, err := keys.SignStatement(kind, text)
	if err != nil {
		t.Fatal(err)
	}
	public, err := evidence.ParseKeys(key("other.example", 2).Public(), keys.Public())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := public.OpenStatement(kind, signed); err != nil || got != text {
		t.Errorf("the statement is opened as %q, %v; want %q", got, err, text)
	}
	checkpoint, err := keys.Sign(evidence.Checkpoint{At: time.Unix(1_800_000_000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (string, error){
		"by another key":  func() (string, error) { return key("log.example", 2).OpenStatement(kind, signed) },
		"as another kind": func() (string, error) { return keys.OpenStatement("provider-checkout test v2", signed) },
		"that was edited": func() (string, error) {
			return keys.OpenStatement(kind, bytes.Replace(signed, []byte("line 2"), []byte("line 3"), 1))
		},
		"of the same signature in another text": func() (string, error) { // the last character has two bits that count for nothing
			last := bytes.IndexByte(signed, '=') - 1
			const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
			other := bytes.Clone(signed)
			other[last] = alphabet[strings.IndexByte(alphabet, other[last])^1]
			return keys.OpenStatement(kind, other)
		},
		"of no signature":  func() (string, error) { return keys.OpenStatement(kind, []byte(kind+"\n"+text)) },
		"of a checkpoint":  func() (string, error) { return keys.OpenStatement(kind, checkpoint) },
		"of nothing":       func() (string, error) { return keys.OpenStatement(kind, nil) },
		"without any keys": func() (string, error) { return evidence.Keys{}.OpenStatement(kind, signed) },
	} {
		if got, err := open(); !errors.Is(err, evidence.ErrStatement) || got != "" {
			t.Errorf("a statement %s is opened as %q, %v", name, got, err)
		}
	}
	if _, err := keys.Open(signed); !errors.Is(err, evidence.ErrCheckpoint) {
		t.Errorf("a statement is taken for a checkpoint: %v", err)
	}
	if _, err := public.SignStatement(kind, text); err == nil {
		t.Error("a public key has signed")
	}
}
