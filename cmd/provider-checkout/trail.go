package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strings"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// operatorVariable is the environment variable that names the operator who runs a command.
const operatorVariable = "PROVIDER_CHECKOUT_OPERATOR"

const trailHelp = "A command that changes what is on record has the evidence log say who did what, when and why: the name in\n" +
	operatorVariable + ", or else the user of the operating system (of sudo: who called it), and --reason."

// acting returns the operator who runs the command, on a store.
func (c *call) acting(db records) (operate.Operator, error) {
	name, err := operatorName(c.Env, user.Current)
	if err != nil {
		return operate.Operator{}, cli.UsageError(err.Error())
	}
	return operatorOn(db, db.Secrets(), name, c.reason)
}

// operatorOn returns the operator of this name on a store with these secrets.
func operatorOn(db ports.Admin, secrets [][]byte, name, reason string) (operate.Operator, error) {
	keyring, err := checkout.NewKeyring(secrets...)
	if err != nil {
		return operate.Operator{}, fmt.Errorf("derive the keys of evidence: %w", err)
	}
	return operate.Operator{Store: db, Keyring: keyring, By: name, Reason: reason, Now: time.Now, Rand: rand.Reader}, nil
}

// operatorName returns the name of the operator: in operatorVariable, or else of the user who called sudo, or else of the user of the
// operating system. Nothing proves it; the operating system's own log shows who had the secret.
func operatorName(env func(string) string, current func() (*user.User, error)) (string, error) {
	name := cmp.Or(env(operatorVariable), env("SUDO_USER"))
	if name == "" {
		u, err := current()
		if err != nil {
			return "", fmt.Errorf("the operating system does not say who this is (set %s): %w", operatorVariable, err)
		}
		name = cmp.Or(u.Username, "uid "+u.Uid)
	}
	name = text.Normalize(name)
	if err := operate.CheckName(name); err != nil {
		return "", fmt.Errorf("the operator's name (%s) %w", operatorVariable, err)
	}
	return name, nil
}

// listEvidence prints the entries of the evidence log in their order, and holds them to the newest checkpoint.
func listEvidence(ctx context.Context, c *call, db records, log evidencelog.Log) error {
	tree, err := log.Signed(ctx)
	if err != nil {
		return err
	}
	forged := 0
	err = log.Each(ctx, func(e evidence.Entry, position int64) error {
		tree.Add(e, position)
		line := lineOf(e, position)
		line.Forged = position == evidence.Unsealed && !log.Attests(e)
		if line.Forged {
			forged++
		}
		if c.operations && line.Kind == evidence.KindAgreement || line.at.Before(c.since) {
			return nil
		}
		return line.print(c.Stdout, c.json)
	})
	if err != nil {
		return err
	}
	if forged > 0 {
		fmt.Fprintf(c.Stderr, "%d entries were not recorded by a process with the operator's secret\n", forged)
	}
	var failed []string
	for _, v := range tree.Verdicts() {
		if v.Mark == evidencelog.Failed {
			failed = append(failed, v.Text)
		}
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, "; "))
	}
	for _, v := range tree.Verdicts() {
		fmt.Fprintln(c.Stderr, v.Text)
	}
	return nil
}

func lineOf(e evidence.Entry, position int64) trailLine {
	line := trailLine{at: e.At, EntryID: e.ID, Kind: "unknown"}
	if position != evidence.Unsealed {
		line.Position = &position
	}
	if record, err := evidence.Read(e.Leaf); err == nil {
		did := record.Operation
		line.at, line.Kind, line.Agreement = record.At, record.Kind, record.Agreement // the time that the tree proves
		line.Operator, line.Operation, line.Subject, line.Reason, line.Changes = did.Operator, did.Name, did.Subject, did.Reason, did.Changes
	}
	line.RecordedAt = formatTime(line.at)
	return line
}

func (l trailLine) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return jsonLines(w).Encode(l)
	}
	var b strings.Builder
	position := "-"
	if l.Position != nil {
		position = fmt.Sprint(*l.Position)
	}
	fmt.Fprintf(&b, "%s  %s  ", position, l.RecordedAt)
	if l.Forged {
		b.WriteString("FORGED  ")
	}
	switch l.Kind {
	case evidence.KindAgreement:
		b.WriteString("agreement " + oneLine(l.Agreement))
	case evidence.KindOperation:
		fmt.Fprintf(&b, "%s %s by %q", oneLine(l.Operation), oneLine(l.Subject), l.Operator)
		if l.Reason != "" {
			fmt.Fprintf(&b, ", because %q", l.Reason)
		}
		for _, change := range l.Changes {
			b.WriteString("\n    " + oneLine(change))
		}
	default:
		fmt.Fprintf(&b, "entry %q, which this version cannot read", l.EntryID)
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

// oneLine makes a text safe to print: whoever can write to the store could have put control characters into it.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
