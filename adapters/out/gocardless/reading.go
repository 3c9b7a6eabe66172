package gocardless

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	maxReading  = 32 // bodies at once: they bound the memory that strangers can take
	bodyTimeout = 2 * time.Second
)

// readings are the bodies that are being read. Where there are too many, the oldest of the client network with most of them is cut off:
// GoCardless' own take milliseconds.
type readings struct {
	mu  sync.Mutex
	all []*reading // the oldest first
}

type reading struct {
	client string // network
	body   *http.ResponseController
}

// read reads a body within bodyTimeout, or until it is cut off.
func (r *readings) read(w http.ResponseWriter, req *http.Request, client string) ([]byte, error) {
	own := &reading{client, http.NewResponseController(w)}
	_ = own.body.SetReadDeadline(time.Now().Add(bodyTimeout)) // the writer of a test has no deadline
	r.add(own)
	defer r.remove(own)
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxNotification))
	if err == nil {
		_ = own.body.SetReadDeadline(time.Time{})
	}
	return body, err
}

func (r *readings) add(own *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, own)
	if len(r.all) <= maxReading {
		return
	}
	count, most := make(map[string]int), own.client
	for _, other := range r.all {
		if count[other.client]++; count[other.client] > count[most] {
			most = other.client
		}
	}
	i := slices.IndexFunc(r.all, func(other *reading) bool { return other.client == most })
	_ = r.all[i].body.SetReadDeadline(time.Now())
	r.all = slices.Delete(r.all, i, i+1)
}

func (r *readings) remove(own *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.DeleteFunc(r.all, func(other *reading) bool { return other == own })
}
