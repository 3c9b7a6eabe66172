package service_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// A normal run makes fewSchedules schedules. After sagaSchedules, about ten seconds of one core, everything has happened often.
const fewSchedules, sagaSchedules = 100, 1500

// play runs the schedule of a seed, and returns what may not be, how often something happened, and a trace of everything.
func play(t *testing.T, seed uint64) (faults []string, seen map[string]int, trace uint64) {
	synctest.Test(t, func(t *testing.T) {
		s := newSaga(t, seed)
		s.model.prepare()
		time.Sleep(time.Until(s.storm))
		var clients sync.WaitGroup
		for _, order := range sagaOrders {
			for n := range 2 + s.chance("clients of "+order).IntN(2) {
				c := client{s, order, s.chance(fmt.Sprint("client ", n, " of ", order))}
				clients.Go(c.run)
			}
		}
		clients.Go(s.spy)
		clients.Go(s.drain)
		clients.Go(s.end)
		time.Sleep(time.Until(s.calm) + time.Minute)
		s.model.settled()
		clients.Wait()
		s.model.finish()
		s.model.pollAll()
		time.Sleep(10 * time.Second)
		s.model.settled()
		for slot := range s.slots {
			s.process(slot).end()
		}
		s.work.Wait()
		faults, seen, trace = s.model.faults, s.seen, s.traced
	})
	return faults, seen, trace
}

// Several processes over one store and one CRM open and confirm orders for several clients, while calls fail before and
// after they take effect, hang, come late and are cut in half, and processes are killed, drained, and stopped past their leases.
// The model judges every answer, and what there is a minute after the last fault.
//
// A long run, and the replay of one seed:
//
//	PROVIDER_CHECKOUT_TEST_RUNS=100000 go test -run TestSagasKeepEveryPromise -timeout 3h -v ./checkout/service
//	PROVIDER_CHECKOUT_TEST_RUNS=100000 go test -run 'TestSagasKeepEveryPromise/^seed_17$' -v ./checkout/service
func TestSagasKeepEveryPromise(t *testing.T) {
	count := testlevel.Runs(t, testlevel.Of(fewSchedules, sagaSchedules))
	total, played := map[string]int{}, 0
	for seed, failed := 1, 0; seed <= count && failed < 5; seed++ {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			faults, seen, _ := play(t, uint64(seed))
			for what, n := range seen {
				total[what] += n
			}
			played++
			if len(faults) > 0 {
				t.Error(strings.Join(faults, "\n"))
			}
		}) {
			failed++
		}
	}
	if played >= sagaSchedules && !t.Failed() {
		checkSometimes(t, total)
	}
}

// checkSometimes checks that everything happened that the schedules are for, or they prove nothing.
func checkSometimes(t *testing.T, total map[string]int) {
	t.Helper()
	expected := strings.Split(`create: new, create: replay, create: other intent, create: key of another order, create: refused by the CRM,
		create: refused by a rule of the CRM's own, create: busy, create: failure, confirm: new, confirm: repeat, confirm: conflict,
		confirm: setup incomplete, confirm: busy, confirm: failure, look: not found, a client gave up, a reserved checkout was looked for,
		a lease was lost, a reservation was released, a job was leased again, a lease was extended, a process was drained, an agreement was not rendered, a confirmed order,
		CRM step done, CRM step unknown, CRM step refused, event delivered, recovery, notice sent, notice dropped, mandate failed, mandate cancelled,
		an order of whose mandate everybody was told`, ",")
	expected = append(expected, "outage")
	for _, all := range []kinds{readFaults, writeFaults, crmFaults} {
		for _, k := range all {
			expected = append(expected, k.name)
		}
	}
	var report []string
	for what, n := range total {
		report = append(report, fmt.Sprintf("%9d %s", n, what))
	}
	slices.SortFunc(report, func(a, b string) int { return strings.Compare(b, a) })
	t.Logf("what happened:\n%s", strings.Join(report, "\n"))
	for _, what := range expected {
		if what = strings.TrimSpace(what); total[what] < 20 {
			t.Errorf("%q happened %d times, want at least 20", what, total[what])
		}
	}
	if 5*total["faults"] < total["calls"] {
		t.Errorf("%d faults in %d calls, want one in five", total["faults"], total["calls"])
	}
}

// A seed leads to the same schedule whenever it is played, but for a rare one in which two things happen at the same instant.
func TestASagaReplays(t *testing.T) {
	same := 0
	for seed := range uint64(100) {
		_, _, first := play(t, seed)
		if _, _, again := play(t, seed); again == first {
			same++
		}
	}
	if same < 99 {
		t.Errorf("%d of 100 seeds replay, want 99", same)
	}
}
