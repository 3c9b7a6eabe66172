package sqlstore_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// copied returns v as it is read back after its columns are written and read the way a driver does.
func copied[T any](r rapid.TB, columns sqlstore.Columns[T], v T) (back T) {
	r.Helper()
	values := columns.Values(&v)
	for i, into := range columns.Destinations(&back) {
		if scanner, ok := into.(sql.Scanner); ok {
			if err := scanner.Scan(values[i]); err != nil {
				r.Fatalf("column %s: Scan(%v): %v", columns[i].Name, values[i], err)
			}
			continue
		}
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(values[i]))
	}
	return back
}

// filled returns a T in which no field is zero.
func filled[T any]() (v T) {
	fill(reflect.ValueOf(&v).Elem())
	return v
}

func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.UnixMilli(1_795_147_506_789).UTC()))
		return
	case money.Date:
		v.Set(reflect.ValueOf(money.Date{Year: 2027, Month: time.February, Day: 8}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("text of " + v.Type().String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(200)
	case reflect.Int64:
		v.SetInt(7)
		if v.Type() == reflect.TypeFor[time.Duration]() {
			v.SetInt(int64(7 * time.Second))
		}
	default:
		v.SetInt(7)
	}
}

func TestEveryFieldHasAColumn(t *testing.T) {
	t.Run("checkout", func(t *testing.T) { everyFieldHasAColumn(t, sqlstore.Checkout) })
	t.Run("agreement", func(t *testing.T) { everyFieldHasAColumn(t, sqlstore.Agreement) })
	t.Run("job", func(t *testing.T) {
		want := filled[sqlstore.JobRow]()
		want.Job.Due = time.Time{} // follows from when the job enters
		if got := copied(t, sqlstore.JobRecord, want); !reflect.DeepEqual(got, want) {
			t.Errorf("written and read:\n got %+v\nwant %+v", got, want)
		}
	})
	t.Run("moment", func(t *testing.T) { everyFieldHasAColumn(t, sqlstore.Moment) })
	t.Run("key", func(t *testing.T) { everyFieldHasAColumn(t, sqlstore.Key) })
	t.Run("provider", func(t *testing.T) {
		want := filled[catalogue.Provider]()
		row, err := sqlstore.NewProviderRow(want, encrypter(t))
		if err != nil {
			t.Fatalf("NewProviderRow: %v", err)
		}
		got, err := copied(t, sqlstore.Provider, row).Provider(encrypter(t))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("written and read:\n got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

// A secret decrypts for its provider only.
func TestSecretOfAnotherProviderIsNotDecrypted(t *testing.T) {
	row, err := sqlstore.NewProviderRow(filled[catalogue.Provider](), encrypter(t))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	for i, into := range sqlstore.Provider.Destinations(&row) {
		fields[sqlstore.Provider[i].Name] = into
	}
	*fields["code"].(*string) = "RIMU"
	if p, err := row.Provider(encrypter(t)); err == nil {
		t.Errorf("with another's secret: %+v, want an error", p)
	}
}

func everyFieldHasAColumn[T any](t *testing.T, columns sqlstore.Columns[T]) {
	want := filled[T]()
	if got := copied(t, columns, want); !reflect.DeepEqual(got, want) {
		t.Errorf("written and read:\n got %+v\nwant %+v", got, want)
	}
	var zero T
	if got := copied(t, columns, zero); !reflect.DeepEqual(got, zero) {
		t.Errorf("the zero value, written and read, is %+v", got)
	}
}

// encrypter returns an encrypter with a secret of its own.
func encrypter(t *testing.T) *secrets.Encrypter {
	t.Helper()
	e, err := secrets.New([][]byte{bytes.Repeat([]byte{'a'}, 32)}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		moment := rapid.Custom(func(r *rapid.T) time.Time {
			return time.UnixMilli(rapid.Int64Range(-1e14, 1e14).Draw(r, "ms")).UTC()
		})
		day := rapid.Custom(func(r *rapid.T) money.Date { return money.DateOf(moment.Filter(inFourDigits).Draw(r, "day")) })
		created := moment.Draw(r, "created").Add(time.Duration(rapid.IntRange(0, 999_999).Draw(r, "ns"))).In(time.FixedZone("NZDT", 13*60*60))
		if got := copied(r, sqlstore.Job, checkout.Job{CreatedAt: created}); got.CreatedAt != sqlstore.Stored(created) {
			r.Fatalf("%v comes back as %v, not as Stored returns it: %v", created, got.CreatedAt, sqlstore.Stored(created))
		}
		c := checkout.Checkout{CreatedAt: moment.Draw(r, "created")}
		c.Intent.Plan.First = day.Draw(r, "first payment")
		c.Tokens = append(c.Tokens, rapid.SliceOf(rapid.Custom(func(r *rapid.T) checkout.Token {
			return checkout.Token{Epoch: rapid.Int().Draw(r, "epoch"), KID: rapid.String().Draw(r, "kid"), Expires: moment.Draw(r, "expires"),
				Renewed: rapid.OneOf(rapid.Just(time.Time{}), moment).Draw(r, "renewed"), Mailed: rapid.Bool().Draw(r, "mailed")}
		})).Draw(r, "tokens")...)
		c.Setup.Consent = agreement.Consent{At: moment.Draw(r, "at"), From: rapid.String().Draw(r, "from"),
			Terms: rapid.String().Draw(r, "terms"), NoticeDays: rapid.Int().Draw(r, "notice"),
			Disclosed: agreement.Disclosed{SHA256: rapid.String().Draw(r, "sha256"), Page: rapid.String().Draw(r, "page")}}
		if got := copied(r, sqlstore.Checkout, c); !reflect.DeepEqual(got, c) {
			r.Fatalf("checkout, written and read:\n got %+v\nwant %+v", got, c)
		}
		var a agreement.Agreement
		a.Schedule = append(a.Schedule, rapid.SliceOf(rapid.Custom(func(r *rapid.T) money.Charge {
			return money.Charge{Sequence: rapid.Int().Draw(r, "sequence"), Type: money.Instalment, Due: day.Draw(r, "due"),
				Amount: money.Cents(rapid.Int64().Draw(r, "amount"))}
		})).Draw(r, "charges")...)
		if got := copied(r, sqlstore.Agreement, a); !reflect.DeepEqual(got, a) {
			r.Fatalf("agreement, written and read:\n got %+v\nwant %+v", got, a)
		}
	})
}

func inFourDigits(t time.Time) bool { return t.Year() > 0 && t.Year() < 10_000 }

func TestAbsentTimesAreNullAndAbsentDatesEmpty(t *testing.T) {
	values := sqlstore.Checkout.Values(new(checkout.Checkout))
	for i, field := range sqlstore.Checkout.Destinations(new(checkout.Checkout)) {
		switch field.(type) {
		case *sqlstore.Time:
			if values[i] != nil {
				t.Errorf("no time in %s is written as %v, want NULL", sqlstore.Checkout[i].Name, values[i])
			}
		case *sqlstore.Date:
			if values[i] != "" {
				t.Errorf("no date in %s is written as %v, want empty text", sqlstore.Checkout[i].Name, values[i])
			}
		}
	}
}

func TestHash(t *testing.T) {
	want := sha256.Sum256([]byte("x"))
	var got [32]byte
	if err := (*sqlstore.SHA256)(&got).Scan(want[:]); err != nil || got != want {
		t.Errorf("read %x, %v; want %x", got, err, want)
	}
}

func TestMalformedValuesAreErrors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		into    sql.Scanner
		written any
		says    string
	}{
		{"a time in words", new(sqlstore.Time), "now", "not a time"},
		{"a date in words", new(sqlstore.Date), "tomorrow", "not a date"},
		{"a day that does not exist", new(sqlstore.Date), "2027-02-30", "not a date"},
		{"NULL as a date", new(sqlstore.Date), nil, "not a date"},
		{"a short hash", new(sqlstore.SHA256), []byte("x"), "not a SHA-256"},
		{"a number as lines", new(sqlstore.Lines), int64(1), "not lines"},
		{"text as bytes", new(sqlstore.Bytes), "x", "not bytes"},
		{"a number as tokens", new(sqlstore.Tokens), int64(1), "not setup tokens"},
		{"a token without an epoch", new(sqlstore.Tokens), "x:1:k", "epoch"},
		{"a token without an expiry", new(sqlstore.Tokens), "1:x:k", "expiry"},
		{"a token with a malformed key", new(sqlstore.Tokens), "1:1:%", "key"},
		{"a token with a malformed renewal", new(sqlstore.Tokens), "1:1:k;x", "renewal"},
		{"a schedule that is not JSON", new(sqlstore.Schedule), "x", "schedule"},
		{"a charge whose amount is text", new(sqlstore.Schedule), `[[1,"instalment","2027-01-01","1"]]`, "charge"},
		{"a charge without an amount", new(sqlstore.Schedule), `[[1,"instalment","2027-01-01"]]`, "charge"},
		{"a charge with a malformed date", new(sqlstore.Schedule), `[[1,"instalment","x",1]]`, "charge"},
		{"a consent that is not JSON", new(sqlstore.Consent), `{"at_ms":`, "consent"},
		{"NULL as an instant", new(sqlstore.Instant), nil, "not a time"},
		{"NULL as a consent", new(sqlstore.Consent), nil, "consent"},
		{"details that are not JSON", new(sqlstore.Details), "x", "details"},
		{"a malformed day to cancel until", new(sqlstore.Details), `{"cancel_until":"2027-02-30"}`, "right to cancel"},
		{"a notice with a malformed date", new(sqlstore.Details), `{"notice":{"days":2,"not_before":"2027-02-30"}}`, "notice"},
	} {
		if err := tt.into.Scan(tt.written); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got error %v, want one that says %q", tt.name, err, tt.says)
		}
	}
}
