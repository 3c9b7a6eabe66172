package catalogue_test

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

var issuedAt = time.Date(2027, time.February, 1, 9, 30, 0, 123_456_789, time.FixedZone("NZDT", 13*3600))

func TestNewKey(t *testing.T) {
	text, key := catalogue.NewKey("KOWHAI", catalogue.Sandbox, issuedAt, [32]byte([]byte("0123456789abcdefghijklmnopqrstuv")))
	const want = "pck_sandbox_gaytemzu_gu3doobzmfrggzdfmztwq2lknnwg23tpobyxe43uov3a_yzqtajy"
	if text != want {
		t.Errorf("text = %s; want %s", text, want)
	}
	if want := (catalogue.Key{
		ID:          "gaytemzu",
		Provider:    "KOWHAI",
		Environment: catalogue.Sandbox,
		Hash:        sha256.Sum256([]byte(text)),
		CreatedAt:   time.Date(2027, time.January, 31, 20, 30, 0, 123_000_000, time.UTC),
	}); key != want {
		t.Errorf("key = %+v; want %+v", key, want)
	}
}

func TestKeysAreRecognised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		env := rapid.SampledFrom([]catalogue.Environment{catalogue.Sandbox, catalogue.Production}).Draw(t, "environment")
		entropy := [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "entropy"))
		text, key := catalogue.NewKey("KOWHAI", env, issuedAt, entropy)
		if hash, ok := catalogue.HashKey(text); !ok || hash != key.Hash {
			t.Errorf("HashKey(%s) = %x, %v; want %x", text, hash, ok, key.Hash)
		}
		if got := catalogue.KeyID(text); got != key.ID {
			t.Errorf("KeyID(%s) = %s; want %s", text, got, key.ID)
		}
		if got := catalogue.KeyID(key.ID); got != key.ID {
			t.Errorf("KeyID(%s) = %s; want it as it is", key.ID, got)
		}

		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		mistyped := []byte(text)
		mistyped[at] = rapid.Byte().Filter(func(b byte) bool { return b != text[at] }).Draw(t, "byte")
		if _, ok := catalogue.HashKey(string(mistyped)); ok {
			t.Errorf("HashKey(%q) takes a mistyped %s", mistyped, text)
		}
	})
}

func TestEveryBitOfEntropyIsInTheKey(t *testing.T) {
	plain, _ := catalogue.NewKey("KOWHAI", catalogue.Sandbox, issuedAt, [32]byte{})
	for bit := range 256 {
		var entropy [32]byte
		entropy[bit/8] = 1 << (bit % 8)
		if text, _ := catalogue.NewKey("KOWHAI", catalogue.Sandbox, issuedAt, entropy); text == plain {
			t.Errorf("bit %d of the entropy does not change the key", bit)
		}
	}
}

func TestHashKeyRefuses(t *testing.T) {
	text, _ := catalogue.NewKey("KOWHAI", catalogue.Production, issuedAt, [32]byte{1, 2, 3})
	parts := strings.Split(text, "_")
	with := func(i int, part string) string {
		changed := append([]string(nil), parts...)
		changed[i] = part
		return strings.Join(changed, "_")
	}
	summed := func(id, random string) string { // with its checksum
		body := "pck_production_" + id + "_" + random
		sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body)))
		return body + "_" + strings.TrimRight(strings.ToLower(base32.StdEncoding.EncodeToString(sum)), "=")
	}
	if summed(parts[2], parts[3]) != text {
		t.Fatalf("%s is not %s", summed(parts[2], parts[3]), text)
	}
	tests := []struct{ name, in string }{
		{"nothing", ""},
		{"an id with a digit outside the alphabet", summed("a"+parts[2][2:]+"1", parts[3])},
		{"an id in upper case", summed("A"+parts[2][1:], parts[3])},
		{"a random part with a digit outside the alphabet", summed(parts[2], "8"+parts[3][1:])},
		{"an id that is short, with its checksum", summed(parts[2][1:], parts[3])},
		{"a random part that is short, with its checksum", summed(parts[2], parts[3][1:])},
		{"another product's prefix", with(0, "sk")},
		{"the other environment", with(1, "sandbox")},
		{"an unknown environment", with(1, "staging")},
		{"a part too few", strings.Join(parts[:4], "_")},
		{"a part too many", text + "_"},
		{"an id cut short", with(2, parts[2][1:])},
		{"a random part cut short", with(3, parts[3][1:])},
		{"a checksum cut short", with(4, parts[4][1:])},
		{"another checksum", with(4, "aaaaaaa")},
		{"upper case", strings.ToUpper(text)},
		{"a space before it", " " + text},
		{"a line feed after it", text + "\n"},
		{"a key and another", text + text},
		{"a megabyte", strings.Repeat("pck_", 1<<18)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if hash, ok := catalogue.HashKey(tt.in); ok || hash != [32]byte{} {
				t.Errorf("HashKey = %x, %v; want it refused", hash, ok)
			}
			if got := catalogue.KeyID(tt.in); got != tt.in {
				t.Errorf("KeyID = %s; want the text itself", got)
			}
		})
	}
}
