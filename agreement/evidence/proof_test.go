package evidence_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/testdata"
)

var update = flag.Bool("update", false, "write the vectors in testdata anew")

// vectors are the proofs of testdata/evidence_proofs.json.
type vectors struct {
	Description string   `json:"description"`
	Cases       []vector `json:"cases"`
}

// vector is a proof with the verdict on it.
type vector struct {
	Name    string   `json:"name"`
	Refused string   `json:"refused"` // the step at which it is refused; "" for a good proof
	Keys    []string `json:"keys"`
	PDF     *string  `json:"pdf,omitempty"`
	Base64  bool     `json:"base64,omitempty"` // Proof is in base64, because it is no text
	Proof   string   `json:"proof"`
}

const vectorsText = "Proofs of agreements as of docs/proof.md, each with the step at which it is refused (key, format, checkpoint, position, tree, " +
	"pdf), or an empty text for a good one. keys are the public keys of which one must have signed; pdf is the text of a file that must be the document; with base64 " +
	"the proof is no valid text, and stands in base64."

// step returns the step of docs/proof.md at which a vector is refused.
func (v vector) step(t *testing.T) string {
	t.Helper()
	k, err := evidence.ParseKeys(v.Keys...)
	if err != nil {
		return "key"
	}
	text := []byte(v.Proof)
	if v.Base64 {
		if text, err = base64.StdEncoding.DecodeString(v.Proof); err != nil {
			t.Fatal(err)
		}
	}
	p, err := evidence.ParseProof(text)
	if err != nil {
		return "format"
	}
	_, err = p.Check(k)
	switch {
	case errors.Is(err, evidence.ErrCheckpoint):
		return "checkpoint"
	case err != nil && strings.Contains(err.Error(), "is not in a tree of"):
		return "position"
	case err != nil:
		return "tree"
	case v.PDF != nil && evidence.DocumentHash(p.Leaf) != fmt.Sprintf("%x", sha256.Sum256([]byte(*v.PDF))):
		return "pdf"
	}
	return ""
}

