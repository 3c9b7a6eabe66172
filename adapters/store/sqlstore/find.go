package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// askLimit is the longest time for which a question of the desk is answered.
const askLimit = 2 * time.Second

// ask answers a question of the desk in one snapshot.
func (s *Store) ask(ctx context.Context, asking string, read func(context.Context, Source) error) error {
	limited, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	err := s.engine.Snapshot(limited, func(src Snapshot) error { return read(limited, src) })
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w: no answer in %v", asking, ports.ErrBusy, askLimit)
	}
	return wrap(err, "%s", asking)
}

// listed is an entry of a list, before its checkout is read.
type listed struct {
	CheckoutKey
	since int64  // milliseconds
	term  string // by which the entries of a list of names are ordered
	by    string
}

var scanListed = Fields(func(l *listed) []any { return []any{&l.ProviderCode, &l.ID, &l.since} })

var scanTerm = Fields(func(l *listed) []any { return []any{&l.ProviderCode, &l.ID, &l.since, &l.term} })

// desk answers one question.
type desk struct {
	Source
	of    string // the provider; "" for all
	limit int
	statements
}

// list returns entries by a query for the columns of scanListed.
func (d desk) list(ctx context.Context, by, query string, args ...any) ([]listed, error) {
	list, err := All(ctx, d, scanListed, query, args...)
	for i := range list {
		list[i].by = by
	}
	return list, err
}

const (
	selectListed = `SELECT provider_code, id, created_ms FROM @.checkouts WHERE `
	ofProvider   = ` AND (provider_code = ? OR ? = '')`
	// lastID is after every id.
	lastID = "\x7f"
)

// Find implements [ports.Desk].
func (s *Store) Find(ctx context.Context, q checkout.Query, after string, limit int) (page checkout.Page, err error) {
	err = s.ask(ctx, "find checkouts", func(ctx context.Context, src Source) error {
		d := desk{src, q.ProviderCode, limit, s.statements}
		var list []listed
		var err error
		switch text := q.Words(); {
		case q.Trouble != "":
			list, err = d.troubled(ctx, q, after)
		case text != "":
			list, err = d.named(ctx, q, after)
		default:
			list, err = d.newest(ctx, "", q.ProviderCode, after)
		}
		if err != nil {
			return err
		}
		if len(list) > limit {
			list = list[:limit]
			last := list[limit-1]
			page.Next = fmt.Sprintf("%s %d %s", strings.ReplaceAll(last.by, " ", "_"), last.since, last.ID)
		}
		page.Hits, err = d.read(ctx, list)
		return err
	})
	return page, err
}

// parseCursor parses the cursor of a page: its list, and the time and the id of its last entry.
func parseCursor(after string) (l listed, err error) {
	words := strings.Split(after, " ")
	if len(words) != 3 || !checkout.PlausibleID(words[2]) {
		return l, ports.ErrNotFound
	}
	l.by, l.ID, l.ProviderCode = strings.ReplaceAll(words[0], "_", " "), words[2], checkout.ProviderOf(words[2])
	if l.since, err = strconv.ParseInt(words[1], 10, 64); err != nil {
		return l, ports.ErrNotFound
	}
	return l, nil
}

// newest returns the entries of a provider after a cursor.
func (d desk) newest(ctx context.Context, by, provider, after string) ([]listed, error) {
	id := lastID
	if after != "" {
		from, err := parseCursor(after)
		if err != nil || from.by != by {
			return nil, ports.ErrNotFound
		}
		id = from.ID
	}
	return d.list(ctx, by, selectListed+`provider_code = ? AND id < ? ORDER BY id DESC LIMIT ?`, provider, id, d.limit+1)
}

// read reads the checkouts of a list.
func (d desk) read(ctx context.Context, list []listed) (hits []checkout.Hit, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	keys := make([]CheckoutKey, len(list))
	for i, l := range list {
		keys[i] = l.CheckoutKey
	}
	isOne, args := ofCheckouts(`provider_code, id`, keys)
	found, err := All(ctx, d, scanCheckout, checkouts+` WHERE `+isOne, args...)
	for _, l := range list {
		if i := slices.IndexFunc(found, func(c checkout.Checkout) bool { return c.ID == l.ID }); i >= 0 {
			hits = append(hits, checkout.Hit{Checkout: found[i], By: strings.TrimPrefix(l.by, given), Since: time.UnixMilli(l.since).UTC()})
		}
	}
	return hits, err
}

