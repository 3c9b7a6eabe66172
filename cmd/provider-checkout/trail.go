package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// operatorVariable is the environment variable that names the operator who runs a command.
const operatorVariable = "PROVIDER_CHECKOUT_OPERATOR"

// acting returns the operator who runs the command, on a store.
func (c *call) acting(db records) (operate.Operator, error) {
	if c.readOnly {
		return operate.Operator{}, cli.UsageError("--read-only records nothing, and this must be recorded")
	}
	name, err := operatorName(c.Env, user.Current)
	if err != nil {
		return operate.Operator{}, cli.UsageError(err.Error())
	}
	o, err := operatorOn(db, db.Secrets(), name, c.reason)
	o.Ahead = aheadInSandbox(db)
	return o, err
}

// aheadInSandbox returns the time by which the provider of a checkout has moved its clock. In production there are no such
// clocks, whatever the records of a sandbox say: nothing compares them with the evidence log.
func aheadInSandbox(db records) func(context.Context, checkout.About) time.Duration {
	return func(ctx context.Context, of checkout.About) time.Duration {
		p, err := db.Provider(ctx, of.ProviderCode)
		if err != nil || p.Environment != catalogue.Sandbox {
			return 0
		}
		return scenario.Ahead(db)(ctx, of)
	}
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
func listEvidence(c *call) action {
	c.storeFlag()
	c.checkpointFlag()
	operations := c.flags.Bool("operations", false, "only what operators did")
	var since time.Time
	c.sinceFlag(&since, "only entries from this `TIME` on")
	c.jsonFlag()
	c.readOnlyFlag()
	return c.onLog(func(ctx context.Context, _ records, log evidencelog.Log) error {
		verdicts, forged, err := log.Audit(ctx, func(e evidence.Entry, position int64, genuine bool) error {
			line := lineOf(e, position)
			line.forged = !genuine
			switch {
			case *operations && line.Kind == evidence.KindAgreement || line.At.Before(since):
				return nil
			case c.json:
				return jsonlines.Write(c.Stdout, line.record().object())
			}
			_, err := fmt.Fprintln(c.Stdout, line)
			return err
		})
		if err != nil {
			return err
		}
		failed := evidencelog.Texts(verdicts, evidencelog.Failed)
		if forged > 0 {
			failed = append(failed, fmt.Sprintf(evidencelog.Forged, forged))
		}
		if len(failed) > 0 {
			return errors.New(strings.Join(failed, "; "))
		}
		for _, v := range verdicts {
			fmt.Fprintln(c.Stderr, v.Text)
		}
		return nil
	})
}

// trailLine is an entry of the evidence log as evidence list prints it.
type trailLine struct {
	id     string
	number int64 // 1 is the first of the log; 0 before it is sealed
	forged bool
	evidence.Record
}

func lineOf(e evidence.Entry, position int64) trailLine {
	r, err := evidence.Read(e.Leaf)
	if err != nil {
		r = evidence.Record{At: e.At, Kind: "unknown"}
	}
	return trailLine{id: e.ID, number: position + 1, Record: r} // with the time that the tree proves
}

func (l trailLine) record() (r record) {
	if l.number > 0 {
		r = record{{name: "position", value: int(l.number)}}
	}
	r = append(r, record{
		{name: "entry_id", value: l.id},
		{name: "recorded_at", value: formatTime(l.At)},
		{name: "kind", value: l.Kind}, // "unknown" if this version cannot read it
	}...)
	if l.forged {
		r = append(r, field{name: "forged", value: true})
	}
	return append(r, record{
		{name: "agreement_number", value: l.Agreement},
		{name: "operator", value: l.Operation.Operator},
		{name: "approved_by", value: l.Operation.Approved},
		{name: "operation", value: l.Operation.Name},
		{name: "subject", value: l.Operation.Subject},
		{name: "reason", value: l.Operation.Reason},
		{name: "changes", value: l.Operation.Changes},
	}...)
}

func (l trailLine) String() string {
	var b strings.Builder
	number := "-"
	if l.number > 0 {
		number = fmt.Sprint(l.number)
	}
	fmt.Fprintf(&b, "%s  %s  ", number, formatTime(l.At))
	if l.forged {
		b.WriteString("FORGED  ")
	}
	did := l.Operation
	switch l.Kind {
	case evidence.KindAgreement:
		b.WriteString("agreement " + oneLine(l.Agreement))
	case evidence.KindOperation:
		fmt.Fprintf(&b, "%s %s by %q", oneLine(did.Name), oneLine(did.Subject), did.Operator)
		if did.Approved != "" {
			fmt.Fprintf(&b, ", approved by %q", did.Approved)
		}
		if did.Reason != "" {
			fmt.Fprintf(&b, ", because %q", did.Reason)
		}
		for _, change := range did.Changes {
			b.WriteString("\n    " + oneLine(change))
		}
	default:
		fmt.Fprintf(&b, "entry %q, which this version cannot read", l.id)
	}
	return b.String()
}
