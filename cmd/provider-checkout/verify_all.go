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

// verifyAll checks the whole evidence log, every agreement on record, and that none is missing which the log has. It prints a
// line for the log and one for each agreement.
func (v verifier) verifyAll(ctx context.Context, c *call, db ports.Admin) error {
	print := func(mark evidencelog.Mark, format string, args ...any) error {
		_, err := fmt.Fprintf(c.Stdout, "%s  %s\n", mark, fmt.Sprintf(format, args...))
		return err
	}
	missing, verdicts, err := v.readLog(ctx)
	if err != nil {
		return err
	}
	failures := 0
	for _, verdict := range verdicts {
		if verdict.Mark == evidencelog.Failed {
			failures++
		}
		if err := print(verdict.Mark, "%s", verdict.Text); err != nil {
			return err
		}
	}
	failed := func(format string, args ...any) error {
		failures++
		return print(evidencelog.Failed, format, args...)
	}
	// After the log: an agreement that is confirmed meanwhile is on record too.
	source, err := agreementpdf.New(db, time.Now)
	if err != nil {
		return err
	}
	numbers, err := source.Since(ctx, money.Date{}, func(id string, err error) error {
		return failed("checkout %s cannot be read: %s", id, cli.OneLine(err.Error()))
	})
	if err != nil {
		return fmt.Errorf("list the agreements: %w", err)
	}
	for _, number := range numbers {
		delete(missing, number)
		texts, err := v.faults(ctx, db, number)
		switch {
		case err != nil:
			return err
		case len(texts) > 0:
			err = failed("%s: %s", number, strings.Join(texts, "; "))
		default:
			err = print(evidencelog.Passed, "%s", number)
		}
		if err != nil {
			return err
		}
	}
	for _, number := range slices.Sorted(maps.Keys(missing)) {
		if err := failed("%s: the evidence log has it, and it is not on record", number); err != nil {
			return err
		}
	}
	if failures > 0 {
		return fmt.Errorf("%d checks fail; \"agreements verify NUMBER\" has those of one agreement", failures)
	}
	fmt.Fprintf(c.Stderr, "%d agreements were verified\n", len(numbers))
	return nil
}

// readLog holds the whole log to its checkpoints, and returns the numbers of the agreements that it has.
func (v verifier) readLog(ctx context.Context) (numbers map[string]bool, verdicts []evidencelog.Verdict, err error) {
	tree, err := v.log.Signed(ctx, v.outside)
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
		verdicts = append(verdicts, evidencelog.Fail("%d entries were not recorded by a process with the operator's secret", forged))
	}
	return numbers, verdicts, err
}

// faults returns what is wrong with an agreement that was on record a moment ago.
func (v verifier) faults(ctx context.Context, db ports.Store, number string) (texts []string, err error) {
	r, err := evidencelog.Read(ctx, db, number)
	if errors.Is(err, ports.ErrNotFound) {
		return []string{"it is not on record any more"}, nil
	}
	if err != nil {
		return nil, readingAgreement(number, err)
	}
	verdicts, err := v.check(ctx, r)
	for _, verdict := range verdicts {
		if verdict.Mark == evidencelog.Failed {
			texts = append(texts, verdict.Text)
		}
	}
	return texts, err
}
