package evidence_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// checkpointAfter returns the checkpoint of a log, as many minutes later.
func (t *tree) checkpointAfter(minutes int) evidence.Checkpoint {
	c := t.checkpoint()
	c.At = c.At.Add(time.Duration(minutes) * time.Minute)
	return c
}

// fork returns a log that has the first entries of another.
func (t *tree) fork(entries int) *tree {
	other := &tree{}
	for _, leaf := range t.leaves[:entries] {
		other.add(leaf)
	}
	return other
}

// An honest log is cosigned whatever it has added, and when it asks again. Of a log that was rolled back, and went on otherwise,
// nothing is cosigned that does not go on from what was cosigned, whatever it submits.
func TestWitnessKnowsHonestLogs(t *testing.T) {
	k := keys(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		honest := newTree(rapid.IntRange(0, 40).Draw(t, "entries"))
		minute, known := 0, evidence.Checkpoint{}
		var cosigned []evidence.Checkpoint
		logs := []*tree{honest}
		for range rapid.IntRange(1, 30).Draw(t, "submissions") {
			log := rapid.SampledFrom(logs).Draw(t, "log")
			for range rapid.IntRange(0, 5).Draw(t, "added") {
				log.add(fmt.Appendf(nil, "%p %d", log, log.Size))
			}
			minute++
			if rapid.IntRange(0, 5).Draw(t, "forks") == 0 {
				logs = append(logs, log.fork(rapid.IntRange(0, int(log.Size)).Draw(t, "rolled back to")))
			}
			c := log.checkpointAfter(minute)
			signed, err := k.Sign(c)
			if err != nil {
				t.Fatal(err)
			}
			if known.Size > c.Size {
				if s := (evidence.Submission{Known: c.Size, Checkpoint: signed}); s.Check(known, c) == nil {
					t.Fatal("a smaller log is cosigned")
				}
				continue
			}
			s, err := evidence.Submit(signed, c, known.Size, log.read)
			if err != nil {
				t.Fatal(err)
			}
			read, err := evidence.ParseSubmission(s.Text())
			if err != nil || read.Known != s.Known || !slices.Equal(read.Proof, s.Proof) || !bytes.Equal(read.Checkpoint, signed) {
				t.Fatalf("a submission is read as %+v, %v", read, err)
			}
			goesOn := known.Size == 0 || log.fork(int(known.Size)).Root() == known.Root
			if got := read.Check(known, c); (got == nil) != goesOn {
				t.Fatalf("from %d to %d entries: got %v, and the log goes on: %v", known.Size, c.Size, got, goesOn)
			} else if got == nil {
				known, cosigned = c, append(cosigned, c)
			}
		}
		for i, a := range cosigned {
			for _, b := range cosigned[i:] {
				if a.Size > b.Size || a.Size == b.Size && a.Root != b.Root {
					t.Fatalf("%v is cosigned after %v", b, a)
				}
			}
		}
	})
}

