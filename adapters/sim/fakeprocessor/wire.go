package fakeprocessor

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
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

// completionWire is a payer's form with the time of its arrival.
type completionWire struct {
	Holder string                `json:"account_holder_name"`
	Mask   agreement.AccountMask `json:"account_mask"`
	At     time.Time             `json:"completed_at"`
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
