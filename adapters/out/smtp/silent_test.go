package smtp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// silent returns a notifier of a server on loopback that gives these answers, one for each command, and then hangs. The last
// command of a conversation is the message itself.
func silent(t *testing.T, answers ...string) *Notifier {
	t.Helper()
	ln := sample.Listen(t)
	ctx, stop := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		lines := bufio.NewScanner(conn)
		within := false // the message
		for i, answer := range answers {
			for i > 0 && lines.Scan() {
				if within = within || strings.HasPrefix(answers[i-1], "354"); !within || lines.Text() == "." {
					break
				}
			}
			if _, err := conn.Write([]byte(answer)); err != nil {
				return
			}
		}
		<-ctx.Done()
	})
	t.Cleanup(func() { stop(); ln.Close(); serving.Wait() })
	n, err := New(Options{URL: "smtp://" + ln.Addr().String(), From: "plans@lender.example"})
	if err != nil {
		t.Fatal(err)
	}
	n.step = testlevel.Of(100*time.Millisecond, time.Second) // a slow machine answers the steps before
	return n
}

// A server that hangs, or talks without an end, at whatever step, is left after the time of that step. Until the message has been
// handed over, such a server is as good as no server.
func TestEveryStepHasATimeout(t *testing.T) {
	talk := []string{"220 mail.example\r\n", "250 mail.example\r\n", "250 2.1.0 sender\r\n", "250 2.1.5 recipient\r\n", "354 go on\r\n"}
	for steps := range len(talk) + 1 {
		for name, last := range map[string]string{"hangs": "", "never ends its answer": "250-" + strings.Repeat("x", 100) + "\r\n250-"} {
			answers := append(append([]string{}, talk[:steps]...), last)
			step := strings.TrimSpace(append([]string{"nothing"}, talk...)[steps])
			t.Run(name+" after "+step, func(t *testing.T) {
				t.Parallel()
				start := time.Now()
				_, err := silent(t, answers...).Notify(t.Context(), notice())
				if took := testlevel.Elapsed(start); err == nil || took > testlevel.Of(3*time.Second, 10*time.Second) {
					t.Fatalf("Notify: %v after %s", err, took)
				}
				_, refused := errors.AsType[*checkout.NoticeRefusal](err)
				if waits := errors.Is(err, ports.ErrBusy); refused || waits != (steps < 3) {
					t.Errorf("Notify: %v", err)
				}
			})
		}
	}
}

func TestAServerThatTalksWithoutEndIsLeft(t *testing.T) {
	n := silent(t, "220-"+strings.Repeat(strings.Repeat("x", 100)+"\r\n220-", 2*maxAnswers/100))
	n.step = time.Minute
	if _, err := n.Notify(t.Context(), notice()); !errors.Is(err, ports.ErrBusy) || !strings.Contains(err.Error(), io.EOF.Error()) {
		t.Errorf("Notify: %v, want the end of the connection", err)
	}
}

func TestAServerThatIsNotThereIsBusy(t *testing.T) {
	ln := sample.Listen(t)
	addr := ln.Addr().String()
	ln.Close()
	n, err := New(Options{URL: "smtp://" + addr, From: "plans@lender.example"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Notify(t.Context(), notice()); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("Notify: %v, want %v", err, ports.ErrBusy)
	}
}
