package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// privateKey returns an evidence key that signs.
func privateKey(t testing.TB) string {
	t.Helper()
	private, err := evidence.NewKey("evidence.test", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	return private
}

// testKeys returns that key, to sign and to verify.
func testKeys(t testing.TB) evidence.Keys {
	t.Helper()
	keys, err := evidence.ParseKeys(privateKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// sealedStore is an operator's store whose agreements are sealed, half of them under an earlier checkpoint.
type sealedStore struct {
	operator
	numbers         []string // of the agreements
	earlier, newest string   // files with checkpoints
}

// newSealedStore confirms n checkouts and seals their agreements.
func newSealedStore(t *testing.T, n int) sealedStore {
	t.Helper()
	return newOperator(t).seals(t, n)
}

func (o operator) seals(t *testing.T, n int) sealedStore {
	t.Helper()
	db := o.records(t)
	defer db.Close() // the file is edited afterwards
	keys := testKeys(t)
	if err := os.WriteFile(o.path+".evidence", []byte(privateKey(t)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keyring := keyringOf(t, db)
	s := sandbox.New(t, db, func(c *service.Config, _ *httpapi.Options) { c.Evidence, c.Keyring = keys, keyring })
	all := sealedStore{operator: o, earlier: o.path + ".earlier", newest: o.path + ".newest"}
	for i := range n {
		created := s.Create(t, "ENROL-"+string(rune('A'+i)))
		s.SetUp(t, created)
		all.numbers = append(all.numbers, s.Confirm(t, created).String("agreement.number"))
		switch i + 1 {
		case n / 2:
			keepCheckpoint(t, s, i+1, all.earlier)
			if o.url == "" {
				o.execute(t, `VACUUM INTO ?`, o.path+".older")
			}
		case n:
			keepCheckpoint(t, s, i+1, all.newest)
		}
	}
	return all
}

// keepCheckpoint has the log sealed, and writes the checkpoint of its first n entries to a file.
func keepCheckpoint(t *testing.T, s *sandbox.Sandbox, n int, path string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	cfg := s.Config
	cfg.Checkpoint = func(_ context.Context, signed []byte) error {
		defer stop()
		return os.WriteFile(path, signed, 0o600)
	}
	svc, err := service.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { svc.Run(ctx) })
	running.Wait()
	head, err := cfg.Store.EvidenceHead(t.Context())
	if err != nil || head.Size != int64(n) {
		t.Fatalf("the log has %d entries, %v; want %d", head.Size, err, n)
	}
}

func TestSealedAgreementsAreVerified(t *testing.T) {
	o := newSealedStore(t, 6)
	for i, number := range o.numbers {
		for _, checkpoint := range []string{o.earlier, o.newest} {
			out, stderr := o.does(t, "agreements", "verify", number, "--checkpoint", checkpoint)
			if strings.Contains(out, "FAIL") || strings.Contains(out, "none") || stderr != "" {
				t.Errorf("agreement %d: %s%s", i+1, out, stderr)
			}
		}
	}
	out := o.prints(t, "agreements", "verify", o.numbers[1], "--checkpoint", o.earlier)
	says(t, out, "it is record 2 of 6 under the checkpoint of ", "the log still begins with the 3 records of the checkpoint of ")
}

// What an operator prints and keeps is what verify takes, and a proof needs nothing but the public key.
func TestAgreementsAreProven(t *testing.T) {
	o := newSealedStore(t, 5)
	kept := o.prints(t, "evidence", "checkpoint")
	if newest, err := os.ReadFile(o.newest); err != nil || kept != string(newest) {
		t.Errorf("evidence checkpoint prints %q, %v; want %q", kept, err, newest)
	}
	public := o.prints(t, "evidence", "key")
	key := strings.TrimSpace(public)
	dir := t.TempDir()
	for _, number := range o.numbers {
		proof, pdf := filepath.Join(dir, number+".json"), filepath.Join(dir, number+".pdf")
		o.does(t, "agreements", "prove", number, "--out", proof)
		o.does(t, "agreements", "pdf", number, "--out", pdf)
		got := try(t, nil, "", "verify-proof", proof, "--key", key, "--pdf", pdf)
		if got.code != cli.ExitDone || !strings.Contains(got.stdout, `"agreement_number":"`+number+`"`) {
			t.Errorf("verify-proof = %+v", got)
		}
		if info, err := os.Stat(proof); err != nil || info.Size() > 4<<10 {
			t.Errorf("the proof has %d bytes, %v; want at most 4 KiB", info.Size(), err)
		}
	}
	first, second := filepath.Join(dir, o.numbers[0]), filepath.Join(dir, o.numbers[1])
	for name, args := range map[string][]string{
		"another agreement's PDF": {first + ".json", "--key", key, "--pdf", second + ".pdf"},
		"another key":             {first + ".json", "--key", otherKey(t)},
		"no proof":                {first + ".pdf", "--key", key},
		"no file":                 {first + ".none", "--key", key},
	} {
		t.Run(name, func(t *testing.T) {
			try(t, nil, "", append([]string{"verify-proof"}, args...)...).refuses(t, cli.ExitFailed)
		})
	}
	if got := try(t, nil, "", "verify-proof", first+".json", "--key", "x"); got.code != cli.ExitUsage {
		t.Errorf("verify-proof with no key = %+v, want status 2", got)
	}
}

func otherKey(t *testing.T) string {
	t.Helper()
	private, err := evidence.NewKey("evidence.test", [32]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := evidence.ParseKeys(private)
	if err != nil {
		t.Fatal(err)
	}
	return keys.Public()
}

func TestNothingIsProvenBeforeItIsSealed(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	out := filepath.Join(t.TempDir(), "proof.json")
	o.fails(t, "there is no evidence key", "agreements", "prove", number, "--out", out)
	if err := os.WriteFile(o.path+".evidence", []byte(privateKey(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	o.fails(t, "is not sealed yet", "agreements", "prove", number, "--out", out)
	o.fails(t, "has no checkpoint yet", "evidence", "checkpoint")
	o.fails(t, `there is no agreement "PPA-1999-1"`, "agreements", "prove", "PPA-1999-1", "--out", out)
}

func TestNewEvidenceKeyIsTaken(t *testing.T) {
	first, second := try(t, nil, "", "evidence", "key", "--new"), try(t, nil, "", "evidence", "key", "--new")
	if first.code != cli.ExitDone || first.stdout == second.stdout {
		t.Fatalf("evidence key --new = %+v, then %+v", first, second)
	}
	env := []string{evidenceVariable + "=" + strings.TrimSpace(first.stdout) + "," + strings.TrimSpace(second.stdout)}
	got := try(t, env, "", "evidence", "key")
	if got.code != cli.ExitDone || strings.Contains(got.stdout, "PRIVATE") || got.stdout == "" {
		t.Errorf("evidence key = %+v, want the public half", got)
	}
	got = try(t, []string{evidenceVariable + "=nonsense"}, "", "evidence", "key")
	if got.code != cli.ExitFailed || strings.Contains(got.stderr, "nonsense") {
		t.Errorf("evidence key with nonsense = %+v, want status 1, without the key", got)
	}
}

// A server seals what it confirms, keeps the checkpoint where it is told to, and publishes it with the key.
func TestServerPublishesItsCheckpoint(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "checkpoint")
	s := startedWith(t, []string{evidenceVariable + "=" + privateKey(t)}, "--checkpoint-file", file)
	keys := testKeys(t)
	const path = "/.well-known/provider-checkout/evidence/"
	if got := get(t, s.base+path+"key"); got != keys.Public()+"\n" {
		t.Errorf("the key is %q, want %q", got, keys.Public())
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		published := get(t, s.base+path+"checkpoint")
		kept, _ := os.ReadFile(file) // which is written after it is published
		if c, err := keys.Open([]byte(published)); err == nil && c.Size == 0 && string(kept) == published {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the checkpoint is %q, and the file has %q", published, kept)
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.stop()
}

// keyringOf returns the keyring of a store's own secret.
func keyringOf(t *testing.T, db interface{ Secrets() [][]byte }) checkout.Keyring {
	t.Helper()
	keyring, err := checkout.NewKeyring(db.Secrets()...)
	if err != nil {
		t.Fatal(err)
	}
	return keyring
}

// Where the CRM was away, an agreement is recorded long after it was accepted.
func TestALateRecordIsSaid(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	o.execute(t, `DELETE FROM evidence`)
	db := o.open(t)
	r, err := evidencelog.Read(t.Context(), db, number)
	if err != nil {
		t.Fatal(err)
	}
	e := evidence.OfAgreement(r.Agreement, evidence.Conclusion{At: r.Agreement.AcceptedAt.Add(24 * time.Hour),
		Environment: string(catalogue.Sandbox), RequestID: r.Checkout.Confirmation.RequestID, Document: r.Document,
		Debited: r.Checkout.Debited()})
	if err := db.RecordEvidence(t.Context(), keyringOf(t, db).Attest(e)); err != nil {
		t.Fatal(err)
	}
	out := o.prints(t, "agreements", "verify", number)
	says(t, out, "\nnone  it was recorded 24h0m0s after it was accepted: until then nothing kept it from being changed\n")
}

// An erased agreement is still what the log says, but for what was erased; and only the log can say that it was.
func TestErasedAgreementsAreVerified(t *testing.T) {
	forged := newSealedStore(t, 2)
	forged.execute(t, `UPDATE checkouts SET erased_ms = confirmed_ms, first_name = '', last_name = '', email = '', account_holder = '', account_mask = '';
		UPDATE agreements SET first_name = '', last_name = '', email = '', account_holder = '', account_mask = ''`)
	forged.verifies(t, forged.numbers[0], "FAIL  it is marked as erased, and ")

	o := newSealedStore(t, 2)
	o.does(t, "privacy", "erase", "--email", "aroha.ngata@students.example.ac.nz", "--reason", "asked for", "--force")
	out := o.prints(t, "agreements", "verify", o.numbers[0], "--checkpoint", o.newest)
	says(t, out, "ok    its personal data and its PDF were erased on ", "none  the PDF was erased; its SHA-256 on record is ",
		"ok    the evidence log has the same", "ok    it is record 1 of 2 ")
	o.does(t, "agreements", "prove", o.numbers[0], "--out", filepath.Join(t.TempDir(), "proof.json"))
}

// A log of a million entries is not read anew for each of the agreements whose time has come.
func TestErasuresAreReadOnceForManyAgreements(t *testing.T) {
	o := newSealedStore(t, 3)
	o.does(t, "privacy", "erase", "--email", "aroha.ngata@students.example.ac.nz", "--reason", "asked for", "--force")
	db := o.open(t)
	counting := &countingLog{records: db}
	log := evidencelog.Log{Store: counting, Attests: keyringOf(t, db).Attests}.Remembering()
	for _, number := range o.numbers {
		r, err := evidencelog.Read(t.Context(), db, number)
		if err != nil {
			t.Fatal(err)
		}
		verdicts, err := log.Check(t.Context(), r)
		if failed := evidencelog.Texts(verdicts, evidencelog.Failed); err != nil || len(failed) > 0 {
			t.Errorf("agreement %s: %q, %v; want no check that fails", number, failed, err)
		}
	}
	if counting.reads != 1 {
		t.Errorf("the log was read %d times for %d agreements, want once", counting.reads, len(o.numbers))
	}
}

// countingLog counts how often the sealed entries are read from the beginning.
type countingLog struct {
	records
	reads int
}

func (c *countingLog) SealedEvidence(ctx context.Context, from int64, limit int) ([]evidence.Entry, error) {
	if from == 0 {
		c.reads++
	}
	return c.records.SealedEvidence(ctx, from, limit)
}

// Of what is erased nothing is left to be compared, so that the log must have everything that was erased, and when.
func TestVerifyFindsEditsOfErasedAgreements(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, edit, want string }{
		{"nothing", `SELECT 1`, ""},
		{"the time of the erasure", `UPDATE checkouts SET erased_ms = erased_ms - 86400000`, "and the evidence log says that this was on "},
		{"the salt", `UPDATE evidence SET salt = NULL`, "the salt of its commitments is gone, and the evidence log has no erasure of that"},
		{"a figure", `UPDATE agreements SET price_cents = price_cents + 100`, "the evidence log has another course_price_cents"},
		{"the erasure", `DELETE FROM evidence WHERE id LIKE 'operation/%'`, "the evidence log has no erasure of it"},
		{"the attestation of the erasure", `UPDATE evidence SET attestation = x'00' WHERE id LIKE 'operation/%'`, "the evidence log has no erasure of it"},
		{"thousands of entries before it, which nobody made", `INSERT INTO evidence (id, recorded_ms, leaf)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT 'operation/' || i, i, '{}' FROM n`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newSealedStore(t, 1)
			o.does(t, "privacy", "erase", "--email", "aroha.ngata@students.example.ac.nz", "--reason", "asked for", "--force")
			o.execute(t, tt.edit)
			o.verifies(t, o.numbers[0], tt.want)
		})
	}
}

// verifies verifies an agreement. A check must fail with the words, or every check must pass where the words are empty.
func (o operator) verifies(t *testing.T, number, want string) {
	t.Helper()
	got := try(t, nil, "", "agreements", "verify", number, "--store", "sqlite:"+o.path)
	switch failed := strings.Contains(got.stdout, "FAIL  "); {
	case want == "" && (failed || got.code != cli.ExitDone):
		t.Errorf("verify = %+v, want no check that fails", got)
	case want != "" && (!failed || !strings.Contains(got.stdout, want) || got.code != cli.ExitFailed || !isLine(got.stderr) ||
		!strings.Contains(got.stderr, number+" fails ")):
		t.Errorf("verify = %+v, want one that fails with %q, and a line with the number of failed checks on stderr", got, want)
	}
}

// When the retention has ended, what was agreed is still what the log says, and nobody can try names any more.
func TestAgreementsWithoutTheirSaltAreVerified(t *testing.T) {
	o := newSealedStore(t, 1)
	db := o.open(t)
	a, err := db.Agreement(t.Context(), o.numbers[0])
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	err = db.EraseCheckouts(t.Context(), []string{a.CheckoutID}, func(found []checkout.Checkout) (checkout.Erasure, error) {
		e := checkout.EndRetention(found, now)
		e.Entry = keyringOf(t, db).Attest(evidence.OfOperation("1", evidence.Operation{At: now, Operator: "retention", Changes: e.Changes()}))
		return e, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := db.EvidenceEntry(t.Context(), evidence.AgreementID(a.Number))
	if err != nil || len(e.Salt) > 0 {
		t.Errorf("its salt is %x, %v; want none", e.Salt, err)
	}
	out := o.prints(t, "agreements", "verify", a.Number, "--checkpoint", o.newest)
	saysNot(t, out, "FAIL")
	says(t, out, ", and the salt of its commitments on "+now.Format("2006-01-02"))
	o.execute(t, `UPDATE agreements SET price_cents = price_cents + 100`)
	o.verifies(t, a.Number, "the evidence log has another course_price_cents")
}
