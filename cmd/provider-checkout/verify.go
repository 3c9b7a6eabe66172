package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/ports"
)

// verifyAgreement checks an agreement against the record and the evidence log, and prints a line for each check; or all of them
// and the log.
func verifyAgreement(c *call) action {
	c.storeFlag()
	all := c.flags.Bool("all", false, "check every agreement, and that none is missing")
	c.checkpointFlag()
	c.witnessFlag()
	c.receiptFlag()
	c.jsonFlag()
	c.readOnlyFlag()
	c.check = func(args []string) error {
		switch {
		case *all && len(args) == 1, !*all && len(args) == 0 && c.receipt == "":
			return cli.UsageError("name one agreement, or give its --receipt, or --all")
		case c.checkpoint == standard && c.receipt == standard:
			return cli.UsageError("only one of --checkpoint and --receipt can be standard input")
		}
		if len(c.witnesses) > 0 && c.checkpoint == "" {
			return cli.UsageError("--witness needs --checkpoint: that of the server, or of the witness")
		}
		return nil
	}
	return c.onLog(func(ctx context.Context, db records, log evidencelog.Log) error {
		if *all {
			return c.verifyAll(ctx, db, log)
		}
		number, err := c.numbered(log.Receipt)
		if err != nil {
			return err
		}
		verdicts, err := log.CheckReceipt(ctx)
		if err != nil {
			return err
		}
		r, err := evidencelog.Read(ctx, db, number)
		if failed := evidencelog.Texts(verdicts, evidencelog.Failed); err != nil && len(failed) > 0 {
			return fmt.Errorf("%s; %w", failed[0], notOnRecord(ctx, log, number, err))
		}
		if err != nil {
			return notOnRecord(ctx, log, number, err)
		}
		checked, err := check(ctx, log, db, r)
		if err != nil {
			return err
		}
		verdicts = append(checked, verdicts...)
		for _, v := range verdicts {
			if err := c.printVerdict(v.Mark, "", v.Text); err != nil {
				return err
			}
		}
		if failed := len(evidencelog.Texts(verdicts, evidencelog.Failed)); failed > 0 {
			return fmt.Errorf("agreement %s fails %d of %d checks", number, failed, len(verdicts))
		}
		return nil
	})
}

// maxEvents is more than the events of a checkout.
const maxEvents = 1000

// numbered returns the number of the agreement to verify: of the argument, or else of the receipt.
func (c *call) numbered(r *evidence.Receipt) (string, error) {
	switch {
	case len(c.Args) == 0:
		return r.Number, nil
	case r != nil && r.Number != c.Args[0]:
		return "", fmt.Errorf("%s is the receipt of agreement %s", inputName(c.receipt), r.Number)
	}
	return c.Args[0], nil
}

// check compares everything on record about an agreement with itself, and with the evidence log.
func check(ctx context.Context, log evidencelog.Log, db ports.Queue, r evidencelog.Record) ([]evidencelog.Verdict, error) {
	logVerdicts, err := log.Check(ctx, r)
	if err != nil {
		return nil, err
	}
	eventVerdicts, err := checkEvents(ctx, db, r)
	return slices.Concat(checkFigures(r.Agreement), checkConfirmation(r.Agreement, r.Checkout),
		checkDocument(r.Checkout, r.Document), eventVerdicts, logVerdicts), err
}

// checkEvents returns a verdict on each event of the confirm on record that does not say what was agreed.
func checkEvents(ctx context.Context, db ports.Queue, r evidencelog.Record) (verdicts []evidencelog.Verdict, err error) {
	c, a := r.Checkout, r.Agreement
	jobs, err := db.Jobs(ctx, checkout.JobFilter{CheckoutID: c.ID, Kinds: []checkout.JobKind{checkout.JobDeliver}}, maxEvents)
	if err != nil {
		return nil, fmt.Errorf("read its events: %w", err)
	}
	environment := catalogue.Production
	if a.Sandbox {
		environment = catalogue.Sandbox
	}
	c.Status = checkout.SetupRequired // as it was before
	for _, j := range jobs {
		made, err := c.Completed(a, c.Confirmation.AgreementID, c.Confirmation.DocumentID, environment, j.Job.CreatedAt)
		if err != nil {
			return []evidencelog.Verdict{evidencelog.Fail("its events cannot be made again: %v", err)}, nil
		}
		for _, e := range made.Events {
			if string(e.Name) == j.Job.Name && !e.Name.Recurs() && (e.ID != j.Job.ID || string(e.Body) != string(j.Job.Body)) {
				verdicts = append(verdicts, evidencelog.Fail("the event %s on record does not say what was agreed", j.Job.ID))
			}
		}
	}
	return verdicts, nil
}

