package scenario

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// scripts keeps the scripts of checkouts among the records of the sandbox, under the key of the first billing request, with which
// they are erased. The store has them when add returns, and every process reads them.
type scripts struct {
	records Records
	now     func() time.Time
}

// Records is the storage of scripts, and moves the times of jobs. Every store of this module implements it.
type Records interface {
	fakeprocessor.Records
	// HastenJobs stores data under a name and has the pending jobs of a checkout due earlier by a time, in one commit; neither if
	// there is something under the name already.
	HastenJobs(ctx context.Context, name string, data []byte, checkoutID string, by time.Duration) error
}

// script is the script of one order's checkout: its entries in the order in which they were written. The entry of the order
// id's suffix, which is stored nowhere, is the first, unless it is about the create alone.
type script struct {
	scripts
	provider, order string
	entries         []entry
	kept            time.Duration // by which the clock was ahead when the entries were erased
}

type scriptKey struct{}

// known returns a context in which the script is read no second time: that of a request, which lasts for moments.
func (s script) known(ctx context.Context) context.Context {
	return context.WithValue(ctx, scriptKey{}, s)
}

// longest is the most entries that a script takes: each call about its checkout reads them all.
const longest = 200

func keyOf(provider, order string) string {
	return checkout.Checkout{ProviderCode: provider, OrderID: order}.SetupKey(catalogue.Sandbox, 1)
}

func name(key string, n any) string { return fmt.Sprintf("%s%v", fakeprocessor.ScriptPrefix(key), n) }

// read returns the script of an order's checkout, as it is known in ctx or else as it is now.
func (s scripts) read(ctx context.Context, provider, order string) (script, error) {
	if known, ok := ctx.Value(scriptKey{}).(script); ok && known.provider == provider && known.order == order {
		return known, nil
	}
	return s.readNow(ctx, provider, order)
}

func (s scripts) readNow(ctx context.Context, provider, order string) (script, error) {
	key, all := keyOf(provider, order), script{scripts: s, provider: provider, order: order}
	if suffix, ok := suffixOf(order); ok && !suffix.acts() && suffix.refusal(provider) == nil {
		all.entries = append(all.entries, entry{Scenario: suffix, name: name(key, "suffix")})
	}
	stored, kept, err := s.stored(ctx, key)
	all.entries, all.kept = append(all.entries, stored...), kept
	return all, err
}

// stored returns the stored entries of a script, by its key, and its clock as an erasure has left it. That is read last: it is stored
// before the entries are dropped.
func (s scripts) stored(ctx context.Context, key string) (entries []entry, kept time.Duration, err error) {
	for n := 0; ; n++ {
		e := entry{name: name(key, n)}
		found, err := s.find(ctx, &e)
		if err != nil {
			return entries, 0, err
		}
		if !found {
			break
		}
		entries = append(entries, e)
	}
	clock := entry{name: keptClock + key}
	_, err = s.find(ctx, &clock)
	return entries, clock.Advance, err
}

// find reads an entry by the name of its record, and reports whether there is one.
func (s scripts) find(ctx context.Context, e *entry) (bool, error) {
	data, err := s.records.SandboxRecord(ctx, e.name)
	if errors.Is(err, ports.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, e)
	}
	if err != nil {
		return false, fmt.Errorf("read the script of an order: %w", err)
	}
	return true, nil
}

// add writes an entry at the end of the script of a checkout, at the time of its clock, later than the last. A move of the clock and
// the jobs that are due earlier by it are one commit. An entry with a nonce that the script has already is there, and not written again.
func (s scripts) add(ctx context.Context, c checkout.Checkout, e entry) error {
	e.Nonce = cmp.Or(e.Nonce, rand.Text())
	for {
		before, err := s.readNow(ctx, c.ProviderCode, c.OrderID)
		if err != nil {
			return err
		}
		e.At = s.now().UTC().Truncate(time.Millisecond).Add(before.ahead())
		n := 0
		for _, b := range before.entries {
			if b.Nonce == e.Nonce {
				return nil
			}
			if b.Nonce != "" { // it is stored
				n++
			}
			if !e.At.After(b.At) {
				e.At = b.At.Add(time.Millisecond)
			}
		}
		if n >= longest && e.Scenario != ended {
			return checkout.Conflict(fmt.Sprintf("this checkout has had %d scenarios, and takes no more; create another", longest))
		}
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		name := name(keyOf(c.ProviderCode, c.OrderID), n)
		if e.Advance > 0 {
			if err := s.records.HastenJobs(ctx, name, data, c.ID, e.Advance); err != nil {
				return fmt.Errorf("move a clock: %w", err)
			}
		}
		if kept, err := s.keep(ctx, name, data); err != nil || kept {
			return err
		}
	}
}

// keep stores data under a name, and reports whether that has these data: the first that are stored stay.
func (s scripts) keep(ctx context.Context, name string, data []byte) (bool, error) {
	if err := s.records.KeepSandboxRecord(ctx, name, data); err != nil {
		return false, fmt.Errorf("write a script: %w", err)
	}
	kept, err := s.records.SandboxRecord(ctx, name)
	if err != nil {
		return false, fmt.Errorf("read a script: %w", err)
	}
	return string(kept) == string(data), nil
}

// latest returns the scenario of these that was written last into the script of an order's checkout, or "".
func (s scripts) latest(ctx context.Context, provider, order string, of ...Scenario) (last Scenario, err error) {
	script, err := s.read(ctx, provider, order)
	if err != nil {
		return "", err
	}
	for _, e := range script.entries {
		if slices.Contains(of, e.Scenario) {
			last = e.Scenario
		}
	}
	return last, nil
}

// take returns the first entry with one of these scenarios, each of which happens once, that nobody but the taker has taken; the
// zero entry where there is no such entry. It is the taker's from then on.
func (s script) take(ctx context.Context, taker string, of ...Scenario) (entry, error) {
	for _, e := range s.entries {
		if !slices.Contains(of, e.Scenario) {
			continue
		}
		if taken, err := s.keep(ctx, e.name+"/taken", []byte(taker)); err != nil || taken {
			return e, err
		}
	}
	return entry{}, nil
}
