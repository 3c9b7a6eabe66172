package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
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
	if fault := text.CheckName(name); fault != "" {
		return "", fmt.Errorf("the operator's name (%s) %s", operatorVariable, fault)
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
	out := bufio.NewWriter(c.Stdout)
	for _, a := range list {
		fmt.Fprintf(out, "%s  %s %s by %q", formatTime(a.At), oneLine(a.Name), oneLine(a.Subject), a.Operator)
		if a.Reason != "" {
			fmt.Fprintf(out, ", because %q", a.Reason)
		}
		for _, change := range a.Changes {
			fmt.Fprint(out, "\n    ", oneLine(change))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
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

// issueKey creates a key and prints nothing else.
type issueKey struct {
	ChangeFlags
	Provider string    `required:"" placeholder:"CODE" help:"whose key it is (required)"`
	Label    string    `placeholder:"TEXT" help:"words for what the key is used, shown by keys list"`
	Expires  time.Time `type:"last-day" placeholder:"DATE" help:"the last day on which the key works, in New Zealand; without it the key never expires"`
}

func (f *issueKey) Run(ctx context.Context, c *call, operator operate.Operator) error {
	text, err := operator.IssueKey(ctx, f.Provider, operate.KeyOptions{Label: f.Label, ExpiresAt: f.Expires})
	if errors.Is(err, operate.ErrNoProvider) {
		return noProvider(f.Provider)
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, text)
	return err
}

// listKeys prints one line for each key.
type listKeys struct{ ListFlags }

func (*listKeys) Run(ctx context.Context, c *call, db reader) error {
	keys, err := db.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	return table(c, keys, keyRecord, "id", "provider", "environment", "label", "created", "last used", "expires", "revoked")
}

func keyRecord(k catalogue.Key) record {
	return record{
		{"key_id", "id", k.ID},
		{"provider_code", "provider", k.Provider},
		{"environment", "environment", string(k.Environment)},
		{"label", "label", k.Label},
		{"created_at", "created", k.CreatedAt},
		{"last_used_at", "last used", k.LastUsed},
		{"expires_at", "expires", k.ExpiresAt},
		{"revoked_at", "revoked", k.RevokedAt},
	}
}

// revokeKey revokes the key whose text or id is the argument.
type revokeKey struct {
	ChangeFlags
	Key string `arg:"" name:"key-or-id"`
}

func (f *revokeKey) Run(ctx context.Context, c *call, operator operate.Operator) error {
	id, err := operator.RevokeKey(ctx, f.Key)
	if errors.Is(err, ports.ErrNotFound) {
		return errors.New(`there is no such key; "keys list" names them`) // what was typed may be a secret
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, "revoked", id)
	return err
}

func noProvider(code string) error { return fmt.Errorf("there is no provider %q", code) }

// acted prints what an operator's act on a checkout or an agreement has done, by its error. A repeat is no failure, and says so.
func (c *call) acted(noun, id, done, repeated string, err error) error {
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return fmt.Errorf(`there is no %s %s; "show" finds it by its order`, noun, id)
	case errors.Is(err, checkout.ErrEnded), errors.Is(err, checkout.ErrLinkSent):
		done = repeated
	case err != nil:
		return fmt.Errorf("%s %s: %w", noun, id, err)
	}
	return c.print(record{{label: noun, value: id}, {label: "result", value: done}})
}

// cancelCheckout cancels a checkout before its confirm.
type cancelCheckout struct {
	StoreFlags
	RequiredReason
	Checkout string `arg:""`
}

func (f *cancelCheckout) Run(ctx context.Context, c *call, o operate.Operator) error {
	return c.acted("checkout", f.Checkout, "cancelled", "was cancelled before; nothing was changed",
		o.Cancel(ctx, f.Checkout))
}

// withdrawAgreement withdraws the agreement of a confirmed checkout.
type withdrawAgreement struct {
	StoreFlags
	RequiredReason
	Ground checkout.Ground `enum:"${grounds}" required:"" placeholder:"GROUND" help:"one of ${grounds} (required)"`
	Number string          `arg:""`
}

func (f *withdrawAgreement) Run(ctx context.Context, c *call, o operate.Operator) error {
	return c.acted("agreement", f.Number, "withdrawn", "was withdrawn before; nothing was changed",
		o.Withdraw(ctx, f.Number, f.Ground))
}

// mailLink queues an e-mail with a new link for the payer. The command does not know whether a server sends e-mail, and claims nothing.
type mailLink struct {
	ChangeFlags
	SetupLifetime time.Duration `type:"lifetime" default:"168h" help:"how long the page opens"`
	Checkout      string        `arg:""`
}

func (f *mailLink) Run(ctx context.Context, c *call, o operate.Operator) error {
	return c.acted("checkout", f.Checkout, "queued: a new link goes to the e-mail address on record once a server with a mail server (--smtp) runs",
		"a link was queued less than ten minutes ago; nothing was queued",
		o.MailLink(ctx, f.Checkout, f.SetupLifetime))
}
