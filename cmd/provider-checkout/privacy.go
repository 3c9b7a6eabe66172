package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// EmailFlag names a student.
type EmailFlag struct {
	Email string `required:"" placeholder:"ADDRESS" help:"of the student, as the create had it (required)"`
}

// exportStudent writes everything on record about a student as JSON Lines, and the PDFs to a folder if one is named.
type exportStudent struct {
	StoreFlags
	EmailFlag
	Out string `placeholder:"FOLDER" help:"to write the agreements' PDFs to; only its owner may read them"`
}

func (f *exportStudent) Run(ctx context.Context, c *call, db reader) error {
	student, err := c.findStudent(ctx, db, operate.Operator{Store: db}, f.Email)
	if err != nil {
		return err
	}
	var numbers []string // of the agreements that have a PDF
	out := bufio.NewWriter(c.Stdout)
	visit := jsonlines.NewVisitor(out, db.Environment(), nil)
	for _, r := range student.Records {
		if err := visit.Checkout(r); err != nil {
			return err
		}
		if r.Document > 0 {
			numbers = append(numbers, r.Agreement.Number)
		}
	}
	if len(student.Records) == 0 {
		fmt.Fprintln(c.Stderr, nobody)
	}
	if err := out.Flush(); err != nil || len(numbers) == 0 {
		return err
	}
	if f.Out == "" {
		fmt.Fprintf(c.Stderr, "not written: %s; --out FOLDER writes them\n", counted(len(numbers), "PDF"))
		return nil
	}
	if err := os.MkdirAll(f.Out, 0o700); err != nil {
		return err
	}
	for _, number := range numbers {
		if err := c.writePDF(ctx, db, number, filepath.Join(f.Out, number+".pdf")); err != nil {
			return err
		}
	}
	return nil
}

// nobody is the message that no checkout has the e-mail address.
const nobody = "nothing is on record under this address"

// findStudent finds the student with an address, and reports on stderr which checkouts have another spelling of the address: their reader
// decides whose they are.
func (c *call) findStudent(ctx context.Context, db records, operator operate.Operator, email string) (operate.Student, error) {
	student, err := operator.Find(ctx, email)
	if err != nil {
		return student, err
	}
	similar, err := db.Find(ctx, checkout.Query{Text: student.Email, Now: time.Now()}, maxHits)
	if err != nil {
		return student, fmt.Errorf("look for other spellings of the address: %w", err)
	}
	for _, h := range similar {
		if !slices.ContainsFunc(student.Records, func(r checkout.CheckoutRecord) bool { return r.Checkout.ID == h.Checkout.ID }) {
			fmt.Fprintf(c.Stderr, "checkout %s has another spelling of this address, and is left out\n", h.Checkout.ID)
		}
	}
	return student, nil
}

// eraseStudent erases the records of a student. Called again it finds no record, and cleans the files again: that is no failure, for
// nothing is left to erase, but it is printed, for the address may be mistyped.
type eraseStudent struct {
	StoreFlags
	EmailFlag
	RequiredReason
	Force bool `help:"also while payments are still to be collected under an agreement"`
}

func (f *eraseStudent) Run(ctx context.Context, c *call, db records, operator operate.Operator) error {
	student, err := c.findStudent(ctx, db, operator, f.Email)
	if err != nil {
		return err
	}
	if len(student.Records) > 0 {
		if err := c.erase(ctx, db, operator, student, f.Force); err != nil {
			return err
		}
	}
	if err := db.Scrub(ctx); err != nil {
		return fmt.Errorf("erased, but the store's files may still hold it in free space; run the command again: %w", err)
	}
	outcome := "erased: " + counted(len(student.Records), "checkout")
	if len(student.Records) == 0 {
		outcome += "; " + nobody
	}
	_, err = fmt.Fprintln(c.Stdout, outcome)
	return err
}

func (c *call) erase(ctx context.Context, db records, operator operate.Operator, student operate.Student, force bool) error {
	zone, err := service.NewZealand()
	if err != nil {
		return err
	}
	erasing := operate.Erasing{Environment: db.Environment(), Setups: fakeprocessor.New(fakeprocessor.Options{Records: db}), Zone: zone, Force: force}
	if err := operator.CheckErasure(student, erasing); err != nil {
		return err
	}
	// Before it is done, because these ids are erased with the rest.
	for _, line := range student.Elsewhere(db.Environment()) {
		if _, err := fmt.Fprintln(c.Stdout, line); err != nil {
			return err
		}
	}
	if _, err := operator.Erase(ctx, student, erasing); err != nil {
		return fmt.Errorf("erase the student: %w", err)
	}
	fmt.Fprintln(c.Stderr, "What the payment processor and a CRM outside of the store have must be erased there: stdout has their ids.\n"+
		"Backups, replicas and archived logs of the database from before keep it until they are deleted.")
	return nil
}
