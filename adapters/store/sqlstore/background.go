package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// What operators ask of many checkouts is prepared off the path of a create, for which each entry in the middle of an index is a
// page to write: the words by which a person is found, and the counts of the funnel. A server does so for many checkouts at once, and
// pauses for longer than it works. Until then a question looks at these checkouts, and at these moments, one by one.
const (
	backgroundPause = time.Second
	backgroundShare = 20 // a pause is as many times as long as the work before, if more is to be done

	foldAtOnce  = 200
	countAtOnce = 2000
	// countAfter is the time after which no moment is stored any more. A moment that comes later is not counted.
	countAfter = 10 * time.Minute
)

// Background prepares what operators ask, until the function that it returns is called.
func (s *Store) Background() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause := backgroundPause; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			began := time.Now()
			more, err := s.prepare(ctx)
			if pause = backgroundPause; more && err == nil {
				pause = min(pause, backgroundShare*time.Since(began))
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// Prepare prepares everything that is on record for the questions of operators.
func (s *Store) Prepare(ctx context.Context) error {
	for {
		if more, err := s.prepare(ctx); err != nil || !more {
			return err
		}
	}
}

func (s *Store) prepare(ctx context.Context) (more bool, err error) {
	folded, err := s.fold(ctx)
	if err != nil {
		return false, err
	}
	counted, err := s.count(ctx, time.Now().Add(-countAfter))
	return folded || counted, err
}

// fold fills in the words by which operators find some checkouts, and reports whether there may be more.
func (s *Store) fold(ctx context.Context) (more bool, err error) {
	err = s.Do(ctx, "fold names", func(ctx context.Context, t Tx) error {
		list, err := All(ctx, t, scanUnfolded, selectUnfolded+` ORDER BY created_ms LIMIT ?`, foldAtOnce)
		if more = len(list) == foldAtOnce; err != nil || len(list) == 0 {
			return err
		}
		slices.SortFunc(list, func(a, b unfolded) int { return cmp.Compare(a.ID, b.ID) }) // so that two processes do not deadlock
		var b Batch
		for _, u := range list {
			words := u.student.Search()
			b.Write(foldWords, append(Search.Values(&words), u.ProviderCode, u.ID)...)
		}
		return t.Commit(ctx, &b)
	})
	return more, err
}

// FunnelDay is the columns of a row of the funnel.
var FunnelDay = Columns[checkout.FunnelDay]{
	{Name: "day", Field: func(d *checkout.FunnelDay) any { return &d.Day }},
	{Name: "provider_code", Field: func(d *checkout.FunnelDay) any { return &d.ProviderCode }},
	{Name: "created", Field: func(d *checkout.FunnelDay) any { return &d.Created }},
	{Name: "opened", Field: func(d *checkout.FunnelDay) any { return &d.Opened }},
	{Name: "pressed", Field: func(d *checkout.FunnelDay) any { return &d.Pressed }},
	{Name: "set_up", Field: func(d *checkout.FunnelDay) any { return &d.SetUp }},
	{Name: "confirmed", Field: func(d *checkout.FunnelDay) any { return &d.Confirmed }},
}

var (
	selectFunnel = `SELECT ` + FunnelDay.Names() + ` FROM @.funnel WHERE day >= ? AND day < ?` + ofProvider
	addToFunnel  = insertInto("funnel AS f", FunnelDay) + ` ON CONFLICT (day, provider_code) DO UPDATE SET created = f.created + excluded.created,
		opened = f.opened + excluded.opened, pressed = f.pressed + excluded.pressed, set_up = f.set_up + excluded.set_up,
		confirmed = f.confirmed + excluded.confirmed`
)

const (
	ofFunnel        = ` kind IN ('created', 'opened', 'pressed', 'setup_done', 'confirmed')`
	selectFunnelEnd = `SELECT at_ms FROM @.funnel_end WHERE one = 1`
	updateFunnelEnd = `UPDATE @.funnel_end SET at_ms = ? WHERE one = 1`
	// selectStages reads moments with the farthest stage that their checkout had reached before.
	selectStages = `SELECT provider_code, checkout_id, kind, coalesce((SELECT max(CASE e.kind WHEN 'created' THEN 1 WHEN 'opened' THEN 2
			WHEN 'pressed' THEN 3 WHEN 'setup_done' THEN 4 WHEN 'confirmed' THEN 5 ELSE 0 END) FROM @.moments AS e
			WHERE e.provider_code = m.provider_code AND e.checkout_id = m.checkout_id AND e.position < m.position), 0)
		FROM @.moments AS m WHERE` + ofFunnel + ` AND at_ms >= ? AND at_ms < ?` + ofProvider
	selectNextEnd = `SELECT at_ms FROM @.moments WHERE` + ofFunnel + ` AND at_ms >= ? ORDER BY at_ms LIMIT 1 OFFSET ?`
)

var scanStage = Fields(func(m *checkout.Stage) []any {
	return []any{&m.ProviderCode, &m.CheckoutID, (*string)(&m.Kind), &m.Before}
})

// count adds moments before a time to the funnel, and reports whether there may be more.
func (s *Store) count(ctx context.Context, until time.Time) (more bool, err error) {
	err = s.Do(ctx, "count the funnel", func(ctx context.Context, t Tx) error {
		var b Batch
		var from int64
		Get(&b, ScanValue[int64], func(ms int64) { from = ms }, selectFunnelEnd+s.dialect.ForUpdate)
		if err := t.Lock(ctx, &b); err != nil {
			return wrap(err, "lock")
		}
		ends, err := All(ctx, t, ScanValue[int64], selectNextEnd, from, countAtOnce)
		if err != nil {
			return err
		}
		to := until.UnixMilli()
		if more = len(ends) > 0 && ends[0] < to; more {
			to = max(ends[0], from+1)
		}
		if to <= from {
			return nil
		}
		stages, err := All(ctx, t, scanStage, selectStages, from, to, "", "")
		if err != nil || len(stages) == 0 && !more {
			return err
		}
		b = Batch{}
		for _, d := range checkout.CountStages(nil, stages, "", "9") {
			b.Write(addToFunnel, FunnelDay.Values(&d)...)
		}
		b.Write(updateFunnelEnd, to)
		return t.Commit(ctx, &b)
	})
	return more, err
}
