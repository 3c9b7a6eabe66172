package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/agreementpdf"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// verifyAll checks the whole evidence log, every agreement on record, and that no agreement of the log is missing. It prints a
// line for the log and a line for each agreement, with the checks that could not be made.
func (c *call) verifyAll(ctx context.Context, db ports.Admin, log evidencelog.Log) error {
	if _, _, err := log.Newest(ctx); log.Keys.CanVerify() && errors.Is(err, evidencelog.ErrForeign) {
		return err // which every agreement would fail for
	}
	failures, remarks := 0, 0
	line := func(mark evidencelog.Mark, subject string, texts ...string) error {
		switch {
		case mark == evidencelog.Failed:
			failures++
		case subject != "" && len(texts) > 0:
			remarks++
		}
		return c.printVerdict(mark, subject, texts...)
	}
	before, err := evidencelog.ReadConfigured(ctx, db)
	if err != nil {
		return err
	}
	missing, made, verdicts, err := readLog(ctx, log)
	if err != nil {
		return err
	}
	promised, err := log.CheckReceipt(ctx)
	if err != nil {
		return err
	}
	verdicts = append(verdicts, promised...)
	if !c.readOnly { // the providers have secrets
		after, err := evidencelog.ReadConfigured(ctx, db)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, made.Compare(before, after)...)
	}
	for _, v := range verdicts {
		if err := line(v.Mark, "", v.Text); err != nil {
			return err
		}
	}
	// After the log: an agreement that is confirmed meanwhile is on record too.
	source, err := agreementpdf.New(db)
	if err != nil {
		return err
	}
	numbers, err := source.Since(ctx, money.Date{}, func(id string, err error) error {
		return line(evidencelog.Failed, "checkout "+id, "it cannot be read: "+cli.OneLine(err.Error()))
	})
	if err != nil {
		return fmt.Errorf("list the agreements: %w", err)
	}
	shown := c.progress()
	defer shown.End()
	log = log.Remembering()
	for i, number := range numbers {
		delete(missing, number)
		shown.Show("verified %d of %s", i, counted(len(numbers), "agreement"))
		mark, texts, err := checkAgain(ctx, log, made, db, number)
		if err == nil {
			err = line(mark, number, texts...)
		}
		if err != nil {
			return err
		}
	}
	for _, number := range slices.Sorted(maps.Keys(missing)) {
		if err := line(evidencelog.Failed, number, "the evidence log has it, and it is not on record"); err != nil {
			return err
		}
	}
	shown.End()
	if failures > 0 {
		return fmt.Errorf("failed: %s", counted(failures, "check"))
	}
	fmt.Fprintf(c.Stderr, "agreements verified: %d, of which %d have a remark\n", len(numbers), remarks)
	return nil
}

// readLog holds the whole log to its checkpoints, and returns the numbers of the agreements that it has, and what operators made.
func readLog(ctx context.Context, log evidencelog.Log) (numbers map[string]bool, made evidencelog.Made, verdicts []evidencelog.Verdict,
	err error) {
	numbers, made = make(map[string]bool), make(evidencelog.Made)
	verdicts, forged, err := log.Audit(ctx, func(e evidence.Entry, _ int64, genuine bool) error {
		switch record, err := evidence.Read(e.Leaf); {
		case err != nil:
		case record.Kind == evidence.KindAgreement:
			numbers[record.Agreement] = true
		case genuine:
			made.Add(record.Operation)
		}
		return nil
	})
	if forged > 0 {
		verdicts = append(verdicts, evidencelog.Fail(evidencelog.Forged, forged))
	}
	return numbers, made, verdicts, err
}

// checkAgain checks an agreement that was on record a moment ago. It returns the failed checks, or else the checks that could not be made.
func checkAgain(ctx context.Context, log evidencelog.Log, made evidencelog.Made, db ports.Store, number string) (mark evidencelog.Mark, texts []string, err error) {
	r, err := evidencelog.Read(ctx, db, number)
	if errors.Is(err, ports.ErrNotFound) {
		return evidencelog.Failed, []string{"it is not on record any more"}, nil
	}
	if err != nil {
		return "", nil, readingAgreement(number, err)
	}
	verdicts, err := check(ctx, log, db, r)
	verdicts = append(verdicts, made.Withdrawn(number, r.Checkout.End)...)
	if failed := evidencelog.Texts(verdicts, evidencelog.Failed); len(failed) > 0 {
		return evidencelog.Failed, failed, err
	}
	verdicts = slices.DeleteFunc(verdicts, func(v evidencelog.Verdict) bool { return v == evidencelog.NoKey })
	return evidencelog.Passed, evidencelog.Texts(verdicts, evidencelog.None), err
}
