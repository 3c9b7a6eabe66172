package mutants_test

// broken is a bug of what providers see, and the sentence of the contract with which the report of the conformance run names it.
type broken struct {
	mutant
	sentence string
}

// surface are bugs of what providers see.
func surface() (all []broken) {
	const api, web = "adapters/in/httpapi/", "adapters/internal/web/"
	for _, b := range []struct{ sentence, bug, file, old, new string }{
		{"5: MISSING_API_KEY, 401", "a request without a key is not told the scheme", api + "errors.go",
			"if p.status == http.StatusUnauthorized {", "if false {"},
		{"5: INVALID_API_KEY, 403", "a key that is not recognised is 401", web + "status.go",
			"CodeInvalidAPIKey:      {http.StatusForbidden,", "CodeInvalidAPIKey:      {http.StatusUnauthorized,"},
		{"5: The key determines the provider", "the body selects another provider", "checkout/admit.go",
			"named.Given && named.Value != keyProvider:", "false:"},
		{"7: Authentication failures are wrapped", "an envelope has no request id", api + "wire.go",
			"w := envelopeWire{RequestID: requestID}", "_ = requestID\n\tw := envelopeWire{}"},
		{"documentation: An unknown path is 404", "405 comes without Allow", api + "errors.go", `if p.allow != "" {`, "if false {"},
		{"documentation: A body over 64 KiB", "a body may have 1 MiB", api + "form.go", "maxBody  = 64 << 10", "maxBody  = 1 << 20"},
		{"documentation: A field given twice", "of a field that is given twice the last counts", "adapters/internal/strictjson/strictjson.go",
			"jsontext.NewDecoder(bytes.NewBuffer(data))", "jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))"},
		{"documentation: A first create answers 201", "a first create is 200", api + "checkouts.go", "got.location = http.StatusCreated,", "got.location = http.StatusOK,"},
		{"2.1: Regular instalments plus", "a final instalment that differs is not answered", api + "wire.go", "if p.Residual() || sentFinal {", "if sentFinal {"},
		{"2.1, rule 2: course_price", "a provider overrides the price of its catalogue", "checkout/create.go",
			"return c.checkAgainst(Intent{", "c.Price = Optional[money.Cents]{}\n\treturn c.checkAgainst(Intent{"},
		{"2.1, rule 4: Invalid maths", "a price need not be the sum of its parts", "checkout/create.go", "c.Price.Value != sum {", "c.Price.Value < 0*sum {"},
		{"4, rule 1: The key is the Idempotency-Key header", "an idempotency key is bound to no order", "checkout/create.go",
			"f.ByKey != nil && f.ByKey.OrderID != c.OrderID.Value", "false && f.ByKey.OrderID != c.OrderID.Value"},
		{"8: Idempotency-Key header", "an idempotency key may have 256 characters", "checkout/check.go", "case len(key) > text.Max:", "case len(key) > text.Max+1:"},
		{"4, rule 2: Intent unchanged", "a replay says that it is new", api + "wire.go",
			"openedWire{Success: true, IdempotentReplay: o.Replay}", "openedWire{Success: true}"},
		{"4, rule 5: A materially different", "another first payment date is the same intent", "checkout/intent.go",
			"compare(k, FieldFirstPayment, stored.Plan.First, want.Plan.First)", ""},
		{"2.3: GET", "a get says that every authority is authorised", api + "wire.go",
			"c.Setup.Authorisation == checkout.Authorised", "true"},
		{"7: 409 CONFLICT: confirm", "a confirm may name another authority", "checkout/confirm.go",
			"same(FieldDDAID, c.DDAID, stored.Records.DDAID)", ""},
		{"documentation: A confirm needs mandate_status", "a suspended mandate is confirmed", "checkout/confirm.go",
			"case !stored.Setup.Mandate.Confirmable():", "case false:"},
		{"2.4: deposit_confirmed", "a confirm needs no consent to privacy", "checkout/confirm.go",
			"k.accepted(FieldPrivacyAccepted, c.PrivacyConsentAccepted)", ""},
		{"3: POST confirm", "an enrolment is completed, not complete", api + "wire.go", `w.Enrolment.Status = "complete"`, `w.Enrolment.Status = "completed"`},
		{"4: When already confirmed", "a repeated confirm says that it is the first", api + "wire.go", "AlreadyConfirmed: d.Already}", "AlreadyConfirmed: false}"},
		{"documentation: agreement.receipt", "a get of a confirmed checkout has no receipt", api + "wire.go",
			"concludedWire{receiptOf(c), withdrawnAt(c)}", `concludedWire{"", withdrawnAt(c)}`},
		{"documentation: 409 CHECKOUT_CANCELLED", "a confirm of a cancelled checkout waits for its setup", "checkout/confirm.go",
			"case stored.Status == Cancelled:", "case false:"},
		{"6: checkout.confirmed: enrolment", "the event of a confirm has the API's word for its status", "events/event.go",
			`confirmedData{s, ddaID, "Confirmed", agreementID}`, `confirmedData{s, ddaID, "confirmed", agreementID}`},
		{"documentation: Your events", "next is the given after", api + "wire.go",
			"w.Next = e.Cursor.String()\n\t\tw.Events = append(w.Events, eventWire{w.Next,", "w.Events = append(w.Events, eventWire{e.Cursor.String(),"},
		{"documentation: status, updated_after", "the list of enrolments has every status", "checkout/list.go",
			"Status: Status(l.Status.Value), ", ""},
		{"2.2: plan is the echo", "the plan is answered with another first payment date", api + "wire.go",
			"FirstPayment: p.First.String(),", `FirstPayment: "2001-01-01",`},
		{"4: When already confirmed", "a repeated confirm may name another authority", "checkout/confirm.go",
			"case len(differing) > 0:", "case len(differing) > 0 && stored.Status != Confirmed:"},
		{"4: When already confirmed", "a confirm whose token was lost is never repeated", "checkout/confirm.go",
			"return refuseIdentifiers(differing)\n", "return refuseIdentifiers(differing)\n\tcase stored.Status == Confirmed && !sameToken(c.Token.Value, latest):\n\t\treturn refuseToken()\n"},
		{"6: agreement.generated", "the version of the agreement is no date", "events/event.go",
			"agreementNumber, documentID, agreementVersion}", `agreementNumber, documentID, "three"}`},
		{"2.3: direct_debit.authorised", "a get says that no authority is authorised", api + "wire.go",
			"c.Setup.Authorisation == checkout.Authorised", "false"},
		{"2.1, rule 5", "a provider overrides the principal of its catalogue", "checkout/create.go",
			"match(k, FieldPrincipal, c.Principal, offer.Pricing.Principal)", ""},
	} {
		all = append(all, broken{mutant{b.bug, b.file, b.old, b.new, "./cmd/provider-checkout/contract -run TestConformance$"}, b.sentence})
	}
	return all
}
