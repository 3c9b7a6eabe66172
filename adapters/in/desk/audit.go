package desk

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// auditView is a page of the evidence log, the newest entries first.
type auditView struct {
	Waiting []entryView // not sealed
	Sealed  []entryView
	Next    string // the address of the next page; "" at the end
}

// entryView is an entry of the evidence log.
type entryView struct {
	evidence.Record
	Number int64 // 1 is the first; 0 before it is sealed
	Forged bool
}

// audit shows who did what, who looked at whose data, and what was agreed.
func (v *visit) audit() error {
	head, err := v.Store.EvidenceHead(v.r.Context())
	if err != nil {
		return err
	}
	end := head.Size
	if before, err := strconv.ParseInt(v.r.URL.Query().Get("before"), 10, 64); err == nil {
		end = min(max(0, before), end)
	}
	from := max(0, end-checkout.MaxPage)
	var view auditView
	if from > 0 {
		view.Next = fmt.Sprintf("/audit?before=%d", from)
	}
	if end > 0 {
		entries, err := v.Store.SealedEvidence(v.r.Context(), from, int(end-from))
		if err != nil {
			return err
		}
		for i, e := range entries {
			view.Sealed = append(view.Sealed, v.entry(e, from+int64(i)+1))
		}
		slices.Reverse(view.Sealed)
	}
	if end == head.Size {
		entries, err := v.Store.UnsealedEvidence(v.r.Context(), checkout.MaxPage)
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(entries) {
			view.Waiting = append(view.Waiting, v.entry(e, 0))
		}
	}
	return v.page("audit.html", "Audit", view)
}

// entry returns an entry as it is shown. Before it is sealed, only its attestation says that it is genuine.
func (v *visit) entry(e evidence.Entry, number int64) entryView {
	r, err := evidence.Read(e.Leaf)
	if err != nil {
		r = evidence.Record{At: e.At, Kind: "unknown"}
	}
	return entryView{r, number, number == 0 && !v.keyring.Attests(e)}
}
