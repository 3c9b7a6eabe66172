package main

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// acknowledged is a store with agreements that were confirmed and are not sealed, but for the first two.
type acknowledged struct {
	sealedStore
	receipts []string // files with the receipts of the others, in the order of numbers[2:]
}

// newAcknowledged confirms n checkouts after two that are sealed, ago.
func newAcknowledged(t *testing.T, n int, ago time.Duration) acknowledged {
	t.Helper()
	return newOperator(t).acknowledges(t, n, ago)
}

func (o operator) acknowledges(t *testing.T, n int, ago time.Duration) acknowledged {
	t.Helper()
	a := acknowledged{sealedStore: o.seals(t, 2)}
	db := a.records(t)
	defer db.Close()
	keys, keyring := testKeys(t), keyringOf(t, db)
	s := sandbox.NewOver(t, sandbox.Outside{Now: time.Now().UTC().Add(-ago).Truncate(time.Millisecond)}, db, func(c *service.Config, _ *httpapi.Options) {
		c.Evidence, c.Keyring, c.SealWithin = keys, keyring, time.Hour
	})
	for i := range n {
		created := s.Create(t, "ACKNOWLEDGED-"+string(rune('A'+i)))
		s.SetUp(t, created)
		confirmed := s.Confirm(t, created)
		file := a.path + ".receipt" + string(rune('A'+i))
		// As a mail program breaks it.
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(confirmed.String("agreement.receipt"), " ", "\r\n")+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		a.numbers, a.receipts = append(a.numbers, confirmed.String("agreement.number")), append(a.receipts, file)
	}
	return a
}

// runs has a server seal the store for some time, and returns the number of sealed entries then, and its log.
func (a acknowledged) runs(t *testing.T) (size int64, reported string) {
	t.Helper()
	db := a.open(t)
	defer db.Close()
	keys, keyring := testKeys(t), keyringOf(t, db)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s := sandbox.New(t, db, func(c *service.Config, _ *httpapi.Options) { c.Evidence, c.Keyring = keys, keyring })
	cfg := s.Config
	failed := make(chan string, 100)
	cfg.Report = func(_ context.Context, f service.Failure) { failed <- f.Err.Error() }
	cfg.Checkpoint = func(_ context.Context, signed []byte) error {
		if c, err := keys.Open(signed); err == nil && c.Size > 2 {
			stop()
		}
		return nil
	}
	svc, err := service.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); svc.Run(ctx) }()
	select {
	case reported = <-failed:
	case <-ctx.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing is sealed or reported")
	}
	stop()
	<-done
	head, err := db.EvidenceHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Size, reported
}

