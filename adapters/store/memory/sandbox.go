package memory

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/provider-checkout/provider-checkout/ports"
)

// KeepSandboxRecord stores what the fake processor keeps under a name, unless there is something already: that stays.
func (s *Store) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	return s.locked(ctx, func() error {
		if !has(s.sandbox, name) {
			s.sandbox[name] = copySlice(data)
		}
		return nil
	})
}

// SandboxRecord returns what was kept under the name, or ports.ErrNotFound.
func (s *Store) SandboxRecord(ctx context.Context, name string) (data []byte, err error) {
	err = s.locked(ctx, func() error {
		kept, ok := s.sandbox[name]
		if !ok {
			return fmt.Errorf("sandbox record %s: %w", name, ports.ErrNotFound)
		}
		data = copySlice(kept)
		return nil
	})
	return data, err
}

// DropSandboxRecords removes what was kept under the names with this prefix.
func (s *Store) DropSandboxRecords(ctx context.Context, prefix string) error {
	return s.locked(ctx, func() error {
		maps.DeleteFunc(s.sandbox, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
		return nil
	})
}