func TestSubmissionsAreRefused(t *testing.T) {
	log := newTree(7)
	known := log.checkpoint()
	for range 6 {
		log.add([]byte("more"))
	}
	next := log.checkpoint()
	empty := evidence.Checkpoint{Root: sha256.Sum256(nil)}
	good, err := evidence.Submit([]byte("signed"), next, known.Size, log.read)
	if err != nil {
		t.Fatal(err)
	}
	proof := good.Proof
	other := slices.Clone(proof)
	other[0][5] ^= 1
	for name, tt := range map[string]struct {
		known, next evidence.Checkpoint
		size        int64
		proof       []evidence.Hash
		want        error
	}{
		"the log goes on":                 {known, next, 7, proof, nil},
		"it stays":                        {next, next, 13, nil, nil},
		"the first":                       {evidence.Checkpoint{}, next, 0, nil, nil},
		"the first, of an empty log":      {evidence.Checkpoint{}, empty, 0, nil, nil},
		"an empty log with another root":  {evidence.Checkpoint{}, evidence.Checkpoint{}, 0, nil, evidence.ErrNotConsistent},
		"a proof of the first":            {evidence.Checkpoint{}, next, 0, proof, evidence.ErrNotConsistent},
		"no proof":                        {known, next, 7, nil, evidence.ErrNotConsistent},
		"another proof":                   {known, next, 7, other, evidence.ErrNotConsistent},
		"more than the proof":             {known, next, 7, append(slices.Clone(proof), other[0]), evidence.ErrNotConsistent},
		"a proof of what stays":           {next, next, 13, proof, evidence.ErrNotConsistent},
		"another root of the same size":   {evidence.Checkpoint{Size: 13}, next, 13, nil, evidence.ErrNotConsistent},
		"another size":                    {known, next, 8, proof, evidence.ErrStale},
		"none, though one is known":       {known, next, 0, nil, evidence.ErrStale},
		"a smaller one":                   {next, known, 7, nil, evidence.ErrStale},
		"a size above that of the second": {next, known, 13, nil, evidence.ErrSubmission},
	} {
		s := evidence.Submission{Known: tt.size, Proof: tt.proof}
		if err := s.Check(tt.known, tt.next); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}

// The form of the specification's own example is read, and nothing that differs from that form by a byte.
func TestSubmissionsHaveOneForm(t *testing.T) {
	const example = `old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
`
	s, err := evidence.ParseSubmission([]byte(example))
	if err != nil || s.Known != 20852014 || len(s.Proof) != 4 || !strings.HasPrefix(string(s.Checkpoint), "example.com/") {
		t.Fatalf("the example is read as %+v, %v", s, err)
	}
	line := strings.SplitAfter(example, "\n")[1]
	for name, text := range map[string]string{
		"nothing":             "",
		"no size":             strings.Replace(example, "old 20852014\n", "", 1),
		"a leading zero":      strings.Replace(example, "old 2", "old 02", 1),
		"a sign":              strings.Replace(example, "old 2", "old +2", 1),
		"a negative size":     strings.Replace(example, "old 2", "old -2", 1),
		"a size over 63 bits": strings.Replace(example, "old 2", "old 9223372036854775808", 1),
		"another word":        strings.Replace(example, "old", "new", 1),
		"two spaces":          strings.Replace(example, "old ", "old  ", 1),
		"CR LF":               strings.ReplaceAll(example, "\n", "\r\n"),
		"half a hash":         strings.Replace(example, line, line[:20]+"\n", 1),
		"a hash in base64url": strings.Replace(example, "5+pK", "5-pK", 1),
		"stray bits":          strings.Replace(example, "pkaw=", "pkax=", 1),
		"64 hashes":           strings.Replace(example, line, strings.Repeat(line, 61), 1),
		"no checkpoint":       strings.SplitAfter(example, "=\n\n")[0][:150],
	} {
		if s, err := evidence.ParseSubmission([]byte(text)); !errors.Is(err, evidence.ErrSubmission) {
			t.Errorf("%s is read as %+v, %v", name, s, err)
		}
	}
	if _, err := evidence.ParseSubmission([]byte(strings.Replace(example, line, strings.Repeat(line, 60), 1))); err != nil {
		t.Errorf("63 hashes: %v", err)
	}
}

// cosigner returns a key that signs notes, which is all that the package knows of a witness.
func cosigner(t testing.TB, name string) (note.Signer, note.Verifier) {
	t.Helper()
	private, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return signer, verifier
}

// Cosignatures are added one after the other. Who does not know the witnesses reads the checkpoint as before.
func TestCosignaturesAreAdded(t *testing.T) {
	k, log := keys(t, 1), newTree(5)
	c := log.checkpoint()
	signed := sign(t, k, c)
	all := signed
	for _, name := range []string{"one", "two"} {
		signer, verifier := cosigner(t, name)
		if evidence.Cosigned(all, verifier) {
			t.Errorf("%s has cosigned already", name)
		}
		_, line, err := k.Cosign(signed, signer)
		if err != nil {
			t.Fatal(err)
		}
		answer := append([]byte("— somebody AAAAAAA=\nnonsense\n"), line...)
		if all, err = evidence.AddCosignature(all, answer, verifier); err != nil || !evidence.Cosigned(all, verifier) {
			t.Fatalf("with %s: %s, %v", name, all, err)
		}
		if again, err := evidence.AddCosignature(all, line, verifier); err != nil || string(again) != string(all) {
			t.Errorf("%s is added twice: %s, %v", name, again, err)
		}
	}
	if got, err := k.Open(all); err != nil || got != c || evidence.Signer(all) != evidence.Signer(signed) || !bytes.HasPrefix(all, signed) {
		t.Errorf("the cosigned checkpoint says %v, %v", got, err)
	}
	if _, err := k.Prove(log.leaves[2], 2, all, log.read); err != nil {
		t.Errorf("a proof under it: %v", err)
	}
}

// What a witness keeps has the log's signature and its own, and no line that a stranger has added.
func TestAWitnessKeepsNoForeignLines(t *testing.T) {
	k := keys(t, 1)
	signed := sign(t, k, newTree(3).checkpoint())
	signer, verifier := cosigner(t, "one")
	foreign := strings.Repeat("— somebody AAAAAAA=\n", 99)
	cosigned, line, err := k.Cosign(append(bytes.Clone(signed), foreign...), signer)
	if want := append(bytes.Clone(signed), line...); err != nil || !bytes.Equal(cosigned, want) || !evidence.Cosigned(cosigned, verifier) {
		t.Errorf("got %s, %v; want %s", cosigned, err, want)
	}
	if _, _, err := keys(t, 2).Cosign(signed, signer); !errors.Is(err, evidence.ErrCheckpoint) {
		t.Errorf("a checkpoint of another log is cosigned: %v", err)
	}
}

func TestAnswersWithoutACosignatureAreRefused(t *testing.T) {
	k, log := keys(t, 1), newTree(5)
	signed := sign(t, k, log.checkpoint())
	signer, verifier := cosigner(t, "one")
	namesake, _ := cosigner(t, "one")
	of := func(signed []byte, signer note.Signer) string {
		_, line, err := k.Cosign(signed, signer)
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	good := of(signed, signer)
	log.add([]byte("more"))
	text, _, _ := strings.Cut(string(signed), "\n\n")
	for name, answer := range map[string]string{
		"nothing":                       "",
		"a line without an end":         strings.TrimSuffix(good, "\n"),
		"the note again":                text + "\n\n" + good[:len(good)-9] + "\n",
		"a cosignature of another one":  of(sign(t, k, log.checkpoint()), signer),
		"that of another key":           of(signed, namesake),
		"a signature with a flaw":       good[:30] + "AAAA" + good[34:],
		"another text of the signature": otherText(good), // with it the log could not read its checkpoint
		"the log's own signature alone": string(signed[len(text)+2:]),
	} {
		if got, err := evidence.AddCosignature(signed, []byte(answer), verifier); !errors.Is(err, evidence.ErrCosignature) {
			t.Errorf("%s is added: %s, %v", name, got, err)
		}
	}
}

// otherText returns a line of a signature of which the last bits, which say nothing, are not zero.
func otherText(line string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	body := strings.TrimRight(line, "=\n")
	last := len(body) - 1
	return body[:last] + string(digits[strings.IndexByte(digits, body[last])+1]) + line[len(body):]
}

func FuzzParseSubmission(f *testing.F) {
	f.Add([]byte("old 3\nPlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n\norigin\n"))
	f.Add([]byte("old 0\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := evidence.ParseSubmission(text)
		if err == nil && !bytes.Equal(s.Text(), text) {
			t.Errorf("%q is read as %+v, which is %q", text, s, s.Text())
		}
	})
}

func FuzzAddCosignature(f *testing.F) {
	k := keys(f, 1)
	signed, err := k.Sign(newTree(5).checkpoint())
	if err != nil {
		f.Fatal(err)
	}
	signer, verifier := cosigner(f, "one")
	_, line, err := k.Cosign(signed, signer)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte("— one AAAAAAA=\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		got, err := evidence.AddCosignature(signed, answer, verifier)
		if err == nil && (!evidence.Cosigned(got, verifier) || !k.Signed(got) || !bytes.HasPrefix(got, signed)) {
			t.Errorf("with %q: %s", answer, got)
		}
	})
}
