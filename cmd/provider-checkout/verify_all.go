package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/agreementpdf"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// verifyAll checks the whole evidence log, every agreement on record, and that no agreement of the log is missing. It prints a
// line for the log and a line for each agreement, with the checks that could not be made.
func (v verifier) verifyAll(ctx context.Context, c *call, db ports.Admin) error {
	if _, _, err := v.log.Newest(ctx); v.log.Keys.CanVerify() && errors.Is(err, evidencelog.ErrForeign) {
		return err // which every agreement would fail for
	}
	failures, qualified := 0, 0
	line := func(mark evidencelog.Mark, subject string, texts []string) error {
		switch {
		case mark == evidencelog.Failed:
			failures++
		case subject != "" && len(texts) > 0:
			qualified++
		}
		return c.printVerdict(verdictLine{strings.TrimSpace(string(mark)), subject, texts})
	}
	missing, verdicts, err := v.readLog(ctx)
	if err != nil {
		return err
	}
	for _, verdict := range verdicts {
		if err := line(verdict.Mark, "", []string{verdict.Text}); err != nil {
			return err
		}
	}
	// After the log: an agreement that is confirmed meanwhile is on record too.
	source, err := agreementpdf.New(db, time.Now)
	if err != nil {
		return err
	}
	numbers, err := source.Since(ctx, money.Date{}, func(id string, err error) error {
		return line(evidencelog.Failed, "checkout "+id, []string{"it cannot be read: " + cli.OneLine(err.Error())})
	})
	if err != nil {
		return fmt.Errorf("list the agreements: %w", err)
	}
	shown := c.progress()
	defer shown.End()
	for i, number := range numbers {
		delete(missing, number)
		shown.Show("verified %d of %d agreements", i, len(numbers))
		mark, texts, err := v.summary(ctx, db, number)
		if err == nil {
			err = line(mark, number, texts)
		}
		if err != nil {
			return err
		}
	}
	for _, number := range slices.Sorted(maps.Keys(missing)) {
		if err := line(evidencelog.Failed, number, []string{"the evidence log has it, and it is not on record"}); err != nil {
			return err
		}
	}
	shown.End()
	if failures > 0 {
		return fmt.Errorf("%d of the checks failed", failures)
	}
	fmt.Fprintf(c.Stderr, "agreements verified: %d, of which %d have a remark\n", len(numbers), qualified)
	return nil
}

// readLog holds the whole log to its checkpoints, and returns the numbers of the agreements that it has.
func (v verifier) readLog(ctx context.Context) (numbers map[string]bool, verdicts []evidencelog.Verdict, err error) {
	tree, err := v.log.Signed(ctx)
	if err != nil {
		return nil, nil, err
	}
	numbers, forged := make(map[string]bool), 0
	err = v.log.Each(ctx, func(e evidence.Entry, position int64) error {
		tree.Add(e, position)
		if position == evidence.Unsealed && !v.log.Attests(e) {
			forged++
		}
		if record, err := evidence.Read(e.Leaf); err == nil && record.Kind == evidence.KindAgreement {
			numbers[record.Agreement] = true
		}
		return nil
	})
	verdicts = tree.Verdicts()
	if forged > 0 {
		verdicts = append(verdicts, evidencelog.Fail("entries that were not recorded by a process with the operator's secret: %d", forged))
	}
	return numbers, verdicts, err
}

// summary checks an agreement that was on record a moment ago. It returns the failed checks, or else the checks that could not be made.
func (v verifier) summary(ctx context.Context, db ports.Store, number string) (mark evidencelog.Mark, texts []string, err error) {
	r, err := evidencelog.Read(ctx, db, number)
	if errors.Is(err, ports.ErrNotFound) {
		return evidencelog.Failed, []string{"it is not on record any more"}, nil
	}
	if err != nil {
		return "", nil, readingAgreement(number, err)
	}
	verdicts, err := v.check(ctx, r)
	var failed, unchecked []string
	for _, verdict := range verdicts {
		switch {
		case verdict.Mark == evidencelog.Failed:
			failed = append(failed, verdict.Text)
		case verdict.Mark == evidencelog.None && verdict != evidencelog.NoKey:
			unchecked = append(unchecked, verdict.Text)
		}
	}
	if len(failed) > 0 {
		return evidencelog.Failed, failed, err
	}
	return evidencelog.Passed, unchecked, err
}
