package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// terminal opens a terminal of its own: what is written to screen can be read from keyboard.
func terminal(t *testing.T) (screen, keyboard *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { screen.Close() })
	return screen, keyboard
}

func TestLongWorkShowsHowFarItIsToATerminalOnly(t *testing.T) {
	o := newSealedStore(t, 2)
	unset := func(string) string { return "" }
	for _, tt := range []struct{ args, want string }{
		{"export", "exported "},
		{"agreements verify --all", "verified 0 of 2 agreements"},
		{"backup --out " + filepath.Join(t.TempDir(), "a.db"), "copying and checking " + o.path},
	} {
		args := append(strings.Fields(tt.args), "--store", "sqlite:"+o.path)
		screen, keyboard := terminal(t)
		var stdout bytes.Buffer
		if code := run(t.Context(), args, unset, nil, &stdout, screen); code != cli.ExitDone {
			t.Fatalf("%s: status %d", tt.args, code)
		}
		fmt.Fprint(screen, "END")
		if said := readUntil(t, keyboard, "END"); !strings.Contains(said, "\r\x1b[K"+tt.want) {
			t.Errorf("%s shows %q, want %q", tt.args, said, tt.want)
		}
		if strings.ContainsAny(stdout.String(), "\r\x1b") {
			t.Errorf("%s mixes progress into its result: %q", tt.args, stdout.String())
		}
	}
	got := try(t, nil, "", "export", "--store", "sqlite:"+o.path)
	if got.code != cli.ExitDone || got.stderr != "" {
		t.Errorf("export without a terminal says %q, want nothing", got.stderr)
	}
	both, keyboard := terminal(t)
	go func() {
		run(t.Context(), []string{"export", "--store", "sqlite:" + o.path}, unset, nil, both, both)
		fmt.Fprint(both, "END")
	}()
	if said := readUntil(t, keyboard, "END"); strings.Contains(said, "\x1b") {
		t.Errorf("export to the terminal itself shows progress: %q", said)
	}
}

// readUntil reads what a terminal shows until a text comes.
func readUntil(t *testing.T, keyboard *os.File, end string) string {
	t.Helper()
	if err := keyboard.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Log(err) // not every system can: the test then waits
	}
	var said strings.Builder
	part := make([]byte, 4096)
	for !strings.Contains(said.String(), end) {
		n, err := keyboard.Read(part)
		said.Write(part[:n])
		if err != nil {
			t.Fatalf("%v after %q", err, said.String())
		}
	}
	return said.String()
}