// putBack puts a copy in the place of the store, of which nothing stays.
func (a acknowledged) putBack(t *testing.T, copied []byte) {
	t.Helper()
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(a.path + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(a.path, copied, 0o600); err != nil {
		t.Fatal(err)
	}
}

// removal removes an agreement that is not sealed, with its checkout and its entry.
const removal = `PRAGMA foreign_keys = OFF;
	DELETE FROM checkouts WHERE agreement_number = ?1; DELETE FROM agreements WHERE number = ?1;
	DELETE FROM documents WHERE agreement_number = ?1; DELETE FROM evidence WHERE id = 'agreement/' || ?1`

// cutting makes the chain end before that.
const cutting = `UPDATE evidence_chains SET (number, previous) = (SELECT number - 1, previous FROM evidence WHERE id = 'agreement/' || ?1)`

// T41: who edits the tables before an agreement is sealed is exposed by the receipt, by the chain, or by both.
func TestWhatWasAcknowledgedCannotBeRemoved(t *testing.T) {
	t.Parallel()
	const n = 4
	a := newAcknowledged(t, n, 0)
	original, err := os.ReadFile(a.path)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(args ...string) result {
		return try(t, nil, "", append(append([]string{"agreements", "verify"}, args...), "--store", "sqlite:"+a.path)...)
	}
	for i, number := range a.numbers[2:] { // and before anything was edited
		got := verify(number, "--receipt", a.receipts[i])
		if got.code != cli.ExitDone || !strings.Contains(got.stdout, "none  the record of the receipt is not sealed yet, which is promised by ") {
			t.Fatalf("an honest receipt: %+v", got)
		}
	}
	for round := range testlevel.Of(2, 20) {
		for _, attack := range []struct {
			name    string
			victim  int // an index of receipts
			edit    []string
			chain   bool // it is found by verify --all
			sealed  bool // the others are sealed
			receipt string
		}{
			{"the last, and the end of the chain put back", n - 1, []string{cutting, removal}, false, true, "does not have it"},
			{"one before others", rand.IntN(n - 1), []string{removal}, true, false, "does not have it"},
			{"one before others, and the end of the chain put back", rand.IntN(n - 1), []string{cutting, removal}, true, false, "does not have it"},
			{"the last, and the figures of another agreement in its place", n - 1, []string{removal,
				`UPDATE evidence SET id = 'agreement/' || ?1, leaf = replace(leaf, '"instalment_cents":5365', '"instalment_cents":5366')
					WHERE number = (SELECT max(number) FROM evidence)`}, true, true, "is of another record"},
		} {
			a.putBack(t, original)
			number, receipt := a.numbers[2+attack.victim], a.receipts[attack.victim]
			for _, statement := range attack.edit {
				a.execute(t, statement, number)
			}
			check := func(when string) {
				got := verify("--receipt", receipt)
				if got.code != cli.ExitFailed || !strings.Contains(got.stderr+got.stdout, "BROKEN: ") || !strings.Contains(got.stderr+got.stdout, attack.receipt) {
					t.Fatalf("round %d: %s, %s: the receipt finds %+v", round, attack.name, when, got)
				}
				if got := verify("--all", "--receipt", receipt); got.code != cli.ExitFailed || !strings.Contains(got.stdout, "FAIL  BROKEN: ") {
					t.Fatalf("round %d: %s, %s: the receipt with --all finds %+v", round, attack.name, when, got)
				}
				if got := verify("--all"); (got.code == cli.ExitFailed) != attack.chain {
					t.Fatalf("round %d: %s, %s: verify --all finds %+v, want it found: %t", round, attack.name, when, got, attack.chain)
				}
			}
			check("not sealed")
			if round > 0 {
				continue // which takes seconds
			}
			size, reported := a.runs(t)
			if attack.sealed != (size > 2) || !attack.sealed && !strings.Contains(reported, "is missing from the evidence log") {
				t.Errorf("%s: %d entries are sealed, reported is %q; want more than 2: %t", attack.name, size, reported, attack.sealed)
			}
			check("after a server ran")
		}
	}
}

// What is not sealed in time breaks the promise, and what is keeps it, also for the holder of a proof.
func TestAReceiptIsHeldToItsTime(t *testing.T) {
	t.Parallel()
	a := newAcknowledged(t, 1, 2*time.Hour)
	number, receipt := a.numbers[2], a.receipts[0]
	got := try(t, nil, "", "agreements", "verify", number, "--receipt", receipt, "--store", "sqlite:"+a.path)
	if got.code != cli.ExitFailed || !strings.Contains(got.stdout, "FAIL  BROKEN: the receipt promises that its record is sealed by ") {
		t.Errorf("not sealed in time: %+v", got)
	}
	if size, reported := a.runs(t); size != 3 {
		t.Fatalf("%d entries are sealed, reported is %q", size, reported)
	}
	out := a.prints(t, "agreements", "verify", number, "--receipt", receipt)
	says(t, out, "ok    the record of the receipt is sealed\n")
	says(t, a.prints(t, "agreements", "verify", "--all", "--receipt", receipt), "ok    the record of the receipt is sealed\n")
	a.fails(t, "is the receipt of agreement "+number, "agreements", "verify", a.numbers[0], "--receipt", receipt)

	key := strings.TrimSpace(a.prints(t, "evidence", "key"))
	for i, want := range []int{cli.ExitFailed, cli.ExitFailed, cli.ExitDone} {
		proof := a.path + ".proof"
		a.does(t, "agreements", "prove", a.numbers[i], "--out", proof)
		got := try(t, nil, "", "verify-proof", proof, "--key", key, "--receipt", receipt)
		if got.code != want || (want == cli.ExitFailed) != strings.Contains(got.stderr, "is the receipt of another record") {
			t.Errorf("the proof of agreement %d: %+v, want status %d", i, got, want)
		}
	}
	a.fails(t, "it is no receipt, or not one that the key has signed", "agreements", "verify", "--receipt", a.path+".evidence")
	try(t, nil, "", "agreements", "verify", "--store", "sqlite:"+a.path).refuses(t, cli.ExitUsage, "--receipt")
}

// T42: what finds each attack of a person who can write to the store: the store alone, the receipt of the agreement alone, a checkpoint
// that was kept before the agreement was sealed, and the checkpoint that a witness cosigned last. docs/evidence.md has the same table.
func TestWhatIsKeptElsewhereFindsEachAttack(t *testing.T) {
	t.Parallel()
	a := newAcknowledged(t, 1, 0)
	sealed, waiting := a.numbers[1], a.numbers[2]
	witness, _, signer := newWitness(t, "witness.test")
	a.cosign(t, signer)
	keep := func(name, text string) (file string) {
		file = a.path + name
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	cosigned := keep(".cosigned", a.prints(t, "evidence", "checkpoint"))
	db := a.open(t)
	record, err := evidencelog.Read(t.Context(), db, sealed)
	db.Close()
	if err != nil {
		t.Fatal(err)
	}
	receipts := map[string]string{waiting: a.receipts[0], sealed: keep(".receipt", record.Checkout.Confirmation.Receipt)}
	original, err := os.ReadFile(a.path)
	if err != nil {
		t.Fatal(err)
	}
	rolledBack := func(t *testing.T, _ string) {
		older, err := os.ReadFile(a.path + ".older")
		if err != nil {
			t.Fatal(err)
		}
		a.putBack(t, older)
	}
	executes := func(statements ...string) func(*testing.T, string) {
		return func(t *testing.T, number string) {
			for _, statement := range statements {
				a.execute(t, statement, number)
			}
		}
	}
	for _, tt := range []struct {
		name                              string
		number                            string // of the agreement that it is about
		attack                            func(t *testing.T, number string)
		alone, receipt, earlier, cosigned bool // finds it
	}{
		{"nothing", sealed, executes(), false, false, false, false},
		{"the last agreement removed before it is sealed", waiting, executes(cutting, removal), false, true, false, false},
		{"a sealed agreement removed", sealed, executes(removal), true, true, true, true},
		{"the store rolled back", sealed, rolledBack, false, true, false, true},
		{"the log forked", sealed, func(t *testing.T, number string) { rolledBack(t, number); a.growsAgain(t) }, false, true, false, true},
		{"the figures edited, with PDF and record", sealed, func(t *testing.T, _ string) { a.editsFigures(t, 1) }, true, true, true, true},
		{"another mandate", sealed, executes(`UPDATE checkouts SET mandate_id = 'MD-OTHER' WHERE agreement_number = ?1`), true, true, true, true},
		{"another mandate before it is sealed", waiting, executes(`UPDATE checkouts SET mandate_id = 'MD-OTHER' WHERE agreement_number = ?1`), true, true, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a.putBack(t, original)
			tt.attack(t, tt.number)
			for _, by := range []struct {
				name string
				args []string
				want bool
			}{
				{"the store alone", []string{"--all"}, tt.alone},
				{"the receipt", []string{"--receipt", receipts[tt.number]}, tt.receipt},
				{"an earlier checkpoint", []string{"--all", "--checkpoint", a.earlier}, tt.earlier},
				{"the witness's checkpoint", []string{"--all", "--checkpoint", cosigned, "--witness", witness}, tt.cosigned},
			} {
				if got := a.try(t, append([]string{"agreements", "verify"}, by.args...)...); (got.code == cli.ExitFailed) != by.want {
					t.Errorf("%s: %+v, want it found: %t", by.name, got, by.want)
				}
			}
		})
	}
}

// growsAgain has a server that knows no checkpoint go on from a store that was rolled back to its first agreement.
func (a acknowledged) growsAgain(t *testing.T) {
	t.Helper()
	db := a.open(t)
	defer db.Close()
	keys, keyring := testKeys(t), keyringOf(t, db)
	s := sandbox.New(t, db, func(c *service.Config, _ *httpapi.Options) { c.Evidence, c.Keyring = keys, keyring })
	created := s.Create(t, "AGAIN")
	s.SetUp(t, created)
	s.Confirm(t, created)
	keepCheckpoint(t, s, 2, filepath.Join(t.TempDir(), "checkpoint"))
}

// editsFigures makes an agreement dearer in every table, its PDF and its record in the log.
func (a acknowledged) editsFigures(t *testing.T, victim int) {
	t.Helper()
	original, err := os.ReadFile(a.path)
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{T: t, Rand: rand.New(rand.NewPCG(1, 0)), sealedStore: a.sealedStore, path: a.path, victim: victim}
	for !strings.HasPrefix(f.latest, "UPDATE evidence ") { // it may leave the record alone
		a.putBack(t, original)
		f.forge(forgery{"", (*forger).everywhere})
	}
}
