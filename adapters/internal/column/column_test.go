package column_test

import (
	"crypto/sha256"
	"database/sql"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/adapters/internal/column"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// A column that is written and read back holds what it held, in the type that a driver returns.
func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		moment := rapid.Custom(func(r *rapid.T) time.Time {
			return time.UnixMilli(rapid.Int64Range(-1e14, 1e14).Draw(r, "ms")).UTC()
		})
		day := rapid.Custom(func(r *rapid.T) money.Date { return money.DateOf(moment.Filter(inFourDigits).Draw(r, "day")) })

		at := moment.Draw(r, "at")
		back(r, column.Time, at, column.Millis(at))
		due := day.Draw(r, "due")
		back(r, column.Date, due, column.Day(due))
		tokens := rapid.SliceOf(rapid.Custom(func(r *rapid.T) checkout.Token {
			return checkout.Token{Epoch: rapid.Int().Draw(r, "epoch"), KID: rapid.String().Draw(r, "kid"), Expires: moment.Draw(r, "expires")}
		})).Draw(r, "tokens")
		back(r, column.Tokens, append([]checkout.Token(nil), tokens...), column.TokensText(tokens))
		charges := rapid.SliceOf(rapid.Custom(func(r *rapid.T) money.Charge {
			return money.Charge{Sequence: rapid.Int().Draw(r, "sequence"), Type: money.Instalment, Due: day.Draw(r, "due"),
				Amount: money.Cents(rapid.Int64().Draw(r, "amount"))}
		})).Draw(r, "charges")
		text, err := column.ScheduleText(charges)
		if err != nil {
			r.Fatalf("ScheduleText(%v): %v", charges, err)
		}
		back(r, column.Schedule, append([]money.Charge(nil), charges...), text)
	})
}

func inFourDigits(t time.Time) bool { return t.Year() > 0 && t.Year() < 10_000 }

// back reports if what is written does not come back as it was.
func back[T any](r *rapid.T, read func(*T) sql.Scanner, want T, written any) {
	r.Helper()
	var got T
	if err := read(&got).Scan(written); err != nil || !reflect.DeepEqual(got, want) {
		r.Fatalf("%v is read as %+v, %v; want %+v", written, got, err, want)
	}
}

func TestAbsence(t *testing.T) {
	at, due, tokens, charges := time.Unix(1, 0), money.Date{Year: 2027, Month: 1, Day: 1}, make([]checkout.Token, 1), make([]money.Charge, 1)
	for _, tt := range []struct {
		name    string
		into    sql.Scanner
		written any
	}{
		{"no time is NULL", column.Time(&at), column.Millis(time.Time{})},
		{"no date is empty", column.Date(&due), column.Day(money.Date{})},
		{"no tokens are empty", column.Tokens(&tokens), column.TokensText(nil)},
		{"no charges are none", column.Schedule(&charges), "[]"},
	} {
		if err := tt.into.Scan(tt.written); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if !at.IsZero() || !due.IsZero() || tokens != nil || charges != nil {
		t.Errorf("read %v, %v, %v and %v, want nothing", at, due, tokens, charges)
	}
}

func TestHash(t *testing.T) {
	want := sha256.Sum256([]byte("x"))
	var got [32]byte
	if err := column.SHA256(&got).Scan(want[:]); err != nil || got != want {
		t.Errorf("read %x, %v; want %x", got, err, want)
	}
}

func TestWhatIsNoneIsRefused(t *testing.T) {
	var at time.Time
	var due money.Date
	var hash [32]byte
	var tokens []checkout.Token
	var charges []money.Charge
	for _, tt := range []struct {
		name    string
		into    sql.Scanner
		written any
		says    string
	}{
		{"a time in words", column.Time(&at), "now", "not a time"},
		{"a date in words", column.Date(&due), "tomorrow", "not a date"},
		{"a day that is not", column.Date(&due), "2027-02-30", "not a date"},
		{"NULL as a date", column.Date(&due), nil, "not a date"},
		{"a short hash", column.SHA256(&hash), []byte("x"), "not a SHA-256"},
		{"a token without an epoch", column.Tokens(&tokens), "x:1:k", "epoch"},
		{"a token without an expiry", column.Tokens(&tokens), "1:x:k", "expiry"},
		{"a token whose key is spoilt", column.Tokens(&tokens), "1:1:%", "key"},
		{"a schedule that is no JSON", column.Schedule(&charges), "x", "schedule"},
		{"a charge whose amount is text", column.Schedule(&charges), `[[1,"instalment","2027-01-01","1"]]`, "charge"},
		{"a charge whose date is not", column.Schedule(&charges), `[[1,"instalment","x",1]]`, "charge"},
	} {
		if err := tt.into.Scan(tt.written); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got error %v, want one that says %q", tt.name, err, tt.says)
		}
	}
}
