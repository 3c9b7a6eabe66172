package operate_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

func TestChooseRecordsEachChangeOnce(t *testing.T) {
	d := newDesk(t)
	for _, tt := range []struct {
		chosen, reason string
		recorded       bool
	}{
		{"usual", "", false},
		{"none", "one", true},
		{"none", "one", false},
		{"none", "two", true},
		{"usual", "", true},
		{"usual", "", false},
		{"none", "one", true},
	} {
		d.Reason = tt.reason
		if recorded, err := d.Choose(t.Context(), "terms profile", "usual", tt.chosen); err != nil || recorded != tt.recorded {
			t.Errorf("%s because %q is recorded: %v, %v; want %v", tt.chosen, tt.reason, recorded, err, tt.recorded)
		}
	}
	leaves := d.recorded(t)
	if len(leaves) != 4 || !strings.Contains(leaves[1], `"operation":"terms profile","subject":"none","reason":"two","changes":["~ terms profile: none → none"]`) {
		t.Errorf("records %q", leaves)
	}
}

func TestChooseRecordsOneOfManyAtOnce(t *testing.T) {
	d := newDesk(t)
	d.Now = func() time.Time { return now }
	var recorded atomic.Int64
	var choices sync.WaitGroup
	for range 20 {
		choices.Go(func() {
			switch did, err := d.Choose(t.Context(), "terms profile", "usual", "none"); {
			case err != nil:
				t.Error(err)
			case did:
				recorded.Add(1)
			}
		})
	}
	choices.Wait()
	if leaves := d.recorded(t); recorded.Load() != 1 || len(leaves) != 1 {
		t.Errorf("%d choices say that they were recorded, and the log has %q; want one", recorded.Load(), leaves)
	}
}

// A choice that cannot be read is not taken for the usual one.
func TestChooseReportsAStoreThatFails(t *testing.T) {
	d := newDesk(t)
	must(t, d.store.RecordEvidence(t.Context(), evidence.Entry{ID: evidence.OperationID("terms profile 1"), At: now, Leaf: []byte("{}")}))
	if recorded, err := d.Choose(t.Context(), "terms profile", "usual", "none"); err == nil || recorded || !strings.Contains(err.Error(), "terms profile 1") {
		t.Errorf("Choose = %v, %v; want an error that names the record", recorded, err)
	}
}
