package rows

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// filler gives every field that it fills another value.
type filler struct{ n int64 }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Kind() {
	case reflect.Struct:
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			*at = time.UnixMilli(1_800_000_000_000 + f.n).UTC()
			return
		}
		if v.Type().Name() == "Date" {
			v.Field(0).SetInt(2000 + f.n%200)
			v.Field(1).SetInt(1 + f.n%12)
			v.Field(2).SetInt(1 + f.n%28)
			return
		}
		for i := range v.NumField() {
			f.fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("ʻĀ" + string(rune('a'+f.n%26)) + time.Duration(f.n).String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(f.n % 256))
	default:
		v.SetInt(f.n)
	}
}

func filledWith[T any]() (v T) {
	(&filler{}).fill(reflect.ValueOf(&v).Elem())
	return v
}

// through returns a row after its way through a database, as of a driver.
func through[R any, P interface {
	*R
	Fields() []any
}](t *testing.T, row R) (back R) {
	t.Helper()
	into := P(&back).Fields()
	for i, field := range P(&row).Fields() {
		switch from := field.(type) {
		case *string:
			*into[i].(*string) = *from
		case *int64:
			*into[i].(*int64) = *from
		case *int:
			*into[i].(*int) = *from
		case *bool:
			*into[i].(*bool) = *from
		case Column:
			v, err := from.Value()
			if data, ok := v.([]byte); err != nil || v == nil || ok && data == nil {
				t.Errorf("column %d of %T is %v, %v", i, row, v, err)
			}
			if err := into[i].(Column).Scan(v); err != nil {
				t.Errorf("column %d of %T: %v", i, row, err)
			}
		default:
			t.Errorf("column %d of %T is a %T", i, row, field)
		}
	}
	return back
}

// text returns the text of a column of a row.
func text(t *testing.T, fields []any, column int) string {
	t.Helper()
	v, err := fields[column].(Column).Value()
	if err != nil {
		t.Error(err)
	}
	return v.(string)
}

func equal[T any](t *testing.T, got T, err error, want T) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("came back as\n%+v, %v; want\n%+v", got, err, want)
	}
}

func TestEveryFieldOfACheckoutComesBack(t *testing.T) {
	full := filledWith[checkout.Checkout]()
	full.Intent.Pricing.Principal = full.Intent.Pricing.Price - full.Intent.Pricing.Upfront
	for _, c := range []checkout.Checkout{{}, full} {
		row := through(t, OfCheckout(c))
		got, err := row.Checkout()
		equal(t, got, err, c)
	}
	row := OfCheckout(full)
	if got := text(t, row.Fields(), 6); got != full.Student.Search() {
		t.Errorf("search = %q", got)
	}
}

func TestEveryFieldOfAJobComesBack(t *testing.T) {
	now := time.UnixMilli(1_900_000_000_000).UTC()
	for _, j := range []checkout.Job{{Kind: checkout.JobSync}, filledWith[checkout.Job]()} {
		row := through(t, OfJob(j, now))
		want := j
		want.Due, want.Unsent = time.Time{}, false
		record, _ := row.Record()
		lease := row.Lease(time.Second)
		equal(t, record.Job, nil, want)
		equal(t, lease, nil, checkout.Lease{Job: want, Token: 1, For: time.Second})
		if wantState := map[bool]checkout.JobState{true: checkout.JobDropped, false: checkout.JobPending}[j.Unsent]; record.State != wantState {
			t.Errorf("a job enters as %s, want %s", record.State, wantState)
		}
	}
}

func TestAJobIsDueAfterItsPauseByTheStoresClock(t *testing.T) {
	at, now := time.UnixMilli(1000), time.UnixMilli(5000)
	if row := OfJob(checkout.Job{CreatedAt: at, Due: at.Add(time.Second)}, now); row.DueMS != 6000 {
		t.Errorf("due at %d ms, want 6000", row.DueMS)
	}
	if row := OfJob(checkout.Job{CreatedAt: at}, now); row.DueMS != 0 {
		t.Errorf("a job without a pause is due at %d ms, want 0", row.DueMS)
	}
}

func TestTheStateOfAJobComesBack(t *testing.T) {
	full := Job{JobRecord: filledWith[checkout.JobRecord](), DueMS: 1, Again: true, Token: 2, LeasedUntilMS: 3}
	full.JobRecord.Cursor, full.JobRecord.Due, full.Job.Due, full.Unsent = "", time.Time{}, time.Time{}, false
	row := through(t, full)
	equal(t, row, nil, full)
	got, _ := row.Record()
	want := full.JobRecord
	equal(t, got, nil, want)
	row.State, row.DueMS = checkout.JobPending, row.LeasedUntilMS+1
	want.State, want.Due = checkout.JobPending, Time(row.DueMS)
	got, err := row.Record()
	equal(t, got, err, want)
	row.LeasedUntilMS = row.DueMS + 1
	want.Due = Time(row.LeasedUntilMS)
	got, err = row.Record()
	equal(t, got, err, want)
	equal(t, row.Lease(time.Minute), nil, checkout.Lease{Job: row.Job, Token: row.Token + 1, Attempts: row.Attempts,
		Cursor: row.Progress, For: time.Minute})
}

