package full_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// story is a tab of the desk that counts what its person presses: a link, a button, what is folded, and Enter after a search.
// A text that is typed and a choice in a list are no press.
type story struct {
	*tab
	desk   string
	clicks int
}

func (s *story) follows(selector string) {
	s.t.Helper()
	s.clicks++
	s.click(selector)
}

// finds searches from the menu.
func (s *story) finds(text string) {
	s.t.Helper()
	s.fill("nav input[name=q]", text)
	s.clicks++
	s.leads("search", chromedp.SendKeys(chromedp.CSS("nav input[name=q]"), "\r"))
}

// acts opens a folded act of the page, gives a reason and sends it.
func (s *story) acts(name string) {
	s.t.Helper()
	s.clicks += 2
	s.does(evaluate[string](s.tab, "location.pathname")+"/"+name, "ticket 7")
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

// shellValue finds a variable of the guide's lines for a shell.
func shellValue(t *testing.T, guide, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + `=(\S+)$`).FindStringSubmatch(guide)
	if found == nil {
		t.Fatalf("the guide has no %s:\n%s", name, guide)
	}
	return found[1]
}

// seedStories has providers open the checkouts of the stories. The receiver of TUI is out of order.
func seedStories(t *testing.T, guide string) {
	t.Helper()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(broken.Close)
	var file struct {
		Providers []map[string]any `json:"providers"`
	}
	if err := json.Unmarshal(readFile(t, "../demo.json"), &file); err != nil {
		t.Fatal(err)
	}
	file.Providers = file.Providers[1:]
	file.Providers[0]["webhook"] = map[string]any{"url": broken.URL, "signing_secret": "whsec_demonstration_only_tui"}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	store := regexp.MustCompile(`--store (\S+)`).FindStringSubmatch(guide)[1]
	built(t).Run(t, "apply", "-f", proc.TempFile(t, string(text)), "--store", store)

	api := apiclient.New(shellValue(t, guide, "BASE"), map[string]string{"KOWHAI": shellValue(t, guide, "KEY"), "TUI": shellValue(t, guide, "TUI_KEY")})
	first := regexp.MustCompile(`"first_payment_date": "([-0-9]+)"`).FindStringSubmatch(guide)[1]
	create := func(provider, body string) apiclient.Response {
		created, err := api.Create(t.Context(), provider, body)
		if err != nil || created.Status != http.StatusCreated {
			t.Fatalf("the create answers %v, %v", created, err)
		}
		return created
	}
	for _, c := range []apiclient.CreateRequest{{OrderID: "LINK", FirstName: "Tūhoe", LastName: "Ngata", Email: "tuhoe@example.nz"},
		{OrderID: "WRONG", FirstName: "Mere", LastName: "Parata", Email: "wrong.course@example.nz"}} {
		c.ProviderCode, c.CourseCode, c.Frequency, c.FirstPayment = "KOWHAI", "NZDIP-BUS", "Weekly", first
		create("KOWHAI", c.String())
	}
	stuck := create("TUI", `{"provider": {"provider_code": "TUI", "provider_order_id": "STUCK"},
		"student": {"first_name": "Wiremu", "last_name": "Heke", "email": "wiremu@example.nz"}, "course": {"course_name": "Carpentry"},
		"pricing": {"course_price": 1000.00, "upfront_payment": 0.00, "amount_to_finance": 1000.00},
		"plan": {"payment_type": "interest_free_payment_plan", "payment_frequency": "Weekly", "number_of_instalments": 2,
		"instalment_amount": 500.00, "final_instalment_amount": 500.00, "first_payment_date": "`+first+`"}}`)
	if refused, err := api.Confirm(t.Context(), stuck, stuck.ConfirmBody()); err != nil || refused.Status != http.StatusConflict {
		t.Fatalf("the early confirm answers %v, %v", refused, err)
	}
	time.Sleep(2 * time.Second) // until the attempts of the event are over
}

