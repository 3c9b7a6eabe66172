package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const (
	canaryEmail  = "canary.email@students.example.ac.nz"
	canaryHolder = "Canaryholder"
)

// canaries are the texts that an erasure must remove everywhere.
var canaries = []string{"Canaryfirst", "Canarylast", "canary.email", canaryHolder}

const canaryCreate = `{"provider": {"provider_code": "KOWHAI", "provider_order_id": "ORDER"},
	"student": {"first_name": "Canaryfirst", "last_name": "Canarylast", "email": "` + canaryEmail + `"},
	"course": {"course_code": "NZDIP"}, "plan": {"payment_frequency": "Weekly", "first_payment_date": "2027-02-01"}}`

// spelt returns a text as files and dumps may have it.
func spelt(text string) map[string][]byte {
	units := utf16.Encode([]rune(text))
	wide := map[string][]byte{"UTF-16LE": nil, "UTF-16BE": nil}
	for _, u := range units {
		wide["UTF-16LE"] = append(wide["UTF-16LE"], byte(u), byte(u>>8))
		wide["UTF-16BE"] = append(wide["UTF-16BE"], byte(u>>8), byte(u))
	}
	wide["UTF-8"], wide["hex"] = []byte(text), []byte(hex.EncodeToString([]byte(text)))
	for shift := range 3 { // base64 of a longer text, from any of its bytes
		encoded := base64.StdEncoding.EncodeToString([]byte(text[shift:]))
		wide[fmt.Sprint("base64 from ", shift)] = []byte(strings.TrimRight(encoded, "=")[:len(encoded)-4])
	}
	return wide
}

// hits lists where what was searched has a canary, in any letter case for plain text, or a piece of the PDF.
func hits(where string, data []byte, pieces [][]byte) (found []string) {
	lower := bytes.ToLower(data)
	for _, canary := range canaries {
		for how, text := range spelt(canary) {
			if bytes.Contains(data, text) || how == "UTF-8" && bytes.Contains(lower, bytes.ToLower(text)) {
				found = append(found, fmt.Sprintf("%s has %s in %s", where, canary, how))
			}
		}
	}
	for i, piece := range pieces {
		if bytes.Contains(data, piece) || bytes.Contains(data, []byte(hex.EncodeToString(piece))) {
			found = append(found, fmt.Sprintf("%s has piece %d of the PDF, a part of its compressed streams", where, i))
			break
		}
	}
	return found
}

// piecesOf returns pieces of a PDF that others do not have.
func piecesOf(pdf, others []byte) (pieces [][]byte) {
	for at := 0; at+24 <= len(pdf); at += 200 {
		if piece := pdf[at : at+24]; !bytes.Contains(others, piece) {
			pieces = append(pieces, piece)
		}
	}
	return pieces
}

// place is a store that a test searches.
type place struct {
	url    string
	search func(t *testing.T, pieces [][]byte) []string
}

// sqlitePlace is a file. Its search reads the file, its log, and a copy that SQLite makes.
func sqlitePlace(t *testing.T) place {
	path := filepath.Join(t.TempDir(), "records.db")
	return place{url: "sqlite:" + path,
		search: func(t *testing.T, pieces [][]byte) (found []string) {
			t.Helper()
			backup := filepath.Join(t.TempDir(), "backup.db")
			db, err := sql.Open("sqlite", "file:"+path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), `VACUUM INTO ?`, backup); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{path, path + "-wal", path + "-shm", backup} {
				data, err := os.ReadFile(file)
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				found = append(found, hits(filepath.Base(file), data, pieces)...)
			}
			return found
		}}
}

// postgresPlace is a schema. Its search reads every row of every table as text.
func postgresPlace(t *testing.T) place {
	url := postgrestest.URL(t)
	return place{url: url,
		search: func(t *testing.T, pieces [][]byte) (found []string) {
			t.Helper()
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			rows, _ := conn.Query(t.Context(), `SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()`)
			tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil || len(tables) < 10 {
				t.Fatalf("tables %q, %v", tables, err)
			}
			for _, table := range tables {
				rows, _ := conn.Query(t.Context(), `SELECT r::text FROM `+table+` AS r`)
				text, err := pgx.CollectRows(rows, pgx.RowTo[string])
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, hits(table, []byte(strings.Join(text, "\n")), pieces)...)
			}
			return found
		}}
}

