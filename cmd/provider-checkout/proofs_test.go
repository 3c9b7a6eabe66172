package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/testdata"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// proofVector is a case of testdata/evidence_proofs.json.
type proofVector struct {
	Name    string   `json:"name"`
	Refused string   `json:"refused"`
	Keys    []string `json:"keys"`
	PDF     *string  `json:"pdf,omitempty"`
	Base64  bool     `json:"base64,omitempty"`
	Proof   string   `json:"proof"`
}

type proofVectors struct {
	Description string        `json:"description"`
	Cases       []proofVector `json:"cases"`
}

// judgedByCommand returns the step at which verify-proof refuses a proof, as its message says it; "" for a good proof.
func (v proofVector) judgedByCommand(t *testing.T) string {
	t.Helper()
	text := v.Proof
	if v.Base64 {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		text = string(raw)
	}
	args := []string{"verify-proof", "-", "--key", strings.Join(v.Keys, ",")}
	if v.PDF != nil {
		file := filepath.Join(t.TempDir(), "agreement.pdf")
		if err := os.WriteFile(file, []byte(*v.PDF), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--pdf", file)
	}
	got := try(t, nil, text, args...)
	switch {
	case got.code == cli.ExitDone:
		return ""
	case got.stdout != "":
		t.Errorf("%s: verify-proof fails and prints %q", v.Name, got.stdout)
	case got.code == cli.ExitUsage:
		return "key"
	}
	for message, step := range map[string]string{"is not the document of the record": "pdf", "is not in a tree of": "position",
		"the record is not in the tree": "tree", "it is no checkpoint": "checkpoint"} {
		if strings.Contains(got.stderr, message) {
			return step
		}
	}
	return "format"
}

// pageCase is the input of the page of /verify, and pageFinding a part of its verdict.
type pageCase struct {
	proofVector
	Receipt string `json:"receipt"`
	Kept    string `json:"kept"`
}

type pageFinding struct {
	Code string
	OK   *bool // nil for a file that says nothing about the record
	Text string
}

// String returns the finding in short.
func (f pageFinding) String() string {
	if f.OK == nil {
		return f.Code + " unknown"
	}
	return fmt.Sprint(f.Code, " ", *f.OK)
}

// judgedByPage returns what the script of /verify finds.
func judgedByPage(t *testing.T, cases []pageCase) (found [][]pageFinding) {
	t.Helper()
	const program = `
		const fs = require("fs");
		require("vm").runInThisContext(fs.readFileSync("../../adapters/in/httpapi/verify.js", "utf8"));
		(async () => {
			const found = [];
			for (const { proof, base64, keys, pdf, receipt, kept } of JSON.parse(fs.readFileSync(0))) {
				const given = { proof: Buffer.from(proof, base64 ? "base64" : "utf8"), keys: keys.join("\n"), receipt,
					pdf: pdf === undefined ? undefined : Buffer.from(pdf), kept: kept ? Buffer.from(kept) : undefined };
				found.push((await verifyProof(given)).findings);
			}
			console.log(JSON.stringify(found));
		})();`
	cmd := exec.Command("node", "-e", program)
	given, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stderr = bytes.NewReader(given), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	if err := json.Unmarshal(out, &found); err != nil || len(found) != len(cases) {
		t.Fatalf("the page judges %d of %d, %v", len(found), len(cases), err)
	}
	return found
}

// The command, the page's script and a verifier that was written from docs/proof.md alone, in another language, agree on every proof.
func TestThreeVerifiersAgreeOnEveryProof(t *testing.T) {
	testlevel.Full(t)
	var published proofVectors
	testdata.Read(t, "evidence_proofs.json", &published)
	for name, all := range map[string]proofVectors{"published": published, "random": {"1,000 proofs, and 1,000 that are damaged", randomProofs(t, 1000)}} {
		t.Run(name, func(t *testing.T) {
			for i, v := range all.Cases {
				step := v.judgedByCommand(t)
				if (step == "") != (v.Refused == "") {
					t.Errorf("%s: verify-proof refuses it at %q, want %q\n%.200s", v.Name, step, v.Refused, v.Proof)
				}
				all.Cases[i].Refused = step
			}
			var cases []pageCase
			for _, v := range all.Cases {
				cases = append(cases, pageCase{proofVector: v})
			}
			for i, found := range judgedByPage(t, cases) {
				step, v := "", all.Cases[i]
				if last := found[len(found)-1]; last.OK == nil || !*last.OK {
					step = last.Code
				}
				if step != v.Refused {
					t.Errorf("%s: the page refuses it at %q, the command at %q\n%.200s", v.Name, step, v.Refused, v.Proof)
				}
			}
			file := filepath.Join(t.TempDir(), "proofs.json")
			text, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("node", "../../testdata/recipes/verify_proof.mjs", file).CombinedOutput()
			if want := fmt.Sprintf("%d vectors, 0 wrong\n", len(all.Cases)); err != nil || string(out) != want {
				t.Errorf("verify_proof.mjs: %v\n%s", err, out)
			}
		})
	}
}

// The page holds the proof to a receipt and to a checkpoint that was kept, and names what contradicts it.
func TestPageChecksReceiptsAndKeptCheckpoints(t *testing.T) {
	testlevel.Full(t)
	record := `{"kind":"agreement","agreement_number":"PPA-1","log_size":1}`
	head, nodes := evidence.Head{}, [][]evidence.Hash{}
	for _, leaf := range []string{`{"leaf":0}`, `{"leaf":1}`, `{"leaf":2}`, record} {
		nodes = append(nodes, head.Append([]byte(leaf)))
	}
	signed := func(size, complete int64, root evidence.Hash, keys evidence.Keys) string {
		at := time.Date(2027, time.January, 15, 3, 12, 5, 0, time.UTC)
		text, err := keys.Sign(evidence.Checkpoint{Size: size, Root: root, At: at, Complete: complete})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	keys := testKeys(t)
	newest := signed(4, 4, head.Root(), keys)
	proof, err := keys.Prove([]byte(record), 3, []byte(newest),
		func(positions []int64) (list [][]evidence.Hash, _ error) {
			for _, p := range positions {
				list = append(list, nodes[p])
			}
			return list, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	receipt := func(number, leaf string) string {
		at := time.Date(2027, time.January, 15, 3, 12, 5, 6_000_000, time.UTC)
		text, err := keys.Receipt(evidence.ReceiptOf(number, evidence.Entry{At: at, Leaf: []byte(leaf)}, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := receipt("PPA-1", record)
	foreign, err := evidence.NewKey("evidence.test", [32]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	other, err := evidence.ParseKeys(foreign)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, receipt, kept, want, says string }{
		{"the receipt", good, "", "receipt true", "It promised that the record is in the log by Friday"},
		{"the receipt, broken by a message", "\n" + strings.ReplaceAll(good, " ", "\r\n  ") + "\n", "", "receipt true", ""},
		{"another agreement's receipt", receipt("PPA-2", `{"kind":"agreement"}`), "", "receipt false", "of another agreement, PPA-2"},
		{"a receipt of another record", receipt("PPA-1", `{"kind":"agreement"}`), "", "receipt false", "another record of this agreement, and both are signed"},
		{"a receipt that was changed", strings.Replace(good, "T04:", "T05:", 1), "", "receipt false", "changed after it was signed"},
		{"half of a receipt", good[:90], "", "receipt false", "a part of it is missing"},
		{"a receipt of another key", strings.Replace(good, "evidence.test+", "other+", 1), "", "receipt false", "not signed with this public key"},
		{"the same checkpoint", "", newest, "kept true", "cannot have been changed since"},
		{"a later checkpoint", "", signed(5, 5, head.Root(), keys), "kept unknown", "agreements verify --checkpoint"},
		{"a checkpoint from before the record", "", signed(2, 1, head.Root(), keys), "kept unknown", "agreements verify --checkpoint"},
		{"a checkpoint that would have the record", "", signed(2, 2, head.Root(), keys), "kept false", "It was put into the log later."},
		{"a checkpoint of another log", "", signed(4, 4, tlog.RecordHash([]byte("x")), keys), "kept false", "are of different logs, and both are signed"},
		{"a checkpoint of another key", "", signed(4, 4, head.Root(), other), "checkpoint false", "was not signed with this public key"},
		{"no checkpoint", "", "x", "checkpoint false", "The checkpoint that you kept cannot be read"},
	} {
		found := judgedByPage(t, []pageCase{{proofVector{Keys: []string{keys.Public()}, Proof: string(proof.Text())}, tt.receipt, tt.kept}})[0]
		if last := found[len(found)-1]; len(found) != 3 || last.String() != tt.want || !strings.Contains(last.Text, tt.says) {
			t.Errorf("%s: %+v, want %q that says %q", tt.name, found, tt.want, tt.says)
		}
	}
}

// randomProofs returns n proofs of agreements in one log, under checkpoints of many sizes, and n that are damaged.
func randomProofs(t *testing.T, n int) (all []proofVector) {
	t.Helper()
	r := rand.New(rand.NewPCG(22, 3))
	keys := testKeys(t)
	var heads []evidence.Head
	var leaves [][]byte
	var nodes [][]evidence.Hash
	head := evidence.Head{}
	for i := range n {
		a := sample.Agreement(1 + r.IntN(60))
		a.Number, a.OrderID = fmt.Sprintf("PPA-2027-%d", i), fmt.Sprintf("ORDER \"%d\" <é>", i)
		leaf := evidence.OfAgreement(a, evidence.Conclusion{Environment: "sandbox", At: a.AcceptedAt, Document: &agreement.Document{SHA256: sha256.Sum256(pdfOf(i))}}).Leaf
		leaves, nodes = append(leaves, leaf), append(nodes, head.Append(leaf))
		heads = append(heads, head)
	}
	read := func(positions []int64) (list [][]evidence.Hash, _ error) {
		for _, p := range positions {
			list = append(list, nodes[p])
		}
		return list, nil
	}
	prove := func() (evidence.Proof, int) {
		h := heads[r.IntN(n)]
		at := r.Int64N(h.Size)
		c := evidence.Checkpoint{Size: h.Size, Root: h.Root(), At: time.Unix(r.Int64N(1<<31), 0).UTC()}
		signed, err := keys.Sign(c)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := keys.Prove(leaves[at], at, signed, read)
		if err != nil {
			t.Fatal(err)
		}
		return proof, int(at)
	}
	for i := range n {
		proof, at := prove()
		pdf := string(pdfOf(at))
		all = append(all, proofVector{Name: fmt.Sprint("good ", i), Keys: []string{keys.Public()}, PDF: &pdf, Proof: string(proof.Text())})
		proof, at = prove()
		other := string(pdfOf(at))
		v := proofVector{Name: fmt.Sprint("damaged ", i), Refused: "somewhere", Keys: []string{keys.Public()}, Base64: true}
		text := damaged(r, proof)
		if i%20 == 0 {
			text, other = string(proof.Text()), other+" "
		}
		v.PDF, v.Proof = &other, base64.StdEncoding.EncodeToString([]byte(text))
		all = append(all, v)
	}
	return all
}

func pdfOf(i int) []byte { return fmt.Appendf(nil, "%%PDF-1.7 agreement %d", i) }

// damaged returns the text of a proof with one thing changed in it.
func damaged(r *rand.Rand, p evidence.Proof) string {
	text := string(p.Text())
	at := r.IntN(len(text) - 1) // not the line feed at its end, without which it holds
	members := []string{"format", "record", "position", "path", "checkpoint"}
	switch r.IntN(8) {
	default:
		return text[:at] + string([]byte{text[at] ^ 1<<r.IntN(8)}) + text[at+1:]
	case 1:
		return text[:at] + text[at+1:]
	case 2:
		return text[:at]
	case 3:
		return text[:at] + "x" + text[at:]
	case 4: // a member twice
		return `{"` + members[r.IntN(len(members))] + `":"` + strings.Repeat("A", 44) + `",` + text[1:]
	case 5:
		p.Position++
		return string(p.Text())
	case 6:
		p.Leaf = []byte(strings.Replace(string(p.Leaf), "299002", "379014", 1))
		return string(p.Text())
	case 7:
		p.Path = append([]evidence.Hash{{byte(r.IntN(256))}}, p.Path...)
		return string(p.Text())
	}
}
