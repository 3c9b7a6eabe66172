package bench_test

// The benchmark of this folder measures the service as its clients see it, over HTTP on the loopback interface, as a ratio of the most
// that the machine allows (see floor), in one run:
//
//	go test -bench Floor ./cmd/provider-checkout/bench
//
// For the service and for the floor it reports answers a second (/s), the 99th percentile of the latency (p99-ms) and the server's
// CPU time for each answer (cpu-µs), and the service's as a multiple of the floor's (x-floor, cpu-x-floor). The CPU time of a
// PostgreSQL server is not counted. It does not fail because it is slow. The floor has no confirm: the service's is reported alone.

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// A benchmark is this many pairs of rounds of this length, after a pair that does not count.
const (
	roundPairs  = 5
	roundLength = 400 * time.Millisecond
	warmUp      = 150 * time.Millisecond
)

// benchProvider has neither a catalogue nor a destination: the service is measured, not a receiver.
const benchProvider = `{"providers": [{"provider_code": "TUI", "name": "Tūī Trades Academy", "account_id": "acc-tui",
	"environment": "sandbox", "active": true, "api_enabled": true}]}`

// benchCreate is a create whose order's id takes the place of ORDER.
const benchCreate = `{"provider":{"provider_code":"TUI","provider_order_id":"ORDER"},` +
	`"student":{"first_name":"Māia","last_name":"Tūhoe-Wāhanga","email":"maia.tuhoe@students.example.ac.nz"},` +
	`"course":{"course_name":"New Zealand Certificate in Joinery (Level 4)"},` +
	`"pricing":{"course_price":2990.02,"amount_to_finance":2790.02,"upfront_payment":200.00},` +
	`"plan":{"payment_type":"interest_free_payment_plan","payment_frequency":"Weekly","number_of_instalments":52,` +
	`"instalment_amount":53.65,"final_instalment_amount":53.87,"first_payment_date":"2027-02-01"}}`

// BenchmarkAgainstTheFloor has creates, replays and gets on each kind of store, by 1, 16 and 64 clients, and confirms by 16.
func BenchmarkAgainstTheFloor(b *testing.B) {
	program, err := proc.BuildIn(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for name, place := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(b.TempDir(), "store.db") },
		"postgres": func() string { return postgrestest.URL(b) },
	} {
		b.Run(name, func(b *testing.B) {
			ours := startService(b, program, place())
			floor := startFloor(b, place(), ours.key)
			for _, call := range []string{"create", "replay", "get"} {
				b.Run(call, func(b *testing.B) { compare(b, call, ours, floor) })
			}
			b.Run("confirm", func(b *testing.B) { confirm(b, ours) })
		})
	}
}

// startService starts the service over an empty store.
func startService(b *testing.B, program proc.Binary, store string) *contender {
	b.Helper()
	program.Run(b, "apply", "--store", store, "-f", proc.TempFile(b, benchProvider))
	key := strings.TrimSpace(program.Run(b, "keys", "issue", "--store", store, "--provider", "TUI"))
	return &contender{name: "ours", key: key, child: startChild(b, program.Command("serve", "--store", store, "--rate-limit", "0"))}
}

// contender is a server and its results.
type contender struct {
	*child
	name, key string
	orders    atomic.Uint64 // that were made

	clients []*benchClient
	next    errand
	status  string // that all answers must have
	rates   []float64
	took    []time.Duration
	used    time.Duration // of the processor
}

// compare reports the speed of a call at ours, and its ratio to the floor. Their rounds alternate, so that other load on the machine
// affects both alike. The CPU time of an answer is affected least by such load.
func compare(b *testing.B, call string, ours, floor *contender) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			both := []*contender{ours, floor}
			for _, c := range both {
				c.begin(b, call, clients)
			}
			for b.Loop() {
				for i := range roundPairs {
					for j := range both {
						both[(i+j)%2].goOn(b)
					}
				}
			}
			report(b, ours, floor)
		})
	}
}

// confirmed is the number of checkouts that are set up and confirmed.
const confirmed = 800

// confirm reports the speed of confirms, each with its PDF and signature.
func confirm(b *testing.B, c *contender) {
	for b.Loop() {
		confirms := c.confirms(b)
		c.clients = dial(b, c.addr, 16)
		before := c.cpu()
		r := goRound(b, c.clients, confirms, "200", time.Minute)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(r.rate(), c.name+"/s")
		b.ReportMetric(float64((c.cpu()-before).Microseconds())/confirmed, c.name+"-cpu-µs")
	}
}

