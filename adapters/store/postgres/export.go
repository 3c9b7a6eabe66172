package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	// A visitor may be slow, but must not keep the snapshot for ever, which keeps the server from vacuuming.
	allowSlowVisitor = `SELECT set_config('idle_in_transaction_session_timeout', '10min', true)`
	// Checkouts are sorted once, by the server.
	declareExport = `DECLARE exported NO SCROLL CURSOR FOR SELECT ` + rows.CheckoutColumns + ` FROM checkouts
		WHERE $1 = '' OR lower(email) = lower($1 COLLATE "C") ORDER BY created_ms, id`
	fetchExport = `FETCH 100 FROM exported`

	ofPage           = ` JOIN (SELECT unnest(CAST($1 AS text[])) AS p, unnest(CAST($2 AS text[])) AS i) AS page ON provider_code = p AND checkout_id = i`
	exportAgreements = `SELECT ` + rows.AgreementColumns + ` FROM agreements` + ofPage
	exportDocuments  = `SELECT checkout_id, CAST(length(bytes) AS bigint) FROM documents` + ofPage
	exportMoments    = `SELECT ` + rows.MomentColumns + ` FROM moments` + ofPage + ` ORDER BY position, id`
	exportJobs       = `SELECT ` + rows.JobColumns + ` FROM jobs` + ofPage + ` ORDER BY position, id`
)

// Export implements [ports.Desk].
func (db *DB) Export(ctx context.Context, email string, visit checkout.Visitor) error {
	acquired, _, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer acquired.Release() // which closes a connection whose transaction is open
	tx, err := acquired.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return mapError(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // it wrote nothing
	c := &conn{acquired.Conn(), db}
	return mapError(c.export(ctx, email, visit))
}

// export visits what is visible to the transaction of the connection.
func (c *conn) export(ctx context.Context, email string, visit checkout.Visitor) error {
	if _, err := c.Exec(ctx, allowSlowVisitor); err != nil {
		return err
	}
	if email == "" {
		if err := c.exportConfiguration(ctx, visit); err != nil {
			return err
		}
	}
	if _, err := c.Exec(ctx, declareExport, pgx.QueryExecModeSimpleProtocol, email); err != nil {
		return err
	}
	for {
		page, err := all(ctx, c, itself[rows.Checkout], fetchExport)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := c.exportPage(ctx, page, visit); err != nil {
			return err
		}
	}
}

func (c *conn) exportConfiguration(ctx context.Context, visit checkout.Visitor) error {
	configurations, err := c.configurations(ctx)
	keys, keysErr := all(ctx, c, rows.Key.Key, selectKeys)
	if err := errors.Join(err, keysErr); err != nil {
		return err
	}
	return rows.Visit(visit, configurations, keys)
}

// size is the length of the document of a checkout.
type size struct {
	CheckoutID string
	Bytes      int64
}

// exportPage visits checkouts with everything on record about them.
func (c *conn) exportPage(ctx context.Context, page []rows.Checkout, visit checkout.Visitor) error {
	var providers, ids []string
	for _, r := range page {
		providers, ids = append(providers, r.ProviderCode), append(ids, r.ID)
	}
	agreements, err := all(ctx, c, itself[rows.Agreement], exportAgreements, providers, ids)
	sizes, sizesErr := all(ctx, c, itself[size], exportDocuments, providers, ids)
	moments, momentsErr := all(ctx, c, itself[rows.Moment], exportMoments, providers, ids)
	jobs, jobsErr := all(ctx, c, itself[rows.Job], exportJobs, providers, ids)
	if err := errors.Join(err, sizesErr, momentsErr, jobsErr); err != nil {
		return err
	}
	records, unreadable := map[string]*checkout.CheckoutRecord{}, map[string]error{}
	for _, r := range page {
		v, err := r.Checkout()
		records[r.ID], unreadable[r.ID] = &checkout.CheckoutRecord{Checkout: v}, err
	}
	for _, r := range agreements {
		a, err := r.Agreement()
		records[r.CheckoutID].Agreement, unreadable[r.CheckoutID] = &a, errors.Join(unreadable[r.CheckoutID], err)
	}
	for _, s := range sizes {
		records[s.CheckoutID].Document = int(s.Bytes)
	}
	for _, r := range moments {
		m, _ := r.Moment() // it has nothing to parse
		records[r.CheckoutID].Moments = append(records[r.CheckoutID].Moments, m)
	}
	for _, r := range jobs {
		j, _ := r.Record() // nor has this
		records[r.CheckoutID].Jobs = append(records[r.CheckoutID].Jobs, j)
	}
	for _, id := range ids {
		err := unreadable[id]
		if err != nil {
			err = visit.Unreadable(id, err)
		} else {
			err = visit.Checkout(*records[id])
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
