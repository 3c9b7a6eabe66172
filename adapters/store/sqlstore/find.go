package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// askLimit is the longest time for which a question of the desk is answered.
const askLimit = 2 * time.Second

// ask answers a question of the desk in one snapshot.
func (s *Store) ask(ctx context.Context, asking string, read func(context.Context, Source) error) error {
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	err := s.engine.Snapshot(limited, func(src Snapshot) error { return read(limited, src) })
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w: no answer in %v", asking, ports.ErrBusy, askLimit)
	}
	return wrap(err, "%s", asking)
}

// listed is an entry of a list, before its checkout is read.
type listed struct {
	CheckoutKey
	since int64 // milliseconds
}

var scanListed = Fields(func(l *listed) []any { return []any{&l.ProviderCode, &l.ID, &l.since} })

const ofProvider = ` AND (provider_code = ? OR ? = '')`

// Find implements [ports.Desk].
func (s *Store) Find(ctx context.Context, q checkout.Query, limit int) (hits []checkout.Hit, err error) {
	err = s.ask(ctx, "find checkouts", func(ctx context.Context, src Source) error {
		var list []listed
		for _, l := range lookups(q) {
			found, err := All(ctx, src, scanListed, l.query+ofProvider+l.order+` LIMIT ?`, append(l.args, q.ProviderCode, q.ProviderCode, limit)...)
			if err != nil {
				return err
			}
			list = append(list, slices.DeleteFunc(found, func(f listed) bool {
				return slices.ContainsFunc(list, func(o listed) bool { return o.CheckoutKey == f.CheckoutKey })
			})...)
		}
		var err error
		hits, err = readHits(ctx, src, list[:min(len(list), limit)])
		return err
	})
	return hits, err
}

// readHits reads the checkouts of a list.
func readHits(ctx context.Context, src Source, list []listed) (hits []checkout.Hit, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	keys := make([]CheckoutKey, len(list))
	for i, l := range list {
		keys[i] = l.CheckoutKey
	}
	isOne, args := ofCheckouts(`provider_code, id`, keys)
	found, err := All(ctx, src, scanCheckout, checkouts+` WHERE `+isOne, args...)
	for _, l := range list {
		if i := slices.IndexFunc(found, func(c checkout.Checkout) bool { return c.ID == l.ID }); i >= 0 {
			hits = append(hits, checkout.Hit{Checkout: found[i], Since: time.UnixMilli(l.since).UTC()})
		}
	}
	return hits, err
}

// lookup is a query for entries, to which conditions and a limit are added.
type lookup struct {
	query string
	args  []any
	order string
}

// lookups returns the ways in which a query names checkouts. Of a text that begins as requests or events do there is one.
func lookups(q checkout.Query) (all []lookup) {
	add := func(condition string, args ...any) {
		all = append(all, lookup{`SELECT provider_code, id, created_ms FROM @.checkouts WHERE ` + condition, args, ` ORDER BY created_ms DESC, id DESC`})
	}
	switch word := q.Words(); {
	case q.Trouble != "":
		return ofTrouble(q)
	case word == "":
		add(`provider_code = ?`, q.ProviderCode)
	case strings.HasPrefix(word, "req_"):
		add(`(request_id = ? OR confirmed_by_request_id = ?)`, word, word)
		add(`(provider_code, id) IN (SELECT m.provider_code, m.checkout_id FROM @.moments AS m WHERE m.request_id = ?)`, word)
	case strings.HasPrefix(word, "evt_"):
		add(`(provider_code, id) IN (SELECT j.provider_code, j.checkout_id FROM @.jobs AS j WHERE j.id = ?)`, word)
	case strings.ContainsRune(word, '@'):
		add(`lower(email) = lower(?)`, word)
	default:
		add(`id = ? AND provider_code = ?`, word, checkout.ProviderOf(word))
		add(`provider_order_id = ? AND provider_code IN (SELECT code FROM @.providers UNION SELECT provider_code FROM @.api_keys)`, word)
		add(`(provider_code, id) IN (SELECT a.provider_code, a.checkout_id FROM @.agreements AS a WHERE a.number = upper(CAST(? AS text)))`, word)
		add(`billing_request_id = ? AND billing_request_id <> ''`, word)
		add(`mandate_id = ? AND mandate_id <> ''`, word)
		if family := text.FoldName(word); family != "" {
			add(`family >= ? AND family < ?`, family, family+lastSign)
		}
	}
	return all
}

// lastSign is behind every sign of a folded name.
const lastSign = "\U0010FFFF"
