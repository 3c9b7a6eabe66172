package gocardlesstest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

// notified is a bench whose notifications go to an inbox.
func notified(t *testing.T, change ...func(*gocardlesstest.Options)) (*bench, *inbox) {
	in := newInbox(t)
	change = append([]func(*gocardlesstest.Options){func(o *gocardlesstest.Options) {
		o.WebhookURL, o.WebhookSecret, o.WebhookRetry = in.server.URL, secret, time.Millisecond
	}}, change...)
	return newBench(t, change...), in
}

func (b *bench) flush() {
	b.Helper()
	if err := b.sim.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// signed reports whether a notification is signed with a secret, by a reckoning of its own.
func (n notification) signed(secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(n.body)
	return n.signature == hex.EncodeToString(mac.Sum(nil))
}

func TestNotificationsAreSignedBatchesOfAllEvents(t *testing.T) {
	b, in := notified(t, func(o *gocardlesstest.Options) { o.WebhookBatch = 4 })
	b.fulfilled()
	b.flush()
	want := b.events("limit=500", "id")
	slices.Reverse(want)
	var got, webhooks []string
	for _, n := range in.all() {
		if !n.signed(secret) {
			t.Errorf("a signature is wrong: %s of\n%s", n.signature, n.body)
		}
		if n := len(n.events()); n == 0 || n > 4 {
			t.Errorf("a batch of %d events, want 1 to 4", n)
		}
		got = append(got, n.events()...)
		var body struct {
			Meta struct {
				WebhookID string `json:"webhook_id"`
			}
		}
		if err := json.Unmarshal(n.body, &body); err != nil {
			t.Error(err)
		}
		webhooks = append(webhooks, body.Meta.WebhookID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	slices.Sort(webhooks)
	if ids := slices.Compact(slices.Clone(webhooks)); len(ids) != len(webhooks) || ids[0][:2] != "WB" {
		t.Errorf("ids of webhooks = %v, want each its own", webhooks)
	}
}

func TestNotificationHoldsTheEventAsTheAPIGivesIt(t *testing.T) {
	b, in := notified(t)
	b.newRequest()
	b.flush()
	var body struct{ Events []json.RawMessage }
	if err := json.Unmarshal(in.all()[0].body, &body); err != nil || len(body.Events) != 1 {
		t.Fatalf("%v, %s", err, in.all()[0].body)
	}
	var listed struct{ Events []json.RawMessage }
	if err := json.Unmarshal(b.OK(200, "GET", "/events", "").Raw, &listed); err != nil || string(listed.Events[0]) != string(body.Events[0]) {
		t.Errorf("notified of %s, and listed is %s", body.Events[0], listed.Events)
	}
}

func TestNotificationsAreRepeatedUntilTheyAreAccepted(t *testing.T) {
	for _, tt := range []struct {
		name     string
		accepted int // the attempt, from 0
		attempts int
		want     gocardlesstest.WebhookStatistics
	}{
		{"at once", 0, 1, gocardlesstest.WebhookStatistics{Sent: 1, Accepted: 1}},
		{"at the last attempt", 8, 9, gocardlesstest.WebhookStatistics{Sent: 9, Accepted: 1, Refused: 8}},
		{"never", 100, 9, gocardlesstest.WebhookStatistics{Sent: 9, Refused: 9, Abandoned: 1}},
	} {
		b, in := notified(t)
		in.answer = func(n int) int {
			if n >= tt.accepted {
				return http.StatusNoContent
			}
			return 498
		}
		b.newRequest()
		b.flush()
		got := in.all()
		if len(got) != tt.attempts || b.sim.Statistics().Webhooks != tt.want {
			t.Errorf("%s: %d attempts, %+v; want %d, %+v", tt.name, len(got), b.sim.Statistics().Webhooks, tt.attempts, tt.want)
		}
		for _, n := range got {
			if string(n.body) != string(got[0].body) {
				t.Errorf("%s: an attempt had another body", tt.name)
			}
		}
	}
}

func TestAnEndpointThatIsDownIsTriedAgain(t *testing.T) {
	b, in := notified(t)
	in.server.Close()
	b.newRequest()
	b.flush()
	if got := b.sim.Statistics().Webhooks; got.Failed != 9 || got.Abandoned != 1 {
		t.Errorf("%+v, want 9 attempts that failed", got)
	}
}

func TestWebhookFaults(t *testing.T) {
	t.Run("dropped", func(t *testing.T) {
		b, in := notified(t)
		b.sim.SetWebhookFaults(gocardlesstest.WebhookFaults{Drop: 1})
		b.fulfilled()
		b.flush()
		if got := b.sim.Statistics().Webhooks; len(in.all()) != 0 || got.Dropped == 0 {
			t.Errorf("%d came, %+v; want none", len(in.all()), got)
		}
	})
	t.Run("twice", func(t *testing.T) {
		b, in := notified(t)
		b.sim.SetWebhookFaults(gocardlesstest.WebhookFaults{Duplicate: 1})
		b.newRequest()
		b.flush()
		if got := in.all(); len(got) != 2 || string(got[0].body) != string(got[1].body) {
			t.Errorf("%d came, want the same twice", len(got))
		}
	})
	t.Run("late", func(t *testing.T) {
		b, in := notified(t)
		b.sim.SetWebhookFaults(gocardlesstest.WebhookFaults{Late: 1, Delay: 30 * time.Millisecond})
		began := time.Now()
		b.newRequest()
		b.flush()
		if took := time.Since(began); len(in.all()) != 1 || took < 30*time.Millisecond {
			t.Errorf("%d came after %v, want one after 30 ms", len(in.all()), took)
		}
	})
	t.Run("out of order", func(t *testing.T) {
		b, in := notified(t, func(o *gocardlesstest.Options) { o.WebhookBatch = 10 })
		b.sim.SetWebhookFaults(gocardlesstest.WebhookFaults{Shuffle: true, Delay: 20 * time.Millisecond})
		for range 20 {
			b.fulfilled()
		}
		b.flush()
		var got []string
		for _, n := range in.all() {
			got = append(got, n.events()...)
		}
		want := b.events("limit=500", "id")
		slices.Reverse(want)
		if slices.Equal(got, want) {
			t.Error("120 events came in order")
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d events came, want the %d that there are", len(got), len(want))
		}
	})
}

func TestWhatIsDueOnTheClockIsNotifiedWithoutACall(t *testing.T) {
	b, in := notified(t)
	id := b.newRequest()
	if _, err := b.sim.Complete(b.newFlow(id), gocardlesstest.Payer{Holder: "MANDATE FAILS"}); err != nil {
		t.Fatal(err)
	}
	b.flush()
	before := len(in.all())
	b.sim.Advance(time.Minute)
	b.flush()
	if got := in.all(); len(got) != before+1 {
		t.Errorf("%d notifications after %d, want one more", len(got), before)
	}
}

func TestCloseEndsADeliveryThatHangs(t *testing.T) {
	came := make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees a client go only then
		close(came)
		<-r.Context().Done()
	}))
	t.Cleanup(endpoint.Close)
	b := newBench(t, func(o *gocardlesstest.Options) { o.WebhookURL = endpoint.URL })
	b.newRequest()
	<-came
	b.sim.Close()
	if b.sim.Flush(t.Context()) == nil {
		t.Error("Flush of a closed simulator says that all was delivered")
	}
}