// lookup finds checkouts by a text that begins in some way.
type lookup struct{ begins, by, condition string }

// lookups returns the ways in which a text names checkouts.
func (d desk) lookups() []lookup {
	const ofEvent = `(provider_code, id) IN (SELECT j.provider_code, j.checkout_id FROM @.jobs AS j WHERE j.id = ? AND j.kind = 'deliver' AND `
	return []lookup{
		{"req_", checkout.ByRequest, `request_id = ? AND search_name IS NOT NULL`},
		{"req_", checkout.ByRequest, `confirmed_by_request_id = ? AND confirmed_by_request_id <> ''`},
		{"req_", checkout.ByRequest, `(provider_code, id) IN (SELECT m.provider_code, m.checkout_id FROM @.moments AS m
			WHERE m.request_id = ? AND m.request_id <> '' AND m.kind <> 'created' AND m.kind <> 'confirmed')`},
		{"req_", checkout.ByRequest, `(provider_code, id) IN (` + d.unfoldedOfRequest + `)`},
		{"evt_", checkout.ByEvent, ofEvent + `(state = 'done' OR state = 'dead' OR state = 'dropped'))`},
		{"evt_", checkout.ByEvent, ofEvent + `state = 'pending')`},
		{"", checkout.ByID, `id = ? AND provider_code = ?`},
		{"", checkout.ByOrder, `provider_order_id = ?
			AND provider_code IN (SELECT code FROM @.providers UNION SELECT provider_code FROM @.api_keys)`},
		{"", checkout.ByAgreement, `(provider_code, id) IN (SELECT a.provider_code, a.checkout_id FROM @.agreements AS a
			WHERE a.number = upper(CAST(? AS text)))`},
		{"", checkout.ByBillingRequest, `billing_request_id = ? AND billing_request_id <> ''`},
		{"", checkout.ByMandate, `mandate_id = ? AND mandate_id <> ''`},
	}
}

// exact returns the entries that a text names by an id. A text that begins as requests or events do names nothing else.
func (d desk) exact(ctx context.Context, text string) (list []listed, err error) {
	for _, l := range d.lookups() {
		switch {
		case !strings.HasPrefix(text, l.begins), l.begins == "" && (strings.HasPrefix(text, "req_") || strings.HasPrefix(text, "evt_")):
			continue
		case l.by == checkout.ByEvent && len(list) > 0:
			return list, nil
		}
		args := []any{text, d.of, d.of, checkout.MaxPage}
		if l.by == checkout.ByID {
			args = slices.Insert(args, 1, any(checkout.ProviderOf(text)))
		}
		found, err := d.list(ctx, l.by, selectListed+l.condition+ofProvider+` ORDER BY id DESC LIMIT ?`, args...)
		if err != nil {
			return nil, err
		}
		list = append(list, slices.DeleteFunc(found, func(f listed) bool { return has(list, f) })...)
	}
	return list, nil
}

func has(list []listed, l listed) bool {
	return slices.ContainsFunc(list, func(o listed) bool { return o.CheckoutKey == l.CheckoutKey })
}

const selectKeyProvider = `SELECT provider_code FROM @.api_keys WHERE id = ?`

// named returns the entries that the text of a query names, after a cursor: one more than the limit, if there are more.
func (d desk) named(ctx context.Context, q checkout.Query, after string) ([]listed, error) {
	text := q.Words()
	provider, err := One(ctx, d, ScanValue[string], selectKeyProvider, text)
	if err == nil && (d.of == "" || d.of == provider) {
		return d.newest(ctx, checkout.ByKey, provider, after)
	} else if err != nil && !errors.Is(err, ports.ErrNotFound) {
		return nil, err
	}
	exact, err := d.exact(ctx, text)
	if err != nil {
		return nil, err
	}
	list, from := exact, listed{by: byFamily}
	if after != "" {
		if list, from, err = d.resume(ctx, after, exact); err != nil {
			return nil, err
		}
	}
	switch email, name := q.Search(); {
	case email != "":
		found, err := d.ofAddress(ctx, email, from)
		return append(list, found...), err
	case name != "":
		found, err := d.ofName(ctx, name, from, exact)
		return append(list, found...), err
	}
	return list, nil
}

// byFamily and byName are the lists of a text's beginning: by the family name and by the given name. Both are shown as one.
const (
	byFamily = checkout.ByName
	byGiven  = given + checkout.ByName
	given    = "given "
)

