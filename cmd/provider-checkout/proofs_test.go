package main

import (
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

// judgedByPage returns the steps at which the script of /verify refuses the proofs of a file.
func judgedByPage(t *testing.T, file string) (steps []string) {
	t.Helper()
	const program = `
		const fs = require("fs");
		require("vm").runInThisContext(fs.readFileSync("../../adapters/in/httpapi/verify.js", "utf8"));
		(async () => {
			const steps = [];
			for (const v of JSON.parse(fs.readFileSync(process.argv[1])).cases) {
				const pdf = v.pdf === undefined ? undefined : Buffer.from(v.pdf);
				const { findings } = await verifyProof({ proof: Buffer.from(v.proof, v.base64 ? "base64" : "utf8"), keys: v.keys.join("\n"), pdf });
				steps.push(findings.find((finding) => finding.ok === false)?.code ?? "");
			}
			console.log(JSON.stringify(steps));
		})();`
	cmd := exec.Command("node", "-e", program, file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	if err := json.Unmarshal(out, &steps); err != nil {
		t.Fatal(err)
	}
	return steps
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
			file := filepath.Join(t.TempDir(), "proofs.json")
			text, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			steps := judgedByPage(t, file)
			if len(steps) != len(all.Cases) {
				t.Fatalf("the page judges %d of %d", len(steps), len(all.Cases))
			}
			for i, v := range all.Cases {
				if steps[i] != v.Refused {
					t.Errorf("%s: the page refuses it at %q, the command at %q\n%.200s", v.Name, steps[i], v.Refused, v.Proof)
				}
			}
			out, err := exec.Command("node", "../../testdata/recipes/verify_proof.mjs", file).CombinedOutput()
			if want := fmt.Sprintf("%d vectors, 0 wrong\n", len(all.Cases)); err != nil || string(out) != want {
				t.Errorf("verify_proof.mjs: %v\n%s", err, out)
			}
		})
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
		proof, err := evidence.Prove(leaves[at], at, signed, c, read)
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
