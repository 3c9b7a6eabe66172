package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Choose records the operator's choice of a setting and the reason for it, unless the latest choice on record is the same, and reports
// whether it did. A setting without a choice on record has its usual value. Of processes that make one choice at once, one records it.
func (o Operator) Choose(ctx context.Context, setting, usual, chosen string) (recorded bool, err error) {
	latest := evidence.Operation{Subject: usual}
	for n := 1; ; {
		id := fmt.Sprintf("%s %d", setting, n)
		e, _, err := o.Store.EvidenceEntry(ctx, evidence.OperationID(id))
		switch {
		case err == nil:
			r, err := evidence.Read(e.Leaf)
			if err != nil {
				return false, fmt.Errorf("read the choice %s: %w", id, err)
			}
			latest, n = r.Operation, n+1
			continue
		case !errors.Is(err, ports.ErrNotFound):
			return false, fmt.Errorf("read the choice %s: %w", id, err)
		case latest.Subject == chosen && latest.Reason == o.Reason:
			return false, nil
		}
		op := evidence.Operation{Name: setting, Subject: chosen, Changes: []string{fmt.Sprintf("~ %s: %s → %s", setting, latest.Subject, chosen)}}
		err = o.Store.RecordEvidence(ctx, o.attest(id, op, o.now()))
		if !errors.Is(err, ports.ErrDuplicate) { // another process has recorded a choice meanwhile
			return err == nil, err
		}
	}
}
