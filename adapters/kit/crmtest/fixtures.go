package crmtest

import (
	"crypto/sha256"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// Opened returns an enrolment as its create left it.
func Opened(order string) checkout.Enrolment {
	at := time.Date(2027, 1, 15, 3, 0, 0, 0, time.UTC)
	plan := money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 3, Regular: 900_00, Final: 990_00},
		First: money.Date{Year: 2027, Month: time.February, Day: 1}}
	return checkout.Enrolment{Environment: catalogue.Sandbox, Checkout: checkout.Checkout{Revision: at.UnixMilli(),
		ID: "KOWHAI-1800000000000-abcdefghijklmnop", ProviderCode: "KOWHAI", OrderID: order, CreatedAt: at, Status: checkout.SetupRequired,
		Student: checkout.Student{FirstName: "Māia", LastName: "O'Brien", Email: "maia@example.nz"},
		Intent: checkout.Intent{CourseName: "Diploma & “more”", Plan: plan,
			Pricing: money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00}},
		Setup: checkout.Setup{Observation: checkout.Observation{Authorisation: checkout.CustomerInProgress}}}}
}

// later returns an enrolment a minute later, with that time.
func later(e checkout.Enrolment) (checkout.Enrolment, time.Time) {
	e.Checkout.Revision += time.Minute.Milliseconds()
	return e, time.UnixMilli(e.Checkout.Revision).UTC()
}

// Active returns an enrolment whose mandate is active.
func Active(e checkout.Enrolment) checkout.Enrolment {
	e, at := later(e)
	e.Checkout.Setup = checkout.Setup{Try: 1, BillingRequestID: "BRQ1",
		Consent: agreement.Consent{At: at, Terms: "2026-11-29/10/9f86d081884c7d65"},
		Observation: checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandateActive, MandateID: "MD1",
			MandateSince: at, Authorisation: checkout.Authorised, AccountHolder: "M O'BRIEN", AccountMask: "01-0902-•••••23-00",
			CompletedAt: at}}
	return e
}

// Confirmed returns an enrolment that was confirmed, with another first payment date than was preferred.
func Confirmed(e checkout.Enrolment) checkout.Enrolment {
	e, at := later(Active(e))
	e.Checkout.Setup.Mandate = checkout.MandatePendingSubmission
	c, pdf := &e.Checkout, []byte("%PDF-1.7 of "+e.Checkout.OrderID)
	e.Document = &agreement.Document{SHA256: sha256.Sum256(pdf), Bytes: pdf}
	c.Status = checkout.Confirmed
	c.Confirmation = checkout.Confirmation{At: at, FirstPayment: c.Intent.Plan.First.AddDays(1), AgreementNumber: "PPA-2027-" + c.OrderID,
		DocumentSHA256: e.Document.SHA256}
	plan := c.Intent.Plan
	plan.First = c.Confirmation.FirstPayment
	e.Agreement = &agreement.Agreement{Number: c.Confirmation.AgreementNumber, Version: agreement.Version, CheckoutID: c.ID,
		OrderID: c.OrderID, AcceptedAt: at, Sandbox: true, Student: agreement.Student(c.Student),
		Course:  agreement.Course{Name: c.Intent.CourseName},
		Pricing: c.Intent.Pricing, Plan: plan, Schedule: c.Schedule(),
		Notice: agreement.Notice{Period: agreement.NoticePeriod{Days: 10}, NotBefore: plan.First.AddDays(3)}}
	return e
}

// Withdrawn and Cancelled return an enrolment that has ended.
func Withdrawn(e checkout.Enrolment) checkout.Enrolment {
	e, at := later(e)
	e.Checkout.End = checkout.End{At: at, By: checkout.PartyOperator, Ground: checkout.GroundCoolingOff}
	return e
}

func Cancelled(e checkout.Enrolment) checkout.Enrolment {
	e, at := later(e)
	e.Checkout.Status, e.Checkout.End = checkout.Cancelled, checkout.End{At: at, By: checkout.PartyProvider}
	return e
}
