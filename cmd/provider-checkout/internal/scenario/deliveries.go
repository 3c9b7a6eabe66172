package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Deliveries returns, by the ids of the events of an order to which a scenario happened, how often a receiver got the event in what the
// journal has as one delivery: 0 for an event that was lost, 2 for an event that was sent twice.
func Deliveries(ctx context.Context, records Records, provider, order string) (map[string]int, error) {
	script, err := scripts{records}.read(ctx, provider, order)
	if err != nil {
		return nil, err
	}
	times := map[string]int{}
	for _, e := range script.entries {
		n, changed := map[Scenario]int{EventLost: 0, EventTwice: 2}[e.Scenario]
		if !changed {
			continue
		}
		id, err := records.SandboxRecord(ctx, e.name+"/taken")
		switch {
		case errors.Is(err, ports.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("read the script of an order: %w", err)
		default:
			times[string(id)] = n
		}
	}
	return times, nil
}