// The vectors follow docs/proof.md, and this package decides as they say.
func TestVectorsOfProofs(t *testing.T) {
	want := vectors{vectorsText, allVectors(t)}
	if *update {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(want); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("../../testdata/evidence_proofs.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	var got vectors
	testdata.Read(t, "evidence_proofs.json", &got)
	if !reflect.DeepEqual(got, want) {
		t.Error("testdata/evidence_proofs.json is not what this test makes: run it with -update, and look at the difference")
	}
	for _, v := range got.Cases {
		if step := v.step(t); step != v.Refused {
			t.Errorf("%s: refused at %q, want %q", v.Name, step, v.Refused)
		}
	}
}

// good is a proof that holds, and what it was made of.
type good struct {
	log    *tree
	keys   evidence.Keys
	proof  evidence.Proof
	pdf    string
	public []string
}

// newGood returns the proof of an agreement at a position of a log of that size.
func newGood(t *testing.T, position, size int) good {
	t.Helper()
	g := good{log: newTree(position), keys: keys(t, 1), pdf: "%PDF-1.7 This is the agreement."}
	g.public = []string{g.keys.Public()}
	g.log.add(fmt.Appendf(nil, `{"kind":"agreement","format":1,"agreement_number":"PPA-2026-YQSAYPHZ0EQ","provider_name":"Kōwhai Institute",`+
		`"course_price_cents":299000,"document_sha256":"%x"}`, sha256.Sum256([]byte(g.pdf))))
	for i := position + 1; i < size; i++ {
		g.log.add(fmt.Appendf(nil, `{"leaf":%d}`, i))
	}
	var err error
	if g.proof, err = g.keys.Prove(g.log.leaves[position], int64(position), sign(t, g.keys, g.log.checkpoint()), g.log.read); err != nil {
		t.Fatal(err)
	}
	return g
}

// is returns the vector of the proof's text after a change.
func (g good) is(name, refused string, change func(text string) string) vector {
	return vector{Name: name, Refused: refused, Keys: g.public, Proof: change(string(g.proof.Text()))}
}

// has returns the vector of a proof with another member.
func (g good) has(name, refused string, change func(p *evidence.Proof)) vector {
	p := g.proof
	p.Path = append([]evidence.Hash{}, p.Path...)
	change(&p)
	return vector{Name: name, Refused: refused, Keys: g.public, Proof: string(p.Text())}
}

// noted returns the vector of a proof with another checkpoint.
func (g good) noted(name, refused string, change func(note string) string) vector {
	return g.has(name, refused, func(p *evidence.Proof) { p.Checkpoint = []byte(change(string(p.Checkpoint))) })
}

func same(text string) string { return text }

// replacing returns a change of the first place of a text.
func replacing(old, by string) func(string) string {
	return func(text string) string {
		if !strings.Contains(text, old) {
			panic("the proof has no " + old)
		}
		return strings.Replace(text, old, by, 1)
	}
}

// allVectors returns the vectors.
func allVectors(t *testing.T) []vector {
	t.Helper()
	g := newGood(t, 11, 37)
	all := append(accepted(t, g), badlyFormed(g)...)
	all = append(all, badlySigned(t, g)...)
	other := "%PDF-1.7 This is another agreement."
	cut, _, _ := strings.Cut(g.public[0], "+")
	return append(all,
		g.has("a place behind the log", "position", func(p *evidence.Proof) { p.Position = 37 }),
		g.has("another record", "tree", func(p *evidence.Proof) { p.Leaf = bytes.Replace(p.Leaf, []byte("299000"), []byte("379014"), 1) }),
		g.has("a longer record", "tree", func(p *evidence.Proof) { p.Leaf = append(bytes.Clone(p.Leaf), ' ') }),
		g.has("another place", "tree", func(p *evidence.Proof) { p.Position = 12 }),
		newGood(t, 2, 3).has("the place of a neighbour, with the path that it would have there", "tree", func(p *evidence.Proof) { p.Position = 1 }),
		g.has("a hash fewer", "tree", func(p *evidence.Proof) { p.Path = p.Path[1:] }),
		g.has("a hash more", "tree", func(p *evidence.Proof) { p.Path = append(p.Path, p.Path[0]) }),
		g.has("another hash", "tree", func(p *evidence.Proof) { p.Path[2][5]++ }),
		vector{"the PDF of another agreement", "pdf", g.public, &other, false, string(g.proof.Text())},
		vector{"a key whose hash is of another name", "key", []string{"x" + cut + g.public[0][len(cut):]}, nil, false, string(g.proof.Text())})
}

// pathOf returns the change of the path to another JSON value.
func pathOf(value string) func(string) string {
	return func(text string) string {
		i, j := strings.Index(text, `"path":`)+len(`"path":`), strings.Index(text, `,"checkpoint"`)
		return text[:i] + value + text[j:]
	}
}

// accepted returns good proofs.
func accepted(t *testing.T, g good) []vector {
	t.Helper()
	other := keys(t, 2).Public()
	witness := "— witness.example " + base64.StdEncoding.EncodeToString(make([]byte, 4+8+ed25519.SignatureSize)) + "\n"
	var all []vector
	for _, at := range [][2]int{{0, 1}, {0, 2}, {1, 2}, {0, 37}, {36, 37}, {99, 100}} {
		all = append(all, newGood(t, at[0], at[1]).is(fmt.Sprintf("record %d of %d", at[0]+1, at[1]), "", same))
	}
	withPDF := g.is("with its PDF", "", same)
	withPDF.PDF = &g.pdf
	rotated := g.is("of the second of two keys", "", same)
	rotated.Keys = []string{other, g.public[0]}
	twice := strings.SplitAfter(string(g.proof.Checkpoint), "\n\n")[1]
	return append(all, withPDF, rotated,
		g.is("with white space and another order", "", func(text string) string {
			var members map[string]any
			_ = json.Unmarshal([]byte(text), &members)
			indented, _ := json.MarshalIndent(members, "", "\t")
			return string(indented) + "\r\n\n"
		}),
		g.is("with letters escaped", "", replacing(`"record"`, `"\u0072ecord"`)),
		g.noted("with the line of a witness", "", func(note string) string { return note + witness }),
		g.noted("with the line of a witness before the key's", "", replacing("\n\n", "\n\n"+witness)),
		g.noted("with a second line of the key, of another signature", "", func(note string) string {
			return note + twice[:40] + "AAAA" + twice[44:]
		}),
		g.noted("with a further line in the checkpoint", "", signed(t, replacing("complete 0\n", "complete 0\nmore\n"))))
}

// badlyFormed returns proofs that cannot be read.
func badlyFormed(g good) []vector {
	forged := strings.Replace(string(g.proof.Leaf), "299000", "379014", 1)
	quoted, _ := json.Marshal(forged)
	hash := g.proof.Path[0].String() // it ends in 4 bits and 2 unused ones
	loose := hash[:42] + string(hash[42]+1) + "="
	invalid := g.is("a byte that is no UTF-8", "format", replacing("Kōwhai", "K\xffwhai"))
	invalid.Base64, invalid.Proof = true, base64.StdEncoding.EncodeToString([]byte(invalid.Proof))
	return []vector{
		invalid,
		g.is("nothing", "format", func(string) string { return "" }),
		g.is("a half", "format", func(text string) string { return text[:len(text)/2] }),
		g.is("a list", "format", func(text string) string { return "[" + text + "]" }),
		g.is("something behind it", "format", func(text string) string { return text + "{}" }),
		g.is("a byte order mark", "format", func(text string) string { return "\ufeff" + text }),
		g.is("another format", "format", replacing("proof v1", "proof v2")),
		g.is("the record twice, a forged one first", "format", replacing(`"record":`, `"record":`+string(quoted)+`,"record":`)),
		g.is("the record twice, a forged one last", "format", replacing(`,"position":`, `,"record":`+string(quoted)+`,"position":`)),
		g.is("the record twice, once with letters escaped", "format", replacing(`"record":`, `"\u0072ecord":`+string(quoted)+`,"record":`)),
		g.is("a further member", "format", replacing(`{"format"`, `{"note":"paid","format"`)),
		g.is("a member in capitals", "format", replacing(`"record":`, `"Record":`)),
		g.is("a forged member in capitals", "format", replacing(`"record":`, `"Record":`+string(quoted)+`,"record":`)),
		g.is("no place", "format", replacing(`"position":11,`, ``)),
		g.is("a place that is null", "format", replacing(`"position":11`, `"position":null`)),
		g.is("a place in quotes", "format", replacing(`"position":11`, `"position":"11"`)),
		g.is("a place with a point", "format", replacing(`"position":11`, `"position":11.0`)),
		g.is("a place with an exponent", "format", replacing(`"position":11`, `"position":11e0`)),
		g.is("a negative place", "format", replacing(`"position":11`, `"position":-11`)),
		g.is("a place of sixteen digits", "format", replacing(`"position":11`, `"position":1000000000000000`)),
		g.is("no path", "format", func(text string) string {
			i, j := strings.Index(text, `"path"`), strings.Index(text, `"checkpoint"`)
			return text[:i] + text[j:]
		}),
		g.is("a path that is null", "format", pathOf("null")),
		g.is("a path that is a text", "format", pathOf(`"`+hash+`"`)),
		g.is("a path that is an object", "format", pathOf("{}")),
		g.is("a hash that is null", "format", replacing(`"`+hash+`"`, "null")),
		g.is("a hash without padding", "format", replacing(hash, strings.TrimSuffix(hash, "="))),
		g.is("another text of a hash", "format", replacing(hash, loose)),
		g.is("a hash of fewer bytes", "format", replacing(hash, hash[4:])),
		g.has("a record that gives a name twice", "format", func(p *evidence.Proof) {
			p.Leaf = bytes.Replace(p.Leaf, []byte(`"format":1`), []byte(`"format":1,"format":1`), 1)
		}),
		g.has("a record that is no object", "format", func(p *evidence.Proof) { p.Leaf = []byte("[" + string(p.Leaf) + "]") }),
		g.has("a record that is no JSON", "format", func(p *evidence.Proof) { p.Leaf = append([]byte("x"), p.Leaf...) }),
	}
}

// signed returns the change of a note to one with another text, signed by the key.
func signed(t *testing.T, change func(text string) string) func(string) string {
	t.Helper()
	private, err := evidence.NewKey("evidence.test", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return func(msg string) string {
		own, err := note.Sign(&note.Note{Text: change(msg[:strings.Index(msg, "\n\n")+1])}, signer)
		if err != nil {
			t.Fatal(err)
		}
		return string(own)
	}
}

// badlySigned returns proofs whose checkpoint is not signed by the key, or cannot be read.
func badlySigned(t *testing.T, g good) []vector {
	t.Helper()
	foreign := keys(t, 2)
	checkpoint := string(g.proof.Checkpoint)
	text := checkpoint[:strings.Index(checkpoint, "\n\n")+1]
	unsigned := vector{"the key of somebody else", "checkpoint", []string{foreign.Public()}, nil, false, string(g.proof.Text())}
	return []vector{unsigned,
		g.noted("the checkpoint of somebody else", "checkpoint", func(string) string { return string(sign(t, foreign, g.log.checkpoint())) }),
		g.noted("a larger log", "checkpoint", replacing("\n37\n", "\n38\n")),
		g.noted("another root", "checkpoint", replacing(g.log.Root().String(), newTree(37).Root().String())),
		g.noted("another time", "checkpoint", replacing("T03:04:05Z", "T03:04:06Z")),
		g.noted("no checkpoint", "checkpoint", func(string) string { return "" }),
		g.noted("no signature", "checkpoint", func(string) string { return text + "\n" }),
		g.noted("no line feed at its end", "checkpoint", func(note string) string { return strings.TrimSuffix(note, "\n") }),
		g.noted("a signature of another byte", "checkpoint", func(note string) string {
			return note[:len(text)+40] + string(note[len(text)+40]^1) + note[len(text)+41:]
		}),
		g.noted("another text of the signature", "checkpoint", func(note string) string {
			end := strings.LastIndex(note, "=")
			return note[:end-1] + string(note[end-1]+1) + note[end:]
		}),
		g.noted("a signature without its dash", "checkpoint", replacing("— ", "- ")),
		g.noted("a line that is no signature", "checkpoint", func(note string) string { return note + "— witness.example\n" }),
		g.noted("a carriage return", "checkpoint", replacing("\n37\n", "\r\n37\r\n")),
		g.noted("signed under another name", "checkpoint", signed(t, replacing("evidence", "xevidence"))),
		g.noted("signed with a size in another form", "checkpoint", signed(t, replacing("\n37\n", "\n037\n"))),
		g.noted("signed with another text of the root", "checkpoint", signed(t, replacing("=\n", "\n"))),
		g.noted("signed without the line of what is complete", "checkpoint", signed(t, replacing("complete 0\n", ""))),
		g.noted("signed with an empty line", "checkpoint", signed(t, replacing("complete 0\n", "complete 0\n\nmore\n"))),
		g.noted("complete for more than it has", "checkpoint", signed(t, replacing("complete 0\n", "complete 38\n"))),
	}
}

func TestProofHasAGreatestSize(t *testing.T) {
	text := string(newGood(t, 3, 9).proof.Text())
	for _, spaces := range []int{0, 64<<10 - len(text), 64<<10 - len(text) + 1} {
		_, err := evidence.ParseProof([]byte(text + strings.Repeat(" ", spaces)))
		if fits := len(text)+spaces <= 64<<10; (err == nil) != fits {
			t.Errorf("a proof of %d bytes: %v", len(text)+spaces, err)
		}
	}
}
