package httpapi

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

// The page on which anybody checks the proof of an agreement in the browser.
var (
	//go:embed verify.html
	verifyHTML string
	//go:embed verify.css
	verifyCSS string
	//go:embed verify.js
	verifyJS string
)

// keptVerifier is the name under which the page is saved.
const keptVerifier = "check-agreement.html"

// verifier is the page as one file that loads nothing and sends nothing, with an evidence key filled in.
type verifier struct {
	body   []byte
	policy web.Policy
}

func newVerifier(key string) verifier {
	v := verifier{policy: web.Policy{Style: web.Style() + verifyCSS, Script: verifyJS}}
	var page bytes.Buffer
	err := template.Must(template.New("verify").Parse(verifyHTML)).Execute(&page, map[string]any{
		"Policy": v.policy.Content(), "Style": template.CSS(v.policy.Style), "Script": template.JS(v.policy.Script), "Key": key,
		"Kept": keptVerifier, "KeptAt": "." + web.VerifyPath + "/" + keptVerifier})
	if err != nil {
		panic("httpapi: " + err.Error()) // the page is part of the program
	}
	v.body = page.Bytes()
	return v
}

// show answers with the page.
func (v verifier) show(w http.ResponseWriter, _ *http.Request) {
	web.SetPageHeaders(w.Header(), v.policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(v.body) // a client that went away is no fault
}

// keep answers with the same page, which the browser saves.
func (v verifier) keep(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Disposition", `attachment; filename="`+keptVerifier+`"`)
	v.show(w, r)
}
