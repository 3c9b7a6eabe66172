package full_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// story is a tab of the desk that counts what its person presses: a link, a button, what is folded.
// A text that is typed and a choice in a list are no press.
type story struct {
	*tab
	clicks int
}

// follows presses what leads to another page.
func (s *story) follows(selector string) {
	s.t.Helper()
	s.clicks++
	s.click(selector)
}

// finds searches from the menu.
func (s *story) finds(text string) {
	s.t.Helper()
	s.fill("nav input[name=q]", text)
	s.follows("nav form[action='/find'] button")
}

// opens unfolds the act of the page that has what a selector finds, fills in its fields, of names and values in turn, and gives a
// reason. It returns the selector of the act's button.
func (s *story) opens(part string, fields ...string) (button string) {
	s.t.Helper()
	s.clicks++
	act := "details:has(" + part + ")"
	s.press(act + " > summary")
	for i := 0; i < len(fields); i += 2 {
		s.fill(act+" [name="+fields[i]+"]", fields[i+1])
	}
	s.fill(act+" input[name=reason]", "ticket 7")
	return act + " button"
}

// acts does an act of the page, and reads on the next page that it was done.
func (s *story) acts(part, done string, fields ...string) {
	s.t.Helper()
	s.follows(s.opens(part, fields...))
	s.has(done)
}

// saves presses what answers with a file, and returns its content.
func (s *story) saves(selector, name string) string {
	s.t.Helper()
	folder := s.t.TempDir()
	s.clicks++
	s.must("save "+name, chromedp.Do(s.ctx,
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: folder})
			return err
		}), chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible)))
	return await(func() string {
		saved, _ := filepath.Glob(filepath.Join(folder, name))
		if len(saved) == 0 {
			return ""
		}
		data, _ := os.ReadFile(saved[0])
		return string(data)
	})
}

// has checks that the page has every text.
func (s *story) has(texts ...string) {
	s.t.Helper()
	got := s.text("main")
	for _, text := range texts {
		if !strings.Contains(got, text) {
			s.t.Errorf("the page lacks %q:\n%s", text, got)
		}
	}
}

