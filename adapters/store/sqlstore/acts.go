package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Act is the columns of an act.
var Act = Columns[checkout.Act]{
	{Name: "at_ms", Field: func(a *checkout.Act) any { return (*Instant)(&a.At) }},
	{Name: "operator", Field: func(a *checkout.Act) any { return &a.Operator }},
	{Name: "act", Field: func(a *checkout.Act) any { return &a.Name }},
	{Name: "subject", Field: func(a *checkout.Act) any { return &a.Subject }},
	{Name: "reason", Field: func(a *checkout.Act) any { return &a.Reason }},
	{Name: "changes", Field: func(a *checkout.Act) any { return (*Lines)(&a.Changes) }},
}

var insertAct = insertInto("acts", Act)

// Lines is lines of text in a column, one after the other.
type Lines []string

func (l *Lines) value() any { return strings.Join(*l, "\n") }

// Scan implements [database/sql.Scanner].
func (l *Lines) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("%T is not lines", v)
	}
	if *l = nil; text != "" {
		*l = strings.Split(text, "\n")
	}
	return nil
}

// record adds what stores an act, if there is one.
func (b *Batch) record(did *checkout.Act) {
	if did != nil {
		b.Write(insertAct, Act.Values(did)...)
	}
}

// once returns the error of a write that nothing on record tells from another, where an earlier attempt may have been committed.
func once(t Tx) error {
	if t.Again() {
		return ErrUnknown
	}
	return nil
}

// RecordAct implements [ports.Operations].
func (s *Store) RecordAct(ctx context.Context, did checkout.Act) error {
	return s.Do(ctx, "record the act "+did.Name, func(ctx context.Context, t Tx) error {
		if err := once(t); err != nil {
			return err
		}
		var b Batch
		b.record(&did)
		return t.Commit(ctx, &b)
	})
}

// Acts implements [ports.Operations].
func (s *Store) Acts(ctx context.Context, f checkout.ActFilter, limit int) ([]checkout.Act, error) {
	var w where
	w.addIf(!f.Since.IsZero(), `at_ms >= ?`, f.Since.UnixMilli())
	w.addIf(f.Subject != "", `replace(' ' || subject || ' ', ' ' || CAST(? AS text) || ' ', '') <> ' ' || subject || ' '`, f.Subject)
	list, err := All(ctx, s.engine, Scan(Act), `SELECT `+Act.Names()+` FROM @.acts`+w.String()+` ORDER BY at_ms DESC, position DESC LIMIT ?`,
		append(w.args, limit)...)
	return list, wrap(err, "read the acts of operators")
}
