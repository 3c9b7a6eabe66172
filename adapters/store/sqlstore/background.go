package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// What operators ask of many checkouts is prepared off the path of a create, for which each entry in the middle of an index is a
// page to write: the words by which a person is found, with the entry in the index of the list of enrolments. A server does so for
// many checkouts at once, and pauses for longer than it works. Until then a question looks at these checkouts one by one.
const (
	backgroundPause = time.Second
	backgroundShare = 20 // a pause is as many times as long as the work before, if more is to be done

	foldAtOnce = 200
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

// prepare prepares the next checkouts, and reports whether there may be more.
func (s *Store) prepare(ctx context.Context) (more bool, err error) {
	err = s.Do(ctx, "prepare the questions of operators", func(ctx context.Context, t Tx) error {
		fresh, err := All(ctx, t, scanUnfolded, s.statements.unfolded+` ORDER BY `+s.dialect.Entered+` LIMIT ?`, foldAtOnce)
		if more = len(fresh) == foldAtOnce; err != nil || len(fresh) == 0 {
			return err
		}
		slices.SortFunc(fresh, func(a, b unfolded) int { return cmp.Compare(a.ID, b.ID) }) // as others lock them, so as not to deadlock
		var b Batch
		for _, u := range fresh {
			words := u.student.Search()
			// An erasure may have come since they were read.
			b.Write(foldWords, append(Search.Values(&words), u.ProviderCode, u.ID, u.student.FirstName, u.student.LastName, u.student.Email)...)
		}
		return t.Commit(ctx, &b)
	})
	return more, err
}
