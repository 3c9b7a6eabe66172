// Package fakemailbox is the mailbox of the demonstration's payers: their e-mails are kept in memory and shown as pages. It sends nothing.
package fakemailbox

import (
	"context"
	"embed"
	"html/template"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Path is the path under which the mailbox is.
const Path = "/mail/"

// maxMails is the number of e-mails that a mailbox keeps.
const maxMails = 100

//go:embed mailbox.html
var files embed.FS

// Mailbox implements ports.PayerNotifier, and is the handler of its pages.
type Mailbox struct {
	site    *web.Site
	handler http.Handler

	mu    sync.Mutex
	mails []checkout.PayerNotice // the oldest first
}

// New returns an empty mailbox at an address without a path.
func New(baseURL string, log *slog.Logger) *Mailbox {
	m := &Mailbox{site: web.NewSite(web.Options{Log: log, BaseURL: baseURL}.Complete(), web.SiteConfig{Assets: Path + "assets/", Files: files})}
	m.handler = m.site.Handler(map[string]http.HandlerFunc{
		"GET " + Path:                          m.list,
		"GET " + Path + "{id}":                 m.read,
		"GET " + Path + "{id}/attached/{name}": m.attachment,
	})
	return m
}

func (m *Mailbox) Notify(_ context.Context, n checkout.PayerNotice) (receipt string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mails = append(m.mails, n); len(m.mails) > maxMails {
		m.mails = slices.Delete(m.mails, 0, 1)
	}
	return "kept in the mailbox of the demonstration", nil
}

func (m *Mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// list shows all e-mails, the newest first.
func (m *Mailbox) list(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	mails := slices.Clone(m.mails)
	m.mu.Unlock()
	slices.Reverse(mails)
	m.site.Show(w, r, "mailbox.html", web.View{Status: http.StatusOK, Title: "E-mails to payers", Brand: "Mailbox (make-believe)", Sandbox: true, Data: mails})
}

// find returns the e-mail of a request.
func (m *Mailbox) find(r *http.Request) (n checkout.PayerNotice, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.mails, func(n checkout.PayerNotice) bool { return n.ID == mux.Vars(r)["id"] })
	if i < 0 {
		return n, false
	}
	return m.mails[i], true
}

// bar leads from an e-mail back to the list, and to what is attached.
var bar = template.Must(template.New("").Parse(`<nav aria-label="Mailbox" style="padding:12px;font:16px/2 sans-serif;` +
	`text-align:center"><a href="./">All e-mails</a>{{range .Attachments}} · Attached: <a href="{{$.ID}}/attached/{{.Name}}">{{.Name}}</a>{{end}}</nav>`))

// read shows an e-mail as a mail program does.
func (m *Mailbox) read(w http.ResponseWriter, r *http.Request) {
	n, ok := m.find(r)
	if !ok {
		m.site.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	const letter = "<table"
	head, body, _ := strings.Cut(n.HTML, letter)
	_, _ = io.WriteString(w, head) // an error means that the client hung up
	_ = bar.Execute(w, n)
	_, _ = io.WriteString(w, letter+body)
}

// attachment sends a file of an e-mail.
func (m *Mailbox) attachment(w http.ResponseWriter, r *http.Request) {
	n, _ := m.find(r)
	i := slices.IndexFunc(n.Attachments, func(a checkout.Attachment) bool { return a.Name == mux.Vars(r)["name"] })
	if i < 0 {
		m.site.NotFound(w, r)
		return
	}
	a := n.Attachments[i]
	w.Header().Set("Content-Type", a.MediaType)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": a.Name}))
	_, _ = w.Write(a.Bytes)
}
