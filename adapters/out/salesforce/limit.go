package salesforce

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/ports"
)

// maxCalls is the number of calls that are under way at once. An organisation lets 25 long calls run, and has other clients.
const maxCalls = 20

// reserve returns how many of a day's calls are kept for completions, upon which money waits: one in a hundred and at least
// 100, but never more than one in ten.
func reserve(of int) int { return max(of/100, min(100, of/10)) }

// dailyLimit is the organisation's limit of calls in a day, as its latest answer has it.
type dailyLimit struct {
	mu       sync.Mutex
	left, of int       // of is 0 before the first answer
	refused  int       // calls in a row, because no calls were left
	at       time.Time // of the answer, or of the latest look
}

// Limit returns how many calls the organisation has left of its daily limit, which its other clients use too, as its
// latest answer says. It is not known before the first answer.
func (c *CRM) Limit() (left, of int, known bool) {
	l := &c.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left, l.of, l.of > 0
}

func (l *dailyLimit) set(left, of int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.of, l.at, l.refused = left, of, now, 0
}

// exhaust notes that a call was refused because no calls are left. After refusedInARow of these calls the next Open looks at once.
func (l *dailyLimit) exhaust() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused++; l.refused == refusedInARow {
		l.left, l.at = 0, time.Time{}
	}
}

// read takes the figure from the header of an answer, if it has one: api-usage=18/15000, and others after it.
func (l *dailyLimit) read(header http.Header, now time.Time) {
	for part := range strings.SplitSeq(header.Get("Sforce-Limit-Info"), ";") {
		usage, ok := strings.CutPrefix(strings.TrimSpace(part), "api-usage=")
		used, of, _ := strings.Cut(usage, "/")
		n, wrong := strconv.Atoi(used)
		m, alsoWrong := strconv.Atoi(of)
		if ok && wrong == nil && alsoWrong == nil && n >= 0 && m > 0 {
			l.set(max(0, m-n), m, now)
		}
	}
}

// few returns an ErrBusy if no more calls are left than are kept for completions.
func (l *dailyLimit) few() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.refused >= refusedInARow:
		return fmt.Errorf("%w: the organisation has no calls of the day left", ports.ErrBusy)
	case l.of == 0 || l.left > reserve(l.of):
		return nil
	}
	return fmt.Errorf("%w: %d of the organisation's %d calls of the day are left, which are kept for completions", ports.ErrBusy, l.left, l.of)
}

// lookAgain returns the greatest age of the latest figure while few calls are left. After that a call is spent on a new figure.
// A call that is refused costs nothing; the last half of what is kept for completions is spared.
func (l *dailyLimit) lookAgain() time.Duration {
	switch {
	case l.left == 0:
		return 20 * time.Second
	case l.left > reserve(l.of)/2:
		return time.Minute
	}
	return 10 * time.Minute
}

// turn reports whether the caller is to ask for a new figure, because the latest is old. Of several callers one is.
func (l *dailyLimit) turn(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := now.Sub(l.at); age >= 0 && age < l.lookAgain() {
		return false
	}
	l.at = now
	return true
}

// spare returns an ErrBusy if an Open is not to be sent.
func (c *CRM) spare(ctx context.Context) error {
	if few := c.limit.few(); few == nil || !c.limit.turn(c.options.Now()) {
		return few
	}
	return c.look(ctx)
}

// look asks how many calls are left. The error is an ErrBusy if they are few.
func (c *CRM) look(ctx context.Context) error {
	limits, err := send[limitsWire](ctx, c, call{method: http.MethodGet, path: "/limits"})
	if err != nil {
		return ofLook(err)
	}
	if limits.Requests.Max <= 0 {
		return &outbound.Lost{Cause: errors.New("the answer has no limit of calls")}
	}
	c.limit.set(limits.Requests.Remaining, limits.Requests.Max, c.options.Now())
	return c.limit.few()
}
