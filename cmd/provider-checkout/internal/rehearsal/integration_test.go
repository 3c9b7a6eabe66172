package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// integration is a small integration of a provider, which is right unless it has a bug.
type integration struct {
	http      *http.Client
	base      string
	key, next string
	bug       string // that it has
	secret    string

	worker chan struct{} // taken for a call, and by oneWorker for an event

	mu     sync.Mutex
	events map[string]bool // by event_id, and orders whose checkout.created came
	keys   int
}

// These are no bugs: the integration makes one call at a time, and takes no event meanwhile; or it names no situation, and has the
// next key alone.
const (
	oneWorker   = "has one worker"
	onlyNextKey = "has the next key"
)

// newIntegration returns an integration that is right.
func newIntegration(base string) *integration {
	return &integration{base: base, key: keyOf("KOWHAI", "first"), next: keyOf("KOWHAI", "next"),
		secret: "whsec_demonstration_only_kowhai", events: map[string]bool{}, worker: make(chan struct{}, 1)}
}

// errRefused is a refusal that is not to be tried again.
var errRefused = errors.New("refused")

// enrol enrols a student under an order id.
func (i *integration) enrol(ctx context.Context, order string) error {
	if i.bug == "mends its texts" {
		i.bug = "sends texts"
		_ = i.enrol(ctx, "FIRST+"+order)
		i.bug = ""
	}
	key := i.key
	if strings.HasSuffix(order, keyRotated) && i.bug != "has one key" {
		key = i.next
	}
	created, err := i.create(ctx, key, order)
	if err != nil {
		return err
	}
	if i.bug == "uses the former key on" {
		key = i.key
	}
	if i.bug == "confirms without a poll" {
		_, _ = i.call(ctx, key, "POST", created.CheckoutPath()+"/confirm", created.ConfirmBody(), 1)
	}
	if err := i.await(ctx, key, created); err != nil {
		return err
	}
	attempts := 5
	switch i.bug {
	case "never confirms":
		return nil
	case "confirms once":
		attempts = 1
	}
	answer, err := i.call(ctx, key, "POST", created.CheckoutPath()+"/confirm", created.ConfirmBody(), attempts)
	if err == nil && i.bug == "takes a repeat for an error" && answer.At("already_confirmed") == true {
		_, err = i.create(ctx, key, order)
	}
	return err
}

// create creates the checkout of an order.
func (i *integration) create(ctx context.Context, key, order string) (apiclient.Response, error) {
	body := apiclient.CreateRequest{ProviderCode: "KOWHAI", OrderID: order, FirstName: "Aroha", LastName: "Ngata",
		Email: "aroha@example.nz", CourseCode: "NZDIP-BUS", Frequency: "Weekly",
		FirstPayment: money.DateOf(time.Now()).AddDays(14).String()}.String()
	if i.bug == "sends no name" {
		body = strings.Replace(body, "Aroha", "", 1)
	}
	price := map[string]string{"sends texts": `"2990.00"`, "sends parts of cents": "2990.0001"}[i.bug]
	if price != "" {
		body = body[:len(body)-1] + `, "pricing": {"course_price": ` + price + `}}`
	}
	switch i.bug {
	case "makes another order of a retry":
		created, err := i.call(ctx, key, "POST", apiclient.CheckoutsPath, body, 1)
		if err == nil {
			return created, nil
		}
		time.Sleep(time.Second)
		return i.call(ctx, key, "POST", apiclient.CheckoutsPath, strings.Replace(body, order, "AGAIN", 1), 5)
	case "makes another order of a retry in the same situation":
		_, _ = i.call(ctx, key, "POST", apiclient.CheckoutsPath, body, 1)
		return i.call(ctx, key, "POST", apiclient.CheckoutsPath, strings.Replace(body, order, "AGAIN+"+order, 1), 5)
	case "creates once":
		return i.call(ctx, key, "POST", apiclient.CheckoutsPath, body, 1)
	}
	return i.call(ctx, key, "POST", apiclient.CheckoutsPath, body, 5)
}

// await polls until the setup is complete.
func (i *integration) await(ctx context.Context, key string, created apiclient.Response) error {
	for n := 1; ; n++ {
		attempts := 5
		if i.bug == "gives up a poll that fails" {
			attempts = 1
		}
		polled, err := i.call(ctx, key, "GET", created.CheckoutPath(), "", attempts)
		if err != nil {
			return err
		}
		wait := 2 * time.Second
		switch {
		case polled.SetupComplete():
			return nil
		case i.bug == "polls five times" && n == 5:
			return errors.New("given up")
		case i.bug == "takes a bank account for a mandate" && polled.String("direct_debit.billing_request_status") == "fulfilled":
			return nil
		case i.bug == "polls for ever":
		case i.bug == "confirms what was cancelled" && polled.String("checkout.status") == "cancelled":
			return nil
		case polled.At("direct_debit.next_poll_after") == nil:
			return errors.New("cancelled")
		case i.bug == "polls as fast as it can":
			wait = 100 * time.Millisecond
		}
		time.Sleep(wait)
	}
}