// printVerdict prints the outcome of a check, or with --all of the checks of a subject: a line for people, or with --json an object.
func (c *call) printVerdict(mark evidencelog.Mark, subject string, texts ...string) error {
	if c.json {
		return c.print(record{{name: "mark", value: string(mark)}, {name: "subject", value: subject}, {name: "texts", value: texts}})
	}
	if subject != "" {
		texts = append([]string{subject}, texts...)
	}
	_, err := fmt.Fprintf(c.Stdout, "%-4s  %s\n", mark, strings.Join(texts, "; "))
	return err
}

// checkFigures checks that the agreement's figures are consistent.
func checkFigures(a agreement.Agreement) []evidencelog.Verdict {
	if err := a.Check(); err != nil {
		return []evidencelog.Verdict{evidencelog.Fail("the figures: %s", cli.OneLine(err.Error()))}
	}
	return []evidencelog.Verdict{
		evidencelog.Pass("the %d charges sum to the course price, %s", len(a.Schedule), a.Pricing.Price),
		evidencelog.Pass("they are the schedule of the plan: %d %s instalments", a.Plan.Number, a.Plan.Frequency),
	}
}

// checkConfirmation compares the agreement with the checkout that was confirmed with it.
func checkConfirmation(a agreement.Agreement, c checkout.Checkout) []evidencelog.Verdict {
	done, plan := c.Confirmation, c.Intent.Plan
	ours := c.KeptInStore()
	plan.First = done.FirstPayment
	var differ []string
	for _, part := range []struct {
		name string
		same bool
	}{
		{"status", c.Status == checkout.Confirmed},
		{"agreement", done.AgreementNumber == a.Number && (done.AgreementID == a.ID || !ours)},
		{"time of acceptance", done.At.Equal(a.AcceptedAt)},
		{"order", c.OrderID == a.OrderID && c.ProviderCode == a.Provider.Code},
		{"student", agreement.Student(c.Student) == a.Student},
		{"course", c.CourseCode == a.Course.Code && c.Intent.CourseName == a.Course.Name},
		{"price", c.Intent.Pricing == a.Pricing},
		{"plan", plan == a.Plan},
		{"direct debit authority", c.Records.DDAID == a.DirectDebit.AuthorityID},
		{"account", c.Setup.AccountHolder == a.DirectDebit.AccountHolder && c.Setup.AccountMask == a.DirectDebit.AccountMask},
		{"time of authorisation", c.Setup.CompletedAt.Equal(a.DirectDebit.AuthorisedAt)},
		{"consent to the direct debit terms", c.Setup.Consent == a.DirectDebit.Consent},
	} {
		if !part.same {
			differ = append(differ, part.name)
		}
	}
	if len(differ) > 0 {
		return []evidencelog.Verdict{evidencelog.Fail("checkout %s has another %s", c.ID, strings.Join(differ, ", "))}
	}
	return []evidencelog.Verdict{evidencelog.Pass("checkout %s was confirmed with this agreement", c.ID)}
}

// checkDocument compares the PDF with its hash on record, which [evidencelog.Log.Check] compares with the log's.
func checkDocument(c checkout.Checkout, doc *agreement.Document) []evidencelog.Verdict {
	named := c.Confirmation.DocumentID
	switch {
	case doc == nil && named == "":
		return []evidencelog.Verdict{evidencelog.Nothing("no PDF was rendered at the confirm")}
	case doc == nil:
		return []evidencelog.Verdict{evidencelog.Fail("the PDF is not on record; the checkout names document %s", named)}
	}
	if c.Erased() && len(doc.Bytes) == 0 {
		return []evidencelog.Verdict{evidencelog.Nothing("the PDF was erased; its SHA-256 on record is %x", doc.SHA256)}
	}
	hash := evidencelog.Pass("the PDF, %d bytes, has the SHA-256 on record, %x", len(doc.Bytes), doc.SHA256)
	if sum := sha256.Sum256(doc.Bytes); sum != doc.SHA256 {
		hash = evidencelog.Fail("the PDF, %d bytes, has SHA-256 %x; on record is %x", len(doc.Bytes), sum, doc.SHA256)
	}
	if doc.ID != named && (named == "" || c.KeptInStore()) {
		return []evidencelog.Verdict{hash, evidencelog.Fail("the PDF is document %s; the checkout names %q", doc.ID, named)}
	}
	return []evidencelog.Verdict{hash}
}
