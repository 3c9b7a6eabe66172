package checkout_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

const day = 24 * time.Hour

func TestATokenIsReadBackByWhoeverHasTheSecret(t *testing.T) {
	old, rotated := strings.Repeat("o", 32), strings.Repeat("n", 32)
	token := keyring(t, old).Issue(3, noon)
	text, ok := keyring(t, old).Text("TUI-1-a", token)
	if !ok || !strings.HasPrefix(text, "TUI-1-a.3."+token.KID+".") {
		t.Fatalf("Text = %q, %v", text, ok)
	}
	for name, ring := range map[string]checkout.Keyring{"same": keyring(t, old), "rotated": keyring(t, rotated, old)} {
		if id, epoch, ok := ring.Read(text); !ok || id != "TUI-1-a" || epoch != 3 {
			t.Errorf("%s secret: Read = %q, %d, %v", name, id, epoch, ok)
		}
	}
	if _, _, ok := keyring(t, rotated).Read(text); ok {
		t.Error("another secret reads the token")
	}
	if _, ok := keyring(t, rotated).Text("TUI-1-a", token); ok {
		t.Error("another secret writes the token")
	}
}

func TestNoMutantOfATokenIsRead(t *testing.T) {
	ring := keyring(t)
	text, _ := ring.Text("TUI-1-a", ring.Issue(1, noon))
	for i := range text {
		for bit := range 8 {
			mutant := []byte(text)
			mutant[i] ^= 1 << bit
			if _, _, ok := ring.Read(string(mutant)); ok {
				t.Errorf("%q is read", mutant)
			}
		}
	}
	for _, mutant := range []string{"", ".", "...", text + "=", text + ".", text[:len(text)-1], strings.Replace(text, ".1.", ".01.", 1),
		strings.Replace(text, ".1.", ".+1.", 1), strings.Replace(text, ".1.", ".2.", 1)} {
		if _, _, ok := ring.Read(mutant); ok {
			t.Errorf("%q is read", mutant)
		}
	}
}

// Links that payers have opened must work after an upgrade: the text of a token may never change.
func TestTheTextOfATokenStays(t *testing.T) {
	const id = "TUI-1795132800000-aaaaaaaaaaaaaaaa"
	const want = id + ".3.fbc4de7d.lIA9FDeLct73QDNCJg7WqjkoWEWz7c3qNMfMtOgt11c"
	ring := keyring(t, strings.Repeat("s", 32))
	token := ring.Issue(3, noon)
	got, ok := ring.Text(id, token)
	if got != want || !ok || token.KID != "fbc4de7d" || token.Epoch != 3 || !token.Expires.Equal(noon) {
		t.Errorf("Text of %+v = %q, %v; want %q", token, got, ok, want)
	}
	if id, epoch, ok := ring.Read(want); id != "TUI-1795132800000-aaaaaaaaaaaaaaaa" || epoch != 3 || !ok {
		t.Errorf("Read = %q, %d, %v", id, epoch, ok)
	}
}

// What no secret signed is not read, whatever key the forger assumes, and neither is an epoch that is never issued.
func TestForgedTokensAreNotRead(t *testing.T) {
	ring := keyring(t)
	sign := func(signed string, key []byte) string {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(signed))
		return signed + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	}
	kid := ring.Issue(1, noon).KID
	never := func(epoch int) string { text, _ := ring.Text("TUI-1-a", ring.Issue(epoch, noon)); return text }
	for name, text := range map[string]string{
		"an unknown kid under an empty key":  sign("TUI-1-a.1.00000000", nil),
		"no kid under an empty key":          sign("TUI-1-a.1.", nil),
		"the kid under an empty key":         sign("TUI-1-a.1."+kid, nil),
		"the kid under the secret itself":    sign("TUI-1-a.1."+kid, []byte(strings.Repeat("s", 32))),
		"epoch 0":                            never(0),
		"a negative epoch":                   never(-1),
		"an id with a full stop":             strings.Replace(never(1), "TUI-1-a", "TUI.1-a", 1),
		"a text without the signature":       "TUI-1-a.1." + kid + ".",
		"a text with the signature repeated": never(1) + never(1)[strings.LastIndex(never(1), "."):],
	} {
		if id, epoch, ok := ring.Read(text); ok || id != "" || epoch != 0 {
			t.Errorf("%s: Read(%q) = %q, %d, %v; want nothing", name, text, id, epoch, ok)
		}
	}
}

