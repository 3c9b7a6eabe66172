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

// newWitness makes the key of a witness, and returns its public half and what signs with it.
func newWitness(t *testing.T, name string) (public, file string, signer *torchwood.CosignatureSigner) {
	t.Helper()
	private := try(t, nil, "", "witness", "key", "--new", name)
	file = proc.TempFile(t, private.stdout)
	printed := try(t, nil, "", "witness", "key", "--key-file", file)
	_, key, err := evidence.PrivateKey(strings.TrimSpace(private.stdout))
	if err != nil || printed.code != cli.ExitDone {
		t.Fatalf("%+v, %+v, %v", private, printed, err)
	}
	if signer, err = torchwood.NewCosignatureSigner(name, key); err != nil {
		t.Fatal(err)
	}
	public = strings.TrimSpace(printed.stdout)
	if public != signer.Verifier().String() {
		t.Errorf("the public half is printed as %q, want %q", public, signer.Verifier())
	}
	return public, file, signer
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
	o.fails(t, "the witness one has not cosigned", "agreements", "verify", "--all", "--witness", one)
	o.cosign(t, first, second)
	o.fails(t, "the witness one has not cosigned", "agreements", "verify", "--all", "--witness", one, "--checkpoint", checkpoint)
	prove()
	for want, args := range map[string][]string{
		"UTC, with 2 cosignatures that no --witness names\n":                 nil,
		"UTC, cosigned by two, with 1 cosignature that no --witness names\n": {"--witness", two},
		"UTC, cosigned by one, two\n":                                        {"--witness", one, "--witness", two},
		"UTC, cosigned by two, one\n":                                        {"--witness", two + "," + one},
		"verify-proof: the witness three has not cosigned the checkpoint":    {"--witness", one, "--witness", three},
		"--witness \"evidence.test\": malformed verifier id":                 {"--witness", "evidence.test"},
		"--witness \"" + key + "\": unknown verifier algorithm":              {"--witness", key},
	} {
		got := check(args...)
		if failed := !strings.HasPrefix(want, "UTC"); !strings.Contains(got.stderr, want) || failed != (got.code != cli.ExitDone) || failed != (got.stdout == "") {
			t.Errorf("%q = %+v, want %q", args, got, want)
		}
	}
	for _, also := range [][]string{nil, {"--checkpoint", checkpoint}} {
		o.does(t, append([]string{"agreements", "verify", "--all", "--witness", one, "--witness", two}, also...)...)
		o.fails(t, "the witness three has not cosigned", append([]string{"agreements", "verify", o.numbers[0], "--witness", three}, also...)...)
	}
}

func TestWitnessCommandsAreRefused(t *testing.T) {
	_, file, _ := newWitness(t, "one")
	public := testKeys(t).Public()
	state := t.TempDir()
	for _, r := range []refusal{
		{"no key", cli.ExitUsage, nil, []string{"key"}, []string{"give --new NAME, or --key-file FILE"}, nil},
		{"a name with a space", cli.ExitFailed, nil, []string{"key", "--new", "a b"}, []string{"no white space"}, nil},
		{"a file without a key", cli.ExitFailed, nil, []string{"key", "--key-file", proc.TempFile(t, "hunter2")}, []string{"no private key"}, nil},
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
	private := try(t, nil, "", "evidence", "key", "--new", "--name", "evidence.lender.example")
	says(t, private.stdout, "PRIVATE+KEY+evidence.lender.example+")
	says(t, try(t, []string{evidenceVariable + "=" + strings.TrimSpace(private.stdout)}, "", "evidence", "key").stdout, "evidence.lender.example+")
}
