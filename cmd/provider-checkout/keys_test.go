package main

import (
	"strings"
	"testing"
)

func TestKeysAreIssuedListedAndRevoked(t *testing.T) {
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	key := o.prints(t, "keys", "issue", "--provider", "KOWHAI")
	if !isLine(key) || !strings.HasPrefix(key, "pck_sandbox_") {
		t.Fatalf("keys issue prints %q, want a sandbox key alone", key)
	}
	other := o.prints(t, "keys", "issue", "--provider", "TUI")
	secret := strings.TrimSpace(key)
	id := strings.Split(secret, "_")[2]

	list := o.prints(t, "keys", "list")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	if len(lines) != 3 || strings.Contains(list, secret) || !strings.HasPrefix(lines[1], id) ||
		!strings.Contains(lines[1], "KOWHAI") || !strings.HasSuffix(lines[1], " -") {
		t.Errorf("keys list prints\n%s", list)
	}
	if said := o.prints(t, "keys", "revoke", secret); said != "revoked "+id+"\n" {
		t.Errorf("keys revoke prints %q", said)
	}
	if list := o.prints(t, "keys", "list"); strings.Count(list, " -\n") != 1 {
		t.Errorf("after the revocation keys list prints\n%s", list)
	}
	if said := o.prints(t, "keys", "revoke", strings.Split(strings.TrimSpace(other), "_")[2]); !strings.HasPrefix(said, "revoked ") {
		t.Errorf("keys revoke by id prints %q", said)
	}
	if out := o.prints(t, "export"); strings.Count(out, `"kind":"key"`) != 2 || strings.Contains(out, secret) || strings.Contains(out, "whsec_") {
		t.Errorf("export prints\n%s", out)
	}
	o.does(t, "keys", "issue", "--provider", "KOWHAI", "--label", "the new site", "--expires", "2126-06-30")
	if list := o.prints(t, "keys", "list"); !strings.Contains(list, "the new site") ||
		!strings.Contains(list, "2126-06-30T12:00:00.000Z") {
		t.Errorf("keys list prints\n%s\nwant the label, and the end of the last day in New Zealand", list)
	}
	o.fails(t, "would have expired", "keys", "issue", "--provider", "KOWHAI", "--expires", "2026-01-01")
	o.fails(t, "the label must", "keys", "issue", "--provider", "KOWHAI", "--label", "a\x01b")
	o.fails(t, "there is no such key", "keys", "revoke", "nosuchkey")
	o.fails(t, `there is no provider "MOA"`, "keys", "issue", "--provider", "MOA")
}