func TestEveryFieldOfAMomentAndAnActComesBack(t *testing.T) {
	moment := filledWith[checkout.Moment]()
	for _, row := range OfMoments("KOWHAI", "KOWHAI-1-a", []checkout.Moment{moment, {}}) {
		equal(t, through(t, row), nil, row)
		if row.ProviderCode != "KOWHAI" || row.CheckoutID != "KOWHAI-1-a" || row.moment.Times == 0 {
			t.Errorf("moment %+v", row)
		}
	}
	for _, act := range []checkout.Act{{}, filledWith[checkout.Act]()} {
		got, err := through(t, OfAct(act)).Record()
		equal(t, got, err, act)
	}
}

func TestEveryFieldOfAnAgreementComesBack(t *testing.T) {
	for _, a := range []agreement.Agreement{{}, filledWith[agreement.Agreement]()} {
		row := through(t, OfAgreement("KOWHAI", "KOWHAI-1-a", a))
		got, err := row.Agreement()
		equal(t, got, err, a)
		if row.ProviderCode != "KOWHAI" || row.CheckoutID != "KOWHAI-1-a" || row.Number != a.Number {
			t.Errorf("the row is of %s, %s, %s", row.ProviderCode, row.CheckoutID, row.Number)
		}
	}
	empty := agreement.Agreement{Terms: agreement.Terms{Blocks: []agreement.Block{}}}
	got, err := OfAgreement("", "", empty).Agreement()
	equal(t, got, err, agreement.Agreement{})
	document := filledWith[agreement.Document]()
	gotDocument, err := through(t, OfDocument("KOWHAI", "KOWHAI-1-a", document)).Document()
	equal(t, gotDocument, err, document)
}

// The names of the fields are the names in the JSON of rows on record.
func TestTheJSONOfRowsKeepsItsNames(t *testing.T) {
	c := filledWith[checkout.Checkout]()
	row := OfCheckout(c)
	course := Course{course: filledWith[catalogue.Course]()}
	ofCheckout, ofCourse := row.Fields(), course.Fields()
	got := strings.Join([]string{OfAgreement("", "", filledWith[agreement.Agreement]()).Facts, text(t, ofCheckout, 30), text(t, ofCheckout, 8),
		text(t, ofCheckout, 33), text(t, ofCheckout, 13), text(t, ofCourse, 8), text(t, ofCourse, 9), ""}, "\n")
	want, err := os.ReadFile("testdata/columns.jsonl")
	if err != nil || got != string(want) {
		t.Errorf("%v; the columns are\n%s\nwant\n%s", err, got, want)
	}
}

func TestEveryFieldOfTheConfigurationComesBack(t *testing.T) {
	e, err := secrets.New([][]byte{bytes.Repeat([]byte("s"), 32)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []catalogue.Provider{{}, filledWith[catalogue.Provider]()} {
		row, err := OfProvider(p, e)
		if err != nil || bytes.Contains(row.WebhookSecret, []byte("ʻ")) {
			t.Fatalf("row %+v, %v: the secret is not encrypted", row, err)
		}
		row = through(t, row)
		got, err := row.Provider(e)
		equal(t, got, err, p)
		p.Destination.Secret = ""
		got, err = row.Provider(nil)
		equal(t, got, err, p)
	}
	for _, c := range []catalogue.Course{{}, filledWith[catalogue.Course]()} {
		row := through(t, Course{ProviderCode: "KOWHAI", position: 7, course: c})
		got, err := row.Course()
		equal(t, got, err, c)
		if row.ProviderCode != "KOWHAI" || row.position != 7 {
			t.Errorf("the course is of %s, at %d", row.ProviderCode, row.position)
		}
	}
	key := filledWith[catalogue.Key]()
	got, err := through(t, OfKey(key)).Key()
	equal(t, got, err, key)
}

func TestTimesComeBackInUTCToTheMillisecond(t *testing.T) {
	at := time.Unix(1_800_000_000, 123_456_789).In(time.FixedZone("NZST", 12*3600))
	want := time.UnixMilli(1_800_000_000_123).UTC()
	c := checkout.Checkout{CreatedAt: at, Tokens: []checkout.Token{{Expires: at, Renewed: at}}, End: checkout.End{At: at}}
	c.Setup.Consent.At = at
	got, err := through(t, OfCheckout(c)).Checkout()
	for _, back := range []time.Time{got.CreatedAt, got.Tokens[0].Expires, got.Tokens[0].Renewed, got.End.At, got.Setup.Consent.At} {
		equal(t, back, err, want)
	}
	a := agreement.Agreement{AcceptedAt: at, DirectDebit: agreement.DirectDebit{AuthorisedAt: at, Consent: agreement.Consent{At: at}}}
	signed, err := OfAgreement("", "", a).Agreement()
	for _, back := range []time.Time{signed.AcceptedAt, signed.DirectDebit.AuthorisedAt, signed.DirectDebit.Consent.At} {
		equal(t, back, err, want)
	}
}

func TestAColumnThatCannotBeReadIsAnErrorThatNamesTheRow(t *testing.T) {
	for column, unread := range map[int]any{8: "[", 13: "1", 29: "soon", 30: "{", 33: "[]", 39: "2026-02-30", 41: []byte("short")} {
		row := OfCheckout(checkout.Checkout{ID: "KOWHAI-1-a"})
		if err := row.Fields()[column].(Column).Scan(unread); err != nil {
			t.Errorf("column %d: %v", column, err)
		}
		if _, err := row.Checkout(); err == nil || !strings.Contains(err.Error(), "KOWHAI-1-a") {
			t.Errorf("column %d with %q: got error %v", column, unread, err)
		}
	}
	if _, err := (Agreement{Facts: "{"}).Agreement(); err == nil {
		t.Error("an agreement that is no JSON is no error")
	}
}
