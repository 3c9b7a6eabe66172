package service

import "sync"

// recentSize is how many names a generation of recent holds.
const recentSize = 16384

// recent knows which names were seen lately, as far as it remembers: it is bounded in memory, and
// a full young generation makes it forget the old one. The zero value is ready.
type recent struct {
	mu         sync.Mutex
	young, old map[string]struct{}
}

func (r *recent) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, young := r.young[name]
	_, old := r.old[name]
	return young || old
}

func (r *recent) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young == nil || len(r.young) >= recentSize {
		r.old, r.young = r.young, make(map[string]struct{})
	}
	r.young[name] = struct{}{}
}
