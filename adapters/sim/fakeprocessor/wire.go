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

// The records of a billing request: how it was begun, for each return URL, and how it was completed.

func startName(id, returnURL string) string {
	return fmt.Sprintf("%s%x", startPrefix(id), sha256.Sum256([]byte(returnURL)))
}

func startPrefix(id string) string { return "start/" + id + "/" }

func doneName(id string) string { return "done/" + id }

// startWire is the part of a start that the page needs.
type startWire struct {
	ProviderName string   `json:"provider_name"`
	Description  string   `json:"description"`
	FrameOrigins []string `json:"frame_origins,omitempty"`
}

func toStartWire(s checkout.SetupStart) startWire {
	return startWire{s.ProviderName, s.Description, s.FrameOrigins}
}

// doneWire is a completion.
type doneWire struct {
	AccountHolder string                `json:"account_holder_name"`
	AccountMask   agreement.AccountMask `json:"account_mask"`
	CompletedAt   time.Time             `json:"completed_at"`
}

func toDoneWire(c completion) doneWire { return doneWire{c.holder, c.mask, c.at} }

func (w doneWire) toDomain() completion {
	return completion{w.AccountHolder, w.AccountMask, w.CompletedAt.UTC()}
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
