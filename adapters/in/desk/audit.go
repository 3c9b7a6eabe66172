package desk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// Findable reports whether Find leads to what an operation was about: a checkout, an agreement or a provider.
func (e entryView) Findable() bool {
	s := e.Operation.Subject
	return s != "" && 'A' <= s[0] && s[0] <= 'Z' && !strings.Contains(s, " ")
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
	if view.Sealed, err = v.sealed(from, end); err == nil && end == head.Size {
		view.Waiting, err = v.waiting(checkout.MaxPage)
	}
	if err != nil {
		return err
	}
	return v.page("audit.html", "Audit", view)
}

// sealed returns the sealed entries from a position on and before another one, the newest first.
func (v *visit) sealed(from, end int64) (list []entryView, err error) {
	if from == end {
		return nil, nil
	}
	entries, err := v.Store.SealedEvidence(v.r.Context(), from, int(end-from))
	for i, e := range slices.Backward(entries) {
		list = append(list, v.entry(e, from+int64(i)+1))
	}
	return list, err
}

// waiting returns the oldest entries that are not sealed, the newest of them first.
func (v *visit) waiting(limit int) (list []entryView, err error) {
	entries, err := v.Store.UnsealedEvidence(v.r.Context(), limit)
	for _, e := range slices.Backward(entries) {
		list = append(list, v.entry(e, 0))
	}
	return list, err
}

// entry returns an entry as it is shown. Before it is sealed, only its attestation says that it is genuine.
func (v *visit) entry(e evidence.Entry, number int64) entryView {
	r, err := evidence.Read(e.Leaf)
	if err != nil {
		r = evidence.Record{At: e.At, Kind: "unknown"}
	}
	return entryView{r, number, number == 0 && !v.keyring.Attests(e)}
}
