package sqlite

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// The words of a checkout by which an operator finds it are filled in after a pause, for many at once, and longer pauses than work:
// creates have the writer for themselves meanwhile. Until then Find looks at these checkouts one by one.
const (
	foldPause = time.Second
	foldShare = 20 // pauses are as many times as long as the work before
)

// startFolding begins to fill in the words, until the function that it returns is called.
func (db *DB) startFolding() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pause := foldPause
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			began := time.Now()
			n, err := db.Fold(ctx)
			pause = foldPause
			if err == nil && n == sqlstore.FoldAtOnce { // there may be more
				pause = min(foldPause, foldShare*time.Since(began))
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
