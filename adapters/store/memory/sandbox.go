package memory

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// KeepSandboxRecord stores what the fake processor keeps under a name, unless there is something already: that stays.
func (s *Store) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	return s.locked(ctx, func() error {
		if !has(s.sandbox, name) {
			s.sandbox[name] = copyOf(data)
		}
		return nil
	})
}

// SandboxRecord returns what was kept under the name, or ports.ErrNotFound.
func (s *Store) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	return read(ctx, s, func() (data []byte, err error) {
		kept, ok := s.sandbox[name]
		if !ok {
			return data, fmt.Errorf("sandbox record %s: %w", name, ports.ErrNotFound)
		}
		return kept, nil
	})
}

// HastenJobs stores data under a name and has the pending jobs of a checkout due earlier by a time; neither if there is something
// under the name already.
func (s *Store) HastenJobs(ctx context.Context, name string, data []byte, checkoutID string, by time.Duration) error {
	return s.locked(ctx, func() error {
		if has(s.sandbox, name) {
			return nil
		}
		s.sandbox[name] = copyOf(data)
		for _, j := range s.queue.of[checkoutID] {
			if j.State == checkout.JobPending {
				j.Due = j.Due.Add(-by)
			}
		}
		return nil
	})
}

// DropSandboxRecords removes what was kept under the names with this prefix.
func (s *Store) DropSandboxRecords(ctx context.Context, prefix string) error {
	return s.locked(ctx, func() error {
		maps.DeleteFunc(s.sandbox, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
		return nil
	})
}
