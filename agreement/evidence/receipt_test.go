package evidence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// receiptVectors is testdata/receipts.json: receipts that hold under a key, and lines that do not, each with the reason.
type receiptVectors struct {
	Description string         `json:"description"`
	Key         string         `json:"key"`
	Cases       []receiptCase  `json:"cases"`
	Wrong       []wrongReceipt `json:"wrong"`
}

type wrongReceipt struct {
	Name    string `json:"name"`
	Receipt string `json:"receipt"`
}

type receiptCase struct {
	Name    string `json:"name"`
	Record  string `json:"record"`
	Number  string `json:"agreement_number"`
	At      string `json:"at"`
	Until   string `json:"sealed_by"`
	Receipt string `json:"receipt"`
}

func receiptKeys(t testing.TB, seed byte) evidence.Keys {
	t.Helper()
	private, err := evidence.NewKey("pay.example.nz", [32]byte{seed})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := evidence.ParseKeys(private)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// receipted returns the receipt of the agreement of the other tests.
func receipted(t testing.TB, keys evidence.Keys) (evidence.Entry, evidence.Receipt, string) {
	t.Helper()
	a, c := agreed()
	e := evidence.OfAgreement(a, c)
	r := evidence.ReceiptOf(a.Number, e, time.Hour)
	text, err := keys.Receipt(r)
	if err != nil {
		t.Fatal(err)
	}
	return e, r, text
}

func TestReceiptsAreThoseOfTheVectors(t *testing.T) {
	const file = "../../testdata/receipts.json"
	keys := receiptKeys(t, 1)
	e, r, text := receipted(t, keys)
	if *update {
		_, _, foreign := receipted(t, receiptKeys(t, 2))
		v := receiptVectors{Description: "Receipts of agreements, a line each: seven words with one space between them, which are the mark of the format, the " +
			"agreement's number, the leaf hash of its record in base64 (RFC 6962: SHA-256 of a zero byte and the record), the time of the record, " +
			"the time by which it is sealed, the name of the key with a plus sign and its hash, and the signature in base64 (Ed25519) of " +
			"everything before the last space. key is the public key as of golang.org/x/mod/sumdb/note. Each line of wrong must be refused, as it is: " +
			"who reads a line that an e-mail has broken joins its words first.",

			Key: keys.Public(), Cases: []receiptCase{{"an agreement that is sealed within an hour", string(e.Leaf), r.Number, "2026-11-22T03:04:06.006Z", "2026-11-22T04:04:06.006Z", text}},
			Wrong: []wrongReceipt{
				{"another number", strings.Replace(text, "YQSAYPHZ0EQ", "YQSAYPHZ0ER", 1)},
				{"another time", strings.Replace(text, "T03:04:06.006Z", "T03:04:06.007Z", 1)},
				{"a longer promise", strings.Replace(text, "T04:04:06.006Z", "T05:04:06.006Z", 1)},
				{"another key of that name", foreign},
				{"another version", strings.Replace(text, "-v1 ", "-v2 ", 1)},
				{"two spaces", strings.Replace(text, " PPA", "  PPA", 1)},
				{"a line break", text + "\n"},
				{"no signature", text[:strings.LastIndex(text, " ")]},
				{"the time in another form", strings.Replace(text, "T03:04:06.006Z", "T16:04:06.006+13:00", 1)},
			}}
		data, err := json.MarshalIndent(v, "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(data, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v receiptVectors
	if err := json.Unmarshal(data, &v); err != nil || len(v.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(v.Cases), err)
	}
	reader, err := evidence.ParseKeys(v.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.Cases {
		got, err := reader.OpenReceipt(c.Receipt)
		if err != nil || got.Number != c.Number || !got.Of([]byte(c.Record)) || got.Of([]byte(c.Record+" ")) ||
			got.At.Format(time.RFC3339Nano) != c.At || got.Until.Format(time.RFC3339Nano) != c.Until {
			t.Errorf("the receipt says %+v, %v; want %+v", got, err, c)
		}
	}
	for _, w := range v.Wrong {
		if got, err := reader.OpenReceipt(w.Receipt); !errors.Is(err, evidence.ErrReceipt) || got != (evidence.Receipt{}) {
			t.Errorf("%s: %+v, %v; want ErrReceipt", w.Name, got, err)
		}
	}
	if text != v.Cases[0].Receipt {
		t.Errorf("the receipt is\n%s\nwant\n%s", text, v.Cases[0].Receipt)
	}
}

// A receipt holds under the key that signed it as long as that key's public half is known.
func TestAReceiptOutlivesItsKey(t *testing.T) {
	old, next := receiptKeys(t, 1), receiptKeys(t, 2)
	_, want, text := receipted(t, old)
	both, err := evidence.ParseKeys(next.Public(), old.Public())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := both.OpenReceipt(text); got != want || err != nil {
		t.Errorf("after a rotation the receipt says %+v, %v; want %+v", got, err, want)
	}
	if _, err := next.OpenReceipt(text); !errors.Is(err, evidence.ErrReceipt) {
		t.Errorf("under another key: %v; want ErrReceipt", err)
	}
	if text, err := both.Receipt(want); text != "" || err != nil {
		t.Errorf("without a private key the receipt is %q, %v; want no receipt", text, err)
	}
}

// No note can be taken for a receipt, and no receipt for a note.
func TestReceiptsAndCheckpointsAreApart(t *testing.T) {
	keys := receiptKeys(t, 1)
	_, _, text := receipted(t, keys)
	word := strings.Fields(text)
	note := strings.Join(word[:6], " ") + "\n\n— pay.example.nz " + word[6] + "\n"
	if keys.Signed([]byte(text)) || keys.Signed([]byte(note)) {
		t.Error("a receipt passes for a checkpoint")
	}
}

// Of what is read, only the one text of a receipt holds.
func FuzzOpenReceipt(f *testing.F) {
	keys := receiptKeys(f, 1)
	_, want, text := receipted(f, keys)
	f.Add(text)
	f.Add(strings.Replace(text, "+", "++", 1))
	f.Fuzz(func(t *testing.T, line string) {
		if got, err := keys.OpenReceipt(line); (err == nil) != (line == text) || err == nil && got != want {
			t.Errorf("%q says %+v, %v", line, got, err)
		}
	})
}

// A provider who keeps receipts can show that an agreement was acknowledged, with the public key alone.
func ExampleKeys_OpenReceipt() {
	private, _ := evidence.NewKey("pay.example.nz", [32]byte{}) // of random bytes, in earnest
	operator, _ := evidence.ParseKeys(private)
	a, conclusion := agreed()
	entry := evidence.OfAgreement(a, conclusion)
	line, _ := operator.Receipt(evidence.ReceiptOf(a.Number, entry, time.Hour))

	provider, _ := evidence.ParseKeys(operator.Public())
	r, err := provider.OpenReceipt(line)
	fmt.Println(r.Number, "sealed by", r.Until.Format(time.RFC3339), r.Of(entry.Leaf), err)
	// Output: PPA-2026-YQSAYPHZ0EQ sealed by 2026-11-22T04:04:06Z true <nil>
}

// Each entry is the next in its chain, and its attestation covers its place.
func TestEntriesAreChained(t *testing.T) {
	attest := func(text []byte) []byte { return append([]byte("attested: "), text...) }
	of := func(id string) evidence.Entry {
		return evidence.OfOperation(id, evidence.Operation{At: time.Unix(0, 0), Name: "keys issue"}).Attest(attest)
	}
	first, end, err := of("1").After(evidence.End{Link: evidence.Link{Chain: 3}, Seen: 7})
	if err != nil {
		t.Fatal(err)
	}
	second, end, err := of("2").After(end)
	if err != nil {
		t.Fatal(err)
	}
	if first.Link != (evidence.Link{Chain: 3, Number: 1}) || second.Link != (evidence.Link{Chain: 3, Number: 2, Previous: first.ID}) ||
		end != (evidence.End{Link: evidence.Link{Chain: 3, Number: 2, Previous: second.ID}, Seen: 7}) {
		t.Errorf("the links are %+v and %+v, the end %+v", first.Link, second.Link, end)
	}
	for _, change := range []func(*evidence.Entry){func(e *evidence.Entry) { e.Chain++ }, func(e *evidence.Entry) { e.Number-- },
		func(e *evidence.Entry) { e.Previous = "" }, func(e *evidence.Entry) { e.ID += "x" }, func(e *evidence.Entry) { e.Leaf = e.Leaf[1:] }} {
		changed := second
		change(&changed)
		if string(attest(changed.Attested())) == string(second.Attestation) {
			t.Errorf("the attestation does not cover the change to %+v", changed)
		}
	}
	if r, err := evidence.Read(first.Leaf); err != nil || r.LogSize != 7 || !strings.HasSuffix(string(first.Leaf), `,"log_size":7}`) {
		t.Errorf("the record says %+v, %v; want that it has seen a tree of 7: %s", r, err, first.Leaf)
	}
	if !first.Records(of("1")) || first.Records(of("2")) {
		t.Error("the entry is not found again by what was to be recorded")
	}
}

// A record that was prepared before a checkpoint that is complete without it does not enter the log.
func TestAnOutdatedRecordIsRefused(t *testing.T) {
	a, c := agreed()
	for seen, want := range map[int64]error{8: evidence.ErrOutdated, 9: nil, 10: nil} {
		c.LogSize = seen
		e := evidence.OfAgreement(a, c).Attest(func([]byte) []byte { return nil })
		if _, _, err := e.After(evidence.End{Seen: 9}); !errors.Is(err, want) {
			t.Errorf("having seen %d of 9: %v, want %v", seen, err, want)
		}
	}
}

// The order decides whether an entry is back-dated, and no clock.
func TestBackdatingIsAMatterOfOrder(t *testing.T) {
	a, c := agreed()
	checkpoint := evidence.Checkpoint{Size: 20, Complete: 10, At: c.At}
	for _, tt := range []struct {
		name           string
		seen, position int64
		at             time.Duration // from the checkpoint
		want           bool
	}{
		{"it is in the checkpoint", 0, 19, -time.Hour, false},
		{"it is behind it, and had seen less than all of what it is complete for", 9, 20, time.Hour, true},
		{"the same, not sealed", 9, evidence.Unsealed, time.Hour, true},
		{"it was under way when the checkpoint was signed", 10, 20, 0, false},
		{"its clock was an hour behind", 20, 20, -time.Hour, false},
		{"the same, not sealed", 20, evidence.Unsealed, -time.Hour, false},
	} {
		c.At, c.LogSize = checkpoint.At.Add(tt.at), tt.seen
		if got := evidence.Backdated(evidence.OfAgreement(a, c), tt.position, checkpoint); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
