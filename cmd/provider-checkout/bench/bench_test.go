package bench_test

// The benchmarks of this folder measure the service as its clients see it, over HTTP on the loopback interface, as
// ratios of the most that the machine allows (see floor), in one run:
//
//	go test -bench 'Create|Replay|Get|Confirm' ./cmd/provider-checkout/bench
//
// For the service and for the floor they report answers a second (/s), the 99th percentile of the latency
// (p99-ms) and the server's CPU time for each answer (cpu-µs); and each as a multiple of the floor's
// (x-floor, p99-x-floor, cpu-x-floor). ours-peak-MB is the service's peak memory so far. The CPU time of a
// PostgreSQL server is not counted. No benchmark fails because it is slow.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// onEachStore runs a benchmark on each kind of store. place names an empty one.
func onEachStore(b *testing.B, bench func(b *testing.B, place func() string)) {
	b.Run("sqlite", func(b *testing.B) {
		bench(b, func() string { return "sqlite:" + filepath.Join(b.TempDir(), "store.db") })
	})
	b.Run("postgres", func(b *testing.B) {
		bench(b, func() string { return postgrestest.QuickURL(b) })
	})
}

func BenchmarkCreate(b *testing.B) {
	onEachStore(b, func(b *testing.B, place func() string) {
		s := fill(b, place(), 0, 0)
		compare(b,
			&contender{child: s.serve(b), name: "ours", next: creates(s.key), status: "201"},
			&contender{child: startFloor(b, place(), s.key), name: "floor", next: creates(s.key), status: "201"})
	})
}

// onFile is the number of checkouts that a benchmark reads in turn.
const onFile = 2000

func BenchmarkReplay(b *testing.B) {
	onEachStore(b, func(b *testing.B, place func() string) {
		s := fill(b, place(), onFile, 0)
		floor, _ := startFilledFloor(b, place(), s.key)
		compare(b,
			&contender{child: s.serve(b), name: "ours", next: inTurn(replays(s.key)), status: "200"},
			&contender{child: floor, name: "floor", next: inTurn(replays(s.key)), status: "200"})
	})
}

func BenchmarkGet(b *testing.B) {
	onEachStore(b, func(b *testing.B, place func() string) {
		s := fill(b, place(), onFile, 0)
		floor, ids := startFilledFloor(b, place(), s.key)
		compare(b,
			&contender{child: s.serve(b), name: "ours", next: inTurn(gets(s.key, idsOf(s.open))), status: "200"},
			&contender{child: floor, name: "floor", next: inTurn(gets(s.key, ids)), status: "200"})
	})
}

// BenchmarkConfirm is compared with nothing: there is no floor for the rendering of agreements. The students'
// names have macrons.
func BenchmarkConfirm(b *testing.B) {
	onEachStore(b, func(b *testing.B, place func() string) {
		s := fill(b, place(), 0, 9000)
		compare(b, &contender{child: s.serve(b), name: "ours", next: once(s.confirms(b)), status: "200"}, nil)
	})
}

// BenchmarkConfirmAgain compares with the floor's replay, because both only look up what is stored.
func BenchmarkConfirmAgain(b *testing.B) {
	onEachStore(b, func(b *testing.B, place func() string) {
		s := fill(b, place(), 0, 500)
		floor, _ := startFilledFloor(b, place(), s.key)
		ours := &contender{child: s.serve(b), name: "ours", next: inTurn(s.confirms(b)), status: "200"}
		goRound(b, dial(b, ours.addr, 16), once(s.confirms(b)), "200", time.Minute)
		compare(b, ours,
			&contender{child: floor, name: "floor", next: inTurn(replays(s.key)), status: "200"})
	})
}

// serve starts the service over the store.
func (s *benchStore) serve(b *testing.B) *child {
	b.Helper()
	return startChild(b, s.program.Command("serve", "--store", s.spec, "--rate-limit", "0"))
}

// startFilledFloor starts a floor with the orders below onFile, and returns their rows' ids.
func startFilledFloor(b *testing.B, store, key string) (*child, []string) {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	rows, err := openFloor(ctx, store)
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]string, onFile)
	for n := range ids {
		r := &floorRow{id: floorID(time.Now()), order: benchOrder(uint64(n)), token: "token", body: []byte(benchCreate)}
		if err := rows.put(ctx, r); err != nil {
			b.Fatal(err)
		}
		ids[n] = r.id
	}
	if err := rows.close(); err != nil {
		b.Fatal(err)
	}
	return startFloor(b, store, key), ids
}

// request is a request as a client writes it.
func request(key, method, path, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, key, len(body), body)
}

// createRequest is a create of the nth order.
func createRequest(key string, n uint64) []byte {
	return request(key, http.MethodPost, "/v1/provider-checkouts", sandbox.Order(benchCreate, benchOrder(n)))
}

// creates returns creates of new orders, without end.
func creates(key string) errand {
	first := createRequest(key, newOrders)
	at := bytes.Index(first, []byte(benchOrder(newOrders)))
	var n atomic.Uint64
	return func(to []byte) []byte {
		to = append(to, first...)
		copy(to[at:], benchOrder(newOrders+n.Add(1)))
		return to
	}
}

// replays returns creates of the orders below onFile.
func replays(key string) [][]byte {
	all := make([][]byte, onFile)
	for n := range all {
		all[n] = createRequest(key, uint64(n))
	}
	return all
}

func gets(key string, ids []string) [][]byte {
	all := make([][]byte, len(ids))
	for i, id := range ids {
		all[i] = request(key, http.MethodGet, "/v1/provider-checkouts/"+id, "")
	}
	return all
}

func idsOf(stored []checkout.Checkout) []string {
	ids := make([]string, len(stored))
	for i, c := range stored {
		ids[i] = c.ID
	}
	return ids
}

// confirms returns confirms of the checkouts that are ready.
func (s *benchStore) confirms(b *testing.B) [][]byte {
	b.Helper()
	all := make([][]byte, len(s.ready))
	for i, c := range s.ready {
		token, ok := s.keyring.Text(c.ID, c.Latest())
		if !ok {
			b.Fatalf("the token of %s cannot be derived", c.ID)
		}
		type object = map[string]any
		body, err := json.Marshal(object{
			"provider": object{"provider_code": c.ProviderCode, "provider_order_id": c.OrderID},
			"checkout": object{"checkout_id": c.ID, "checkout_token": token,
				"opportunity_id": c.Records.OpportunityID, "dda_id": c.Records.DDAID},
			"payment": object{"payment_method": checkout.PaymentMethod, "first_payment_date": "2027-02-01", "deposit_confirmed": true},
			"declarations": object{"payment_plan_accepted": true, "information_confirmed": true,
				"privacy_consent_accepted": true},
		})
		if err != nil {
			b.Fatal(err)
		}
		all[i] = request(s.key, http.MethodPost, "/v1/provider-checkouts/"+c.ID+"/confirm", string(body))
	}
	return all
}

// inTurn returns the requests in turn, without end.
func inTurn(requests [][]byte) errand {
	var n atomic.Uint64
	return func(to []byte) []byte { return append(to, requests[n.Add(1)%uint64(len(requests))]...) }
}

// once returns each request once.
func once(requests [][]byte) errand {
	var n atomic.Int64
	return func(to []byte) []byte {
		if i := n.Add(1) - 1; i < int64(len(requests)) {
			return append(to, requests[i]...)
		}
		return nil
	}
}
