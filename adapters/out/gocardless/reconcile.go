package gocardless

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	reconcileTask  = "gocardless events"
	reconcileEvery = 20 * time.Second
	reconcileLease = 30 * time.Second // renewed while it goes on, and short because a process that was killed keeps its own
	reconcileLimit = 2 * time.Minute
	// overlap is the time before the last reading that is read again: an event may be listed a little later than its time says.
	overlap     = 2 * time.Minute
	firstWindow = time.Hour // what the first reconciliation of a store reads
	eventsPage  = 500

	sweepAfter = 15 * time.Second // by then the process that took a notification has handled it, or ended
	sweepBatch = 500
	handlers   = 4  // notifications that are handled at once, so that one which takes long does not hold up the others
	refreshers = 12 // looks at once for each

	// settlingFor is the longest time that a notification stays pending because its fulfilled billing request has no mandate.
	// After that only the service's own sweep looks at it.
	settlingFor = time.Hour
)

// errSettling: the payer has finished and GoCardless has not. If it says that the billing request is fulfilled, the
// notification that ends this state may name only the mandate, which is not known here: so it is looked at again.
var errSettling = errors.New("the billing request is settling")

// Run handles the notifications that came, and reads the list of events for lost notifications, until ctx ends. It
// returns when the work in progress is done. Every process runs it; one at a time reads the list.
func (r *Receiver) Run(ctx context.Context) {
	var all sync.WaitGroup
	for range handlers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case fresh := <-r.fresh:
					_, err := r.handle(ctx, fresh)
					r.report(ctx, err)
				}
			}
		})
	}
	all.Go(func() {
		tick := time.NewTicker(reconcileEvery)
		defer tick.Stop()
		for {
			r.report(ctx, r.Reconcile(ctx))
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	all.Wait()
}

func (r *Receiver) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.Report(ctx, err)
	}
}

// Reconcile reads the events since the last time and handles each event that no notification brought, unless another
// process does so now. Run calls it.
func (r *Receiver) Reconcile(ctx context.Context) (err error) {
	now := r.now()
	task, err := r.Records.LeaseTask(ctx, reconcileTask, now, now.Add(reconcileLease))
	if errors.Is(err, ports.ErrBusy) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lease the reconciliation: %w", err)
	}
	defer func() { // the lease is given back, with the cursor where it got to
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
		defer cancel()
		if saved := r.Records.SaveTask(ctx, reconcileTask, task, r.now()); saved != nil && !errors.Is(saved, ports.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("save the reconciliation: %w", saved))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, reconcileLimit)
	defer cancel()
	defer r.renew(ctx, cancel, task)()
	if err = r.readEvents(ctx, &task, now); err != nil {
		err = fmt.Errorf("read the events: %w", err)
	}
	return errors.Join(err, r.sweep(ctx)) // what is on record needs no list
}

// renew extends the lease of a task until the returned function is called, and cancels the work if another process has it.
func (r *Receiver) renew(ctx context.Context, cancel context.CancelFunc, task ports.Task) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(reconcileLease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := r.Records.SaveTask(ctx, reconcileTask, task, r.now().Add(reconcileLease))
			if errors.Is(err, ports.ErrNotFound) {
				cancel()
				return
			}
			r.report(ctx, err)
		}
	}()
	return func() { end(); <-done }
}

// readEvents keeps every event since the task's cursor, and moves the cursor to now only when all are kept: the list is
// newest first, so what is read last is what would be lost.
func (r *Receiver) readEvents(ctx context.Context, task *ports.Task, now time.Time) error {
	since, err := time.Parse(time.RFC3339Nano, task.Cursor)
	if err != nil {
		since = now.Add(-firstWindow)
	}
	for after := ""; ; {
		page, next, err := r.Processor.client.events(ctx, since.Add(-overlap), after)
		if err != nil {
			return err
		}
		given, err := toNotifications(page, now)
		if err != nil {
			return err
		}
		fresh, err := r.Records.KeepNotifications(ctx, given)
		if err != nil {
			return err
		}
		_, err = r.handle(ctx, fresh)
		r.report(ctx, err) // what failed stays pending
		if next == "" {
			break
		}
		after = next
	}
	task.Cursor = now.Format(time.RFC3339Nano)
	return nil
}

