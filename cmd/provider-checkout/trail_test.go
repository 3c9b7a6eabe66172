package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
)

// open opens the operator's store.
func (o operator) open(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), o.path, sqlite.Options{Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// records opens the store, wherever it is.
func (o operator) records(t *testing.T) records {
	t.Helper()
	if o.url == "" {
		return o.open(t)
	}
	db, err := postgres.Open(t.Context(), o.url, postgres.Options{Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// as runs a command that must succeed in an operator's name.
func (o operator) as(t *testing.T, name string, args ...string) (stdout string) {
	t.Helper()
	got := try(t, []string{operatorVariable + "=" + name}, "", append(args, "--store", "sqlite:"+o.path)...)
	if got.code != cli.ExitDone {
		t.Fatalf("%q = %+v", args, got)
	}
	return got.stdout
}

// listed is an entry as evidence list --json prints it.
type listed struct {
	Position   *int64   `json:"position"`
	RecordedAt string   `json:"recorded_at"`
	Forged     bool     `json:"forged"`
	Agreement  string   `json:"agreement_number"`
	Operator   string   `json:"operator"`
	Operation  string   `json:"operation"`
	Subject    string   `json:"subject"`
	Reason     string   `json:"reason"`
	Changes    []string `json:"changes"`
}

// lines returns what evidence list --json prints, without what another run prints otherwise.
func (o operator) lines(t *testing.T, args ...string) (list []listed) {
	t.Helper()
	out := o.prints(t, append([]string{"evidence", "list", "--json"}, args...)...)
	for line := range strings.Lines(out) {
		var l listed
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

func TestEvidenceListHasAgreementsAndOperationsInOrder(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	key := strings.TrimSpace(o.as(t, "Aroha", "keys", "issue", "--provider", "KOWHAI", "--reason", "for \x22Kōwhai\x22"))
	id := strings.Split(key, "_")[2]
	seal(t, o.open(t), 1, evidence.Keys{})
	out := o.prints(t, "evidence", "list")
	want := regexp.MustCompile(`\A1  \d{4}-\S+Z  agreement ` + number + `
-  \d{4}-\S+Z  keys issue ` + id + ` by "Aroha", because "for \\"Kōwhai\\""
    \+ key ` + id + `: of provider KOWHAI, for sandbox
\z`)
	if !want.MatchString(out) {
		t.Errorf("it prints\n%swant\n%s", out, want)
	}
	all, operations := o.lines(t), o.lines(t, "--operations")
	if len(all) != 2 || all[0].Agreement != number || all[0].Position == nil || *all[0].Position != 1 || len(operations) != 1 || operations[0].Position != nil ||
		operations[0].Operator != "Aroha" || strings.Join(operations[0].Changes, "\n") != "+ key "+id+": of provider KOWHAI, for sandbox" {
		t.Errorf("as JSON they are %+v, and the operations %+v", all, operations)
	}
}

// seal seals the oldest entries, with a checkpoint where there are keys.
func seal(t *testing.T, db records, limit int, keys evidence.Keys) {
	t.Helper()
	err := db.SealEvidence(t.Context(), limit, func(h evidence.Head, entries []evidence.Entry) (s evidence.Sealing, err error) {
		for _, e := range entries {
			position := h.Size
			s.Places = append(s.Places, evidence.Place{ID: e.ID, Position: position, Nodes: h.Append(e.Leaf)})
		}
		if keys.CanSign() {
			h.Checkpoint, err = keys.Sign(evidence.Checkpoint{Size: h.Size, Root: h.Root(), At: entries[len(entries)-1].At})
		}
		s.Head = h
		return s, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEvidenceListSinceATime(t *testing.T) {
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	o.does(t, "keys", "issue", "--provider", "TUI")
	since := o.lines(t)[1].RecordedAt
	if got := o.lines(t, "--since", since); len(got) != 1 || got[0].Operation != "keys issue" {
		t.Errorf("since %s: %+v, want the second alone", since, got)
	}
	if got := o.lines(t, "--since", time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)); len(got) != 2 {
		t.Errorf("since yesterday: %+v, want both", got)
	}
}

// Whoever can write to the tables can put in an entry, but not attest it.
func TestEvidenceListMarksWhatNobodyAttested(t *testing.T) {
	o := newOperator(t)
	o.as(t, "Aroha", "apply", "-f", "demo.json")
	db := o.open(t)
	genuine, err := db.UnsealedEvidence(t.Context(), 10)
	if err != nil || len(genuine) != 1 {
		t.Fatalf("%+v, %v", genuine, err)
	}
	forged := evidence.OfOperation("f1", evidence.Operation{At: time.Now(), Operator: "Aroha", Name: "keys revoke\x1b[2K\r", Subject: "\u202eid"})
	copied := genuine[0]
	copied.ID, copied.At = evidence.OperationID("f2"), time.Now()
	junk := evidence.Entry{ID: "x\n", At: time.Now(), Leaf: []byte("nothing"), Attestation: genuine[0].Attestation}
	for _, e := range []evidence.Entry{forged, copied, junk} {
		if err := db.RecordEvidence(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	got := try(t, nil, "", "evidence", "list", "--operations", "--store", "sqlite:"+o.path)
	if out := got.stdout; strings.Count(out, "  FORGED  ") != 3 || strings.ContainsAny(out, "\x1b\r\u202e") || !strings.Contains(out, `entry "x\n", which this version cannot read`) {
		t.Errorf("it prints\n%q", out)
	}
	if got.code != cli.ExitFailed || !strings.Contains(got.stderr, "entries that were not recorded by a process with the operator's secret: 3\n") {
		t.Errorf("it ends with status %d and says %q", got.code, got.stderr)
	}
	got = try(t, nil, "", "evidence", "list", "--json", "--store", "sqlite:"+o.path)
	if marks := strings.Count(got.stdout, `"forged":true`); got.code != cli.ExitFailed || strings.Count(got.stdout, "\n") != 4 || marks != 3 {
		t.Errorf("as JSON they are %s, with status %d", got.stdout, got.code)
	}
}

// sealing is a store in which an entry is sealed while the log is listed.
type sealing struct {
	*sqlite.DB
	between func()
}

func (s *sealing) UnsealedEvidence(ctx context.Context, limit int) ([]evidence.Entry, error) {
	entries, err := s.DB.UnsealedEvidence(ctx, limit)
	s.between()
	return entries, err
}

func TestEntrySealedMeanwhileIsListedOnce(t *testing.T) {
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	for range 3 {
		o.does(t, "keys", "issue", "--provider", "TUI")
	}
	db := o.open(t)
	seal(t, db, 1, evidence.Keys{})
	var positions []int64
	seen := map[string]bool{}
	s := &sealing{db, func() { seal(t, db, 2, evidence.Keys{}) }}
	err := evidencelog.Log{Store: s}.Each(t.Context(), func(e evidence.Entry, position int64) error {
		positions = append(positions, position)
		seen[e.ID] = true
		return nil
	})
	if err != nil || len(seen) != 4 || len(positions) != 4 || positions[0] != 0 || positions[2] != 2 || positions[3] != evidence.Unsealed {
		t.Errorf("positions %v of %d entries, %v; want 0, 1, 2 and one that is not sealed", positions, len(seen), err)
	}
}

func TestOperatorWithoutAReadableNameChangesNothing(t *testing.T) {
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	for _, args := range [][]string{{"keys", "issue", "--provider", "TUI"}, {"apply", "-f", "demo.json", "--prune"}} {
		try(t, []string{operatorVariable + "=a\nb"}, "", append(args, "--store", "sqlite:"+o.path)...).refuses(t, cli.ExitUsage, operatorVariable)
	}
	if list := o.prints(t, "keys", "list"); strings.Contains(list, "TUI") || len(o.lines(t)) != 1 {
		t.Errorf("keys are\n%s", list)
	}
}

// An auditor must not read in an edited log that another did what was done. A log can also be put back as it was, with its checkpoint
// of that time: only a checkpoint that was kept elsewhere shows that.
func TestEvidenceListIsHeldToItsCheckpoints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit string // a statement on the store, or the store as it was at the earlier checkpoint
		kept bool   // with the checkpoint that was kept elsewhere
		code int
		want string
	}{
		{"as it was sealed", `SELECT 1`, false, cli.ExitDone, "the first 2 entries are those of the checkpoint of "},
		{"an entry edited", `UPDATE evidence SET leaf = replace(leaf, 'KOWHAI', 'MATAI') WHERE position = 1`, false, cli.ExitFailed, "the log was changed"},
		{"the end cut off", `DELETE FROM evidence WHERE position = 1`, false, cli.ExitFailed, "the log has 1 entries and had 2 at the checkpoint of "},
		{"entries in another order", `UPDATE evidence SET position = 3 - position; UPDATE evidence SET position = position - 2`, false, cli.ExitFailed,
			"the log was changed"},
		{"another number in an id", `UPDATE evidence SET id = 'agreement/PPA-2020-00000000000' WHERE position = 1`, false, cli.ExitFailed, "its id was changed"},
		{"another kind of id", `UPDATE evidence SET id = 'operation/f' WHERE position = 1`, false, cli.ExitFailed, "its id was changed"},
		{"an entry put in as sealed", `INSERT INTO evidence (id, recorded_ms, leaf, position) VALUES ('operation/f', 0, '{}', 2)`, false, cli.ExitDone,
			"1 were sealed after it"},
		{"no checkpoint left", `UPDATE evidence_head SET checkpoint = ''`, false, cli.ExitFailed, "no checkpoint"},
		{"another checkpoint", `UPDATE evidence_head SET size = 1`, false, cli.ExitFailed, "is not that of the log"},
		{"as it was sealed, and kept elsewhere", `SELECT 1`, true, cli.ExitDone, "the log still begins with the 2 entries of the checkpoint of "},
		{"an older copy of the store", "", true, cli.ExitFailed, "the log has 1 entries and had 2 at the checkpoint of "},
		{"another log from its beginning on", `UPDATE evidence SET leaf = replace(leaf, 'KOWHAI', 'MATAI')`, true, cli.ExitFailed,
			"the first 2 entries are not those of the checkpoint of "},
		{"an entry that is back-dated", `INSERT INTO evidence (id, recorded_ms, leaf) VALUES ('operation/f', 0,
			'{"kind":"operation","format":1,"at":"2026-11-20T00:00:00.000Z","log_size":-1}')`, true, cli.ExitFailed,
			`the entry "operation/f" says that it was made before the checkpoint of `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newSealedStore(t, 2)
			args := []string{"evidence", "list", "--store", "sqlite:" + o.path}
			if tt.kept {
				args = append(args, "--checkpoint", o.newest)
			}
			if tt.edit != "" {
				o.execute(t, tt.edit)
			} else if err := os.Rename(o.path+".older", o.path); err != nil {
				t.Fatal(err)
			}
			got := try(t, nil, "", args...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("%+v, want status %d and %q", got, tt.code, tt.want)
			}
		})
	}
	o := newSealedStore(t, 1)
	o.fails(t, ".evidence is no checkpoint", "evidence", "list", "--operations", "--checkpoint", o.path+".evidence")
}
