package evidencelog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Made sums up the operations on the providers and the API keys in the log: for each object (evidence.Operation) how often it
// got a hash, less how often it lost it. The order of the operations does not matter for it.
type Made map[string]map[string]int

// Add takes an operation of the log.
func (m Made) Add(o evidence.Operation) {
	if o.Object == "" {
		return
	}
	if m[o.Object] == nil {
		m[o.Object] = make(map[string]int)
	}
	m[o.Object][o.After]++
	m[o.Object][o.Before]--
}

// of reports whether the operations on an object lead from one hash of it to another.
func (m Made) of(object, from, to string) bool {
	left := maps.Clone(m[object])
	if left == nil {
		left = make(map[string]int)
	}
	left[from]++
	left[to]--
	for _, n := range left {
		if n != 0 {
			return false
		}
	}
	return true
}

// Withdrawn returns the verdict on an agreement that ended otherwise than operators have withdrawn it, if it has.
func (m Made) Withdrawn(number string, end checkout.End) []Verdict {
	if m.of(evidence.EndObject(number), "", end.Fingerprint()) {
		return nil
	}
	return []Verdict{Fail("operators have withdrawn it otherwise than is on record, or not at all, as the evidence log says")}
}

// Configured is the hashes of what is on record of the objects that operators make.
type Configured map[string]string

var errRead = errors.New("the checkouts are not read")

// ReadConfigured reads the providers and the API keys.
func ReadConfigured(ctx context.Context, db ports.Exporter) (Configured, error) {
	on := Configured{}
	var providers []catalogue.Configuration
	err := db.Export(ctx, checkout.Visitor{
		Configuration: func(c catalogue.Configuration) error { providers = append(providers, c); return nil },
		Key:           func(k catalogue.Key) error { on[evidence.KeyObject(k.ID)] = k.Fingerprint(); return nil },
		Checkout:      func(checkout.CheckoutRecord) error { return errRead },
		Unreadable:    func(string, error) error { return errRead },
	})
	if err != nil && !errors.Is(err, errRead) {
		return nil, fmt.Errorf("read the providers and keys: %w", err)
	}
	on[evidence.Providers] = catalogue.Fingerprint(providers)
	return on, nil
}

// Compare returns a verdict on every object that is not what operators made, or else one on all of them, given what was on record
// before the log was read and after.
func (m Made) Compare(before, after Configured) (verdicts []Verdict) {
	switch {
	case len(m) == 0: // of a program that configures its store itself
		return []Verdict{Nothing("the evidence log has no operator's change of the providers and the API keys: they are not compared")}
	case !maps.Equal(before, after):
		return []Verdict{Nothing("the providers or the API keys were changed while the log was read: run the command again")}
	}
	for _, object := range slices.Sorted(maps.Keys(after)) {
		first := ""
		if object == evidence.Providers {
			first = catalogue.Fingerprint(nil)
		}
		if !m.of(object, first, after[object]) {
			verdicts = append(verdicts, Fail("%s on record: not what operators made of it, as the evidence log says", object))
		}
		delete(m, object)
	}
	for _, object := range slices.Sorted(maps.Keys(m)) {
		if strings.HasPrefix(object, evidence.EndObject("")) {
			continue // of an agreement: see Withdrawn
		}
		verdicts = append(verdicts, Fail("%s is not on record, though operators made it, as the evidence log says", object))
	}
	if len(verdicts) == 0 {
		verdicts = []Verdict{Pass("the providers and the API keys are what operators made, as the evidence log says")}
	}
	return verdicts
}
