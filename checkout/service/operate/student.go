package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Student is the record under an e-mail address.
type Student struct {
	Email     string
	Records   []checkout.CheckoutRecord
	Spellings []string // other addresses on record that differ only in the case of letters
}

// Find returns what is on record under an address. Its error names every checkout that cannot be read, for it might be
// theirs.
func (o Operator) Find(ctx context.Context, email string) (Student, error) {
	s := Student{Email: email}
	if strings.TrimSpace(email) == "" {
		return s, errors.New("the e-mail address is empty")
	}
	var unreadable []error
	err := o.Store.ExportStudent(ctx, email, checkout.Visitor{
		Checkout: func(r checkout.CheckoutRecord) error {
			switch found := r.Checkout.Student.Email; {
			case found == email:
				s.Records = append(s.Records, r)
			case !slices.Contains(s.Spellings, found):
				s.Spellings = append(s.Spellings, found)
			}
			return nil
		},
		Unreadable: func(id string, err error) error {
			unreadable = append(unreadable, fmt.Errorf("checkout %s cannot be read: %w", id, err))
			return nil
		},
	})
	if err != nil {
		return s, fmt.Errorf("look for the student: %w", err)
	}
	return s, errors.Join(unreadable...)
}

// Numbers returns the numbers of the student's agreements that have a PDF.
func (s Student) Numbers() (numbers []string) {
	for _, r := range s.Records {
		if r.Document != nil {
			numbers = append(numbers, r.Agreement.Number)
		}
	}
	return numbers
}

// Subject names the student's checkouts, for an act: the one, or how many.
func (s Student) Subject() string {
	if len(s.Records) == 1 {
		return s.Records[0].Checkout.ID
	}
	return fmt.Sprintf("%d checkouts", len(s.Records))
}

// Erasing is the settings of an erasure.
type Erasing struct {
	Setups ports.SetupEraser // of the processor whose records are in the store
	Zone   *time.Location    // of New Zealand
	Force  bool              // also while payments are still to be collected
}

// CheckErasure returns why the student is not erased for the operator's reason, each checkout with what is against it, or nil.
func (o Operator) CheckErasure(s Student, e Erasing) error {
	if err := s.unnamed(o.Reason); err != nil {
		return err
	}
	today := money.DateOf(o.now().In(e.Zone))
	var against []error
	for _, r := range s.Records {
		if err := e.erasable(r.Checkout, today); err != nil {
			against = append(against, fmt.Errorf("checkout %s: %w", r.Checkout.ID, err))
		}
	}
	return errors.Join(against...)
}

func (e Erasing) erasable(c checkout.Checkout, today money.Date) error {
	err := c.Erasable(today, e.Zone)
	if _, collected := errors.AsType[*checkout.StillCollected](err); collected && e.Force {
		return nil
	}
	return err
}

// ErrNamed: the operator's reason names the student.
var ErrNamed = errors.New("the reason stays on record for ever and must name no person")

// CheckReason returns ErrNamed for a reason that names the student of a checkout, or nil.
func (o Operator) CheckReason(c checkout.Checkout) error {
	return Student{Email: c.Student.Email, Records: []checkout.CheckoutRecord{{Checkout: c}}}.unnamed(o.Reason)
}

// checkReasonFor returns ErrNamed for a reason that names the student of the checkout that a job is about.
func (o Operator) checkReasonFor(ctx context.Context, j checkout.Job) error {
	if j.CheckoutID == "" || o.Reason == "" {
		return nil
	}
	c, err := o.Store.Checkout(ctx, j.CheckoutID)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read checkout %s: %w", j.CheckoutID, err)
	}
	return o.CheckReason(c)
}

// unnamed returns an error with a word of the reason that names the student, or nil.
func (s Student) unnamed(reason string) error {
	if word := s.named(reason); word != "" {
		return fmt.Errorf("%w; it has %q", ErrNamed, word)
	}
	return nil
}

// named returns a part of the student's name or address that the reason has, however it is spelt, or "".
func (s Student) named(reason string) string {
	if s.Email != "" && strings.Contains(text.FoldEmail(reason), text.FoldEmail(s.Email)) {
		return s.Email
	}
	said, apart := text.FoldName(reason), text.FoldName(lettersOf(reason))
	has := func(words, part string) bool { return part != "" && strings.Contains(" "+words+" ", " "+part+" ") }
	for _, r := range s.Records {
		for _, name := range []string{r.Checkout.Student.FirstName, r.Checkout.Student.LastName, r.Checkout.Setup.AccountHolder} {
			for _, part := range strings.Fields(name) {
				if has(said, text.FoldName(part)) || has(apart, text.FoldName(lettersOf(part))) {
					return part
				}
			}
		}
	}
	return ""
}

// lettersOf returns a text with a space in place of each other sign: "Aroha’s" has the word Aroha.
func lettersOf(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			return r
		}
		return ' '
	}, line)
}

// ErrChanged: what is on record changed since Find.
var ErrChanged = errors.New("what is on record has changed meanwhile; nothing was erased: run the command again")

// Erase erases the student, who was checked.
func (o Operator) Erase(ctx context.Context, s Student, e Erasing) error {
	ids := make([]string, len(s.Records))
	for i, r := range s.Records {
		ids[i] = r.Checkout.ID
		if err := e.Setups.EraseSetups(ctx, r.Checkout.SetupKeys(catalogue.Sandbox)); err != nil {
			return fmt.Errorf("erase the setups of %s: %w", ids[i], err)
		}
	}
	now := o.now()
	today := money.DateOf(now.In(e.Zone))
	actor := checkout.OperatorActor(o.By)
	return o.Store.EraseCheckouts(ctx, ids, func(stored []checkout.Checkout) (checkout.Erasure, error) {
		for _, c := range stored {
			if c.Student.Email != s.Email || e.erasable(c, today) != nil || !s.has(c) {
				return checkout.Erasure{}, ErrChanged
			}
		}
		if len(stored) != len(ids) {
			return checkout.Erasure{}, ErrChanged
		}
		erasure := checkout.EraseAll(stored, now, actor)
		erasure.Act.Operator, erasure.Act.Reason = o.By, o.Reason
		return erasure, nil
	})
}

// has reports whether a checkout has the agreement that Find found, or still no agreement.
func (s Student) has(c checkout.Checkout) bool {
	return slices.ContainsFunc(s.Records, func(r checkout.CheckoutRecord) bool {
		return r.Checkout.ID == c.ID && r.Checkout.Confirmation.AgreementNumber == c.Confirmation.AgreementNumber
	})
}

// Elsewhere lists the ids by which the processor and the CRM outside of the store know the student: what they have must be
// erased there.
func (s Student) Elsewhere() (lines []string) {
	for _, r := range s.Records {
		c := r.Checkout
		line := "checkout " + c.ID
		if number := c.Confirmation.AgreementNumber; number != "" {
			line += ", agreement " + number
		}
		add := func(what, id string) {
			if id != "" {
				line += ", " + what + " " + id
			}
		}
		add("billing request", c.Setup.BillingRequestID)
		add("mandate", c.Setup.MandateID)
		if !c.KeptInStore() {
			add("contact", c.Records.ContactID)
			add("opportunity", c.Records.OpportunityID)
			add("direct debit authority", c.Records.DDAID)
			add("agreement record", c.Confirmation.AgreementID)
			add("document", c.Confirmation.DocumentID)
		}
		lines = append(lines, line)
	}
	return lines
}
