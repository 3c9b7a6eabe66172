package main

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

func TestAllAgreementsAreVerified(t *testing.T) {
	o := newSealedStore(t, 3)
	out, stderr := o.does(t, "agreements", "verify", "--all", "--checkpoint", o.earlier)
	for _, number := range o.numbers {
		if !strings.Contains(out, "\nok    "+number+"\n") {
			t.Errorf("stdout has no line on %s:\n%s", number, out)
		}
	}
	if strings.Contains(out, "FAIL") || strings.Count(out, "ok    ") != 2+len(o.numbers) || stderr != "agreements verified: 3, of which 0 have a remark\n" {
		t.Errorf("stderr is %q, stdout\n%s\nwant two lines on the log and one on each agreement", stderr, out)
	}
}

func TestWhatCannotBeCheckedOfAnAgreementIsSaid(t *testing.T) {
	o := newSealedStore(t, 1)
	number := o.confirmAll(t, []string{"ENROL-2"})[0] // which nothing seals
	out, stderr := o.does(t, "agreements", "verify", "--all")
	if want := "\nok    " + number + "; the record is not sealed yet\n"; !strings.Contains(out, want) || stderr != "agreements verified: 2, of which 1 have a remark\n" {
		t.Errorf("stderr is %q, stdout\n%s\nwant %q", stderr, out, want)
	}
}

func TestARemovedAgreementIsNoTypingError(t *testing.T) {
	o := newSealedStore(t, 1)
	o.execute(t, `PRAGMA foreign_keys = OFF; DELETE FROM documents; DELETE FROM agreements`)
	for _, args := range [][]string{{"agreements", "verify", o.numbers[0]}, {"agreements", "prove", o.numbers[0], "--out", o.path + ".proof"}} {
		o.fails(t, "the evidence log has it, recorded 20", args...)
	}
}

func TestAllAgreementsNeedTheKeyThatSigned(t *testing.T) {
	o := newSealedStore(t, 2)
	got := try(t, []string{evidenceVariable + "=" + otherKey(t)}, "", "agreements", "verify", "--all", "--store", "sqlite:"+o.path)
	got.refuses(t, cli.ExitFailed, "no known key has signed it")
}

func TestOneOfAllAgreementsIsFoundWanting(t *testing.T) {
	t.Parallel()
	const gone = `DELETE FROM documents WHERE agreement_number = ?1; DELETE FROM agreements WHERE number = ?1`
	for _, tt := range []struct {
		name, edit, want string // in which NUMBER stands for that of the second agreement
		others           int    // that are still as they were
	}{
		{"its name is another", `UPDATE agreements SET first_name = 'OTHER' WHERE number = ?1`, "FAIL  NUMBER; checkout KOWHAI-", 2},
		{"its record is gone", `DELETE FROM evidence WHERE id = 'agreement/' || ?1`, "FAIL  NUMBER; the evidence log has no record of it\n", 0}, // nothing of the tree can be proven
		{"it is gone", gone, "FAIL  NUMBER; the evidence log has it, and it is not on record\n", 2},
		{"the end of the log is cut off", `DELETE FROM evidence WHERE position = 2`, "FAIL  the log has 2 entries and had 3 at the checkpoint of ", 0},
		{"an entry is put in", `INSERT INTO evidence (id, recorded_ms, leaf) VALUES ('operation/' || ?1, 0, '{}')`, "FAIL  entries that were not recorded by a process with the operator's secret: 1\n", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newSealedStore(t, 3)
			number := o.numbers[1]
			o.execute(t, `PRAGMA foreign_keys = OFF; `+tt.edit, number)
			got := try(t, nil, "", "agreements", "verify", "--all", "--store", "sqlite:"+o.path)
			if want := strings.ReplaceAll(tt.want, "NUMBER", number); got.code != cli.ExitFailed || !strings.Contains(got.stdout, want) || !isLine(got.stderr) {
				t.Errorf("verify --all = %+v; want status 1, a line on stderr, and on stdout %q", got, want)
			}
			if others := strings.Count(got.stdout, "ok    PPA-"); others != tt.others {
				t.Errorf("%d agreements are as they were, want %d:\n%s", others, tt.others, got.stdout)
			}
		})
	}
}
