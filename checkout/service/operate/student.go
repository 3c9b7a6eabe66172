package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Student is the record under an e-mail address.
type Student struct {
	Email   string
	Records []checkout.CheckoutRecord
}

// Find returns what is on record under an address. Its error names every checkout that cannot be read, for it might be theirs.
func (o Operator) Find(ctx context.Context, email string) (Student, error) {
	s := Student{Email: text.NormalizeEmail(strings.TrimSpace(email))}
	if s.Email == "" {
		return s, errors.New("the e-mail address is empty")
	}
	var unreadable []error
	err := o.Store.Export(ctx, s.Email, checkout.Visitor{
		Checkout: func(r checkout.CheckoutRecord) error {
			s.Records = append(s.Records, r)
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

// Erasing is the settings of an erasure.
type Erasing struct {
	Environment catalogue.Environment
	Setups      ports.SetupEraser // of the processor whose records are in the store; nil without
	Zone        *time.Location    // of New Zealand
	Force       bool              // also while payments are still to be collected, or a job of the CRM or the processor is pending
}

// CheckErasure returns why the student is not erased for the operator's reason, each checkout with what is against it, or nil.
func (o Operator) CheckErasure(s Student, e Erasing) error {
	today := money.DateOf(o.now().In(e.Zone))
	var against []error
	for _, r := range s.Records {
		err := o.CheckReason(r.Checkout)
		if err == nil {
			err = r.Checkout.Erasable(today, e.Zone)
		}
		if err != nil && (!e.Force || errors.Is(err, ErrNamed)) {
			against = append(against, fmt.Errorf("checkout %s: %w", r.Checkout.ID, err))
		}
	}
	return errors.Join(against...)
}

// Erase erases the student, who was checked, checkout by checkout, and returns how many it has erased: after an error it may be called
// again.
func (o Operator) Erase(ctx context.Context, s Student, e Erasing) (erased int, err error) {
	eraser := service.Eraser{Store: o.Store, Setups: e.Setups, Environment: e.Environment, By: checkout.OperatorActor(o.By), Now: o.now}
	for _, r := range s.Records {
		act, err := o.act("privacy erase", r.Checkout.ID, r.Checkout.ProviderCode)
		if err == nil {
			err = eraser.Erase(ctx, r.Checkout, act, e.Force)
		}
		if err != nil {
			return erased, err
		}
		erased++
	}
	return erased, nil
}

// Elsewhere lists the ids by which the processor and a CRM outside of the store know the student: what they have must be erased there.
func (s Student) Elsewhere(env catalogue.Environment) (lines []string) {
	for _, r := range s.Records {
		c := r.Checkout
		records := c.Records(env)
		line := "checkout " + c.ID
		add := func(what, id string) {
			if id != "" {
				line += ", " + what + " " + id
			}
		}
		add("agreement", c.Confirmation.AgreementNumber)
		add("billing request", c.Setup.BillingRequestID)
		add("mandate", c.Setup.MandateID)
		add("contact", records.ContactID)
		add("opportunity", records.OpportunityID)
		add("direct debit authority", records.DDAID)
		lines = append(lines, line)
	}
	return lines
}

// named returns a part of the student's name or address that a reason has, however it is spelt, or "".
func named(reason string, c checkout.Checkout) string {
	if c.Student.Email != "" && strings.Contains(text.FoldEmail(reason), text.FoldEmail(c.Student.Email)) {
		return c.Student.Email
	}
	said, apart := text.FoldName(reason), text.FoldName(lettersOf(reason))
	has := func(words, part string) bool { return part != "" && strings.Contains(" "+words+" ", " "+part+" ") }
	for _, part := range strings.Fields(strings.Join([]string{c.Student.FirstName, c.Student.LastName, c.Setup.AccountHolder}, " ")) {
		if has(said, text.FoldName(part)) || has(apart, text.FoldName(lettersOf(part))) {
			return part
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
