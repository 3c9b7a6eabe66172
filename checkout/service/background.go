package service

import "sync"

// background counts the deliveries under way, which may outlast their requests. The zero value is ready to use.
type background struct {
	mu       sync.Mutex
	underWay int
	idle     chan struct{} // closed when no delivery is under way
}

func (b *background) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.underWay == 0 {
		b.idle = make(chan struct{})
	}
	if b.underWay += n; b.underWay == 0 {
		close(b.idle)
	}
}

// wait waits until no delivery is under way.
func (b *background) wait() {
	b.mu.Lock()
	idle := b.idle
	b.mu.Unlock()
	if idle != nil {
		<-idle
	}
}
