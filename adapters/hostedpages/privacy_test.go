package hostedpages_test

import (
	"net/http"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// A student who does not pay has no setup token: the notice is there without one, and says nothing about anybody.
func TestThePrivacyNoticeIsForEverybody(t *testing.T) {
	b := benchOf(t, setting{provider: kowhai(), create: order(),
		agency: agreement.Agency{Name: "Pūtea Limited", Address: "1 Quay <Street>", Contact: "privacy@putea.example"}})
	notice := b.get("/api/dd-setup/privacy")
	notice.is(t, http.StatusOK)
	notice.wants(t, "information privacy principle 3A", "Pūtea Limited, 1 Quay &lt;Street&gt;. Contact: privacy@putea.example.",
		"What it is for", "Who gets it", "How long we keep it", "put it right", "Privacy Commissioner")
	notice.lacks(t, "Hēmi", "Kōwhai", "sandbox: its operator")
	b.get(b.legalPath()).wants(t, "“We” are Pūtea Limited", `/api/dd-setup/privacy"`)
}

func TestASandboxWithoutAnAgencySaysSo(t *testing.T) {
	b := newBench(t, kowhai(), order(), 0)
	b.get("/api/dd-setup/privacy").wants(t, "This is a sandbox: its operator has not said who they are")
	b.get(b.legalPath()).lacks(t, "“We” are")
}
