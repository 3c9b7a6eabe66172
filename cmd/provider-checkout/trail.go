package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/audit"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
)

const trailHelp = "A command that changes what is on record has the evidence log say who did what, when and why: the name in\n" +
	audit.OperatorVariable + ", or else the user of the operating system (of sudo: who called it), and --reason."

// trail returns the recorder of operations under the name of the operator.
func (c *call) trail(db records) (audit.Trail, error) {
	operator, err := c.operator()
	if err != nil {
		return audit.Trail{}, err
	}
	return audit.NewTrail(operator, db.Secrets())
}

// operator returns the name of the operator who runs the command.
func (c *call) operator() (string, error) {
	name, err := audit.Operator(c.Env, user.Current)
	if err != nil {
		return "", cli.UsageError(err.Error())
	}
	return name, nil
}

// recordDone records in the evidence log an operation that changed nothing in the store, or changed it in many commits. The trail
// was made before the operation, so that nothing is done by an operator without a name.
func (c *call) recordDone(ctx context.Context, db records, trail audit.Trail, name, subject string, changes []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit) // it was done, also if the command is interrupted
	defer cancel()
	for part := range slices.Chunk(changes, audit.MaxChanges) {
		did, err := trail.Did(name, subject, c.reason, part...)
		if err != nil {
			return err
		}
		if err := db.RecordEvidence(ctx, did); err != nil {
			return fmt.Errorf("it was done, and could not be recorded: %w", err)
		}
	}
	return nil
}

// recordLimit bounds the time for the record of an operation.
const recordLimit = 10 * time.Second

// listEvidence prints the entries of the evidence log in their order, and holds them to the newest checkpoint.
func listEvidence(ctx context.Context, c *call) error {
	db, log, err := c.evidenceLog(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
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
