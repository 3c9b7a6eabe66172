package main

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
)

// forger is somebody who may write everything in the store, and has read its source, but has neither the evidence key nor
// the checkpoint that was kept elsewhere.
type forger struct {
	*testing.T
	*rand.Rand
	sealedStore
	path   string // of the copy that is edited
	older  []byte // the store as it was at the earlier checkpoint
	victim int    // the agreement that is verified afterwards, an index of numbers
	latest string // statement
}

// forgery is a way to change what was agreed, or what the log says of it, in more than a column or a row, which
// TestEveryColumnThatMattersIsHeld and TestEveryRowThatMattersIsHeld edit. It names the agreement to verify.
type forgery struct {
	name string
	do   func(f *forger, db *sql.DB) (number string)
}

func forgeries() []forgery {
	return []forgery{
		{"the price, in every table, the PDF and the log", (*forger).everywhere},
		{"two agreements that change places in the log", (*forger).reordering},
		{"an agreement that was never concluded", (*forger).insertion},
		{"an agreement that was never concluded, back-dated, in the log", (*forger).backdating},
		{"the end of the log cut off", (*forger).tailCut},
		{"an older copy of the store", (*forger).olderCopy},
	}
}

// Whoever may write to the store can make it consistent again after any change. What it cannot be made consistent with is a
// checkpoint that was kept elsewhere.
func TestVerifyFindsEveryEdit(t *testing.T) {
	t.Parallel()
	edits := testlevel.Runs(t, testlevel.Of(20, 100))
	store := newSealedStore(t, 8)
	original, err := os.ReadFile(store.path)
	if err != nil {
		t.Fatal(err)
	}
	older, err := os.ReadFile(store.path + ".older")
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	f := &forger{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), sealedStore: store, path: store.path, older: older}
	kinds := forgeries()
	found := make(map[string]int)
	for i := range edits {
		kind := kinds[i%len(kinds)]
		if err := os.WriteFile(f.path, original, 0o600); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 { // and nothing is found where nothing was changed
			f.honest(i)
		}
		f.victim = f.IntN(len(f.numbers))
		number := f.forge(kind)
		got := try(t, nil, "", "agreements", "verify", number, "--checkpoint", f.newest, "--store", "sqlite:"+f.path)
		if got.code != cli.ExitFailed {
			t.Fatalf("edit %d, seed %d: %s is not found (%s): %+v", i, seed, kind.name, f.latest, got)
		}
		found[kind.name]++
	}
	t.Logf("found: %v", found)
}

// honest verifies an agreement that nobody has changed.
func (f *forger) honest(i int) {
	got := try(f.T, nil, "", "agreements", "verify", f.numbers[i/10%len(f.numbers)], "--checkpoint", f.newest, "--store", "sqlite:"+f.path)
	if got.code != cli.ExitDone {
		f.Fatalf("an honest agreement fails: %+v", got)
	}
}

