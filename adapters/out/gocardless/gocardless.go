// Package gocardless is the direct debit payment processor GoCardless (API 2015-07-06), for BECS NZ: a payer's setup is a
// billing request with a mandate request, which the payer fulfils on GoCardless' own page. It uses no SDK.
//
// The idempotency key of a billing request is the natural key of the enrolment and its try, so a call whose answer was
// lost finds what it made. What a notification says is never believed: the processor looks at the resource.
package gocardless

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// host has the addresses of GoCardless for an environment: of its API, and the origin of the pages that payers are sent to.
type host struct{ api, pages string }

var hosts = map[catalogue.Environment]host{
	catalogue.Production: {"https://api.gocardless.com", "https://pay.gocardless.com"},
	catalogue.Sandbox:    {"https://api-sandbox.gocardless.com", "https://pay-sandbox.gocardless.com"},
}

// Options are the options of the processor. Environment and Token are required.
type Options struct {
	Environment catalogue.Environment
	Token       string // the access token, which needs read and write access
	// URL is the base of the API: that of GoCardless for the environment if empty. In the sandbox it may be a loopback
	// address over plain http; the payer's pages are then expected on its origin.
	URL string

	Transport http.RoundTripper // http.DefaultTransport's settings if nil
	Now       func() time.Time  // time.Now if nil
	Rand      io.Reader         // crypto/rand.Reader if nil
}

// Processor implements ports.Processor. It is safe for concurrent use.
type Processor struct {
	info      checkout.ProcessorInfo
	client    *client
	creditors *bounded.Cache[string, []creditorWire] // of the account, by ""
}

var (
	_ ports.Processor      = (*Processor)(nil)
	_ ports.AccountChecker = (*Processor)(nil)
)

// New returns a processor. Its error names everything that is wrong with the options.
func New(o Options) (*Processor, error) {
	o = o.complete()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("gocardless: %w", err)
	}
	limit := &limiter{bucket: rate.NewLimiter(rate.Limit(perMinute-burst)/60, burst), now: o.Now, pause: outbound.Pause}
	return &Processor{
		info: checkout.ProcessorInfo{Name: "gocardless", Company: "GoCardless", Environment: o.Environment, Calendar: money.BusinessDays,
			PageOrigins: []string{pagesOf(o.URL)}, Notifies: true},
		client:    &client{Options: o, limit: limit},
		creditors: bounded.NewCache[string, []creditorWire](creditorsLife, 1),
	}, nil
}

func (o Options) complete() Options {
	o.URL = strings.TrimRight(cmp.Or(o.URL, hosts[o.Environment].api), "/")
	if o.Transport == nil {
		o.Transport = outbound.NewTransport(attemptTimeout)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return o
}

// pagesOf returns the origin of the payer's pages that belong to an API.
func pagesOf(api string) string {
	for _, host := range hosts {
		if host.api == api {
			return host.pages
		}
	}
	u, _ := url.Parse(api) // which check has parsed
	return u.Scheme + "://" + u.Host
}

func (o Options) check() error {
	var reasons []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			reasons = append(reasons, fmt.Errorf(format, args...))
		}
	}
	_, err := outbound.ParseURL(o.URL, o.Environment == catalogue.Sandbox)
	unlike := func(r rune) bool { return r <= ' ' || r > '~' }
	wrong(!o.Environment.Valid(), "environment %q is neither sandbox nor production", o.Environment)
	wrong(o.Token == "", "the access token is missing")
	wrong(strings.ContainsFunc(o.Token, unlike), "the access token has a character that no token has")
	wrong(err != nil, "the URL of the API, %q, %w", o.URL, err)
	production := o.Environment == catalogue.Production
	wrong(production && o.URL == hosts[catalogue.Sandbox].api, "production is refused on the sandbox host %s", o.URL)
	wrong(!production && o.URL == hosts[catalogue.Production].api, "the sandbox is refused on the live host %s", o.URL)
	return errors.Join(reasons...)
}

// Info implements ports.Processor.
func (p *Processor) Info() checkout.ProcessorInfo {
	info := p.info
	info.PageOrigins = slices.Clone(info.PageOrigins)
	return info
}

// Begin implements ports.Processor: it makes the billing request, or finds it by its key, and makes a new flow of it,
// which opens for seven days. Where the payer has finished meanwhile there is no flow any more, and the payer goes back
// to the return URL.
func (p *Processor) Begin(ctx context.Context, start checkout.SetupStart) (checkout.BillingRequest, error) {
	request, err := p.billingRequest(ctx, start)
	if err != nil {
		return checkout.BillingRequest{}, err
	}
	page := start.ReturnURL
	if request.Status == checkout.BillingPending {
		if page, err = p.flow(ctx, request.ID, start); errors.Is(err, errInvalidState) { // the payer may just have finished
			again, failed := p.client.billingRequest(ctx, request.ID)
			if failed == nil && again.Status != checkout.BillingPending {
				page, err = start.ReturnURL, nil
			}
		}
	}
	if err != nil {
		return checkout.BillingRequest{}, fmt.Errorf("make a flow of billing request %s: %w", request.ID, err)
	}
	return checkout.BillingRequest{ID: request.ID, URL: page}, nil
}

