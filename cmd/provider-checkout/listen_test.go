package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
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
		ended <- run(ctx, append([]string{"listen", "--base-url", s.URL}, args...), variables(append(env, keyVariable+"="+s.Keys["KOWHAI"])), nil, in, &stderr)
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

func TestListenForwardsEventsAndGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, memory.New())
	own := sandbox.NewReceiver(t) // which checks each delivery against the document of the events
	state := filepath.Join(t.TempDir(), "place")
	env := []string{signingVariable + "=whsec_of_my_own"}
	args := []string{"--forward-to", own.URL + "/hook", "--state", state, "--since", "1h"}
	created := s.Create(t, "DAY-1")
	l := listensTo(t, s, env, args...)
	fields := strings.Fields(l.line(t))
	if code, said := l.stop(); code != cli.ExitDone || said != "" {
		t.Errorf("status %d, stderr %q", code, said)
	}
	original, got := s.Receiver.Deliveries()[0], own.Deliveries()
	id := original.Header.Get(events.HeaderEventID)
	if len(fields) != 8 || !slices.Equal(fields[1:6], []string{"checkout.created", "DAY-1", created.String("checkout.checkout_id"), id, "204"}) ||
		fields[0] != original.JSON.Text("created_at") {
		t.Errorf("printed is %q, want time, name, order, checkout, id and the answer to it", fields)
	}
	if len(got) != 1 || string(got[0].Body) != string(original.Body) || got[0].Provider != "hook" ||
		events.Verify("whsec_of_my_own", got[0].Header.Get(events.HeaderSignature), got[0].Body, time.Now(), time.Minute) != nil {
		t.Fatalf("the receiver got %+v", got)
	}
	for name := range original.Header {
		if len(got[0].Header.Values(name)) != 1 {
			t.Errorf("the header %s of the delivery is missing: %v", name, got[0].Header)
		}
	}
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state is %v, %v", info, err)
	}

	s.Create(t, "DAY-2") // while nobody listens
	l = listensTo(t, s, env, args...)
	if line := l.line(t); !strings.Contains(line, " DAY-2 ") {
		t.Errorf("it goes on with %q", line)
	}
	s.Create(t, "DAY-3")
	if line := l.line(t); !strings.Contains(line, " DAY-3 ") {
		t.Errorf("it goes on with %q", line)
	}
	l.stop()
	again := try(t, append(env, keyVariable+"="+s.Keys["KOWHAI"]), "", "listen", "--base-url", s.URL, "--forward-to", own.URL, "--resend", id)
	if again.code != cli.ExitDone || strings.Count(again.stdout, id) != 1 || len(own.Deliveries()) != 4 ||
		string(own.Deliveries()[3].Body) != string(original.Body) {
		t.Errorf("--resend: %+v, and the receiver has %d", again, len(own.Deliveries()))
	}
}

func TestListenMakesASecretAndKeepsIt(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, memory.New())
	own := sandbox.NewReceiver(t)
	s.Create(t, "DAY-1")
	args := []string{"--forward-to", own.URL, "--state", filepath.Join(t.TempDir(), "place"), "--since", "1h", "--key-file", proc.TempFile(t, s.Keys["KOWHAI"]+"\n")}
	var secrets [2]string
	for i := range secrets {
		l := listensTo(t, s, nil, args...)
		secrets[i], _ = strings.CutPrefix(l.line(t), "# signing secret: ")
		if i == 0 {
			l.line(t)
		}
		l.stop()
	}
	got := own.Deliveries()
	if len(got) != 1 || secrets[0] != secrets[1] || len(secrets[0]) < 20 ||
		events.Verify(secrets[0], got[0].Header.Get(events.HeaderSignature), got[0].Body, time.Now(), time.Minute) != nil {
		t.Errorf("the secrets are %q; the receiver got %v", secrets, got)
	}
}

func TestAPlaceHasOneListener(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, memory.New())
	args := []string{"--state", filepath.Join(t.TempDir(), "place"), "--since", "1h"}
	s.Create(t, "DAY-1")
	first := listensTo(t, s, nil, args...)
	first.line(t)
	second := listensTo(t, s, nil, args...)
	s.Create(t, "DAY-2")
	if second.lines.Scan() { // not before its end
		t.Errorf("a second listener prints %q", second.lines.Text())
	}
	if code, said := second.stop(); code != cli.ExitFailed || !strings.Contains(said, "another listener") || !isLine(said) {
		t.Errorf("a second listener ends with status %d, and says %q", code, said)
	}
	if line := first.line(t); !strings.Contains(line, " DAY-2 ") {
		t.Errorf("the first goes on with %q", line)
	}
	first.stop()
	s.Create(t, "DAY-3")
	third := listensTo(t, s, nil, args...)
	if line := third.line(t); !strings.Contains(line, " DAY-3 ") {
		t.Errorf("a third after the first goes on with %q", line)
	}
	third.stop()
}

func TestListenPrintsTheEventsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, memory.New())
	s.Create(t, "BEFORE-1")
	l := listensTo(t, s, nil, "--since", "1h", "--events", "checkout.confirmed,agreement.generated")
	s.Confirm(t, s.Ready(t, "DAY-1"))
	if first, second := l.line(t), l.line(t); !strings.Contains(first, " checkout.confirmed DAY-1 ") || !strings.Contains(second, " agreement.generated DAY-1 ") {
		t.Errorf("printed is %q and %q", first, second)
	}
	l.stop()
}

// A provider that has no destination on record yet needs no operator to see its events.
func TestListenNeedsNoDestination(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, memory.New())
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
	s := sandbox.New(t, memory.New())
	key := []string{keyVariable + "=" + s.Keys["KOWHAI"]}
	for _, tt := range []struct {
		name string
		env  []string
		code int
		want string
		args []string
	}{
		{"no address", key, cli.ExitUsage, `"base-url" not set`, nil},
		{"an address with a query", key, cli.ExitUsage, "must be a scheme and a host", []string{"--base-url", s.URL + "?key=1"}},
		{"no key", nil, cli.ExitUsage, "the API key is missing", []string{"--base-url", s.URL}},
		{"no file of a key", nil, cli.ExitFailed, "no such file", []string{"--base-url", s.URL, "--key-file", "nowhere"}},
		{"no receiver", key, cli.ExitUsage, "must be a URL on this machine", []string{"--base-url", s.URL, "--forward-to", "3000"}},
		{"an unknown event", key, cli.ExitUsage, `"payment.failed" is no event`, []string{"--base-url", s.URL, "--events", "checkout.created,payment.failed"}},
		{"resend to nobody", key, cli.ExitUsage, "--resend needs --forward-to", []string{"--base-url", s.URL, "--resend", "evt_1"}},
		{"resend of nothing", key, cli.ExitFailed, "evt_1 is not in the list", []string{"--base-url", s.URL, "--resend", "evt_1", "--forward-to", "http://localhost:1"}},
		{"a state in no folder", key, cli.ExitFailed, "no such file", []string{"--base-url", s.URL, "--state", "nowhere/place"}},
		{"another program", key, cli.ExitFailed, "is it a Provider Checkout?", []string{"--base-url", s.URL + "/docs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := try(t, tt.env, "", append([]string{"listen"}, tt.args...)...); got.code != tt.code || !strings.Contains(got.stderr, tt.want) ||
				!isLine(got.stderr) {
				t.Errorf("listen %q = %+v, want status %d and %q", tt.args, got, tt.code, tt.want)
			}
		})
	}
}