// sweep handles what a process has kept and not handled, as long as there is more and it gets on.
func (r *Receiver) sweep(ctx context.Context) (failed error) {
	for {
		pending, err := r.Records.PendingNotifications(ctx, r.now().Add(-sweepAfter), sweepBatch)
		if err != nil {
			return fmt.Errorf("list the pending notifications: %w", err)
		}
		settled, err := r.handle(ctx, pending)
		failed = cmp.Or(failed, err)
		if settled == 0 || len(pending) < sweepBatch {
			return failed
		}
	}
}

// handle has every checkout looked at that the notifications are about, once each, and settles a notification when its
// checkouts were looked at. The other notifications stay pending.
func (r *Receiver) handle(ctx context.Context, all []ports.Notification) (settled int, err error) {
	var (
		about = make(map[string][]string) // notification ids by resource
		await = make(map[string]bool)     // billing requests that were fulfilled of late, and so must have a mandate soon
	)
	for _, n := range all {
		resource := concerns(n)
		about[resource] = append(about[resource], n.ID)
		await[resource] = await[resource] || n.Action == "fulfilled" && r.now().Sub(n.Received) <= settlingFor
	}
	var (
		mu       sync.Mutex
		done     = about[""] // kept and ignored
		failed   error       // the first
		failures int
		group    sync.WaitGroup
		running  = make(chan struct{}, refreshers)
	)
	delete(about, "")
	for resource, ids := range about {
		running <- struct{}{}
		group.Go(func() {
			defer func() { <-running }()
			err := r.look(ctx, resource)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil, errors.Is(err, errSettling) && !await[resource]:
				done = append(done, ids...)
			case !errors.Is(err, errSettling):
				failures++
				failed = cmp.Or(failed, err)
			}
		})
	}
	group.Wait()
	if failures > 1 {
		failed = fmt.Errorf("%w, and %d more", failed, failures-1)
	}
	if len(done) > 0 {
		if err := r.Records.SettleNotifications(ctx, done, r.now()); err != nil {
			return 0, errors.Join(failed, fmt.Errorf("settle notifications: %w", err))
		}
	}
	return len(done), failed
}

// concerns returns the billing request or mandate that has to be looked at, or "" for a notification that changes nothing
// here: of another resource, or of a step on the payer's way.
func concerns(n ports.Notification) string {
	switch {
	case n.Resource == "billing_requests" && slices.Contains([]string{"payer_details_confirmed", "fulfilled", "cancelled", "failed"}, n.Action),
		n.Resource == "mandates" && n.BillingRequestID != "":
		return n.BillingRequestID
	case n.Resource == "mandates" && n.Action != "created": // which fulfilled brings
		return n.MandateID
	}
	return ""
}

// look has the checkout of a billing request or mandate looked at. There may be no checkout: the account may have other users.
// It returns errSettling if the billing request has to be looked at again.
func (r *Receiver) look(ctx context.Context, resource string) error {
	refresh := r.RefreshMandate
	if strings.HasPrefix(resource, billingRequestPrefix) {
		refresh = r.RefreshBillingRequest
	}
	c, err := refresh(ctx, resource)
	var refused *checkout.Error
	if errors.As(err, &refused) && refused.Code == checkout.CodeCheckoutNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", resource, err)
	}
	if c.Setup.BillingRequestID == resource && c.Setup.Settling() {
		return errSettling
	}
	return nil
}

// events returns a page of the events after a time, newest first, and the cursor of the next page, or "".
func (c *client) events(ctx context.Context, since time.Time, after string) (page []notifiedWire, next string, err error) {
	query := url.Values{"created_at[gt]": {since.UTC().Format(time.RFC3339Nano)}, "limit": {strconv.Itoa(eventsPage)}}
	if after != "" {
		query.Set("after", after)
	}
	page, err = send[[]notifiedWire](ctx, c, call{purpose: ports.ForNotification, method: http.MethodGet, path: "/events",
		name: "events", query: query})
	if err == nil && len(page) == eventsPage {
		next = page[len(page)-1].ID
	}
	return page, next, err
}