// billingRequest makes the billing request of a start, or finds the one with its key. That one may name another checkout of the
// same enrolment, which was lost when the store was restored from a backup.
func (p *Processor) billingRequest(ctx context.Context, start checkout.SetupStart) (billingRequestWire, error) {
	made, err := send[billingRequestWire](ctx, p.client, call{method: http.MethodPost, path: "/billing_requests", key: start.Key,
		body: toBillingRequestWire(start)})
	if conflict, ok := errors.AsType[*apiError](err); ok && conflict.conflicting != "" {
		made, err = p.client.billingRequest(ctx, conflict.conflicting)
	}
	if err != nil {
		return made, fmt.Errorf("make the billing request of %s: %w", start.CheckoutID, err)
	}
	if made.Metadata[metaKey] != start.Key {
		return made, fmt.Errorf("billing request %s, found by the key of %s, is another's", made.ID, start.CheckoutID)
	}
	return made, nil
}

// flow returns the address of a new flow, on one of the origins that the setup page's form may lead to. There may be several flows: the
// answer to a flow that was made before could not be had again.
func (p *Processor) flow(ctx context.Context, request string, start checkout.SetupStart) (string, error) {
	made, err := send[flowWire](ctx, p.client, call{method: http.MethodPost, path: "/billing_request_flows", body: toFlowWire(request, start)})
	if err != nil {
		return "", err
	}
	u, err := url.Parse(made.AuthorisationURL)
	if err != nil || !slices.Contains(p.info.PageOrigins, u.Scheme+"://"+u.Host) {
		return "", fmt.Errorf("flow %s is on none of the origins %s", made.ID, strings.Join(p.info.PageOrigins, " "))
	}
	return made.AuthorisationURL, nil
}

const creditorsLife = time.Minute

// Ready implements ports.Processor: a creditor of the account may collect by BECS NZ.
func (p *Processor) Ready(ctx context.Context) error {
	all, err := p.allCreditors(ctx)
	if err != nil {
		return err
	}
	reason := errors.New("the GoCardless account has no creditor")
	for _, creditor := range all {
		if _, reason = creditor.creditor(); reason == nil {
			return nil
		}
	}
	return reason
}

// CheckAccount implements ports.AccountChecker. An account that is no creditor's id stands for the only creditor: GoCardless takes
// no billing request without a creditor from an account with several.
func (p *Processor) CheckAccount(ctx context.Context, a checkout.Account) (checkout.Creditor, error) {
	all, err := p.allCreditors(ctx)
	switch at := slices.IndexFunc(all, func(c creditorWire) bool { return c.ID == a.ID }); {
	case err != nil:
		return checkout.Creditor{}, err
	case at >= 0:
		return all[at].creditor()
	case strings.HasPrefix(a.ID, creditorPrefix), len(all) == 0:
		return checkout.Creditor{}, fmt.Errorf("the GoCardless account has no creditor %s", a.ID)
	case len(all) > 1:
		return checkout.Creditor{}, fmt.Errorf("the GoCardless account has %d creditors, and the account id %q is none of theirs: "+
			"name one, %s…", len(all), a.ID, creditorPrefix)
	}
	return all[0].creditor()
}

// allCreditors returns the creditors of the account as they were within the last minute.
func (p *Processor) allCreditors(ctx context.Context) ([]creditorWire, error) {
	return p.creditors.Get(p.client.Now(), "", func() ([]creditorWire, error) { return get[[]creditorWire](ctx, p.client, "/creditors") })
}

// creditor returns the party that debits for the creditor, by its active identifier at BECS NZ.
func (w creditorWire) creditor() (checkout.Creditor, error) {
	status := "missing"
	for _, identifier := range w.Schemes {
		switch {
		case identifier.Scheme != scheme:
		case identifier.Status == "active":
			name := text.Normalize(identifier.Name)
			return checkout.Creditor{Notice: identifier.Notice, Authority: agreement.Authority{Initiator: name,
				AuthorisationCode: identifier.Code, Statement: name, Form: "GoCardless"}}, nil
		default:
			status = outbound.Word(identifier.Status)
		}
	}
	return checkout.Creditor{}, fmt.Errorf("no payment can be collected by BECS NZ for creditor %s of the GoCardless account: "+
		"its becs_nz scheme identifier is %s", w.ID, status)
}

