package events_test

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/testdata"
)

const (
	secret    = "whsec_kowhai_sandbox_0123456789"
	tolerance = 5 * time.Minute
)

var signedAt = time.Unix(1772330584, 0)

// vectors is testdata/signatures.json, whose signatures another program made.
type vectors struct {
	Description string `json:"description"`
	Accepted    []struct {
		Name      string `json:"name"`
		Secret    string `json:"secret"`
		Timestamp int64  `json:"timestamp"`
		Body      string `json:"body"`
		Header    string `json:"header"`
	} `json:"accepted"`
	Refused []struct {
		Name   string `json:"name"`
		Secret string `json:"secret"`
		Header string `json:"header"`
		Body   string `json:"body"`
		Now    int64  `json:"now"`
		Reason string `json:"reason"`
	} `json:"refused"`
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	testdata.Read(t, "signatures.json", &v)
	return v
}

func TestSignAndVerifyAgreeWithTheVectors(t *testing.T) {
	for _, v := range readVectors(t).Accepted {
		t.Run(v.Name, func(t *testing.T) {
			at := time.Unix(v.Timestamp, 0)
			if err := events.Verify(v.Secret, v.Header, []byte(v.Body), at, 0); err != nil {
				t.Errorf("Verify(%q, %q, %q) = %v, want nil", v.Secret, v.Header, v.Body, err)
			}
			if got := events.Sign(v.Secret, at, []byte(v.Body)); got != v.Header {
				t.Errorf("Sign(%q, %d, %q) = %q, want %q", v.Secret, v.Timestamp, v.Body, got, v.Header)
			}
		})
	}
}

func TestVerifyRefusesTheVectors(t *testing.T) {
	reasons := map[string]error{
		"malformed": events.ErrMalformed, "mismatch": events.ErrMismatch, "too_old": events.ErrTooOld,
	}
	for _, v := range readVectors(t).Refused {
		t.Run(v.Name, func(t *testing.T) {
			want, known := reasons[v.Reason]
			err := events.Verify(v.Secret, v.Header, []byte(v.Body), time.Unix(v.Now, 0), tolerance)
			if !known || !errors.Is(err, want) {
				t.Errorf("Verify(%q, %q, %q) = %v, want %s", v.Secret, v.Header, v.Body, err, v.Reason)
			}
		})
	}
}

func TestVerifyHoldsTheTimestampToTheTolerance(t *testing.T) {
	tests := []struct {
		name      string
		late      time.Duration // the receiver's clock after the timestamp
		tolerance time.Duration
		want      error
	}{
		{"at the edge, late", tolerance, tolerance, nil},
		{"at the edge, early", -tolerance, tolerance, nil},
		{"just over, late", tolerance + 1, tolerance, events.ErrTooOld},
		{"just over, early", -tolerance - 1, tolerance, events.ErrTooOld},
		{"no tolerance, the same instant", 0, 0, nil},
		{"no tolerance, a nanosecond on", 1, 0, events.ErrTooOld},
		{"centuries late", math.MaxInt64, tolerance, events.ErrTooOld},
		{"centuries early", math.MinInt64, tolerance, events.ErrTooOld},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := events.Sign(secret, signedAt, nil)
			err := events.Verify(secret, header, nil, signedAt.Add(tt.late), tt.tolerance)
			if !errors.Is(err, tt.want) {
				t.Errorf("%v late, tolerance %v: %v, want %v", tt.late, tt.tolerance, err, tt.want)
			}
		})
	}
}

// A timestamp at the ends of 64 bits must not wrap round into the tolerance.
func TestVerifyHoldsTheFarthestTimestampsToTheTolerance(t *testing.T) {
	for _, seconds := range []int64{math.MaxInt64, math.MaxInt64 - 62135596800, math.MinInt64} {
		header := events.Sign(secret, time.Unix(seconds, 0), nil)
		if err := events.Verify(secret, header, nil, signedAt, tolerance); !errors.Is(err, events.ErrTooOld) {
			t.Errorf("Verify at %d = %v, want %v", seconds, err, events.ErrTooOld)
		}
	}
}

func TestVerifyAcceptsWhatSignWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringN(1, -1, 200).Draw(t, "secret")
		at := time.Unix(rapid.Int64().Draw(t, "at"), 0)
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		if err := events.Verify(secret, events.Sign(secret, at, body), body, at, 0); err != nil {
			t.Errorf("Verify of a fresh signature: %v", err)
		}
	})
}

func TestVerifyRefusesAHeaderWithAnyBitFlipped(t *testing.T) {
	header := events.Sign(secret, signedAt, nil)
	for bit := range 8 * len(header) {
		flipped := []byte(header)
		flipped[bit/8] ^= 1 << (bit % 8)
		if err := events.Verify(secret, string(flipped), nil, signedAt, tolerance); err == nil {
			t.Errorf("Verify(%q) = nil, want an error: the header was %q", flipped, header)
		}
	}
}

// The oracle is a second reading of the header, by a regular expression.
func FuzzVerify(f *testing.F) {
	good := events.Sign(secret, signedAt, []byte("{}"))
	f.Add(good, []byte("{}"))
	f.Add(good+",v1="+strings.Repeat("0", 64), []byte("{}"))
	f.Add("t=-1,v1="+strings.Repeat("f", 64), []byte{})
	f.Add("t=99999999999999999999,v1="+strings.Repeat("a", 64), []byte("x"))
	f.Add("", []byte(nil))
	shape := regexp.MustCompile(`\At=(0|-?[1-9][0-9]*)(,v1=[0-9a-f]{64})\z`)

	f.Fuzz(func(t *testing.T, header string, body []byte) {
		err := events.Verify(secret, header, body, signedAt, math.MaxInt64)

		parts := shape.FindStringSubmatch(header)
		if parts == nil {
			if !errors.Is(err, events.ErrMalformed) {
				t.Fatalf("Verify(%q) = %v, want %v", header, err, events.ErrMalformed)
			}
			return
		}
		seconds, tooLarge := strconv.ParseInt(parts[1], 10, 64)
		_, want, _ := strings.Cut(events.Sign(secret, time.Unix(seconds, 0), body), ",")
		signed := strings.Contains(header, want)
		switch {
		case tooLarge != nil && !errors.Is(err, events.ErrMalformed),
			tooLarge == nil && signed && err != nil,
			tooLarge == nil && !signed && !errors.Is(err, events.ErrMismatch):
			t.Fatalf("Verify(%q, %q) = %v; the signature is %q", header, body, err, want)
		}
	})
}

func TestDelayIsTheContracts(t *testing.T) {
	is := is.New(t)
	is.Equal(events.Delay(1), 0*time.Millisecond)
	is.Equal(events.Delay(2), 250*time.Millisecond)
	is.Equal(events.Delay(events.MaxAttempts), 750*time.Millisecond)
}

func TestAttemptsOfOneRunDifferInTheirNumberOnly(t *testing.T) {
	is := is.New(t)
	e := events.Created(origin, subject, "dda_1", "con_1")
	d := events.NewDelivery(e, secret, signedAt.Add(999*time.Millisecond))
	for attempt := 1; attempt <= events.MaxAttempts; attempt++ {
		is.Equal(d.Header(attempt), map[string]string{
			"X-Service-Event":                 "checkout.created",
			"X-Service-Event-Id":              e.ID,
			"X-Service-Timestamp":             "1772330584",
			"X-Service-Signature":             events.Sign(secret, signedAt, e.Body),
			"X-Service-Delivery-Attempt":      strconv.Itoa(attempt),
			"X-Service-Delivery-Max-Attempts": "3",
			"X-Request-Id":                    "req_7",
		})
	}
}

func TestADeliveryWithoutARequestHasNoRequestHeader(t *testing.T) {
	is := is.New(t)
	_, present := events.Delivery{Event: events.Event{ID: "evt_1"}}.Header(1)[events.HeaderRequestID]
	is.True(!present)
}
