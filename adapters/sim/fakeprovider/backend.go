package fakeprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// checkoutsPath is the path of the API under which checkouts are.
const checkoutsPath = "/v1/provider-checkouts"

// maxAnswer is the largest answer of the API, in bytes, that is read.
const maxAnswer = 1 << 20

// create opens the checkout of the current order, or asks for it again: the same create is a replay, which answers with
// the setup page that is to be used now.
func (p *Provider) create(ctx context.Context) (createdWire, error) {
	order := p.snapshot().order
	var created createdWire
	err := p.call(ctx, order, http.MethodPost, checkoutsPath, p.createBody(order), &created)
	if err != nil {
		return createdWire{}, fmt.Errorf("create the checkout of order %s: %w", order, err)
	}
	p.update(order, func(e *enrolment) { e.opened = created })
	return created, nil
}

// setUp asks whether the direct debit of the current order is set up.
func (p *Provider) setUp(ctx context.Context, e enrolment) (bool, error) {
	var polled polledWire
	if err := p.call(ctx, e.order, http.MethodGet, e.path(), nil, &polled); err != nil {
		return false, fmt.Errorf("get the checkout of order %s: %w", e.order, err)
	}
	return polled.DirectDebit.SetupComplete, nil
}

// confirm confirms the current order with what the student declares. Repeating it is safe.
func (p *Provider) confirm(ctx context.Context, e enrolment, declared map[string]bool) error {
	var confirmed confirmedWire
	if err := p.call(ctx, e.order, http.MethodPost, e.path()+"/confirm", p.confirmBody(e, declared), &confirmed); err != nil {
		return fmt.Errorf("confirm the checkout of order %s: %w", e.order, err)
	}
	p.update(e.order, func(e *enrolment) { e.confirmed, e.agreement = true, confirmed.Agreement })
	return nil
}

// path returns the path of the enrolment's checkout.
func (e enrolment) path() string { return checkoutsPath + "/" + e.opened.Checkout.ID }

// refusal is an answer of the API other than the one that was asked for.
type refusal struct {
	Status  int
	Code    string
	Message string
	Request string // its id
	Fields  map[string]string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.Status, r.Code, r.Message) }

// call sends one request of the order to the API, with the key of the provider, and reads its answer.
func (p *Provider) call(ctx context.Context, order, method, path string, body, answer any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.API+path, sent)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.Key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	p.update(order, func(e *enrolment) { e.note(call{method, path, strings.TrimSpace(resp.Status), 1}) })
	if resp.StatusCode >= http.StatusMultipleChoices {
		return refused(resp.StatusCode, text)
	}
	return json.Unmarshal(text, answer)
}

// note records a call. Calls in a row with the same answer, such as polls, are one.
func (e *enrolment) note(c call) {
	e.calls = e.calls[:len(e.calls):len(e.calls)] // a snapshot keeps what it has
	if last := len(e.calls) - 1; last >= 0 {
		former := e.calls[last]
		if former.Method == c.Method && former.Path == c.Path && former.Answer == c.Answer {
			c.Times += former.Times
			e.calls = append(e.calls[:last:last], c)
			return
		}
	}
	e.calls = append(e.calls, c)
}

// refused returns the refusal in an answer.
func refused(status int, text []byte) error {
	var w errorWire
	if err := json.Unmarshal(text, &w); err != nil {
		return fmt.Errorf("%d with %.200q: %w", status, text, err)
	}
	r := &refusal{Status: status, Code: w.Error.Code, Message: w.Error.Message, Request: w.RequestID, Fields: map[string]string{}}
	for _, d := range w.Error.Details {
		r.Fields[d.Field] = d.Message
	}
	return r
}