// stories has what operators are asked for, with the number of presses from Today to the end. They are done in this order.
var stories = []struct {
	name, person, role string
	clicks             int
	do                 func(s *story)
}{
	{"1: she never got the link", "Aroha", "support", 3, func(s *story) {
		s.finds("tuhoe")
		s.acts("form[action$='/link']", "A new link goes to the e-mail address on record.")
		s.has("New link made", "operator:Aroha")
	}},
	{"2: the wrong course, cancel", "Aroha", "support", 3, func(s *story) {
		s.finds("anahera@example.nz")
		s.acts("form[action$='/cancel']", "The checkout is cancelled.")
		s.shows("Cancelled by the operator")
	}},
	{"3: she withdraws in the cooling-off", "Aroha", "support", 3, func(s *story) {
		s.finds("hana")
		s.acts("form[action$='/withdraw']", "The withdrawal was asked for.")
	}},
	{"3: and a second person approves it", "Ben", "compliance", 2, func(s *story) {
		s.follows(".notice a[href='/approvals']")
		s.follows("form[action$='/approve'] button")
		s.has("Approved and done.")
	}},
	{"3: and the timeline has both", "Ben", "support", 1, func(s *story) {
		s.finds("hana")
		s.has("Agreement withdrawn", "operator:Aroha", "approved by Ben (compliance)")
	}},
	{"4: which are set up and not confirmed", "Aroha", "support", 2, func(s *story) {
		s.follows("a[href='/find?trouble=unconfirmed']")
		s.follows("tbody th a")
		s.shows("Set up; waits for the provider's confirm")
	}},
	{"4: which were left at the bank", "Aroha", "support", 2, func(s *story) {
		s.follows("a[href='/find?trouble=unfinished']")
		s.follows("tbody th a")
		s.has("Payer went on to the bank")
	}},
	{"4: which events did not arrive, and why", "Aroha", "support", 2, func(s *story) {
		s.follows("a[href='/find?trouble=events']")
		s.follows("tbody th a")
		s.has("Event not taken", "answered 503")
	}},
	{"5: why did the confirm fail", "Aroha", "support", 1, func(s *story) {
		s.finds("T-70")
		s.has("Call refused", "DIRECT_DEBIT_SETUP_INCOMPLETE")
	}},
	{"6: a receiver was down, send everything again", "Aroha", "engineer", 3, func(s *story) {
		s.follows("tbody td a[href='/providers/TUI']")
		s.acts("form[action$='/redeliver']", "The failed events are sent again in a moment.")
		s.has("events redeliver", ": to be sent again")
	}},
	{"7: a key leaked, a new one", "Aroha", "engineer", 3, func(s *story) {
		s.finds("tui")
		s.acts("input[name=label]", "An API key for TUI", "label", "web shop")
	}},
	{"7: and the old one is revoked", "Aroha", "engineer", 3, func(s *story) {
		s.finds("tui")
		s.acts("select[name=revoke]", "The key is revoked.")
		s.has("revoked ", "keys revoke")
	}},
	{"8: the month's reconciliation", "Aroha", "finance", 1, func(s *story) {
		s.follows("nav a[href^='/months/']")
		s.has("Every agreement as a file") // in the first days of a month nothing was agreed in it
	}},
	{"9: whose mandate ended", "Aroha", "support", 2, func(s *story) {
		s.follows("a[href='/find?trouble=mandates']")
		s.follows("tbody th a")
		s.shows("Confirmed; the mandate has ended")
		s.has("Mandate changed")
	}},
	{"10: is a new provider's receiver well", "Aroha", "engineer", 2, func(s *story) {
		s.finds("kowhai")
		s.follows("form[action$='/ping'] button")
		s.has("The receiver took the event.", "ping: taken")
	}},
	{"12: raise the rate of a provider", "Aroha", "engineer", 3, func(s *story) {
		s.finds("kowhai")
		s.acts("form[action$='/rate']", "The rate is changed.", "rate", "20")
		s.has("20 requests a second")
	}},
	{"13: a provider is disabled", "Ben", "compliance", 3, func(s *story) {
		s.finds("tui")
		s.acts("form[action$='/disable']", "The provider is disabled.")
		s.has("providers disable")
	}},
	{"14: a person wants to know what is kept", "Ben", "compliance", 3, func(s *story) {
		s.finds("tuhoe@example.nz")
		if got := s.saves(s.opens("form[action$='/export']"), "*.jsonl"); !strings.Contains(got, "tuhoe@example.nz") {
			s.t.Errorf("the file has %q", got)
		}
	}},
	{"14: and wants it erased", "Ben", "compliance", 3, func(s *story) {
		s.finds("tuhoe@example.nz")
		s.acts("form[action$='/erase']", "The erasure was asked for.")
	}},
	{"15: the agreement's PDF", "Ben", "auditor", 3, func(s *story) {
		s.finds("ENROL-0902")
		s.opens("form[action$='/reveal']")
		if got := s.saves("button[name=open]", "PPA-*.pdf"); !strings.HasPrefix(got, "%PDF-") {
			s.t.Errorf("the file is %.20q", got)
		}
	}},
	{"15: and its proof", "Ben", "auditor", 2, func(s *story) {
		s.finds("ENROL-0902")
		if got := s.saves("a[href$='/proof.json']", "agreement-PPA-*.proof.json"); !strings.Contains(got, "evidence proof") {
			s.t.Errorf("the file is %q", got)
		}
	}},
	{"15: who changed what", "Ben", "auditor", 1, func(s *story) {
		s.follows("nav a[href='/audit']")
		s.has("by Aroha (support), approved by Ben (compliance)", "providers disable", "privacy export")
	}},
	{"19: an agent who may read and no more", "Ben", "auditor", 1, func(s *story) {
		s.finds("T-70")
		if forms := evaluate[int](s.tab, "document.querySelectorAll('.acts form:not([action$=\"/reveal\"]), td form').length"); forms != 0 {
			s.t.Errorf("an auditor has %d acts", forms)
		}
	}},
	{"20: the funnel by provider and week", "Aroha", "finance", 2, func(s *story) {
		s.follows("nav a[href='/funnel']")
		s.has("KOWHAI", "TUI", "Went to the bank")
		s.follows("tbody a[href='/find?provider=KOWHAI']")
		s.has("ENROL-0901")
	}},
}

// What support, finance, compliance and engineers are asked for every day takes at most three presses from Today, on a phone too and
// without a script. The pages at which they end are accessible.
func TestBrowserAnOperatorsStoriesTakeThreeClicks(t *testing.T) {
	axe := axeSource(t)
	started := startBrowser(t)
	for _, on := range []screen{darkPhone, desktop} {
		desk := deskURL.FindStringSubmatch(startDemo(t))[1]
		p := newTab(t, started, on, on == desktop) // where axe runs
		for _, told := range stories {
			s := &story{tab: p}
			s.signIn(desk, told.person, told.role)
			began := time.Now()
			told.do(s)
			t.Logf("%s: %s: %d clicks, %.1f s", on.name, told.name, s.clicks, time.Since(began).Seconds())
			if s.clicks != told.clicks || s.clicks > 3 {
				t.Errorf("%s: %d clicks, want %d", told.name, s.clicks, told.clicks)
			}
			s.isNarrow()
			s.picture(told.name)
			if on == desktop {
				s.accessible(axe)
			}
		}
	}
}
