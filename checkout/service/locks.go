package service

import (
	"context"
	"sync"
)

// locks are named mutexes, or named semaphores, which use memory only while they are held. The zero value is ready to use.
type locks struct {
	holders int // of one lock at once; 1 if 0

	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	tokens chan struct{} // one for each holder
	users  int           // holders and waiters
}

// lock waits for the named lock, or for the end of ctx, and reports whether it had to wait. The caller that waits longest has it
// first. unlock must be called if err is nil.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), waited bool, err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[string]*lock)
	}
	k := l.held[name]
	if k == nil {
		k = &lock{tokens: make(chan struct{}, max(l.holders, 1))}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, name)
		}
	}
	select {
	case k.tokens <- struct{}{}:
	default:
		waited = true
		select {
		case k.tokens <- struct{}{}:
		case <-ctx.Done():
			leave()
			return nil, true, ctx.Err()
		}
	}
	unlock = func() { <-k.tokens; leave() }
	if err := ctx.Err(); err != nil { // both at once
		unlock()
		return nil, waited, err
	}
	return unlock, waited, nil
}