// Observe implements ports.Processor. Once a setup is on record only its mandate is asked for.
func (p *Processor) Observe(ctx context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	known, request := q.Setup.Observation, q.Setup.BillingRequestID
	seen := known
	if !fulfilled(seen) {
		found, err := p.client.billingRequest(ctx, request)
		if seen = found.observation(); err != nil || seen.MandateID == "" {
			return seen, err
		}
	}
	mandate, err := p.client.mandate(ctx, seen.MandateID)
	if err == nil && seen.CompletedAt.IsZero() {
		seen.CompletedAt, err = p.completedAt(ctx, request, mandate)
	}
	if err == nil {
		seen = mandate.onto(seen)
		seen.MandateSince, seen.MandateReason, err = p.since(ctx, known, mandate)
	}
	return seen, err
}

// fulfilled reports whether everything is known of a setup but how its mandate stands now.
func fulfilled(seen checkout.Observation) bool {
	return seen.BillingRequest == checkout.BillingFulfilled && seen.MandateID != "" && seen.AccountHolder != "" && !seen.CompletedAt.IsZero()
}

// completedAt returns the time of the event that the billing request was fulfilled, or else of its mandate.
func (p *Processor) completedAt(ctx context.Context, request string, m mandateWire) (time.Time, error) {
	event, err := p.client.latestEvent(ctx, "resource_type", "billing_requests", "action", "fulfilled", "billing_request", request)
	if event.CreatedAt.IsZero() {
		event.CreatedAt = m.CreatedAt
	}
	return toMillis(event.CreatedAt), err
}

// since returns when a mandate reached its status, and the reason code, by its latest event. Both are empty where that event leads to
// another status, for the mandate has just changed again. A mandate that lives on keeps what is on record, and a mandate that has never
// ended needs no time: the statuses tell which answer is the later. A dead mandate may have been reinstated and have ended again.
func (p *Processor) since(ctx context.Context, known checkout.Observation, m mandateWire) (since time.Time, reason string, err error) {
	switch {
	case known.MandateID != "" && known.MandateID != m.ID: // it was replaced
	case known.Mandate == m.Status && !m.Status.Dead():
		return known.MandateSince, known.MandateReason, nil
	case known.MandateSince.IsZero() && !known.Mandate.Dead() && !m.Status.Dead():
		return time.Time{}, "", nil
	}
	event, err := p.client.latestEvent(ctx, "resource_type", "mandates", "mandate", m.ID)
	if !event.leadsTo(m.Status) {
		return time.Time{}, "", err
	}
	return toMillis(event.CreatedAt), outbound.Word(event.Details.ReasonCode), err
}

func toMillis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

const statusConsumed checkout.MandateStatus = "consumed"

// Cancel implements ports.Processor: it cancels the billing request or, once that is fulfilled, its mandate. What GoCardless refuses to
// cancel is looked at: only what has ended counts as cancelled.
func (p *Processor) Cancel(ctx context.Context, q checkout.SetupQuery) error {
	mandate := q.Setup.MandateID
	if mandate == "" {
		var err error
		if mandate, err = p.cancelRequest(ctx, q.Setup.BillingRequestID); mandate == "" || err != nil {
			return err
		}
	}
	return p.cancelMandate(ctx, mandate)
}

// cancelRequest cancels a billing request. It returns the id of the mandate if the payer was quicker.
func (p *Processor) cancelRequest(ctx context.Context, id string) (mandate string, err error) {
	if err := p.client.cancel(ctx, "billing_requests", id); !errors.Is(err, errInvalidState) {
		return "", err
	}
	request, err := p.client.billingRequest(ctx, id)
	switch seen := request.observation(); {
	case err != nil, seen.BillingRequest == checkout.BillingCancelled:
		return "", err
	case seen.MandateID == "":
		return "", fmt.Errorf("billing request %s is %s and has no mandate yet", id, seen.BillingRequest)
	default:
		return seen.MandateID, nil
	}
}

// cancelMandate cancels a mandate, or its replacement.
func (p *Processor) cancelMandate(ctx context.Context, id string) error {
	for attempt := 1; ; attempt++ {
		mandate, err := p.client.mandate(ctx, id)
		switch {
		case err != nil, mandate.Status.Dead(), mandate.Status == statusConsumed:
			return err
		case attempt > 1:
			return fmt.Errorf("mandate %s is %s and cannot be cancelled", mandate.ID, mandate.Status)
		}
		if err := p.client.cancel(ctx, "mandates", mandate.ID); !errors.Is(err, errInvalidState) {
			return err
		}
	}
}
