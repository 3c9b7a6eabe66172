package memory

import (
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The copies share no memory with their originals, and are normalised as every store returns them: times in UTC to the
// millisecond, an empty list as nil.

func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func copySlice[T any](s []T) []T { return append([]T(nil), s...) }

func copyCheckout(c checkout.Checkout) checkout.Checkout {
	c.CreatedAt = stored(c.CreatedAt)
	c.Tokens = copySlice(c.Tokens)
	for i := range c.Tokens {
		c.Tokens[i].Expires = stored(c.Tokens[i].Expires)
	}
	c.Setup.MandateSince = stored(c.Setup.MandateSince)
	c.Setup.CompletedAt = stored(c.Setup.CompletedAt)
	c.Setup.Consent.At = stored(c.Setup.Consent.At)
	c.Confirmation.At = stored(c.Confirmation.At)
	c.ErasedAt = stored(c.ErasedAt)
	return c
}

func copyAgreement(a agreement.Agreement) agreement.Agreement {
	a.AcceptedAt = stored(a.AcceptedAt)
	a.DirectDebit.AuthorisedAt = stored(a.DirectDebit.AuthorisedAt)
	a.DirectDebit.Consent.At = stored(a.DirectDebit.Consent.At)
	a.Schedule = copySlice(a.Schedule)
	a.Terms.Fees.Fees, a.Terms.DefaultFees.Fees = copySlice(a.Terms.Fees.Fees), copySlice(a.Terms.DefaultFees.Fees)
	a.Terms.Authority.Conditions, a.Terms.Blocks = copySlice(a.Terms.Authority.Conditions), copySlice(a.Terms.Blocks)
	return a
}

func copyDocument(d agreement.Document) agreement.Document {
	d.Bytes = copySlice(d.Bytes)
	return d
}

func copyJob(j checkout.Job) checkout.Job {
	j.CreatedAt, j.Due = stored(j.CreatedAt), stored(j.Due)
	j.Body = copySlice(j.Body)
	return j
}

func copyEntry(e evidence.Entry) evidence.Entry {
	e.At = stored(e.At)
	e.Leaf, e.Salt, e.Attestation = copySlice(e.Leaf), copySlice(e.Salt), copySlice(e.Attestation)
	return e
}

func copyHead(h evidence.Head) evidence.Head {
	h.Edge, h.Checkpoint = copySlice(h.Edge), copySlice(h.Checkpoint)
	return h
}

func copyKey(k catalogue.Key) catalogue.Key {
	k.CreatedAt, k.RevokedAt = stored(k.CreatedAt), stored(k.RevokedAt)
	return k
}

func copyProvider(p catalogue.Provider) catalogue.Provider {
	p.EnrolmentOrigins = copySlice(p.EnrolmentOrigins)
	p.Destination.PreviousUntil = stored(p.Destination.PreviousUntil)
	return p
}

func copyCourse(c catalogue.Course) catalogue.Course {
	c.Options = copySlice(c.Options)
	return c
}

func copyConfigurations(all []catalogue.Configuration) []catalogue.Configuration {
	all = copySlice(all)
	for i := range all {
		all[i].Provider = copyProvider(all[i].Provider)
		all[i].Courses = copySlice(all[i].Courses)
		for j := range all[i].Courses {
			all[i].Courses[j] = copyCourse(all[i].Courses[j])
		}
	}
	return all
}
