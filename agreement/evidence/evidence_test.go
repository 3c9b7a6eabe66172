package evidence_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// tree is a log in memory.
type tree struct {
	evidence.Head
	leaves [][]byte
	nodes  [][]evidence.Hash
}

func newTree(leaves int) *tree {
	t := &tree{}
	for i := range leaves {
		t.add(fmt.Appendf(nil, `{"leaf":%d}`, i))
	}
	return t
}

func (t *tree) add(leaf []byte) {
	t.leaves = append(t.leaves, leaf)
	t.nodes = append(t.nodes, t.Append(leaf))
}

func (t *tree) read(positions []int64) ([][]evidence.Hash, error) {
	list := make([][]evidence.Hash, len(positions))
	for i, p := range positions {
		list[i] = t.nodes[p]
	}
	return list, nil
}

func (t *tree) checkpoint() evidence.Checkpoint {
	return evidence.Checkpoint{Size: t.Size, Root: t.Root(), At: time.Date(2026, time.November, 22, 3, 4, 5, 0, time.UTC)}
}

func keys(t testing.TB, seed byte) evidence.Keys {
	t.Helper()
	private, err := evidence.NewKey("evidence.test", [32]byte{seed})
	if err != nil {
		t.Fatal(err)
	}
	k, err := evidence.ParseKeys(private)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sign(t testing.TB, k evidence.Keys, c evidence.Checkpoint) []byte {
	t.Helper()
	signed, err := k.Sign(c)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// The tree is that of RFC 6962, as package tlog computes it from all of its hashes.
func TestRootIsThatOfTheTransparencyLogs(t *testing.T) {
	var log tree
	var stored []tlog.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, _ error) {
		for _, i := range indexes {
			hashes = append(hashes, stored[i])
		}
		return hashes, nil
	})
	for n := range int64(200) {
		want, err := tlog.TreeHash(n, reader)
		if err != nil || log.Root() != want {
			t.Fatalf("the root of %d entries is %v, want %v (%v)", n, log.Root(), want, err)
		}
		leaf := fmt.Appendf(nil, "leaf %d", n)
		more, err := tlog.StoredHashes(n, leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
		log.add(leaf)
		if !slices.Equal(log.nodes[n], more) {
			t.Fatalf("entry %d completes %v, want %v", n, log.nodes[n], more)
		}
	}
}

func TestAppendLeavesOtherHeadsAlone(t *testing.T) {
	log := newTree(7)
	before := log.Root()
	a, b := log.Head, log.Head
	a.Append([]byte("a"))
	b.Append([]byte("b"))
	if log.Root() != before || a.Root() == b.Root() {
		t.Error("two heads share an edge")
	}
}

func TestEveryEntryIsProven(t *testing.T) {
	k := keys(t, 1)
	for size := 1; size <= 70; size++ {
		log := newTree(size)
		c := log.checkpoint()
		signed := sign(t, k, c)
		for position, leaf := range log.leaves {
			proof, err := k.Prove(leaf, int64(position), signed, log.read)
			if err != nil {
				t.Fatal(err)
			}
			read, err := evidence.ParseProof(proof.Text())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := read.Check(k); err != nil || got != c {
				t.Fatalf("entry %d of %d: %+v, %v; want %+v", position, size, got, err, c)
			}
		}
	}
}

func TestProofOfAnythingElseIsRefused(t *testing.T) {
	k := keys(t, 1)
	log := newTree(37)
	c := log.checkpoint()
	proof, err := k.Prove(log.leaves[11], 11, sign(t, k, c), log.read)
	if err != nil {
		t.Fatal(err)
	}
	other := newTree(38).checkpoint()
	for name, change := range map[string]func(*evidence.Proof){
		"another record":                 func(p *evidence.Proof) { p.Leaf = []byte(`{"leaf":12}`) },
		"a longer record":                func(p *evidence.Proof) { p.Leaf = append(slices.Clone(p.Leaf), ' ') },
		"another place":                  func(p *evidence.Proof) { p.Position = 12 },
		"a place outside of the tree":    func(p *evidence.Proof) { p.Position = 37 },
		"a negative place":               func(p *evidence.Proof) { p.Position = -1 },
		"a hash fewer":                   func(p *evidence.Proof) { p.Path = p.Path[1:] },
		"a hash more":                    func(p *evidence.Proof) { p.Path = append(slices.Clone(p.Path), p.Path[0]) },
		"another hash":                   func(p *evidence.Proof) { p.Path = slices.Clone(p.Path); p.Path[2][5]++ },
		"the checkpoint of another tree": func(p *evidence.Proof) { p.Checkpoint = sign(t, k, other) },
		"a checkpoint of another key":    func(p *evidence.Proof) { p.Checkpoint = sign(t, keys(t, 2), c) },
		"a checkpoint of a later time": func(p *evidence.Proof) {
			p.Checkpoint = []byte(strings.Replace(string(p.Checkpoint), "2026-11-22", "2027-11-22", 1))
		},
		"no checkpoint": func(p *evidence.Proof) { p.Checkpoint = nil },
	} {
		changed := proof
		change(&changed)
		if _, err := changed.Check(k); err == nil {
			t.Errorf("a proof with %s is accepted", name)
		}
	}
	if _, err := proof.Check(k); err != nil {
		t.Errorf("the proof itself: %v", err)
	}
}

func TestProofIsSmall(t *testing.T) {
	k := keys(t, 1)
	a, c := agreed()
	leaf := evidence.OfAgreement(a, c).Leaf
	proof := evidence.Proof{Leaf: leaf, Position: 1 << 19, Path: make([]evidence.Hash, 20), // in a tree of a million
		Checkpoint: sign(t, k, evidence.Checkpoint{Size: 1 << 20, At: c.At})}
	if size := len(proof.Text()); size > 4<<10 {
		t.Errorf("the proof has %d bytes, want at most 4 KiB", size)
	}
}

func TestLogIsHeldToWhatItHeld(t *testing.T) {
	for size := range 40 {
		log := newTree(size)
		for earlier := range size + 1 {
			if err := evidence.CheckConsistent(newTree(earlier).checkpoint(), log.checkpoint(), log.read); err != nil {
				t.Errorf("a log of %d that had %d: %v", size, earlier, err)
			}
		}
	}
	log := newTree(40)
	edited := newTree(13)
	edited.add([]byte("leaf 13, edited"))
	fork := newTree(39) // after a restore as much may be recorded as before, but not the same
	fork.add([]byte("leaf 39, edited"))
	for _, earlier := range []evidence.Checkpoint{newTree(41).checkpoint(), edited.checkpoint(), {Size: 7, Root: log.Root()}, fork.checkpoint()} {
		if err := evidence.CheckConsistent(earlier, log.checkpoint(), log.read); err == nil {
			t.Errorf("a log of 40 passes for one that had %d others", earlier.Size)
		}
	}
}

func TestCheckpointComesBack(t *testing.T) {
	k := keys(t, 1)
	for _, c := range []evidence.Checkpoint{newTree(0).checkpoint(), newTree(1).checkpoint(), newTree(1000).checkpoint()} {
		if got, err := k.Open(sign(t, k, c)); err != nil || got != c {
			t.Errorf("Open = %+v, %v; want %+v", got, err, c)
		}
	}
}

func TestCheckpointOfAnybodyElseIsRefused(t *testing.T) {
	k := keys(t, 1)
	signed := string(sign(t, k, newTree(9).checkpoint()))
	for name, text := range map[string]string{
		"another key's":       string(sign(t, keys(t, 2), newTree(9).checkpoint())),
		"another size":        strings.Replace(signed, "\n9\n", "\n8\n", 1),
		"another time":        strings.Replace(signed, "T03:04:05Z", "T03:04:06Z", 1),
		"no signature":        signed[:strings.Index(signed, "\n\n")+2],
		"nothing":             "",
		"another log's name":  strings.Replace(signed, "evidence.test\n", "evidence.other\n", 1),
		"a line more":         strings.Replace(signed, "\n\n", "\nmore\n\n", 1),
		"half of a signature": signed[:len(signed)-20],
	} {
		if c, err := k.Open([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if _, err := (evidence.Keys{}).Open([]byte(signed)); err == nil {
		t.Error("a checkpoint is accepted without a key")
	}
}

// A checkpoint has one text: two texts of one checkpoint would look like two.
func TestOnlyTheCanonicalTextOfACheckpointIsRead(t *testing.T) {
	k := keys(t, 1)
	signed := string(sign(t, k, newTree(9).checkpoint()))
	private, err := evidence.NewKey("evidence.test", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	text := signed[:strings.Index(signed, "\n\n")+1]
	for _, tt := range []struct {
		name, old, new string
		read           bool
	}{
		{"canonical", "", "", true},
		{"a size with a sign", "\n9\n", "\n+9\n", false},
		{"a size with a zero", "\n9\n", "\n09\n", false},
		{"a negative size", "\n9\n", "\n-9\n", false},
		{"a time of another zone", "03:04:05Z", "16:04:05+13:00", false},
		{"a time within a second", "05Z", "05.5Z", false},
		{"a line more", "05Z\n", "05Z\nmore\n", false},
		{"a further line", "complete 0\n", "complete 0\nmore\n", true},
		{"an empty line", "complete 0\n", "complete 0\n\nmore\n", false},
		{"a line that is too long", "complete 0\n", "complete 0 more\n", false},
		{"no line of what is complete", "complete 0\n", "", false},
		{"another log's name", "evidence.test\n", "evidence.other\n", false},
	} {
		own, err := note.Sign(&note.Note{Text: strings.Replace(text, tt.old, tt.new, 1)}, signer)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := k.Open(own); (err == nil) != tt.read {
			t.Errorf("%s: Open(%q) = %+v, %v", tt.name, own, c, err)
		}
	}
}

func TestKeysAreRotated(t *testing.T) {
	private := func(seed byte) string {
		text, err := evidence.NewKey("evidence.test", [32]byte{seed})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	former, now := keys(t, 1), keys(t, 2)
	both, err := evidence.ParseKeys(private(2), former.Public())
	if err != nil {
		t.Fatal(err)
	}
	c := newTree(3).checkpoint()
	for _, k := range []evidence.Keys{former, now} {
		if got, err := both.Open(sign(t, k, c)); err != nil || got != c {
			t.Errorf("both keys: %+v, %v", got, err)
		}
	}
	if _, err := now.Open(sign(t, both, c)); err != nil || both.Public() != now.Public() {
		t.Errorf("the first key does not sign: %v", err)
	}
	public, err := evidence.ParseKeys(former.Public(), private(2))
	if err != nil || public.CanSign() || !public.CanVerify() {
		t.Errorf("a public key that comes first can sign: %v", err)
	}
	if _, err := public.Sign(c); err == nil {
		t.Error("a public key signs")
	}
}

// The text of a key may hold the sign that separates its parts.
func TestEveryKeySigns(t *testing.T) {
	c := newTree(3).checkpoint()
	for seed := range 200 {
		k := keys(t, byte(seed))
		public, err := evidence.ParseKeys(k.Public())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := public.Open(sign(t, k, c)); err != nil || got != c {
			t.Errorf("seed %d: %+v, %v", seed, got, err)
		}
	}
}

func TestKeysThatAreNone(t *testing.T) {
	private, _ := evidence.NewKey("evidence.test", [32]byte{1})
	for _, text := range []string{"", "x", "PRIVATE+KEY+", private[:len(private)-4], strings.ToLower(private), private + "+x", "a+b+c"} {
		if _, err := evidence.ParseKeys(text); err == nil {
			t.Errorf("%q is taken for a key", text)
		} else if strings.Contains(err.Error(), "AAAA") {
			t.Errorf("the error repeats the key: %v", err)
		}
	}
	for _, name := range []string{"", "with space", "with+plus", "new\nline"} {
		if text, err := evidence.NewKey(name, [32]byte{1}); err == nil {
			t.Errorf("NewKey(%q) = %q", name, text)
		}
	}
}

func FuzzOpen(f *testing.F) {
	k := keys(f, 1)
	f.Add(sign(f, k, newTree(9).checkpoint()))
	f.Add([]byte("evidence.test\n9\n\n"))
	f.Fuzz(func(t *testing.T, signed []byte) {
		c, err := k.Open(signed)
		if err == nil && !strings.HasPrefix(string(signed), fmt.Sprintf("evidence.test\n%d\n%v\ntime ", c.Size, c.Root)) {
			t.Errorf("Open(%q) = %+v", signed, c)
		}
	})
}

func FuzzParseProof(f *testing.F) {
	k := keys(f, 1)
	log := newTree(9)
	c := log.checkpoint()
	proof, err := k.Prove(log.leaves[3], 3, sign(f, k, c), log.read)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(proof.Text())
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := evidence.ParseProof(text)
		if err != nil {
			return
		}
		if _, err := p.Check(k); err == nil && !slices.ContainsFunc(log.leaves, func(leaf []byte) bool { return string(leaf) == string(p.Leaf) }) {
			t.Errorf("a proof of %q is accepted", p.Leaf)
		}
	})
}

func TestOperationsHaveOneText(t *testing.T) {
	e := evidence.OfOperation("1", evidence.Operation{At: time.Date(2026, time.November, 22, 3, 4, 5, 6_000_000, time.UTC), Operator: "Ānaru <a@b>",
		Name: "keys revoke", Subject: "KOWHAI", Reason: "leaked", Changes: []string{"live → revoked"}})
	want := `{"kind":"operation","format":1,"at":"2026-11-22T03:04:05.006Z","operator":"Ānaru <a@b>","operation":"keys revoke",` +
		`"subject":"KOWHAI","reason":"leaked","changes":["live → revoked"]}`
	if string(e.Leaf) != want || e.ID != "operation/1" || e.Salt != nil || !json.Valid(e.Leaf) {
		t.Errorf("entry %s has %s\nwant %s", e.ID, e.Leaf, want)
	}
}
