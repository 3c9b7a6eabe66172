package providers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The bounds of one pull. The lease outlives it, so it is not renewed.
const (
	pullTask    = "providers from the CRM"
	pullLimit   = 2 * time.Minute
	pullLease   = 3 * time.Minute
	saveTimeout = 5 * time.Second
)

// Records is where a Puller stores what it reads.
type Records interface {
	ports.Configurer
	ports.Notifications
}

// Puller stores what the CRM says of providers, again and again. Every process runs one; between them they ask the CRM about
// once an interval. Every field is required.
type Puller struct {
	Read    func(context.Context) ([]catalogue.Configuration, error)
	Records Records
	Record  func(subject string, differences []string) (evidence.Entry, error) // as that of a Change
	Every   time.Duration
	Log     *slog.Logger
	Now     func() time.Time
}

// Run pulls at once and then at every interval, until ctx ends. A pull that fails changes nothing and is logged.
func (p Puller) Run(ctx context.Context) {
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for {
		switch differences, err := p.pull(ctx); {
		case err != nil && ctx.Err() == nil:
			p.Log.LogAttrs(ctx, slog.LevelWarn, "pull providers", slog.Any("error", err))
		case len(differences) > 0:
			p.Log.LogAttrs(ctx, slog.LevelInfo, "providers changed", slog.Any("changes", differences))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// pull reads and stores, unless another process does so now or did of late.
func (p Puller) pull(ctx context.Context) (differences []string, err error) {
	now := p.now()
	task, err := p.Records.LeaseTask(ctx, pullTask, now, now.Add(pullLease))
	if errors.Is(err, ports.ErrBusy) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lease the task: %w", err)
	}
	defer func() { // the lease is given back
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		defer cancel()
		if saved := p.Records.SaveTask(ctx, pullTask, task, p.now()); saved != nil && !errors.Is(saved, ports.ErrNotFound) {
			err = errors.Join(err, fmt.Errorf("give back the lease: %w", saved))
		}
	}()
	last, unknown := time.Parse(time.RFC3339Nano, task.Cursor)
	// Half an interval, because the ticks of one process are not exactly an interval apart.
	if age := now.Sub(last); unknown == nil && 0 <= age && age < p.Every/2 {
		return nil, nil
	}
	task.Cursor = now.Format(time.RFC3339Nano)
	ctx, cancel := context.WithTimeout(ctx, pullLimit)
	defer cancel()
	named, err := p.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the CRM: %w", err)
	}
	// A process that was suspended meanwhile has lost the lease, and must not put what it read before over what is newer.
	if err := p.Records.SaveTask(ctx, pullTask, task, p.now().Add(pullLease)); err != nil {
		return nil, fmt.Errorf("keep the lease: %w", err)
	}
	return Change{Named: named, KeepDestinations: true, Record: p.Record}.Store(ctx, p.Records)
}

func (p Puller) now() time.Time { return p.Now().UTC().Truncate(time.Millisecond) }