func TestParseSecrets(t *testing.T) {
	a, b := strings.Repeat("abcdef", 6), strings.Repeat("b,", 16)
	for _, tt := range []struct {
		name, list, separator string
		want                  []string
		err                   string
	}{
		{"one", a, ",", []string{a}, ""},
		{"two in an environment variable", " " + a + " , " + a + "c", ",", []string{a, a + "c"}, ""},
		{"two in a file, with commas", a + "\n" + b + "\n", "\n", []string{a, b}, ""},
		{"lines that end as on Windows", a + "\r\n" + b + "\r\n", "\n", []string{a, b}, ""},
		{"none", "", ",", nil, "secret 1 has 0 bytes; at least 32 are needed"},
		{"a short one", a[:31], ",", nil, "secret 1 has 31 bytes; at least 32 are needed"},
		{"a short one after another", a + "\n" + "hush", "\n", nil, "secret 2 has 4 bytes; at least 32 are needed"},
		{"an empty line between two", a + "\n\n" + b, "\n", nil, "secret 2 has 0 bytes; at least 32 are needed"},
	} {
		secrets, err := checkout.ParseSecrets(tt.list, tt.separator)
		var got []string
		for _, s := range secrets {
			got = append(got, string(s))
		}
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: ParseSecrets = %q, %v; want %q, %q", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func TestAReplayKeepsTheTokenWhileADayRemains(t *testing.T) {
	ring := keyring(t)
	c := openedNow(t).Next // its token expires after seven days
	if !c.TokenFresh(ring, noon.Add(6*day)) || len(c.Renew(ring, noon.Add(6*day), 7*day, "provider:key", "req_1").Next.Tokens) != 1 {
		t.Error("with exactly a day left the token is kept")
	}
	later := noon.Add(6*day + time.Millisecond)
	renewed := c.Renew(ring, later, 7*day, "provider:key", "req_1").Next
	if c.TokenFresh(ring, later) || renewed.Latest().Epoch != 2 || !renewed.Latest().Expires.Equal(later.Add(7*day)) {
		t.Errorf("with less than a day left: %+v", renewed.Latest())
	}
	if renewed.TokenExpired(1, later) || !renewed.TokenExpired(1, noon.Add(7*day)) || renewed.TokenExpired(2, noon.Add(8*day)) {
		t.Error("the older token opens until its own end, the newer one until its own")
	}
	if again := renewed.Renew(ring, noon.Add(30*day), 7*day, "provider:key", "req_1").Next; len(again.Tokens) != 1 || !again.TokenExpired(1, noon.Add(30*day)) {
		t.Errorf("expired tokens are forgotten, and stay expired: %+v", again.Tokens)
	}
}

func TestALostSecretRenewsTheToken(t *testing.T) {
	c := openedNow(t).Next
	other := keyring(t, strings.Repeat("x", 32))
	renewed := c.Renew(other, noon, 7*day, "provider:key", "req_1").Next
	if _, ok := other.Text(c.ID, renewed.Latest()); !ok || renewed.Latest().Epoch != 2 {
		t.Errorf("latest token %+v cannot be written by the secret in force", renewed.Latest())
	}
}

func TestShortLivesDoNotPileUpTokens(t *testing.T) {
	ring := keyring(t)
	create := parseCreate(t, legacyBody)
	short := opening(t)
	short.Token.Expires = noon.Add(time.Hour)
	c := create.Open(intentOf(t, create), short).Next
	for i := range 1000 {
		c = c.Renew(ring, noon.Add(time.Duration(i)*time.Millisecond), time.Hour, "provider:key", "req_1").Next
	}
	if len(c.Tokens) > 64 || c.Latest().Epoch != 64 || c.TokenExpired(2, noon.Add(time.Minute)) {
		t.Errorf("%d tokens are kept, the latest of epoch %d; want every valid one, and no more than 64", len(c.Tokens), c.Latest().Epoch)
	}
	if c = c.Renew(ring, noon.Add(2*time.Hour), time.Hour, "provider:key", "req_1").Next; c.Latest().Epoch != 65 {
		t.Errorf("when they have expired the next one is of epoch %d", c.Latest().Epoch)
	}
}

func FuzzKeyringRead(f *testing.F) {
	ring, err := checkout.NewKeyring([]byte(strings.Repeat("s", 32)))
	if err != nil {
		f.Fatal(err)
	}
	text, _ := ring.Text("TUI-1-a", ring.Issue(1, noon))
	f.Add(text)
	f.Add("a.1.b.c")
	f.Fuzz(func(t *testing.T, in string) {
		id, epoch, ok := ring.Read(in)
		if !ok {
			return
		}
		if back, _ := ring.Text(id, ring.Issue(epoch, noon)); back != in {
			t.Errorf("Read accepts %q, which Text writes as %q", in, back)
		}
	})
}

func ExampleKeyring() {
	operator := bytes.Repeat([]byte("secret! "), 4) // 32 bytes or more
	keyring, err := checkout.NewKeyring(operator)
	if err != nil {
		fmt.Println(err)
		return
	}
	token := keyring.Issue(1, time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)) // of this only epoch, kid and expiry are stored
	text, _ := keyring.Text("TUI-1795132800000-aaaaaaaaaaaaaaaa", token)
	id, epoch, ok := keyring.Read(text)
	fmt.Println(id, epoch, ok)

	_, _, ok = keyring.Read(text[:len(text)-1] + "x")
	fmt.Println("forged:", ok)
	// Output:
	// TUI-1795132800000-aaaaaaaaaaaaaaaa 1 true
	// forged: false
}
