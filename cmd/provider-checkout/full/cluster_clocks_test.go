package full_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
	"github.com/provider-checkout/provider-checkout/events"
)

const (
	// wrongBy is the error of the processes' clocks.
	wrongBy = time.Hour
	// heldAtMost is the longest time for which an event may be held back, and for which a lease may last.
	heldAtMost = checkout.MaxLease
	// settledSoon is enough time, after the receiver has answered, for a process to settle the event's lease.
	settledSoon = 2 * time.Second
)

// clockVariable has the error of a process's clock in seconds.
const clockVariable = "CLOCK_IS_WRONG_BY"

// buildWithWrongClock builds the program with a standard library whose clock is wrong by what clockVariable says, as on a machine
// whose clock is wrong. The program has no such setting.
func buildWithWrongClock(t *testing.T) proc.Binary {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	must(t, err)
	name := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(name)
	must(t, err)
	const now, imports = "\tsec, nsec, mono := runtimeNow()\n", "\t_ \"unsafe\" // for go:linkname\n"
	changed := strings.NewReplacer(now, now+"\tsec += wrongBy\n", imports, "\t\"syscall\"\n"+imports).Replace(string(source))
	if strings.Count(string(source), imports) != 1 || strings.Count(changed, "+= wrongBy") == 0 {
		t.Fatal("the standard library reads the clock in another way")
	}
	changed += `
var wrongBy = func() int64 {
	text, _ := syscall.Getenv("` + clockVariable + `")
	n, _ := atoi(text)
	return int64(n)
}()
`
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {name: proc.TempFile(t, changed)}})
	must(t, err)
	return proc.Build(t, "-overlay", proc.TempFile(t, string(overlay)))
}

// Of two processes one has a clock that is an hour ahead. The other is killed under load, and its clock is set back by an hour, or
// put right, before it starts again. No event is sent twice whose lease was settled, and no event is held back by a lease that
// would end in an hour.
func (b suite) toleratesWrongClocks(t *testing.T) {
	b.Binary = buildWithWrongClock(t)
	key := "PROVIDER_CHECKOUT_EVIDENCE_KEY=" + strings.TrimSpace(b.Run(t, "evidence", "key", "--new"))
	wrong := func(by time.Duration) string { return fmt.Sprintf("%s=%d %s", clockVariable, int(by.Seconds()), key) }
	c := newCluster(t, b, postgrestest.URL(t), wrong(wrongBy), key)
	kept := c.keepCheckpoints(t)
	c.Verdicts.AcceptAll, c.Verdicts.Slow, c.Skew = true, settledSoon/8, wrongBy // so that a kill meets events on their way
	held := c.watchLeases(t)
	clients := c.newBackend(&c.addrs)
	stop := c.load(t, clients, apiclient.IsCut)
	var kills []time.Time
	for n := range testlevel.Runs(t, 3) {
		<-time.After(workload.Within(c.Rand, 2*settledSoon, 2*settledSoon+time.Second))
		c.servers[1].Kill(t)
		kills = append(kills, time.Now())
		c.env[1] = wrong(-wrongBy * time.Duration((n+1)%2))
		c.launch(t, 1)
		c.servers[1].awaitListening(t)
	}
	<-time.After(settledSoon)
	stop()
	c.Finish(t, clients.Client)
	c.Settle(t)
	longest := held()
	eventually(t, "all is sealed", func() bool { return c.servers[0].metric(t, "provider_checkout_evidence_unsealed_entries") == 0 })
	<-time.After(2 * calm) // the last checkpoint is kept too: it is complete, for no entry waits
	checkpoints := kept()
	stopAll(t, c.servers...)
	c.Check(t)
	c.holdTo(t, key, checkpoints)
	again, clocks := c.sentAgain(t, kills)
	t.Logf("%d kills; %d events were sent again; an event was pending for %v at most; events by the error of their sender's clock: %v",
		len(kills), again, longest.Round(time.Millisecond), clocks)
	if longest < time.Second || len(clocks) < 3 {
		t.Error("void: no kill left an event that was leased, or a process sent no event")
	}
}

// The clock is an hour ahead until the server is killed, or drained, and right when it starts again. What was left by it, and what
// comes then, is delivered and sealed at once.
func (b suite) goesOnWhenItsClockIsSetBack(t *testing.T) {
	b.Binary = buildWithWrongClock(t)
	w := workload.New(t, b.Binary, newFile(t))
	w.Verdicts.AcceptAll, w.Verdicts.Slow, w.Skew = true, settledSoon/8, wrongBy // so that a kill meets events on their way
	start := func(ahead time.Duration) (*server, *apiclient.Client) {
		cmd := b.Command(serveArgs(w.Store)...)
		cmd.Env = []string{fmt.Sprintf("%s=%d", clockVariable, int(ahead.Seconds()))}
		s := serve(t, cmd)
		return s, apiclient.New(s.base, w.Keys)
	}
	for _, end := range []func(*server){
		func(s *server) { s.Kill(t) },
		func(s *server) { s.Stop(t, syscall.SIGTERM) },
	} {
		s, c := start(wrongBy)
		stop := load{clients: crashClients, excused: apiclient.IsCut, once: true}.enrol(t, w, c)
		<-time.After(settledSoon)
		end(s)
		stop()
		left := strings.Count(b.Run(t, "export", "--store", w.Store), `"status":"pending"`)
		s, c = start(0)
		began := time.Now()
		w.Finish(t, c)
		w.Settle(t)
		eventually(t, "all is sealed", func() bool { return s.metric(t, "provider_checkout_evidence_unsealed_entries") == 0 })
		took := testlevel.Elapsed(began)
		t.Logf("%d events were pending when the clock was set back; all was delivered and sealed after %v", left, took.Round(time.Millisecond))
		if took > heldAtMost {
			t.Errorf("all was delivered and sealed after %v, want %v at most", took, heldAtMost)
		}
		s.Stop(t, syscall.SIGTERM)
	}
	w.Check(t)
}

