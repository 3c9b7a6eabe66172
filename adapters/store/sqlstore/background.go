package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// What operators ask of many checkouts is prepared off the path of a create, for which each entry in the middle of an index is a
// page to write: the words by which a person is found, with the entry in the index of the list of enrolments, and the counts of the
// funnel. A server does so for many checkouts at once, and pauses for longer than it works. Until then a question looks at these
// checkouts, and at these moments, one by one.
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

// prepare prepares the next checkouts and moments, and reports whether there may be more. The lock on the end of the funnel has two
// processes wait for each other.
func (s *Store) prepare(ctx context.Context) (more bool, err error) {
	until := time.Now().Add(-countAfter).UnixMilli()
	err = s.Do(ctx, "prepare the questions of operators", func(ctx context.Context, t Tx) error {
		var b Batch
		var from int64
		Get(&b, ScanValue[int64], func(ms int64) { from = ms }, selectFunnelEnd+s.dialect.ForUpdate)
		if err := t.Lock(ctx, &b); err != nil {
			return wrap(err, "lock")
		}
		fresh, err := All(ctx, t, scanUnfolded, s.statements.unfolded+` ORDER BY `+s.dialect.Entered+` LIMIT ?`, foldAtOnce)
		if err != nil {
			return err
		}
		stages, to, err := stagesFrom(ctx, t, from, until)
		if err != nil {
			return err
		}
		if more = len(fresh) == foldAtOnce || to < until; !more && len(fresh)+len(stages) == 0 {
			return nil
		}
		slices.SortFunc(fresh, func(a, b unfolded) int { return cmp.Compare(a.ID, b.ID) }) // as others lock them, so as not to deadlock
		b = Batch{}
		for _, u := range fresh {
			words := u.student.Search()
			// An erasure may have come since they were read.
			b.Write(foldWords, append(Search.Values(&words), u.ProviderCode, u.ID, u.student.FirstName, u.student.LastName, u.student.Email)...)
			stages = append(stages, createdStage(u.ProviderCode, u.ID))
		}
		for _, d := range checkout.CountStages(nil, stages, "", "9") {
			b.Write(addToFunnel, FunnelDay.Values(&d)...)
		}
		b.Write(updateFunnelEnd, max(from, to))
		return t.Commit(ctx, &b)
	})
	return more, err
}

// stagesFrom returns moments that the funnel counts from one time until another, about countAtOnce of them, and the time before which
// they are.
func stagesFrom(ctx context.Context, t Tx, from, until int64) (stages []checkout.Stage, to int64, err error) {
	if until <= from {
		return nil, until, nil
	}
	switch end, err := One(ctx, t, ScanValue[int64], selectNextEnd, from, countAtOnce); {
	case errors.Is(err, ports.ErrNotFound):
	case err != nil:
		return nil, 0, err
	default:
		until = min(until, max(end, from+1))
	}
	stages, err = All(ctx, t, scanStage, selectStages, from, until, "", "")
	return stages, until, err
}

// createdStage is the stage of every checkout.
func createdStage(provider, id string) checkout.Stage {
	return checkout.Stage{ProviderCode: provider, CheckoutID: id, Kind: checkout.MomentCreated}
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
	ofFunnel        = ` (kind = 'opened' OR kind = 'pressed' OR kind = 'setup_done' OR kind = 'confirmed')`
	selectFunnelEnd = `SELECT at_ms FROM @.funnel_end WHERE one = 1`
	updateFunnelEnd = `UPDATE @.funnel_end SET at_ms = ? WHERE one = 1`
	// selectStages reads moments with the farthest stage that their checkout had reached before.
	selectStages = `SELECT provider_code, checkout_id, kind, coalesce((SELECT max(CASE e.kind WHEN 'opened' THEN 2
			WHEN 'pressed' THEN 3 WHEN 'setup_done' THEN 4 WHEN 'confirmed' THEN 5 ELSE 1 END) FROM @.moments AS e
			WHERE e.provider_code = m.provider_code AND e.checkout_id = m.checkout_id AND e.position < m.position), 1)
		FROM @.moments AS m WHERE` + ofFunnel + ` AND at_ms >= ? AND at_ms < ?` + ofProvider
	selectNextEnd = `SELECT at_ms FROM @.moments WHERE` + ofFunnel + ` AND at_ms >= ? ORDER BY at_ms LIMIT 1 OFFSET ?`
	// uncountCreated takes a checkout out of the funnel that is removed.
	uncountCreated = `UPDATE @.funnel SET created = created - 1 WHERE day = ? AND provider_code = ? AND EXISTS (
		SELECT 1 FROM @.checkouts WHERE provider_code = ? AND id = ? AND search_name IS NOT NULL)`
)

var scanStage = Fields(func(m *checkout.Stage) []any {
	return []any{&m.ProviderCode, &m.CheckoutID, (*string)(&m.Kind), &m.Before}
})
