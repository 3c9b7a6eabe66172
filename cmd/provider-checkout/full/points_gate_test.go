package full_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// exchange is something that the process sends or is sent, and the answer to it.
type exchange struct {
	step string // of the payer's way
	what string // "GoCardless: POST /billing_requests"
	n    int    // among the step's exchanges of this name, from 1
}

func (e exchange) String() string {
	if e.n == 1 {
		return e.step + ": " + e.what
	}
	return fmt.Sprintf("%s: %s (%d)", e.step, e.what, e.n)
}

// point is a moment in the life of a process: something is on its way between it and the outside.
type point struct {
	exchange
	side side
}

func (p point) String() string { return p.exchange.String() + ", " + string(p.side) }

func (p point) atGoCardless() bool { return strings.HasPrefix(p.what, "GoCardless: ") }

// configurationReads matches the queries for the configuration, which the process reads when it needs it first, and later
// at times of its own.
var configurationReads = regexp.MustCompile(`FROM (api_keys|providers|courses)\b`)

// backgroundWork matches what a process prepares and notes off the path of requests, at times of its own: words by which a person
// is found, counts of the funnel, pages that were opened, and days on which a key was used.
var backgroundWork = regexp.MustCompile(`^PostgreSQL: (BEGIN ISOLATION LEVEL READ COMMITTED; )?(` + strings.Join([]string{
	`SELECT … FROM checkouts WHERE search_name IS NULL.*`,
	`.*\b(INTO|FROM|UPDATE) funnel(_end)?\b.*`,
	`SELECT … FROM checkouts WHERE provider_code[^;]*; SELECT … FROM moments[^;]*`,
	`(INSERT INTO moments|UPDATE moments SET times[^;]*); COMMIT`,
	`UPDATE api_keys SET last_used_day[^;]*; COMMIT`,
}, "|") + `)$`)

// gate passes everything that the process sends or is sent, and the answers. It strikes at one point.
type gate struct {
	struck chan struct{} // closed once it has struck

	mu      sync.Mutex
	step    string          // where the payer is; what passes without a step is no point
	aside   map[string]bool // what the process does at times of its own, which is no point
	unasked map[string]bool // what has passed without a step
	count   map[exchange]int
	seen    []exchange
	open    int       // exchanges under way
	moved   time.Time // when one began or ended
	target  point
	strike  func() (goesOn bool)
	held    <-chan struct{} // closed when what is held at the target goes on
}

func newGate(target point, aside map[string]bool) *gate {
	g := &gate{struck: make(chan struct{}), target: target, aside: make(map[string]bool), unasked: make(map[string]bool),
		count: make(map[exchange]int)}
	maps.Copy(g.aside, aside)
	return g
}

// arm says what happens at the target: strike reports whether the message goes on, which it does once held is closed, or
// is lost.
func (g *gate) arm(strike func() (goesOn bool), held <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.strike, g.held = strike, held
}

// enter says that the payer is at a step, or at no step ("").
func (g *gate) enter(step string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.step, g.moved = step, time.Now()
}

// cross has an exchange pass. carry takes it to the other side, where it takes effect, and comes back with the answer.
// Unless cross reports true the answer is lost.
func (g *gate) cross(what string, carry func()) bool {
	at, tracked := g.begin(what)
	if !tracked {
		carry()
		return true
	}
	defer g.end()
	if !g.pass(point{at, before}) {
		return false
	}
	carry()
	return g.pass(point{at, after})
}

func (g *gate) begin(what string) (at exchange, tracked bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.aside[what] || backgroundWork.MatchString(what) {
		return at, false
	}
	if configurationReads.MatchString(what) {
		g.aside[what] = true
	}
	g.open++
	g.moved = time.Now()
	at = exchange{step: g.step, what: what}
	if g.step != "" {
		g.count[at]++
		at.n = g.count[at]
		g.seen = append(g.seen, at)
	} else {
		g.unasked[what] = true
	}
	return at, true
}

func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	g.moved = time.Now()
}

// pass strikes if this is the target.
func (g *gate) pass(at point) (goesOn bool) {
	g.mu.Lock()
	strike, held := g.strike, g.held
	if at != g.target || strike == nil {
		g.mu.Unlock()
		return true
	}
	g.strike, g.step = nil, ""
	g.mu.Unlock()
	if !strike() {
		return false
	}
	<-held
	return true
}

func (g *gate) hasStruck() bool {
	select {
	case <-g.struck:
		return true
	default:
		return false
	}
}

// exchanges returns what has passed with a step, in order.
func (g *gate) exchanges() []exchange {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.seen)
}

// background returns what has passed without a step.
func (g *gate) background() map[string]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.unasked)
}

// stillFor is the time without an exchange after which a process has finished what it was doing. A busy machine may let it
// rest for a while in between: longer before it takes up by itself what has only been stored, such as a notification.
const (
	stillFor       = 3 * calm
	stillForStored = 15 * calm
)

// quiet waits until the process has finished what it was doing, which nothing shows for so long, or until the channel is closed.
func (g *gate) quiet(t *testing.T, still time.Duration, until <-chan struct{}) {
	t.Helper()
	for limit := time.Now().Add(patience); ; {
		g.mu.Lock()
		finished := g.open == 0 && time.Since(g.moved) > still
		g.mu.Unlock()
		if finished {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("there is no quiet within %v", patience)
		}
		select {
		case <-until:
			return
		case <-time.After(calm / 4):
		}
	}
}

// around has the requests of a handler pass through the gate, each with the name that it is given.
func (g *gate) around(name func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		if !g.cross(name(r), func() { next.ServeHTTP(answer, r) }) {
			panic(http.ErrAbortHandler) // the connection ends without an answer
		}
		sendAnswer(w, answer)
	})
}
