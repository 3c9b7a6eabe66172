package service_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// The e-mail does not wait for the seal; the proof is there when the seal is.
func TestAnAgreementHasItsProofOnceItIsSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, post := notifying(t, signing(t))
		c := w.confirmed(t, "ORDER-1")
		token, ok := w.config.Keyring.Text(c.ID, c.Latest())
		if !ok {
			t.Fatal("there is no token")
		}
		look := func() (service.SetupPage, *evidence.Proof) {
			t.Helper()
			page, err := w.SetupPage(t.Context(), token)
			must(t, err)
			proof, err := w.Proof(t.Context(), *page.Agreement)
			must(t, err)
			return page, proof
		}
		if page, proof := look(); page.Proof != service.ProofWaiting || proof != nil {
			t.Errorf("before the seal the page says %v, the proof is %v", page.Proof, proof)
		}
		w.runFor(t, time.Minute)
		page, proof := look()
		if page.Proof != service.ProofReady || proof == nil {
			t.Fatalf("after the seal the page says %v, the proof is %v", page.Proof, proof)
		}
		if _, err := proof.Check(w.config.Evidence); err != nil || !strings.Contains(string(proof.Leaf), page.Agreement.Number) {
			t.Errorf("the proof of %s: %v", proof.Leaf, err)
		}
		if got := post.take(); len(got) == 0 || !strings.Contains(got[len(got)-1].Text, "Your page also has the proof of the agreement") {
			t.Errorf("the e-mail says nothing of the proof: %+v", got)
		}
		w.wantNoReports(t)
	})
}

func TestWithoutAnEvidenceKeyThereIsNoProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, post := notifying(t)
		c := w.confirmed(t, "ORDER-1")
		token, _ := w.config.Keyring.Text(c.ID, c.Latest())
		w.runFor(t, time.Minute)
		page, err := w.SetupPage(t.Context(), token)
		must(t, err)
		proof, err := w.Proof(t.Context(), *page.Agreement)
		if must(t, err); page.Proof != service.ProofNone || proof != nil {
			t.Errorf("the page says %v, the proof is %v", page.Proof, proof)
		}
		for _, n := range post.take() {
			if strings.Contains(n.Text, "proof") {
				t.Errorf("the e-mail speaks of a proof:\n%s", n.Text)
			}
		}
	})
}