// confirms opens checkouts, has their payers set the direct debits up, and returns a confirm of each.
func (c *contender) confirms(b *testing.B) errand {
	b.Helper()
	api := apiclient.New("http://"+c.addr, map[string]string{"TUI": c.key})
	all := make(chan []byte, confirmed)
	var payers sync.WaitGroup
	for range 8 {
		payers.Go(func() {
			for range confirmed / 8 {
				created, err := api.Create(b.Context(), "TUI", strings.Replace(benchCreate, "ORDER", benchOrder(c.orders.Add(1)), 1))
				if err == nil {
					err = apiclient.NewBrowser(api.HTTP).SetUp(b.Context(), created.SetupURL())
				}
				if err != nil {
					b.Error(err)
					return
				}
				all <- c.request(http.MethodPost, created.CheckoutPath()+apiclient.ConfirmSuffix, created.ConfirmBody())
			}
		})
	}
	payers.Wait()
	close(all)
	return func([]byte) []byte { return <-all } // nil once all are taken
}

// begin connects the clients and warms the server up.
func (c *contender) begin(b *testing.B, call string, clients int) {
	b.Helper()
	c.clients = dial(b, c.addr, clients)
	c.rates, c.took, c.used = nil, nil, 0
	switch call {
	case "create":
		c.next, c.status = c.creates(), "201"
	case "replay":
		c.next, c.status = c.replays(), "200"
	case "get":
		c.next, c.status = c.gets(b), "200"
	}
	goRound(b, c.clients, c.next, c.status, warmUp)
}

// goOn runs one round.
func (c *contender) goOn(b *testing.B) {
	b.Helper()
	before := c.cpu()
	r := goRound(b, c.clients, c.next, c.status, roundLength)
	c.used += c.cpu() - before
	c.rates = append(c.rates, r.rate())
	c.took = append(c.took, r.took...)
}

func report(b *testing.B, ours, floor *contender) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // an operation is a whole series of rounds, which says nothing
	for _, c := range []*contender{ours, floor} {
		b.ReportMetric(middle(c.rates), c.name+"/s")
		b.ReportMetric(float64(c.p99().Microseconds())/1000, c.name+"-p99-ms")
		b.ReportMetric(float64(c.perAnswer().Nanoseconds())/1000, c.name+"-cpu-µs")
	}
	var ratios []float64
	for i, rate := range ours.rates {
		ratios = append(ratios, rate/floor.rates[i])
	}
	b.ReportMetric(middle(ratios), "x-floor")
	if floor.used > 0 {
		b.ReportMetric(float64(ours.perAnswer())/float64(floor.perAnswer()), "cpu-x-floor")
	}
}

// perAnswer returns the CPU time that the server used for each answer.
func (c *contender) perAnswer() time.Duration { return c.used / time.Duration(max(1, len(c.took))) }

// p99 returns the 99th percentile of the latency.
func (c *contender) p99() time.Duration {
	sorted := slices.Sorted(slices.Values(c.took))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)*99/100]
}

// middle returns the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// benchOrder names the nth order. The names are not in sequence, as a real provider's may not be, so that they are spread over an index.
// Numbers below 2^32 have different names.
func benchOrder(n uint64) string { return fmt.Sprintf("%016x", n*2654435761%(1<<32)) }

// request is a request as a client writes it.
func (c *contender) request(method, path, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, c.key, len(body), body)
}

// createOf returns creates of the orders that number names.
func (c *contender) createOf(number func() uint64) errand {
	const noOrder = "0000000000000000"
	create := c.request(http.MethodPost, "/v1/provider-checkouts", strings.Replace(benchCreate, "ORDER", noOrder, 1))
	at := bytes.Index(create, []byte(noOrder))
	return func(to []byte) []byte {
		to = append(to, create...)
		copy(to[at:], benchOrder(number()))
		return to
	}
}

// creates returns creates of new orders, without end.
func (c *contender) creates() errand {
	return c.createOf(func() uint64 { return c.orders.Add(1) })
}

// replays returns creates of the orders that were made, in turn.
func (c *contender) replays() errand {
	var n atomic.Uint64
	made := c.orders.Load() // at least a few thousand
	return c.createOf(func() uint64 { return 1 + n.Add(1)%made })
}

// onFile is the number of checkouts that gets ask for in turn.
const onFile = 2000

// gets returns gets of the orders that were made first, in turn.
func (c *contender) gets(b *testing.B) errand {
	b.Helper()
	asked, client := c.replays(), c.clients[0]
	all := make([][]byte, onFile)
	for i := range all {
		client.out = asked(client.out[:0])
		id, err := client.checkoutOf(client.out)
		if err != nil {
			b.Fatal(err)
		}
		all[i] = c.request(http.MethodGet, "/v1/provider-checkouts/"+id, "")
	}
	var n atomic.Uint64
	return func(to []byte) []byte { return append(to, all[n.Add(1)%onFile]...) }
}
