package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"unicode/utf16"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/money"
)

// scripts are the characters of random legal names and course names: letters of many scripts, stacked
// marks, right-to-left text, emoji of several code points, and characters that do not print. (U+FFFE
// and U+FFFF are left out: apiclient.ParsePage reads pages as XML, which cannot contain them.)
var scripts = [][]rune{
	[]rune("abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ'-."),
	[]rune("āēīōūĀĒĪŌŪ ñøßŁžğıİ"),
	[]rune("محمد عبدالله ﷺ"),
	[]rune("שלום בן־דוד"),
	[]rune("李小龍 さくらサクラ 김민준"),
	[]rune("สมชาย हिन्दी தமிழ் བོད"),
	[]rune("Ωμέγα Жанна Հայաստան"),
	[]rune("👩🏽‍🎓👨‍👩‍👧🇳🇿🦜🏴󠁧󠁢󠁳󠁣󠁴󠁿❤️"),
	[]rune("a\u0301\u0308\u0327\u20dd\u0489\u035c"),
	[]rune("\u200d\u200b\ufeff\u00ad\u00a0visible letters too"),
	[]rune("<>&\"'`\\/{}()[]%=+-@;:|~^$#!?*_,"),
	[]rune("\ue000\U0010fffd\ufffd\u0378\U0001fbff"),
}

// randomName generates a name of 1 to 255 characters, mostly short ones, in one script or several. One of
// the characters is a letter, because a name without visible characters is refused.
func randomName(r *rand.Rand) string {
	length := 1 + r.IntN(20)
	if r.IntN(8) == 0 {
		length = 1 + r.IntN(255)
	}
	mixed := r.IntN(2) == 0
	script := scripts[r.IntN(len(scripts))]
	name := make([]rune, length)
	for i := range name {
		if mixed {
			script = scripts[r.IntN(len(scripts))]
		}
		name[i] = script[r.IntN(len(script))]
	}
	name[r.IntN(length)] = scripts[0][r.IntN(26)]
	return string(name)
}

// randomStudent generates a name of a student.
func randomStudent(r *rand.Rand, field string) string {
	for {
		if name := randomName(r); len(utf16.Encode([]rune(name))) <= longestName(field) {
			return name
		}
	}
}

// randomCents generates an amount of up to limit, small ones as often as large ones.
func randomCents(r *rand.Rand, limit money.Cents) money.Cents {
	bound := money.Cents(1)
	for range r.IntN(10) {
		bound *= 10
	}
	return 1 + money.Cents(r.Int64N(int64(min(bound, limit))))
}

// members are the members of a JSON object.
type members = map[string]any

// randomCreate generates a create of TUI whose plan adds up.
func randomCreate(r *rand.Rand, id string) string {
	plan := money.Instalments{Number: 1 + r.IntN(60)}
	if r.IntN(10) == 0 {
		plan.Number = 1 + r.IntN(money.MaxInstalments)
	}
	plan.Regular = randomCents(r, (money.Max/2)/money.Cents(plan.Number))
	plan.Final = plan.Regular
	if plan.Number > 1 && r.IntN(2) == 0 {
		plan.Final = randomCents(r, money.Max/4)
	}
	upfront := money.Cents(0)
	if r.IntN(2) == 0 {
		upfront = randomCents(r, money.Max/4)
	}
	number := func(c money.Cents) json.Number { return json.Number(c.String()) }
	body, err := json.Marshal(members{
		"provider": members{"provider_code": "TUI", "provider_order_id": id},
		"student": members{"first_name": randomStudent(r, "student.first_name"), "last_name": randomStudent(r, "student.last_name"),
			"email": "student@example.nz"},
		"course": members{"course_name": randomName(r)},
		"pricing": members{"course_price": number(upfront + plan.Principal()), "upfront_payment": number(upfront),
			"amount_to_finance": number(plan.Principal())},
		"plan": members{"payment_type": "interest_free_payment_plan", "number_of_instalments": plan.Number,
			"payment_frequency": []string{"Weekly", "Fortnightly", "Monthly"}[r.IntN(3)],
			"instalment_amount": number(plan.Regular), "final_instalment_amount": number(plan.Final),
			"first_payment_date": randomDate(r)},
	})
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return string(body)
}

func randomDate(r *rand.Rand) string {
	return money.Date{Year: 2000, Month: 1, Day: 1 + r.IntN(31)}.After(money.Monthly, r.IntN(12*200)).String()
}

func TestContract3WhateverACreateAcceptsCanBeConfirmedWithItsPDF(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		r := rand.New(rand.NewPCG(2026, 11))
		for i := range testlevel.Of(10, 40) {
			body := randomCreate(r, fmt.Sprint("ORDER-", i))
			created := s.Post(t, "TUI", createPath, body)
			if created.Status != http.StatusCreated {
				t.Fatalf("%s\nis not accepted: %d %s", body, created.Status, created.Body)
			}
			s.SetUp(t, created)
			confirm := set(t, created.ConfirmBody(), "payment.first_payment_date", `"`+randomDate(r)+`"`)
			confirmed := s.Post(t, "TUI", created.CheckoutPath()+"/confirm", confirm)
			if confirmed.Status != http.StatusOK || confirmed.At("agreement.pdf_generated") != true {
				t.Errorf("%s\nwas accepted; its confirm answers %d %s\n%s", body, confirmed.Status, confirmed.Body, s.Log)
				continue
			}
			document, err := s.Store.Document(t.Context(), created.String("checkout.checkout_id"))
			if err != nil || !bytes.HasPrefix(document.Bytes, []byte("%PDF-")) {
				t.Errorf("%s\nhas no PDF on record: %v", body, err)
			}
		}
		for _, d := range s.Records(t) {
			sum := money.Cents(0)
			for _, charge := range d.Checkout.Schedule() {
				sum += charge.Amount
			}
			if c := d.Checkout; sum != c.Intent.Pricing.Price {
				t.Errorf("the charges of %s sum to %s, not its price %s", c.OrderID, sum, c.Intent.Pricing.Price)
			}
		}
	})
}