func (f *forger) forge(kind forgery) (number string) {
	db, err := sql.Open("sqlite", f.path)
	if err != nil {
		f.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return kind.do(f, db)
}

func (f *forger) exec(db *sql.DB, statement string, args ...any) {
	f.Helper()
	f.latest = statement
	result, err := db.Exec(statement, args...)
	if err != nil {
		f.Fatalf("%s: %v", statement, err)
	}
	if n, _ := result.RowsAffected(); n == 0 {
		f.Fatalf("%s changed nothing", statement)
	}
}

func (f *forger) number() string { return f.numbers[f.victim] }

// other returns another agreement than the victim's.
func (f *forger) other() string {
	return f.numbers[(f.victim+1+f.IntN(len(f.numbers)-1))%len(f.numbers)]
}

// where returns the condition for the victim's row.
func where(table string) string {
	return map[string]string{
		"agreements": `number = ?`, "checkouts": `agreement_number = ?`, "documents": `agreement_number = ?`,
	}[table]
}

// everywhere makes the victim's plan dearer in every table, has the PDF drawn again, and the record of it in the log too.
func (f *forger) everywhere(db *sql.DB) string {
	more := 52 * (1 + f.IntN(2000)) // cents
	each := more / 52
	for _, table := range []string{"agreements", "checkouts"} {
		f.exec(db, fmt.Sprintf(`UPDATE %s SET price_cents = price_cents + %d, principal_cents = principal_cents + %[2]d,
			instalment_cents = instalment_cents + %d, final_instalment_cents = final_instalment_cents + %[3]d WHERE %s`, table, more, each, where(table)), f.number())
	}
	f.exec(db, fmt.Sprintf(`UPDATE agreements SET schedule = replace(replace(schedule, ',5365]', ',%d]'), ',5385]', ',%d]') WHERE number = ?`, 5365+each, 5385+each), f.number())
	f.redraw(db)
	return f.number()
}

// redraw draws the victim's PDF from what is on record now, and makes its record in the log again.
func (f *forger) redraw(db *sql.DB) {
	f.Helper()
	store, err := sqlite.Open(f.Context(), f.path, sqlite.Options{Rand: neverRead{}})
	if err != nil {
		f.Fatal(err)
	}
	r, err := evidencelog.Read(f.Context(), store, f.number())
	if err != nil {
		f.Fatal(err)
	}
	entry, _, err := store.EvidenceEntry(f.Context(), evidence.AgreementID(f.number()))
	if err := errors.Join(err, store.Close()); err != nil {
		f.Fatal(err)
	}
	doc := *r.Document
	printer, err := pdf.New(1)
	if err != nil {
		f.Fatal(err)
	}
	if doc.Bytes, err = printer.Print(f.Context(), r.Agreement); err != nil {
		f.Fatal(err)
	}
	doc.SHA256 = sha256.Sum256(doc.Bytes)
	f.exec(db, `UPDATE documents SET bytes = ?, sha256 = ? WHERE agreement_number = ?`, doc.Bytes, doc.SHA256[:], f.number())
	if f.IntN(2) == 0 {
		return // the log is left alone
	}
	var nodes []byte
	if err := db.QueryRow(`SELECT nodes FROM evidence WHERE id = ?`, entry.ID).Scan(&nodes); err != nil {
		f.Fatal(err)
	}
	forged := evidence.OfAgreement(r.Agreement, evidence.Conclusion{Environment: "sandbox", RequestID: r.Checkout.Confirmation.RequestID, At: entry.At,
		Document: &doc, Salt: [evidence.SaltSize]byte(entry.Salt)})
	var log evidence.Head
	own := log.Append(forged.Leaf)[0]
	copy(nodes, own[:])
	f.exec(db, `UPDATE evidence SET leaf = ?, nodes = ? WHERE id = ?`, string(forged.Leaf), nodes, entry.ID)
}

// neverRead is randomness that nothing asks for.
type neverRead struct{}

func (neverRead) Read([]byte) (int, error) { panic("randomness is read") }

// reordering has two records of the log change places, or all that is in them.
func (f *forger) reordering(db *sql.DB) string {
	a, b := evidence.AgreementID(f.number()), evidence.AgreementID(f.other())
	place := func(id string) (position int64, nodes []byte) {
		if err := db.QueryRow(`SELECT position, nodes FROM evidence WHERE id = ?`, id).Scan(&position, &nodes); err != nil {
			f.Fatal(err)
		}
		return position, nodes
	}
	positionA, nodesA := place(a)
	positionB, nodesB := place(b)
	f.exec(db, `UPDATE evidence SET position = NULL WHERE id = ?`, a)
	if f.IntN(2) == 0 { // the nodes go along, or stay
		nodesA, nodesB = nodesB, nodesA
	}
	f.exec(db, `UPDATE evidence SET position = ?, nodes = ? WHERE id = ?`, positionA, nodesA, b)
	f.exec(db, `UPDATE evidence SET position = ?, nodes = ? WHERE id = ?`, positionB, nodesB, a)
	return f.number()
}

// cloned is the number of an agreement that was never concluded.
const cloned = "PPA-2026-00000000000"

// insertion adds an agreement, as a copy of the victim's with all of its rows, and a record that waits to be sealed.
func (f *forger) insertion(db *sql.DB) string {
	f.clone(db)
	if f.IntN(2) == 0 {
		return cloned // the log does not have it
	}
	f.exec(db, `INSERT INTO evidence (id, recorded_ms, leaf, salt, attestation)
		SELECT 'agreement/' || ?1, recorded_ms + 3600000, replace(leaf, ?2, ?1), salt, attestation FROM evidence WHERE id = 'agreement/' || ?2`, cloned, f.number())
	return cloned
}

// backdating adds an agreement, and a record at the end of the log that says that it was made before the checkpoint.
func (f *forger) backdating(db *sql.DB) string {
	f.clone(db)
	f.exec(db, `INSERT INTO evidence (id, recorded_ms, leaf, salt, attestation, position, nodes)
		SELECT 'agreement/' || ?1, recorded_ms - ?3, replace(leaf, ?2, ?1), salt, attestation, (SELECT size FROM evidence_head), nodes
		FROM evidence WHERE id = 'agreement/' || ?2`, cloned, f.number(), 3_600_000*(1+f.IntN(1000)))
	if f.IntN(2) == 0 {
		f.exec(db, `UPDATE evidence_head SET size = size + 1`)
	}
	return cloned
}

// clone copies the victim's rows under the number cloned.
func (f *forger) clone(db *sql.DB) {
	f.Helper()
	for _, table := range []string{"checkouts", "agreements", "documents"} {
		rows, err := db.Query(`SELECT name FROM pragma_table_info(?)`, table)
		if err != nil {
			f.Fatal(err)
		}
		var names, values []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				f.Fatal(err)
			}
			value := name
			switch name {
			case "seq", "position": // given by the store
				continue
			case "number", "agreement_number":
				value = `'` + cloned + `'`
			case "checkout_id", "agreement_id", "provider_order_id", "idempotency_key":
				value = name + ` || '2'`
			case "id":
				if table != "documents" { // which the checkout names
					value = name + ` || '2'`
				}
			}
			names, values = append(names, name), append(values, value)
		}
		if err := rows.Close(); err != nil {
			f.Fatal(err)
		}
		f.exec(db, fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) SELECT %[3]s FROM %[1]s WHERE %[4]s`, table, strings.Join(names, ", "), strings.Join(values, ", "),
			where(table)), f.number())
	}
}

// tailCut takes the end of the log away, with the head and the checkpoint that it had before.
func (f *forger) tailCut(db *sql.DB) string {
	if _, err := db.Exec(`ATTACH ? AS older`, f.sealedStore.path+".older"); err != nil {
		f.Fatal(err)
	}
	f.exec(db, `DELETE FROM evidence WHERE position >= (SELECT size FROM older.evidence_head)`)
	f.exec(db, `UPDATE evidence_head SET (size, edge, checkpoint) = (SELECT size, edge, checkpoint FROM older.evidence_head)`)
	return f.numbers[f.IntN(len(f.numbers)/2)] // an agreement that the log still has
}

// olderCopy puts the store back as it was.
func (f *forger) olderCopy(*sql.DB) string {
	if err := os.WriteFile(f.path, f.older, 0o600); err != nil {
		f.Fatal(err)
	}
	return f.numbers[f.IntN(len(f.numbers)/2)]
}
