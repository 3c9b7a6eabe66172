package salesforce_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// delaying is a network that keeps one request back: its sender has no answer, and goes on.
type delaying struct {
	at   int // requests that were sent before
	sent int
	late *http.Request
}

// RoundTrip implements http.RoundTripper.
func (d *delaying) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.sent++; d.sent != d.at+1 {
		return http.DefaultTransport.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	d.late = r.Clone(context.WithoutCancel(r.Context()))
	d.late.Body = io.NopCloser(bytes.NewReader(body))
	return nil, errors.New("the connection was reset")
}

// A request may arrive long after its sender gave it up and made another, when the enrolment has ended and the organisation has gone on.
func TestARequestThatComesLateChangesNothing(t *testing.T) {
	for _, withdrawn := range []bool{true, false} {
		for at := 0; ; at++ {
			network := &delaying{at: at}
			b := newBench(t, func(_ *salesforcetest.Options, o *salesforce.Options) { o.Transport = network })
			c := completion(b.opened(t))
			end := checkout.Ending{EnrolmentKey: key, Records: c.Records, End: checkout.End{At: c.Agreement.AcceptedAt, By: checkout.PartyProvider}}
			if withdrawn {
				b.completed(t, c)
				for i, to := range []checkout.MandateStatus{checkout.MandateFailed, checkout.MandateActive} {
					u := checkout.AuthorityUpdate{EnrolmentKey: key, Records: c.Records, Setup: c.Setup}
					u.Setup.Mandate, u.Setup.MandateSince = to, c.Agreement.AcceptedAt.Add(time.Duration(i)*time.Hour)
					if err := b.UpdateAuthority(t.Context(), u); err != nil {
						t.Fatal(err)
					}
				}
				end.Withdrawn, end.End.Ground = true, checkout.GroundCoolingOff
			}
			if err := b.End(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			if network.late == nil {
				break
			}
			b.change(t, "Opportunity", c.Records.OpportunityID, `{"StageName":"Negotiation/Review"}`)
			b.sim.Advance(time.Minute)
			written := len(b.sim.Journal())
			answer, err := http.DefaultTransport.RoundTrip(network.late)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if now := b.sim.Journal(); len(now) != written {
				t.Errorf("withdrawn %v: %s %s, request %d, came late and wrote %+v", withdrawn, network.late.Method, network.late.URL.Path, at+1, now[written:])
			}
		}
	}
}
