package hostedpages_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// proofPath is the address of the proof of the payer's agreement.
func (b *bench) proofPath() string { return b.partPath("agreement.proof.json") }

// evidenceKeys returns keys that sign.
func evidenceKeys(t *testing.T) evidence.Keys {
	t.Helper()
	private, err := evidence.NewKey("evidence.test", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := evidence.ParseKeys(private)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// seal seals what was recorded, as a server does every few seconds.
func (b *bench) seal(keys evidence.Keys) {
	b.t.Helper()
	err := b.store.SealEvidence(b.t.Context(), 100, func(head evidence.Head, entries []evidence.Entry) (s evidence.Sealing, err error) {
		s.Head = head
		for _, e := range entries {
			position := s.Head.Size
			s.Places = append(s.Places, evidence.Place{ID: e.ID, Position: position, Nodes: s.Head.Append(e.Leaf)})
		}
		s.Head.Checkpoint, err = keys.Sign(evidence.Checkpoint{Size: s.Head.Size, Root: s.Head.Root(), At: b.now})
		return s, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestThePayerSavesTheProofOnceTheRecordIsSealed(t *testing.T) {
	keys := evidenceKeys(t)
	b := newBench(t, setting{evidence: keys})
	b.setUp()
	if at := b.get(b.proofPath()).is(t, http.StatusSeeOther).header.Get("Location"); at != b.setupPath() {
		t.Errorf("before the confirm the proof leads to %q", at)
	}
	b.confirm(order().First)
	pages := []string{b.setupPath(), b.agreementPath()}
	for _, path := range pages {
		page := b.get(path).is(t, http.StatusOK)
		page.reads(t, "The proof of your agreement, a small file to keep with the PDF, is not ready yet. It usually takes a few seconds: look again.")
		page.lacks(t, "agreement.proof.json")
	}
	if at := b.get(b.proofPath()).is(t, http.StatusSeeOther).header.Get("Location"); at != b.setupPath() {
		t.Errorf("before it is sealed the proof leads to %q", at)
	}

	b.seal(keys)
	number := b.stored().Confirmation.AgreementNumber
	saves := func() {
		t.Helper()
		for _, path := range pages {
			b.get(path).is(t, http.StatusOK).wants(t, `<a href="`+b.proofPath()+`">Save the proof of your agreement</a>`, `<a href="/verify" target="_blank" rel="noopener">check</a>`)
		}
		file := b.get(b.proofPath()).is(t, http.StatusOK)
		proof, err := evidence.ParseProof([]byte(file.body))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proof.Check(keys); err != nil || !strings.Contains(string(proof.Leaf), `"agreement_number":"`+number+`"`) {
			t.Errorf("the proof of %s: %v", proof.Leaf, err)
		}
		for name, want := range map[string]string{"Content-Type": "application/json", "Content-Disposition": `attachment; filename="agreement-` + number + `.proof.json"`,
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if got := file.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	saves()
	for _, token := range []string{"", "?token=unknown", "?token=" + b.token + "x"} {
		b.get("/api/dd-setup/agreement.proof.json"+token).is(t, http.StatusNotFound)
	}
	b.do(http.MethodPost, b.proofPath(), "").is(t, http.StatusMethodNotAllowed)

	b.ends(func(c checkout.Checkout) (checkout.Change, error) {
		return checkout.Withdraw{Ground: checkout.GroundHardship, Reason: "Hēmi is ill"}.Decide(c, catalogue.Sandbox, b.now)
	})
	saves() // an agreement that is withdrawn was concluded
	b.change(func(c *checkout.Checkout) { c.ErasedAt = b.now })
	b.get(b.proofPath()).is(t, http.StatusGone).lacks(t, "proof")
}

func TestThereIsNoWordOfAProofWithoutAnEvidenceKey(t *testing.T) {
	b := agreed(t, setting{})
	for _, path := range []string{b.setupPath(), b.agreementPath()} {
		b.get(path).is(t, http.StatusOK).lacks(t, "proof")
	}
	b.get(b.proofPath()).is(t, http.StatusSeeOther)
}

// A record that is not what was signed is no proof, and no page that says nothing.
func TestAProofThatDoesNotHoldIsNotServed(t *testing.T) {
	keys := evidenceKeys(t)
	b := agreed(t, setting{evidence: keys})
	b.seal(keys)
	b.store.forge = func(e *evidence.Entry) { e.Leaf = []byte(strings.Replace(string(e.Leaf), "299000", "379014", 1)) }
	b.failing = true
	b.get(b.proofPath()).is(t, http.StatusInternalServerError).lacks(t, "379014", "Content-Disposition")
}
