package seal_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/adapters/internal/seal"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// noise is randomness that is the same in every run.
func noise() io.Reader { return rand.NewChaCha8([32]byte{}) }

func box(t *testing.T, secrets ...[]byte) *seal.Box {
	t.Helper()
	b, err := seal.New(secrets, noise())
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return b
}

func sealed(t *testing.T, b *seal.Box, text, place string) []byte {
	t.Helper()
	s, err := b.Seal([]byte(text), place)
	if err != nil {
		t.Fatalf("Seal: %v", err)
	}
	return s
}

func TestOpen(t *testing.T) {
	b := box(t, secret('a'))
	good := sealed(t, b, "whsec_0123456789", "webhook/KOWHAI")
	for _, tt := range []struct {
		name  string
		box   *seal.Box
		place string
		opens bool
	}{
		{"the box that sealed opens", b, "webhook/KOWHAI", true},
		{"a box of the same secret opens", box(t, secret('a')), "webhook/KOWHAI", true},
		{"a box opens under any of its secrets", box(t, secret('b'), secret('a')), "webhook/KOWHAI", true},
		{"another secret does not open", box(t, secret('b')), "webhook/KOWHAI", false},
		{"another place does not open", b, "webhook/RIMU", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain, err := tt.box.Open(good, tt.place)
			if tt.opens && (err != nil || string(plain) != "whsec_0123456789") {
				t.Errorf("Open = %q, %v; want the text that was sealed", plain, err)
			}
			if !tt.opens && !errors.Is(err, seal.ErrSealed) {
				t.Errorf("Open = %q, %v; want ErrSealed", plain, err)
			}
		})
	}
}

func TestFirstSecretSeals(t *testing.T) {
	s := sealed(t, box(t, secret('a'), secret('b')), "text", "place")
	if _, err := box(t, secret('a')).Open(s, "place"); err != nil {
		t.Errorf("Open under the first secret: %v", err)
	}
	if plain, err := box(t, secret('b')).Open(s, "place"); err == nil {
		t.Errorf("Open under the second secret = %q, want an error", plain)
	}
}

func TestEveryFlippedBitShows(t *testing.T) {
	b := box(t, secret('a'))
	good := sealed(t, b, "text", "place")
	for i := range len(good) * 8 {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		if plain, err := b.Open(bad, "place"); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("Open with bit %d flipped = %q, %v; want ErrSealed", i, plain, err)
		}
	}
	for n := range good {
		if plain, err := b.Open(good[:n], "place"); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("Open of the first %d bytes = %q, %v; want ErrSealed", n, plain, err)
		}
	}
}

func TestSealOpensToTheSame(t *testing.T) {
	b := box(t, secret('a'))
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		place := rapid.String().Draw(t, "place")
		s, err := b.Seal(plain, place)
		if err != nil {
			t.Fatalf("Seal: %v", err)
		}
		if len(plain) >= 4 && bytes.Contains(s, plain) {
			t.Errorf("the sealed bytes %x show the plain %x", s, plain)
		}
		again, err := b.Seal(plain, place)
		if err != nil || bytes.Equal(s, again) {
			t.Errorf("sealed twice: %x and %x, %v; want them to differ", s, again, err)
		}
		got, err := b.Open(s, place)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("Open(Seal(%x)) = %x, %v", plain, got, err)
		}
	})
}

func TestFingerprints(t *testing.T) {
	two := box(t, secret('a'), secret('b')).Fingerprints()
	if len(two) != 2 || two[0] == two[1] {
		t.Fatalf("Fingerprints of two secrets = %q, want two different ones", two)
	}
	if one := box(t, secret('b')).Fingerprints(); one[0] != two[1] {
		t.Errorf("Fingerprints = %q, want %q: they depend on the secret alone", one, two[1])
	}
}

func TestNewRefuses(t *testing.T) {
	for name, secrets := range map[string][][]byte{
		"no secret":             nil,
		"a secret of 31 bytes":  {secret('a')[:31]},
		"a short second secret": {secret('a'), []byte("short")},
	} {
		if _, err := seal.New(secrets, noise()); err == nil {
			t.Errorf("New with %s: got no error", name)
		}
	}
}

func TestSealWithoutRandomness(t *testing.T) {
	dry := errors.New("dry")
	b, err := seal.New([][]byte{secret('a')}, iotest.ErrReader(dry))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	if s, err := b.Seal([]byte("text"), "place"); !errors.Is(err, dry) {
		t.Errorf("Seal = %x, %v; want the error of the source", s, err)
	}
}

func FuzzOpen(f *testing.F) {
	b, err := seal.New([][]byte{secret('a')}, noise())
	if err != nil {
		f.Fatal(err)
	}
	good, err := b.Seal([]byte("text"), "place")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:22])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, s []byte) {
		plain, err := b.Open(s, "place")
		if err == nil && !bytes.Equal(s, good) {
			t.Errorf("Open(%x) = %q of bytes that were never sealed", s, plain)
		}
		if err != nil && !errors.Is(err, seal.ErrSealed) {
			t.Errorf("Open(%x): got error %v, want ErrSealed", s, err)
		}
	})
}