// resume returns the exact entries that come after a cursor, and the place in the lists of names or of an address after which they
// continue.
func (d desk) resume(ctx context.Context, after string, exact []listed) (list []listed, from listed, err error) {
	if from, err = parseCursor(after); err != nil {
		return nil, from, err
	}
	switch from.by {
	case checkout.ByEmail:
		return nil, from, nil
	case byFamily, byGiven:
		student, err := One(ctx, d, Fields(func(s *checkout.Student) []any { return []any{&s.FirstName, &s.LastName, &s.Email} }),
			`SELECT first_name, last_name, email FROM @.checkouts WHERE provider_code = ? AND id = ?`, from.ProviderCode, from.ID)
		if from.term = student.Search().Family; from.by == byGiven {
			from.term = student.Search().Name
		}
		return nil, from, err
	}
	i := slices.IndexFunc(exact, func(l listed) bool { return l.CheckoutKey == from.CheckoutKey })
	if i < 0 {
		return nil, from, ports.ErrNotFound
	}
	return exact[i+1:], listed{by: byFamily}, nil
}

// unfolded is a checkout whose words are not filled in yet.
type unfolded struct {
	listed
	student checkout.Student
}

var scanUnfolded = Fields(func(u *unfolded) []any {
	return []any{&u.ProviderCode, &u.ID, &u.since, &u.student.FirstName, &u.student.LastName, &u.student.Email}
})

// ofAddress returns the entries of an e-mail address.
func (d desk) ofAddress(ctx context.Context, email string, from listed) ([]listed, error) {
	id := cmp.Or(from.ID, lastID)
	list, err := d.list(ctx, checkout.ByEmail, selectListed+`search_email = ? AND id < ?`+ofProvider+` ORDER BY id DESC LIMIT ?`,
		email, id, d.of, d.of, d.limit+1)
	if err != nil {
		return nil, err
	}
	tail, err := All(ctx, d, scanUnfolded, d.unfolded+ofProvider, d.of, d.of)
	for _, u := range tail {
		if u.student.Search().Email == email && u.ID < id {
			u.by = checkout.ByEmail
			list = append(list, u.listed)
		}
	}
	slices.SortFunc(list, func(a, b listed) int { return cmp.Compare(b.ID, a.ID) })
	return list, err
}

// ofName returns the entries of the persons whose name begins with a folded text, without the entries that are listed already.
func (d desk) ofName(ctx context.Context, name string, from listed, without []listed) (all []listed, err error) {
	const lastSign = "\U0010FFFF"
	tail, err := All(ctx, d, scanUnfolded, d.unfolded+ofProvider, d.of, d.of)
	if err != nil {
		return nil, err
	}
	for _, by := range []string{byFamily, byGiven} {
		if by == byFamily && from.by == byGiven {
			continue
		}
		switch {
		case from.by != by || from.ID == "":
			from = listed{term: name}
		case !strings.HasPrefix(from.term, name):
			return nil, ports.ErrNotFound
		}
		column, notIn, args := `search_family`, ``, []any{from.term, from.ID, name + lastSign}
		if by == byGiven {
			column, notIn, args = `search_name`, ` AND (search_family < ? OR search_family >= ?)`, append(args, name, name+lastSign)
		}
		list, err := All(ctx, d, scanTerm, `SELECT provider_code, id, created_ms, `+column+` FROM @.checkouts WHERE (`+column+`, id) > (?, ?)
			AND `+column+` < ?`+notIn+ofProvider+` ORDER BY `+column+`, id LIMIT ?`,
			append(args, d.of, d.of, d.limit+1+len(without))...)
		if err != nil {
			return nil, err
		}
		for _, u := range tail {
			words := u.student.Search()
			if u.term = words.Family; by == byGiven {
				if u.term = words.Name; strings.HasPrefix(words.Family, name) {
					continue
				}
			}
			if strings.HasPrefix(u.term, name) && compareTerms(u.listed, from) > 0 {
				list = append(list, u.listed)
			}
		}
		slices.SortFunc(list, compareTerms)
		for _, l := range list {
			if l.by = by; !has(without, l) {
				all = append(all, l)
			}
		}
		if len(all) > d.limit {
			return all, nil
		}
	}
	return all, nil
}

func compareTerms(a, b listed) int {
	return cmp.Or(cmp.Compare(a.term, b.term), cmp.Compare(a.ID, b.ID))
}
