package mutants_test

import "strings"

const entryOfAgreement = "agreement/evidence/agreement.go"

// terms are the bugs in which something of an agreement falls out of its entry in the evidence log.
func terms() (all []mutant) {
	without := func(what, old, replacement string) {
		all = append(all, mutant{"the evidence is without " + what, entryOfAgreement, old, replacement, "./agreement/evidence"})
	}
	for _, line := range []string{"add(t.Lender.Name)", "add(t.Lender.Address)", "add(t.Lender.Registration)", "add(t.Lender.Email)",
		"add(t.Disputes.Name)", "add(t.Disputes.Contact)", "add(t.Cancellation.How)", "add(t.Hardship)", "add(fee.Name)", "add(fee.Amount.String())",
		"add(fee.When)", "addBlocks(t.Blocks)", "addBlocks(authority.Conditions)", "add(block.Title)", "add(block.Text)"} {
		without(line, "\t"+line+"\n", "\t"+strings.TrimSuffix(line, ")")+"[:0])\n") // which uses what the others use
	}
	without("the working days of a cancellation", "add(strconv.Itoa(t.Cancellation.WorkingDays))", "add(strconv.Itoa(0))")
	without("the party that debits", "[]string{authority.Initiator, authority.", "[]string{authority.")
	without("the authorisation code", "authority.AuthorisationCode, ", "")
	without("the text on the statement", "authority.Statement, ", "")
	without("the form of the authority", "authority.Form, ", "")
	without("the calendar of the authority", ", string(authority.Calendar)}", "}")
	without("the order of the charges", "c.Sequence, c.Type,", "0, c.Type,")
	without("the type of a charge", "c.Sequence, c.Type,", `c.Sequence, "",`)
	without("the day of a charge", "c.Due, int64(c.Amount))", `"", int64(c.Amount))`)
	without("the amount of a charge", "int64(c.Amount))", "0)")
	without("the days of notice", "NoticeDays: a.Notice.Days,", "NoticeDays: 0,")
	without("the end of the cancellation", "CancelUntil: day(a.CancelUntil),", `CancelUntil: "",`)
	without("the page that disclosed the terms", "DisclosedOn: consent.Disclosed.Page,", `DisclosedOn: "",`)
	without("the account holder", `commitment(salt, "account_holder", a.DirectDebit.AccountHolder)`, `commitment(salt, "account_holder", "")`)
	without("the mandate", `commitment(salt, "mandate_id", d.MandateID)`, `commitment(salt, "mandate_id", "")`)
	without("the opportunity", `commitment(salt, "opportunity_id", d.OpportunityID)`, `commitment(salt, "opportunity_id", "")`)
	return all
}