// call sends a request, and sends it again where that is right.
func (i *integration) call(ctx context.Context, key, method, path, body string, attempts int) (apiclient.Response, error) {
	idempotencyKey := "order-1"
	for attempt := 1; ; attempt++ {
		limit, cancel := context.WithTimeout(ctx, i.timeout())
		req, err := http.NewRequestWithContext(limit, method, i.base+path, strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		if i.bug == "sends forms" {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if i.bug == "makes keys of its own" && method == "POST" {
			i.mu.Lock()
			i.keys++
			idempotencyKey = fmt.Sprint("key-", i.keys)
			i.mu.Unlock()
			req.Header.Set("Idempotency-Key", idempotencyKey)
		}
		if i.bug == oneWorker {
			i.worker <- struct{}{}
		}
		answer, err := apiclient.Send(i.http.Do, req)
		if i.bug == oneWorker {
			<-i.worker
		}
		cancel()
		wait := time.Second << (attempt - 1)
		switch {
		case err == nil && answer.Status < 300:
			return answer, nil
		case err == nil && answer.Status != 429 && answer.Status < 500 && i.bug != "retries everything":
			return answer, fmt.Errorf("%w: %d %s", errRefused, answer.Status, answer.Body)
		case attempt >= attempts:
			return answer, errors.Join(err, errors.New("given up"))
		}
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && i.bug != "ignores Retry-After" {
			wait = time.Duration(seconds) * time.Second
		}
		if i.bug == "ignores Retry-After" {
			wait = 100 * time.Millisecond
		}
		if i.bug == "changes what it sends again" {
			body = strings.Replace(body, "Weekly", "Fortnightly", 1)
		}
		time.Sleep(wait)
	}
}

func (i *integration) timeout() time.Duration {
	if i.bug == "waits five seconds" {
		return 5 * time.Second
	}
	return 30 * time.Second
}

// receive is the receiver of events.
func (i *integration) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	if i.bug == oneWorker {
		i.worker <- struct{}{}
		defer func() { <-i.worker }()
	}
	signature := r.Header.Get(events.HeaderSignature)
	if i.bug == "reads the first signature only" {
		signature = strings.Join(strings.SplitN(signature, ",", 3)[:2], ",")
	}
	err = events.Verify(i.secret, signature, body, time.Now(), 5*time.Minute)
	switch {
	case i.bug == "checks no signature", i.bug == "checks no time" && errors.Is(err, events.ErrTooOld):
	case err != nil:
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var event struct {
		ID   string `json:"event_id"`
		Name string `json:"event"`
		Data struct {
			Order    string `json:"provider_order_id"`
			Checkout string `json:"checkout_id"`
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		panic(err)
	}
	i.mu.Lock()
	seen, known := i.events[event.ID], i.events[event.Data.Order]
	i.events[event.ID] = true
	i.events[event.Data.Order] = i.events[event.Data.Order] || event.Name == "checkout.created"
	i.mu.Unlock()
	switch {
	case i.bug == "redirects events":
		w.Header().Set("Location", "/events/")
		w.WriteHeader(http.StatusMovedPermanently)
	case i.bug == "refuses events":
		w.WriteHeader(http.StatusNotFound)
	case i.bug == "works before it answers":
		time.Sleep(3 * time.Second)
	case i.bug == "refuses what it has" && seen:
		w.WriteHeader(http.StatusConflict)
	case i.bug == "wants events in order" && !known && event.Name != "checkout.created":
		w.WriteHeader(http.StatusConflict)
	case i.bug == "acts on each delivery" && event.Name == "checkout.created":
		go func() { _, _ = i.create(context.WithoutCancel(r.Context()), i.key, event.Data.Order) }()
	}
}

// Send implements ports.Sender.
func (i *integration) Send(ctx context.Context, _ catalogue.Destination, d events.Delivery, attempt int) (answer checkout.Answer,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, "POST", "/events", bytes.NewReader(d.Event.Body))
	for name, value := range d.Header(attempt) {
		req.Header.Set(name, value)
	}
	resp, err := connection{http.HandlerFunc(i.receive)}.RoundTrip(req)
	switch {
	case err != nil:
		return answer, err
	case resp.StatusCode > 299:
		err = fmt.Errorf("answered %d", resp.StatusCode)
	}
	return checkout.Answer{Status: resp.StatusCode}, err
}

// connection is a connection to a handler, without a network.
type connection struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (c connection) RoundTrip(r *http.Request) (*http.Response, error) {
	calling := r.Context()
	serving, hangUp := context.WithCancel(context.Background()) // the server knows no values of the client
	context.AfterFunc(calling, hangUp)
	r = r.Clone(serving)
	r.RemoteAddr = "127.0.0.1:2"
	if r.Body == nil {
		r.Body = http.NoBody
	}
	answered := make(chan *http.Response, 1)
	go func() {
		defer close(answered)
		defer hangUp()
		defer func() {
			if fault := recover(); fault != nil && fault != http.ErrAbortHandler { //nolint:errorlint // as the server does
				panic(fault)
			}
		}()
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		answered <- w.Result()
	}()
	select {
	case resp, ok := <-answered:
		if !ok {
			return nil, io.EOF
		}
		resp.Request = r
		return resp, nil
	case <-calling.Done():
		return nil, context.Cause(calling)
	}
}