// enrol confirms a checkout, paid from the account of this holder.
func enrol(t *testing.T, s *sandbox.Sandbox, create, id, holder string) (number string) {
	t.Helper()
	created := s.Post(t, "KOWHAI", "/v1/provider-checkouts", sandbox.Order(create, id))
	if created.Status != http.StatusCreated {
		t.Fatalf("create: %d %s", created.Status, created.Body)
	}
	bank := s.ToBank(t, created)
	done := s.Submit(t, strings.TrimPrefix(bank, s.URL), []string{"account_holder_name", holder, "account_number", "01-0902-0068389-00", "authority_confirmed", "true"})
	if done.Status >= http.StatusBadRequest {
		t.Fatalf("bank form: %d %s", done.Status, done.Body)
	}
	confirmed := s.Confirm(t, created)
	if confirmed.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", confirmed.Status, confirmed.Body)
	}
	return confirmed.String("agreement.number")
}

func TestAnErasureLeavesNothingAnywhere(t *testing.T) {
	for name, at := range map[string]func(*testing.T) place{"sqlite": sqlitePlace, "postgres": postgresPlace} {
		t.Run(name, func(t *testing.T) { erasureLeavesNothing(t, at(t)) })
	}
}

func erasureLeavesNothing(t *testing.T, at place) {
	c := call{Env: variables(nil), store: at.url}
	db, err := c.open(context.WithoutCancel(t.Context()), opening{environment: catalogue.Sandbox})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := sandbox.New(t, sandbox.On(db))
	var others []string
	for i := range 3 {
		others = append(others, enrol(t, s, sandbox.CatalogueCreate, fmt.Sprint("OTHER-", i), "A NGATA"))
	}
	number := enrol(t, s, canaryCreate, "CANARY-1", canaryHolder)
	s.ToBank(t, s.Post(t, "KOWHAI", "/v1/provider-checkouts", sandbox.Order(canaryCreate, "CANARY-2"))) // begun, and left
	document := func(number string) agreement.Document {
		t.Helper()
		of, err := db.FindCheckout(t.Context(), checkout.Reference{AgreementNumber: number})
		if err != nil {
			t.Fatal(err)
		}
		d, err := db.Document(t.Context(), of.ID)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	pdf := document(number)
	var otherPDFs []byte
	for _, other := range others {
		otherPDFs = append(otherPDFs, document(other).Bytes...)
	}
	pieces := piecesOf(pdf.Bytes, append(otherPDFs, "agreement "+number...))
	if before := strings.Join(at.search(t, pieces), "\n"); len(pieces) == 0 || !strings.Contains(before, "piece") || !strings.Contains(before, "canary.email in") ||
		!strings.Contains(before, canaryHolder) {
		t.Fatalf("the search finds too little before the erasure:\n%s", before)
	}
	run := func(args ...string) result {
		t.Helper()
		return try(t, []string{operatorVariable + "=aroha"}, "", append(args, "--store", at.url)...)
	}
	folder := filepath.Join(t.TempDir(), "pdfs")
	exported := run("privacy", "export", "--email", canaryEmail, "--out", folder)
	if exported.code != exitDone || strings.Count(exported.stdout, `{"kind":"checkout"`) != 2 || strings.Count(exported.stdout, `{"kind":"agreement"`) != 1 ||
		!strings.Contains(exported.stdout, canaryHolder) || strings.Contains(exported.stdout, "OTHER-") {
		t.Errorf("privacy export = %+v, want two checkouts of the student and nobody else's", exported)
	}
	if written, err := os.ReadFile(filepath.Join(folder, number+".pdf")); err != nil || !bytes.Equal(written, pdf.Bytes) {
		t.Errorf("the PDF that was written has %d bytes, %v; want that of the record", len(written), err)
	}

	for reason, want := range map[string]string{"asked by Canarylast": `it has "Canarylast"`, "asked by " + strings.ToUpper(canaryEmail): "must name no person", "asked": "are collected until"} {
		if got := run("privacy", "erase", "--email", canaryEmail, "--reason", reason); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("an erasure with reason %q = %+v, want a refusal with %q", reason, got, want)
		}
	}
	done := run("privacy", "erase", "--email", strings.ToUpper(canaryEmail), "--reason", "asked on 2 November", "--force")
	if done.code != exitDone || !strings.Contains(done.stdout, "agreement "+number+", billing request BR") || !strings.HasSuffix(done.stdout, "erased: 2 checkouts\n") {
		t.Fatalf("privacy erase = %+v", done)
	}
	again := run("privacy", "erase", "--email", canaryEmail, "--reason", "asked on 2 November", "--force")
	if again.code != exitDone || again.stdout != "erased: 0 checkouts; nothing is on record under this address\n" {
		t.Errorf("privacy erase again = %+v", again)
	}

	found := at.search(t, pieces)
	found = append(found, hits("the log", []byte(s.Log.String()), nil)...)
	everything := run("export")
	if got := strings.Count(everything.stdout, `"erased_at":`); got != 2 {
		t.Errorf("%d checkouts are exported as erased, want 2", got)
	}
	found = append(found, hits("the export", []byte(everything.stdout), nil)...)
	for _, hit := range found {
		t.Error(hit)
	}
	if got := run("privacy", "export", "--email", canaryEmail); got.code != exitDone || got.stdout != "" {
		t.Errorf("privacy export after it = %+v, want nothing", got)
	}
	if got := run("agreements", "pdf", number, "--out", filepath.Join(folder, "again.pdf")); got.code != exitFailed || !strings.Contains(got.stderr, " was erased, and its PDF with it") {
		t.Errorf("agreements pdf = %+v, want a refusal", got)
	}

	for _, agreed := range append(others, number) {
		got := run("agreements", "verify", agreed)
		if got.code != exitDone || strings.Contains(got.stdout, "erased on ") != (agreed == number) {
			t.Errorf("agreements verify = %+v, want that %s alone was erased", got, number)
		}
	}
	if did := run("acts").stdout; strings.Count(did, `privacy erase KOWHAI-`) != 2 || strings.Count(did, `by "aroha", because "asked on 2 November"`) != 2 {
		t.Errorf("on record are the acts\n%s", did)
	}
	if r := s.Post(t, "KOWHAI", "/v1/provider-checkouts", sandbox.Order(canaryCreate, "CANARY-2")); r.Status != http.StatusGone || r.String("error.code") != "CHECKOUT_ERASED" {
		t.Errorf("a replay of the open one: %d %s, want 410", r.Status, r.Body)
	}
	if r := s.Post(t, "KOWHAI", "/v1/provider-checkouts", sandbox.Order(canaryCreate, "CANARY-1")); r.Status != http.StatusOK || r.At("idempotent_replay") != true {
		t.Errorf("a replay of the confirmed one: %d %s, want 200", r.Status, r.Body)
	}
	for _, hit := range at.search(t, pieces) {
		t.Errorf("after the replays: %s", hit)
	}
}

// An address has one spelling on record, in which it is asked for. An address that looks like it may be another person's: it is named.
func TestAStudentIsErasedUnderEverySpellingOfTheAddress(t *testing.T) {
	o := newOperator(t)
	s := o.served(t)
	for i, email := range []string{"hana@k\u014drero.nz", "hana@ko\u0304rero.nz", "hana@KŌRERO.nz", "hana@xn--krero-g9a.nz", "hana@korero.nz"} {
		body := sandbox.Set(t, sandbox.Order(sandbox.CatalogueCreate, fmt.Sprint("ORDER-", i)), "student.email", `"`+email+`"`)
		if r := s.Post(t, "KOWHAI", "/v1/provider-checkouts", body); r.Status != http.StatusCreated {
			t.Fatalf("%q: %d %s", email, r.Status, r.Body)
		}
	}
	got := o.try(t, "privacy", "erase", "--email", "Hana@KŌRERO.nz", "--reason", "asked for it")
	if got.code != exitDone || !strings.Contains(got.stdout, "erased: 4 checkouts") || strings.Count(got.stderr, "has another spelling of this address") != 1 {
		t.Errorf("privacy erase: %+v", got)
	}
}
