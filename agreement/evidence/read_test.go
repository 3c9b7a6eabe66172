package evidence_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

func TestWhatWasRecordedIsRead(t *testing.T) {
	at := time.Date(2026, 11, 22, 1, 2, 3, 4e6, time.UTC)
	did := evidence.Operation{At: at, Operator: "Aroha <a>", Name: "apply", Subject: "KOWHAI", Reason: "prices", Changes: []string{"a → b", "c"}}
	got, err := evidence.Read(evidence.OfOperation("1", did).Leaf)
	if want := (evidence.Record{Kind: evidence.KindOperation, At: at, Operation: did}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("operation: %+v, %v; want %+v", got, err, want)
	}
	entry := evidence.OfAgreement(agreement.Agreement{Number: "PPA-2026-1"}, evidence.Conclusion{At: at})
	if got, err := evidence.Read(entry.Leaf); err != nil || got.Kind != evidence.KindAgreement || got.Agreement != "PPA-2026-1" || !got.At.Equal(at) {
		t.Errorf("agreement: %+v, %v", got, err)
	}
}

func TestWhatWasNotRecordedIsNotRead(t *testing.T) {
	leaf := string(evidence.OfOperation("1", evidence.Operation{At: time.Unix(0, 0)}).Leaf)
	for _, changed := range []string{"", "{}", "[]", leaf[1:],
		strings.Replace(leaf, `"operation"`, `"other"`, 1), strings.Replace(leaf, `"format":1`, `"format":2`, 1),
		strings.Replace(leaf, `"at":"1970`, `"at":"nineteen`, 1), strings.Replace(leaf, `"operator":""`, `"operator":1`, 1)} {
		if got, err := evidence.Read([]byte(changed)); err == nil || changed == leaf {
			t.Errorf("%s is read as %+v", changed, got)
		}
	}
}