// keepCheckpoints fetches the newest checkpoint again and again. kept ends that, and returns what was fetched.
func (c *cluster) keepCheckpoints(t *testing.T) (kept func() []string) {
	t.Helper()
	var checkpoints []string
	done := make(chan struct{})
	var keep sync.WaitGroup
	keep.Go(func() {
		for ; ; <-time.After(calm) {
			select {
			case <-done:
				return
			default:
			}
			answer, err := http.Get("http://" + c.addrs.all[0] + "/.well-known/provider-checkout/evidence/checkpoint")
			if err != nil {
				continue
			}
			text, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err == nil && answer.StatusCode == http.StatusOK && !slices.Contains(checkpoints, string(text)) {
				checkpoints = append(checkpoints, string(text))
			}
		}
	})
	return func() []string { close(done); keep.Wait(); return checkpoints }
}

// holdTo checks that no checkpoint fails for what was recorded honestly, whatever the clocks said.
func (c *cluster) holdTo(t *testing.T, key string, checkpoints []string) {
	t.Helper()
	complete := regexp.MustCompile(`(?m)^complete [1-9]`)
	shown := 0
	for _, checkpoint := range checkpoints {
		cmd := c.Command("agreements", "verify", "--all", "--checkpoint", proc.TempFile(t, checkpoint), "--store", c.Store)
		cmd.Env = append(cmd.Env, key)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("held to the checkpoint\n%s\n%v: %s", checkpoint, err, out)
		}
		if complete.MatchString(checkpoint) {
			shown++
		}
	}
	t.Logf("the log was held to %d checkpoints", len(checkpoints))
	if shown == 0 {
		t.Error("void: no checkpoint was complete for anything")
	}
}

// watchLeases looks at the jobs again and again, and checks that no event is held back and no lease reaches far into the future. held
// ends that, and returns the longest time for which an event was pending.
func (c *cluster) watchLeases(t *testing.T) (held func() time.Duration) {
	t.Helper()
	db, done, longest := connect(t, c.Store), make(chan struct{}), time.Duration(0)
	var watch sync.WaitGroup
	watch.Go(func() {
		since := make(map[string]time.Time) // when a pending event was seen first
		for ; ; <-time.After(calm) {
			select {
			case <-done:
				return
			default:
			}
			pending := make(map[string]time.Time)
			for _, j := range db.pendingJobs(t) {
				if j.Left > heldAtMost.Milliseconds() {
					t.Errorf("the job %s of kind %s is leased for %d ms more", j.ID, j.Kind, j.Left)
				}
				if j.Kind != "deliver" {
					continue
				}
				if pending[j.ID] = since[j.ID]; pending[j.ID].IsZero() {
					pending[j.ID] = time.Now()
				}
				longest = max(longest, testlevel.Elapsed(pending[j.ID]))
			}
			since = pending
		}
	})
	held = sync.OnceValue(func() time.Duration {
		close(done)
		watch.Wait()
		if longest > heldAtMost {
			t.Errorf("an event was pending for %v, want %v at most", longest, heldAtMost)
		}
		return longest
	})
	t.Cleanup(func() { held() })
	return held
}

// pendingJob is a job that is to be done.
type pendingJob struct {
	ID, Kind string
	Left     int64 // of its lease, in milliseconds by the clock of the database
}

func (s schema) pendingJobs(t *testing.T) []pendingJob {
	rows, err := s.Query(context.WithoutCancel(t.Context()), `SELECT id, kind,
		coalesce(leased_until_ms - (extract(epoch FROM clock_timestamp()) * 1000)::bigint, 0) FROM jobs WHERE state = 'pending'`)
	if err != nil {
		t.Error(err)
		return nil
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pendingJob])
	if err != nil {
		t.Error(err)
	}
	return all
}

// sentAgain returns how many events were sent twice, and how many by processes with each error of the clock. An event that was
// sent twice was on its way when a process was killed: its lease was not settled.
func (c *cluster) sentAgain(t *testing.T, kills []time.Time) (again int, clocks map[time.Duration]int) {
	t.Helper()
	first, clocks := make(map[string]time.Time), make(map[time.Duration]int)
	for _, d := range c.Receiver.Deliveries() {
		signed, err := strconv.ParseInt(d.Header.Get(events.HeaderTimestamp), 10, 64)
		must(t, err)
		clocks[time.Unix(signed, 0).Sub(d.At).Round(wrongBy)]++
		id := d.JSON.Text("event_id")
		before, twice := first[id]
		if !twice {
			first[id] = d.At
			continue
		}
		again++
		cut := slices.ContainsFunc(kills, func(kill time.Time) bool { return before.Before(kill) && testlevel.Between(before, kill) < settledSoon })
		if !cut {
			t.Errorf("event %s was sent at %v and at %v, and no process was killed between", id, before, d.At)
		}
	}
	return again, clocks
}
