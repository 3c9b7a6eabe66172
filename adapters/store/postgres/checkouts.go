package postgres

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Checkout implements [ports.Checkouts].
func (db *DB) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	c, err := db.Store.Checkout(ctx, id)
	if err == nil && acknowledged(c) {
		err = db.prove(ctx, c)
	}
	return c, err
}

// FindCheckout implements [ports.Checkouts].
func (db *DB) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	c, err := db.Store.FindCheckout(ctx, by)
	if err == nil && (by.OrderID != "" || by.Key != "") {
		err = db.prove(ctx, c)
	}
	return c, err
}

// acknowledged reports whether a call may be answered, and refused, by what has become of the checkout.
func acknowledged(c checkout.Checkout) bool {
	return c.Status == checkout.Confirmed || c.Status == checkout.Cancelled
}

// prove checks that every standby that the server's operator demands has the checkout as it was read. A repeated create or confirm
// is answered from it, which acknowledges what it repeats.
func (db *DB) prove(ctx context.Context, c checkout.Checkout) error {
	if !db.serving {
		return nil
	}
	err := db.do(ctx, func(ctx context.Context, t *attempt) error { return t.prove(ctx, proveCheckout, c.ProviderCode, c.ID) })
	if err != nil {
		return fmt.Errorf("read checkout %s: %w", c.ID, err)
	}
	return nil
}

// Answer implements [sqlstore.Tx]: the same within an attempt that wrote nothing, if the checkout is confirmed or cancelled. Only then
// is a request that is refused answered from it.
func (t *attempt) Answer(ctx context.Context, c checkout.Checkout) error {
	t.rollback(ctx)
	if !t.db.serving || !acknowledged(c) {
		return nil
	}
	return t.prove(ctx, proveCheckout, c.ProviderCode, c.ID)
}
