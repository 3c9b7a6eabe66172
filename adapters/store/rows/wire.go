package rows

import (
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The types of this file are the JSON of columns of a checkout.

type tokenWire struct {
	Epoch   int    `json:"epoch"`
	KID     string `json:"kid"`
	Expires int64  `json:"expires_ms"`
	Renewed int64  `json:"renewed_ms,omitempty"`
	Mailed  bool   `json:"mailed,omitempty"`
}

func toTokenWires(tokens []checkout.Token) (list []tokenWire) {
	for _, t := range tokens {
		list = append(list, tokenWire{t.Epoch, t.KID, Millis(t.Expires), Millis(t.Renewed), t.Mailed})
	}
	return list
}

func toTokens(wires []tokenWire) (list []checkout.Token) {
	for _, w := range wires {
		list = append(list, checkout.Token{Epoch: w.Epoch, KID: w.KID, Expires: Time(w.Expires), Renewed: Time(w.Renewed), Mailed: w.Mailed})
	}
	return list
}

type consentWire struct {
	At         int64  `json:"at_ms"`
	From       string `json:"from,omitempty"`
	Terms      string `json:"terms,omitempty"`
	NoticeDays int    `json:"notice_days,omitempty"`
	Business   bool   `json:"business_days,omitempty"`
	SHA256     string `json:"disclosed_sha256,omitempty"`
	Page       string `json:"disclosed_page,omitempty"`
}

func toConsentWire(c agreement.Consent) consentWire {
	return consentWire{Millis(c.At), c.From, c.Terms, c.Period.Days, c.Period.Business, c.Disclosed.SHA256, c.Disclosed.Page}
}

func (w consentWire) toDomain() agreement.Consent {
	return agreement.Consent{At: Time(w.At), From: w.From, Terms: w.Terms, Period: agreement.NoticePeriod{Days: w.NoticeDays, Business: w.Business},
		Disclosed: agreement.Disclosed{SHA256: w.SHA256, Page: w.Page}}
}

type mandateWire struct {
	Reason      string `json:"reason,omitempty"`
	FirstCharge string `json:"first_charge,omitempty"`
}

type endWire struct {
	At     int64           `json:"at_ms"`
	By     checkout.Party  `json:"by"`
	Ground checkout.Ground `json:"ground,omitempty"`
	Reason string          `json:"reason,omitempty"`
}

func toEndWire(e checkout.End) endWire { return endWire{Millis(e.At), e.By, e.Ground, e.Reason} }

func (w endWire) toDomain() checkout.End {
	return checkout.End{At: Time(w.At), By: w.By, Ground: w.Ground, Reason: w.Reason}
}
