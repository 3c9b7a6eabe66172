package memory

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Agreement implements [ports.Agreements].
func (s *Store) Agreement(ctx context.Context, number string) (a agreement.Agreement, err error) {
	err = s.locked(ctx, func() error {
		id, ok := s.numbers[number]
		if !ok {
			return fmt.Errorf("agreement %s: %w", number, ports.ErrNotFound)
		}
		a = copyAgreement(*s.rows[id].agreement)
		return nil
	})
	return a, err
}

// Document implements [ports.Agreements].
func (s *Store) Document(ctx context.Context, number string) (d agreement.Document, err error) {
	err = s.locked(ctx, func() error {
		r := s.rows[s.numbers[number]]
		if r.document == nil {
			return fmt.Errorf("document of agreement %s: %w", number, ports.ErrNotFound)
		}
		d = copyDocument(*r.document)
		return nil
	})
	return d, err
}
