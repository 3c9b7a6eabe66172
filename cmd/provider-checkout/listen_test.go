package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/events"
)

// listening is a run of "listen" with the key of a sandbox's KOWHAI.
type listening struct {
	lines *bufio.Scanner // on stdout
	stop  func() (code int, stderr string)
}

func listensTo(t *testing.T, s *sandbox.Sandbox, env []string, args ...string) listening {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var stderr strings.Builder
	go func() {
		ended <- run(ctx, append([]string{"listen", "--base-url", s.URL}, args...), append(env, keyVariable+"="+s.Keys["KOWHAI"]), nil, in, &stderr)
		in.Close()
	}()
	return listening{bufio.NewScanner(out), func() (int, string) {
		cancel()
		_, _ = io.Copy(io.Discard, out)
		return <-ended, stderr.String()
	}}
}

// line returns the next line on stdout.
func (l listening) line(t *testing.T) string {
	t.Helper()
	if !l.lines.Scan() {
		_, stderr := l.stop()
		t.Fatal("listen ended: ", stderr)
	}
	return l.lines.Text()
}

func TestListenForwardsEvents(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, sandbox.Memory)
	own := sandbox.NewReceiver(t) // which checks each delivery against the document of the events
	created := s.Create(t, "DAY-1")
	l := listensTo(t, s, []string{signingVariable + "=whsec_of_my_own"}, "--forward-to", own.URL+"/hook", "--since", "1h")
	fields := strings.Fields(l.line(t))
	s.Create(t, "DAY-2")
	if line := l.line(t); !strings.Contains(line, " DAY-2 ") {
		t.Errorf("it goes on with %q", line)
	}
	if code, said := l.stop(); code != exitDone || said != "" {
		t.Errorf("status %d, stderr %q", code, said)
	}
	original, got := s.Receiver.Deliveries()[0], own.Deliveries()
	want := []string{original.JSON.Text("created_at"), "checkout.created", "DAY-1", created.String("checkout.checkout_id"),
		original.Header.Get(events.HeaderEventID)}
	if !slices.Equal(fields, want) {
		t.Errorf("printed is %q, want %q", fields, want)
	}
	if len(got) != 2 || string(got[0].Body) != string(original.Body) || got[0].Provider != "hook" ||
		events.Verify("whsec_of_my_own", got[0].Header.Get(events.HeaderSignature), got[0].Body, time.Now(), time.Minute) != nil {
		t.Fatalf("the receiver got %+v", got)
	}
	for name := range original.Header {
		if len(got[0].Header.Values(name)) != 1 {
			t.Errorf("the header %s of the delivery is missing: %v", name, got[0].Header)
		}
	}
}

func TestListenSendsARefusedEventAgainBeforeTheNext(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, sandbox.Memory)
	own := sandbox.NewReceiver(t)
	refused := 0
	own.AnswerWith(func(sandbox.Delivery) int {
		if refused++; refused <= 2 {
			return http.StatusInternalServerError
		}
		return http.StatusNoContent
	})
	s.Create(t, "DAY-1")
	s.Create(t, "DAY-2")
	l := listensTo(t, s, nil, "--forward-to", own.URL, "--since", "1h")
	secret, _ := strings.CutPrefix(l.line(t), "# signing secret: ")
	if first, second := l.line(t), l.line(t); !strings.Contains(first, " DAY-1 ") || !strings.Contains(second, " DAY-2 ") {
		t.Errorf("printed is %q and %q", first, second)
	}
	if _, said := l.stop(); !strings.Contains(said, "waits") {
		t.Errorf("it says %q", said)
	}
	for _, d := range own.Deliveries() {
		if err := events.Verify(secret, d.Header.Get(events.HeaderSignature), d.Body, time.Now(), time.Minute); err != nil {
			t.Errorf("a delivery: %v", err)
		}
	}
}

// A provider that has no destination on record yet needs no operator to see its events.
func TestListenNeedsNoDestination(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, sandbox.Memory)
	s.Configure(t, strings.Replace(sandbox.Providers, `"webhook": {"url": "HOOKS/KOWHAI", "signing_secret": "whsec_kowhai_0123456789abcdef"},`, "", 1))
	own := sandbox.NewReceiver(t)
	s.Create(t, "DAY-1")
	l := listensTo(t, s, []string{signingVariable + "=whsec_of_my_own"}, "--forward-to", own.URL, "--since", "1h")
	if line := l.line(t); !strings.Contains(line, " DAY-1 ") || len(own.Deliveries()) != 1 || len(s.Receiver.Deliveries()) != 0 {
		t.Errorf("printed is %q, and the receivers have %d and %d events", line, len(own.Deliveries()), len(s.Receiver.Deliveries()))
	}
	l.stop()
}

func TestListenRefusesMistakes(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, sandbox.Memory)
	key := []string{keyVariable + "=" + s.Keys["KOWHAI"]}
	for _, tt := range []struct {
		name string
		env  []string
		code int
		want string
		args []string
	}{
		{"no address", key, exitUsage, "missing flags: --base-url=URL", nil},
		{"an address with a query", key, exitUsage, "must be a scheme and a host", []string{"--base-url", s.URL + "?key=1"}},
		{"no key", nil, exitUsage, "the API key is missing", []string{"--base-url", s.URL}},
		{"another key", []string{keyVariable + "=" + hostilesKey}, exitFailed, "INVALID_API_KEY", []string{"--base-url", s.URL}},
		{"no receiver", key, exitUsage, "must be a URL on this machine", []string{"--base-url", s.URL, "--forward-to", "3000"}},
		{"another program", key, exitFailed, "is it a Provider Checkout?", []string{"--base-url", s.URL + "/docs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := try(t, tt.env, "", append([]string{"listen"}, tt.args...)...); got.code != tt.code || !strings.Contains(got.stderr, tt.want) ||
				!isLine(got.stderr) {
				t.Errorf("listen %q = %+v, want status %d and %q", tt.args, got, tt.code, tt.want)
			}
		})
	}
}

const hostilesKey = "pck_sandbox_KOWHAI_0123456789abcdef_" + "0123456789abcdef0123456789abcdef"

func TestTheKeyFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s went elsewhere, with the key: %v", r.Method, r.URL, r.Header.Get("Authorization") != "")
	}))
	defer elsewhere.Close()
	hostile := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1/environment", http.StatusTemporaryRedirect))
	defer hostile.Close()
	got := try(t, []string{keyVariable + "=" + hostilesKey}, "", "listen", "--base-url", hostile.URL)
	if got.code != exitFailed || strings.Contains(got.stdout+got.stderr, catalogue.KeyID(hostilesKey)+"_") {
		t.Errorf("listen = %+v", got)
	}
}

func TestATerminalObeysNoServer(t *testing.T) {
	t.Parallel()
	const evil = `\u001b]0;evil\u0007\u009b2J\u202e`
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path != "/v1/environment" {
				w.WriteHeader(status)
			}
			fmt.Fprint(w, strings.ReplaceAll(`{"environment": "sandbox", "events": [{"cursor": "EVIL", "body": "EVIL"}], "next": "EVIL",
				"error": {"code": "EVIL", "message": "EVIL"}}`, "EVIL", evil))
		}))
		defer hostile.Close()
		got := try(t, []string{keyVariable + "=" + hostilesKey}, "", "listen", "--base-url", hostile.URL)
		if strings.ContainsAny(got.stdout+got.stderr, "\x1b\x07\u009b\u202e") || got.stdout+got.stderr == "" {
			t.Errorf("listen prints %q", got.stdout+got.stderr)
		}
	}
}
