package fakeprocessor

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The records of a billing request: how it was begun, for each return URL, how it was completed, and that its mandate is cancelled.

func startName(id, returnURL string) string {
	return fmt.Sprintf("%s%x", startPrefix(id), sha256.Sum256([]byte(returnURL)))
}

func startPrefix(id string) string { return "start/" + id + "/" }

func doneName(id string) string { return "done/" + id }

func endName(id string) string { return doneName(id) + "/end" }

// startWire is the part of a start that the page needs.
type startWire struct {
	ProviderName string `json:"provider_name"`
	Description  string `json:"description"`

	First     string `json:"first_payment"` // its amount and day
	Initiator string `json:"initiator"`
	Debits    string `json:"debits"` // who debits, under which code, as what
	Authority string `json:"authority"`
}

func toStartWire(start checkout.SetupStart) startWire {
	_, authority, _ := start.Terms.Parts()
	return startWire{ProviderName: start.ProviderName, Description: start.Description,
		First:     start.First.Amount.Dollars() + ", planned for " + start.First.Taken.Long(),
		Initiator: start.Terms.Initiator(), Debits: start.Terms.Debits(), Authority: authority}
}

// keepStart keeps what the page of a billing request shows, in the place of what it showed for the same return URL before.
func (p *Processor) keepStart(ctx context.Context, id string, start checkout.SetupStart) error {
	name, shown := startName(id, start.ReturnURL), toStartWire(start)
	var before startWire
	if err := p.read(ctx, name, &before); err == nil && before != shown {
		if err := p.records.DropSandboxRecords(ctx, name); err != nil {
			return err
		}
	}
	return p.keep(ctx, name, shown)
}

// completionWire is a payer's form with the time of its arrival, or a cancel.
type completionWire struct {
	Holder    string                `json:"account_holder_name"`
	Mask      agreement.AccountMask `json:"account_mask"`
	At        time.Time             `json:"completed_at"`
	Cancelled bool                  `json:"cancelled,omitempty"`

	// The fate of the account (bankaccount.Fate).
	Mandate checkout.MandateStatus `json:"mandate,omitempty"`
	Reason  string                 `json:"reason,omitempty"`
}

func (p *Processor) keep(ctx context.Context, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return p.records.KeepSandboxRecord(ctx, name, data)
}

func (p *Processor) read(ctx context.Context, name string, into any) error {
	data, err := p.records.SandboxRecord(ctx, name)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