// stories has what operators are asked for, with the number of presses from Today to the end. They are done in this order.
var stories = []struct {
	name, person, role string
	clicks             int
	do                 func(s *story)
}{
	{"she never got the link", "Aroha", "support", 3, func(s *story) {
		s.finds("tuhoe")
		s.acts("link")
		s.has("New link made", "operator:Aroha")
	}},
	{"the wrong course: cancel", "Aroha", "support", 3, func(s *story) {
		s.finds("wrong.course@example.nz")
		s.acts("cancel")
		s.shows("Cancelled by the operator")
	}},
	{"she withdraws in the cooling-off", "Aroha", "support", 3, func(s *story) {
		s.finds("WEB-1")
		s.acts("withdraw")
		s.shows("Approvals")
	}},
	{"and a second person approves it", "Ben", "compliance", 2, func(s *story) {
		s.follows(".notice a[href='/approvals']")
		s.follows("form[action$='/approve'] button")
		s.shows("Approvals")
	}},
	{"which are stuck, and why", "Aroha", "support", 2, func(s *story) {
		s.follows("a[href='/find?trouble=events']")
		s.follows("tbody th a")
		s.has("Event not taken", "answered 500")
	}},
	{"why did the confirm fail", "Aroha", "support", 1, func(s *story) {
		s.finds("STUCK")
		s.has("Call refused", "DIRECT_DEBIT_SETUP_INCOMPLETE")
	}},
	{"a receiver was down: send everything again", "Aroha", "engineer", 3, func(s *story) {
		s.follows("tbody td a[href='/providers/TUI']")
		s.acts("redeliver")
		s.has("events redeliver", "failed since")
	}},
	{"a key leaked: a new one", "Aroha", "engineer", 3, func(s *story) {
		s.finds("tui")
		s.clicks += 2
		s.press("details:has(input[name=label]) > summary")
		s.fill("form:has(input[name=label]) input[name=reason]", "ticket 7")
		s.click("form:has(input[name=label]) button")
		s.shows("An API key for TUI")
	}},
	{"and the old one is revoked", "Aroha", "engineer", 3, func(s *story) {
		s.finds("tui")
		s.clicks += 2
		s.press("details:has(select[name=revoke]) > summary")
		s.fill("form:has(select[name=revoke]) input[name=reason]", "ticket 7")
		s.click("form:has(select[name=revoke]) button")
		s.has("revoked ", "keys revoke")
	}},
	{"the month's reconciliation", "Aroha", "finance", 1, func(s *story) {
		s.follows("nav a[href^='/months/']")
		s.has("Differences between record, CRM and mandate", "$2,790.00", "Every agreement as a file")
	}},
	{"is a new provider's receiver well", "Aroha", "engineer", 2, func(s *story) {
		s.finds("kowhai")
		s.follows("form[action$='/ping'] button")
		s.has("ping: taken")
	}},
	{"raise the rate of a provider", "Aroha", "engineer", 3, func(s *story) {
		s.finds("kowhai")
		s.press("details:has(input[name=rate]) > summary")
		s.fill("input[name=rate]", "20")
		s.fill("form:has(input[name=rate]) input[name=reason]", "ticket 7")
		s.click("form:has(input[name=rate]) button")
		s.clicks += 2
		s.has("20 requests a second")
	}},
	{"a provider is disabled", "Ben", "compliance", 3, func(s *story) {
		s.finds("tui")
		s.acts("disable")
		s.has("disabled", "providers disable")
	}},
	{"a person's data is erased", "Ben", "compliance", 3, func(s *story) {
		s.finds("tuhoe@example.nz")
		s.acts("erase")
		s.has("privacy erase")
	}},
	{"who changed what", "Ben", "auditor", 1, func(s *story) {
		s.follows("nav a[href='/audit']")
		s.has("by Aroha (support), approved by Ben (compliance)", "providers disable")
	}},
	{"an agent who may read and no more", "Ben", "auditor", 1, func(s *story) {
		s.finds("STUCK")
		if forms := evaluate[int](s.tab, "document.querySelectorAll('.acts form:not([action$=\"/reveal\"]), td form').length"); forms != 0 {
			s.t.Errorf("an auditor has %d acts", forms)
		}
	}},
	{"the funnel by provider and week", "Aroha", "finance", 2, func(s *story) {
		s.follows("nav a[href='/funnel']")
		s.has("KOWHAI", "TUI", "Went to the bank")
		s.follows("tbody a[href='/find?provider=KOWHAI']")
		s.has("WEB-1")
	}},
}

// What support, finance, compliance and engineers are asked for every day takes at most three presses from Today.
func TestBrowserAnOperatorsStoriesTakeThreeClicks(t *testing.T) {
	browser := startBrowser(t)
	guide := startDemo(t)
	website, desk := openFirst(t, guide), deskURL.FindStringSubmatch(guide)[1]
	p := newTab(t, browser, desktop, false)
	p.enrols(website, func(string) {})
	p.click("a[href^='" + desk + "']") // the website leads there
	p.shows("Sign in")
	seedStories(t, guide)
	for _, told := range stories {
		s := &story{tab: p, desk: desk}
		s.signIn(desk, told.person, told.role)
		told.do(s)
		if s.clicks != told.clicks || s.clicks > 3 {
			t.Errorf("%s: %d clicks, want %d", told.name, s.clicks, told.clicks)
		}
	}
}
