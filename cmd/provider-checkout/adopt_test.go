package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// dearer makes every agreement dearer, in every table but the log.
const dearer = `UPDATE agreements SET price_cents = price_cents + 5200, principal_cents = principal_cents + 5200;
	UPDATE checkouts SET price_cents = price_cents + 5200, principal_cents = principal_cents + 5200; `

// Whoever can write to the tables can make an agreement look as if the log had never had it. Its forged figures are not
// recorded then, which a server would sign.
func TestAForgedAgreementIsNotAdopted(t *testing.T) {
	for _, tt := range []struct {
		name, edit string
		want       string // the refusal contains
	}{
		{"its record has another id", `UPDATE evidence SET id = 'agreement/PPA-2020-00000000000' WHERE position = 1`, "its id was changed"},
		{"its record has another kind of id", `UPDATE evidence SET id = 'operation/1' WHERE position = 1`, "its id was changed"},
		{"its record is deleted", `DELETE FROM evidence WHERE position = 1`, "the log has 1 entries and had 2"},
		{"its record is replaced", `UPDATE evidence SET id = 'operation/1', leaf = '{"kind":"operation","format":1,"at":"2026-12-01T00:00:00.000Z"}' WHERE position = 1`, "the log was changed"},
		{"its number is another", `PRAGMA foreign_keys = OFF; UPDATE documents SET agreement_number = 'PPA-2020-00000000000' WHERE agreement_number = (SELECT replace(id, 'agreement/', '') FROM evidence WHERE position = 1);
			UPDATE agreements SET number = 'PPA-2020-00000000000' WHERE number = (SELECT replace(id, 'agreement/', '') FROM evidence WHERE position = 1)`, "is not on record"},
		{"an entry is put in", `INSERT INTO evidence (id, recorded_ms, leaf) VALUES ('operation/1', 0, '{"kind":"operation","format":1,"at":"2020-12-01T00:00:00.000Z"}')`, "operator's secret"},
		{"the log is empty", `DELETE FROM evidence; UPDATE evidence_head SET size = 0, edge = x''`, "is not that of the log"},
		{"the log begins again", `UPDATE evidence SET position = NULL, nodes = NULL; UPDATE evidence SET id = 'operation/1' WHERE rowid = 2; UPDATE evidence_head SET size = 0, edge = x'', checkpoint = ''`, "operator's secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newSealedStore(t, 2)
			o.execute(t, dearer+tt.edit)
			o.fails(t, tt.want, "evidence", "adopt")
			if list, _ := readEntries(t, o.operator); strings.Count(list, "agreement ") > 2 || strings.Contains(list, "adopt") {
				t.Errorf("the log has\n%s", list)
			}
		})
	}
}

// readEntries returns what evidence list prints, whatever it finds.
func readEntries(t *testing.T, o operator) (stdout, stderr string) {
	got := try(t, nil, "", "evidence", "list", "--store", "sqlite:"+o.path)
	return got.stdout, got.stderr
}

// What was accepted since there is a log had a record by its confirm: if it has none now, that was taken away.
func TestAnAgreementThatIsYoungerThanTheLogIsNotAdopted(t *testing.T) {
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	numbers := o.confirmAll(t, []string{"ENROL-1", "ENROL-2"})
	o.execute(t, dearer+`DELETE FROM evidence WHERE id = 'agreement/' || ?`, numbers[1])
	o.fails(t, "agreement "+numbers[1]+" was accepted when there was a log already", "evidence", "adopt")
	if got := try(t, nil, "", "agreements", "verify", numbers[1], "--store", "sqlite:"+o.path); got.code != cli.ExitFailed {
		t.Errorf("it is verified: %+v", got)
	}
}

// Of a log that was removed whole nothing is left but the checkpoint that was kept elsewhere.
func TestNothingIsAdoptedAgainstACheckpointFromElsewhere(t *testing.T) {
	o := newSealedStore(t, 2)
	o.execute(t, dearer+`DELETE FROM evidence; UPDATE evidence_head SET size = 0, edge = x'', checkpoint = ''`)
	o.fails(t, "the log has 0 entries and had 1 at the checkpoint of ", "evidence", "adopt", "--checkpoint", o.earlier)
}

// A log that was signed is not taken at its word.
func TestNothingIsAdoptedWithoutTheEvidenceKey(t *testing.T) {
	o := newSealedStore(t, 1)
	o.execute(t, `UPDATE evidence SET id = 'agreement/PPA-2020-00000000000'`)
	if err := os.Rename(o.path+".evidence", o.path+".key"); err != nil {
		t.Fatal(err)
	}
	o.fails(t, "the evidence key that signed the log is not given", "evidence", "adopt")
	o.execute(t, `UPDATE evidence SET id = 'agreement/' || ?`, o.numbers[0])
	got := try(t, []string{evidenceVariable + "=" + otherKey(t)}, "", "evidence", "adopt", "--store", "sqlite:"+o.path)
	if got.code != cli.ExitFailed || got.stdout != "" || !strings.Contains(got.stderr, "no known key has signed it") {
		t.Errorf("with another key: %+v", got)
	}
	if list, _ := readEntries(t, o.operator); strings.Contains(list, "adopt") {
		t.Errorf("the log has\n%s", list)
	}
}

// An agreement of a version without a log is recorded beside what the log has, and its verification says since when.
func TestOlderAgreementsAreAdopted(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	o.execute(t, `DELETE FROM evidence; UPDATE agreements SET accepted_ms = accepted_ms - 86400000; UPDATE checkouts SET confirmed_ms = confirmed_ms - 86400000`)
	o.storeRendered(t, number, func(p *pdf.Printer, a agreement.Agreement) ([]byte, error) { return p.Print(t.Context(), a) })
	o.does(t, "apply", "-f", "demo.json")
	younger := o.confirmAll(t, []string{"ENROL-2"})[0]
	if out, _ := o.does(t, "evidence", "adopt"); out != number+"\n" {
		t.Errorf("evidence adopt printed %q, want %s alone", out, number)
	}
	if out, _ := o.does(t, "evidence", "adopt"); out != "" {
		t.Errorf("evidence adopt printed %q again", out)
	}
	out, _ := o.does(t, "agreements", "verify", number)
	if late := regexp.MustCompile(`(?m)^none  it was recorded 24h0m\d+s after it was accepted: until then nothing kept it from being changed$`); !late.MatchString(out) {
		t.Errorf("verify prints\n%s", out)
	}
	if out, _ := o.does(t, "agreements", "verify", younger); strings.Contains(out, "after it was accepted") {
		t.Errorf("verify of one that has its record by the confirm prints\n%s", out)
	}
	if _, _, err := o.open(t).EvidenceEntry(t.Context(), evidence.AgreementID(number)); err != nil {
		t.Error(err)
	}
}
