package hostedpages_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// A name that is written from right to left may reorder the words around it, unless it is isolated.
func TestNamesFromRightToLeftAreIsolated(t *testing.T) {
	p, create := kowhai(), order()
	p.Branding.DisplayName, p.Branding.SupportEmail = "מכללת רימון", ""
	create.FirstName, create.LastName = checkout.Some("נועה"), checkout.Some("כהן")
	create.CourseName = checkout.Some("دبلوم إدارة الأعمال")
	b := newBench(t, setting{provider: p, create: create, terms: agreement.Terms{
		Lender: agreement.Lender{Name: "בנק הדואר", Address: "רחוב יפו 23", Registration: "רשם 7"},
		Blocks: ofPutea().Blocks,
	}})
	pages := map[string]answer{"open page": b.get(b.setupPath()), "legal page": b.get(b.legalPath())}
	bankPage := b.start()
	pages["processor's form"] = b.get(bankPage)
	pages["processor's form with mistakes"] = b.do("POST", bankPage, "")
	b.complete(bankPage)
	pages["done page"] = b.get(b.setupPath())
	pages["legal page of a setup that is done"] = b.get(b.legalPath())
	b.poll()
	b.confirm(create.First)
	pages["confirmed page"] = b.get(b.setupPath())

	other := newBench(t, setting{provider: p, create: create})
	other.now = other.now.Add(8 * 24 * time.Hour)
	pages["expired page"] = other.get(other.setupPath())
	p.Active = false
	other.configure(p)
	pages["page of a provider that is not enabled"] = other.get(other.setupPath())

	for name, page := range pages {
		_, body, _ := strings.Cut(page.body, "<body")
		if !rightToLeft.MatchString(body) {
			t.Errorf("%s names no one:\n%s", name, body)
		}
		for _, text := range isolatedOrTag.Split(body, -1) {
			if rightToLeft.MatchString(text) {
				t.Errorf("%s: %q holds a name that is not isolated", name, text)
			}
		}
	}
}

// isolatedOrTag is a name that is isolated, a badge, which is a box of its own, or a tag.
var isolatedOrTag = regexp.MustCompile(`<bdi[^>]*>[^<]*</bdi>|<span class="badge" aria-hidden="true">[^<]*</span>|<[^>]*>`)

var rightToLeft = regexp.MustCompile(`[\p{Hebrew}\p{Arabic}]`)
