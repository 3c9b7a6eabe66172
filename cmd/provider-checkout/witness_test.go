package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/torchwood"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// newWitness makes the key of a witness, and returns its public half, the file with it, and what signs with it.
func newWitness(t *testing.T, name string) (public, file string, signer *torchwood.CosignatureSigner) {
	t.Helper()
	private := try(t, nil, "", "evidence", "key", "--new", "--name", name).stdout
	_, key, err := evidence.PrivateKey(strings.TrimSpace(private))
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = torchwood.NewCosignatureSigner(name, key); err != nil {
		t.Fatal(err)
	}
	return signer.Verifier().String(), proc.TempFile(t, private), signer
}

// cosign has witnesses cosign the newest checkpoint of the operator's store.
func (s sealedStore) cosign(t *testing.T, by ...*torchwood.CosignatureSigner) {
	t.Helper()
	db := s.open(t)
	defer db.Close()
	err := db.SealEvidence(t.Context(), 0, func(h evidence.Head, _ []evidence.Entry) (evidence.Sealing, error) {
		for _, signer := range by {
			_, line, err := testKeys(t).Cosign(h.Checkpoint, signer)
			if err == nil {
				h.Checkpoint, err = evidence.AddCosignature(h.Checkpoint, line, signer.Verifier())
			}
			if err != nil {
				return evidence.Sealing{}, err
			}
		}
		return evidence.Sealing{Head: h}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Whoever requires witnesses gets a proof that they have cosigned, or an error; nobody else sees a difference.
func TestProofsNameTheirWitnesses(t *testing.T) {
	o := newSealedStore(t, 3)
	one, _, first := newWitness(t, "one")
	two, _, second := newWitness(t, "two")
	three, _, _ := newWitness(t, "three")
	key := strings.TrimSpace(o.prints(t, "evidence", "key"))
	proof, checkpoint := filepath.Join(t.TempDir(), "proof.json"), filepath.Join(t.TempDir(), "checkpoint")
	prove := func() {
		t.Helper()
		o.does(t, "agreements", "prove", o.numbers[1], "--out", proof)
		if err := os.WriteFile(checkpoint, []byte(o.prints(t, "evidence", "checkpoint")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(args ...string) result {
		return try(t, nil, "", append([]string{"verify-proof", proof, "--key", key}, args...)...)
	}
	prove()
	if got := check(); got.code != cli.ExitDone || strings.Contains(got.stderr, "cosign") {
		t.Errorf("without witnesses: %+v", got)
	}
	o.fails(t, "the witness one has not cosigned", "agreements", "verify", "--all", "--witness", one, "--checkpoint", checkpoint)
	o.cosign(t, first, second)
	prove()
	for want, args := range map[string][]string{
		"2 cosignatures of others, not checked":                           nil,
		"cosigned by two\n1 cosignature of others, not checked":           {"--witness", two},
		"cosigned by one\ncosigned by two\nrecord 2 ":                     {"--witness", one, "--witness", two},
		"cosigned by two\ncosigned by one\nrecord 2 ":                     {"--witness", two + "," + one},
		"verify-proof: the witness three has not cosigned the checkpoint": {"--witness", one, "--witness", three},
		"--witness \"evidence.test\": malformed verifier id":              {"--witness", "evidence.test"},
		"--witness \"" + key + "\": unknown verifier algorithm":           {"--witness", key},
	} {
		got := check(args...)
		failed := strings.Contains(want, "--witness \"") || strings.Contains(want, "three")
		if !strings.Contains(got.stderr, want) || failed != (got.code != cli.ExitDone) || failed != (got.stdout == "") {
			t.Errorf("%q = %+v, want %q", args, got, want)
		}
	}
	o.does(t, "agreements", "verify", "--all", "--checkpoint", checkpoint, "--witness", one, "--witness", two)
	o.fails(t, "the witness three has not cosigned", "agreements", "verify", o.numbers[0], "--checkpoint", checkpoint, "--witness", three)
	try(t, nil, "", "agreements", "verify", "--all", "--witness", one).refuses(t, cli.ExitUsage, "--witness needs --checkpoint")
}

func TestWitnessCommandsAreRefused(t *testing.T) {
	_, file, _ := newWitness(t, "one")
	public := testKeys(t).Public()
	state := t.TempDir()
	for _, r := range []refusal{
		{"a file without a key", cli.ExitFailed, nil, []string{"serve", "--key-file", proc.TempFile(t, "hunter2"), "--state", state, "--log", public},
			[]string{"no private key"}, nil},
		{"a private key of a log", cli.ExitUsage, nil, []string{"serve", "--key-file", file, "--state", state, "--log", privateKey(t)},
			[]string{"--log", "it is the private key"}, []string{privateKey(t)}},
		{"no key of a log", cli.ExitUsage, nil, []string{"serve", "--key-file", file, "--state", state, "--log", "x"}, []string{"--log"}, nil},
		{"no folder", cli.ExitFailed, nil, []string{"serve", "--key-file", file, "--state", state + "/none", "--log", public}, []string{"none"}, nil},
	} {
		r.of(t, "witness")
	}
	refusal{"a list without URLs", cli.ExitUsage, nil, []string{"--witnesses", proc.TempFile(t, "one\n")}, []string{"--witnesses", "no public key of a witness"}, nil}.of(t, "serve")
}

// A server says of each witness when the newest checkpoint was last seen with its cosignature.
func TestServeCountsItsWitnesses(t *testing.T) {
	one, _, _ := newWitness(t, "one")
	s := started(t, "--ops-addr", "127.0.0.1:0", "--witnesses", proc.TempFile(t, one+" http://127.0.0.1:1 # nobody is there\n"))
	says(t, get(t, s.ops+"/metrics"), `provider_checkout_evidence_witnessed_timestamp_seconds{witness="one"} 0`)
	s.stop()
}

func TestALogHasAName(t *testing.T) {
	try(t, nil, "", "evidence", "key", "--new", "--name", "a b").refuses(t, cli.ExitFailed, "no white space")
	private := try(t, nil, "", "evidence", "key", "--new", "--name", "evidence.lender.example")
	says(t, private.stdout, "PRIVATE+KEY+evidence.lender.example+")
	says(t, try(t, []string{evidenceVariable + "=" + strings.TrimSpace(private.stdout)}, "", "evidence", "key").stdout, "evidence.lender.example+")
}
