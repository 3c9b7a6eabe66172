package desk

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/money"
)

// monthRow adds the agreements of a provider up in a month.
type monthRow struct {
	Provider                   string
	Agreed, Withdrawn, Charges int
	Financed, Upfront, Due     money.Cents
}

// monthView is the content of a month's page.
type monthView struct {
	Month, Before, After string // YYYY-MM
	Rows                 []monthRow
	Differing            []checkout.MonthLine // between record, CRM and mandate; the first of them
	Differences          int
}

// month shows the figures of a month, or answers with the file of every agreement that it concerns.
func (v *visit) month() error {
	name, isFile := strings.CutSuffix(v.id(), ".csv")
	m, err := checkout.ParseMonth(name, v.zone)
	if err != nil {
		return errPeriod
	}
	if isFile {
		return v.monthFile(name, m)
	}
	first, _ := time.Parse("2006-01", name) // as ParseMonth has done
	view := monthView{Month: name, Before: first.AddDate(0, -1, 0).Format("2006-01"), After: first.AddDate(0, 1, 0).Format("2006-01")}
	err = operate.Month(v.r.Context(), v.Store, m, func(l checkout.MonthLine) error { view.add(m, l); return nil })
	if err != nil {
		return err
	}
	slices.SortFunc(view.Rows, func(a, b monthRow) int { return cmp.Compare(a.Provider, b.Provider) })
	return v.page("month.html", "Month", view)
}

// add adds an agreement.
func (v *monthView) add(m checkout.Month, l checkout.MonthLine) {
	i := slices.IndexFunc(v.Rows, func(r monthRow) bool { return r.Provider == l.Agreement.Provider.Code })
	if i < 0 {
		i, v.Rows = len(v.Rows), append(v.Rows, monthRow{Provider: l.Agreement.Provider.Code})
	}
	r := &v.Rows[i]
	r.Financed, r.Upfront, r.Due, r.Charges = r.Financed+l.Financed, r.Upfront+l.Upfront, r.Due+l.Due, r.Charges+l.Charges
	if l.Financed > 0 {
		r.Agreed++
	}
	if m.Withdrawn(l) {
		r.Withdrawn++
	}
	if len(l.Differences) > 0 {
		if v.Differences++; len(v.Differing) < checkout.MaxPage {
			v.Differing = append(v.Differing, l)
		}
	}
}

// monthFile answers with the report as CSV, whose SHA-256 the evidence log keeps.
func (v *visit) monthFile(name string, m checkout.Month) error {
	var file bytes.Buffer
	n, err := operate.WriteMonth(v.r.Context(), v.Store, m, &file)
	if err != nil {
		return err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(file.Bytes()))
	err = v.operator.Record(v.r.Context(), operate.MonthOperation(name, count(n, "agreement"), sum))
	if err == nil {
		v.site.File(v.w, name+".csv", "text/csv; charset=utf-8", file.Bytes())
	}
	return err
}

// thisMonth returns the month that it is in New Zealand.
func (d *desk) thisMonth() string { return d.Now().In(d.zone).Format("2006-01") }
