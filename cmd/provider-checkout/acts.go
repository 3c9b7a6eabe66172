package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// operatorVariable is the environment variable that names the operator who runs a command.
const operatorVariable = "PROVIDER_CHECKOUT_OPERATOR"

// acting returns the operator who runs a command, on its store.
func acting(c *call, db records) (operate.Operator, error) {
	name, err := operatorName(c.Env, user.Current)
	if err != nil {
		return operate.Operator{}, usageError(err.Error())
	}
	return operatorOn(db, db.Secrets(), name, c.reason)
}

// operatorOn returns the operator of this name on a store with these secrets.
func operatorOn(db ports.Admin, secrets [][]byte, name, reason string) (operate.Operator, error) {
	keyring, err := checkout.NewKeyring(secrets...)
	if err != nil {
		return operate.Operator{}, fmt.Errorf("derive the keys of setup tokens: %w", err)
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

// maxActs is the largest number of acts that are listed.
const maxActs = 10_000

// listActs prints what operators did, the newest first.
type listActs struct {
	ListFlags
	Subject string    `placeholder:"ID" help:"only acts on this provider, checkout, agreement or key"`
	Since   time.Time `type:"since" placeholder:"TIME" help:"only acts from this time on: 2026-12-01 (UTC), 2026-12-01T03:00:00+13:00, or 2h for two hours ago"`
}

func (f *listActs) Run(ctx context.Context, c *call, db reader) error {
	list, err := db.Acts(ctx, checkout.ActFilter{Subject: f.Subject, Since: f.Since}, maxActs+1)
	if err != nil {
		return err
	}
	list = first(c, maxActs, list)
	if c.json {
		return table(c, list, actRecord)
	}
	for _, a := range list {
		if _, err := fmt.Fprintln(c.Stdout, actText(a)); err != nil {
			return err
		}
	}
	return nil
}

func actRecord(a checkout.Act) record {
	return record{
		{name: "id", value: a.ID},
		{name: "at", value: formatTime(a.At)},
		{name: "operator", value: a.Operator},
		{name: "act", value: a.Name},
		{name: "subject", value: a.Subject},
		{name: "provider_code", value: a.ProviderCode},
		{name: "reason", value: a.Reason},
		{name: "changes", value: a.Changes},
	}
}

func actText(a checkout.Act) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s %s by %q", formatTime(a.At), oneLine(a.Name), oneLine(a.Subject), a.Operator)
	if a.Reason != "" {
		fmt.Fprintf(&b, ", because %q", a.Reason)
	}
	for _, change := range a.Changes {
		b.WriteString("\n    " + oneLine(change))
	}
	return b.String()
}
