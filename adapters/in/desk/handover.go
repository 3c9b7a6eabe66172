package desk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	handoverPath  = "/handover/"
	handoverLimit = 24 * time.Hour
	handoverUse   = "handover"
)

// handover is an API key that is promised to a provider, sealed in the address of a page that needs no sign-in. The key is made
// when the page is opened. Its id is drawn before, and a store takes one key of an id: so the page opens once.
type handover struct {
	Key                      []byte // the bytes of the id
	Provider, Label          string
	Expires                  time.Time // zero: the key never does
	Name, Role, Person, Text string    // who promised it, and why
	Until                    time.Time
}

// keys revokes a key of the provider, or leads to the page that hands over a new one.
func (v *visit) keys() error {
	if _, err := v.Store.Provider(v.r.Context(), v.id()); err != nil {
		return err
	}
	if key := v.field("revoke"); key != "" {
		return v.back(v.here(), v.revoke(key))
	}
	if err := v.in(operate.ActIssueKey); err != nil {
		return err
	}
	ends, err := v.dayEnds("last_day")
	with, wrong := operate.KeyOptions{Label: v.field("label"), ExpiresAt: ends}.Check(v.Now())
	if err := errors.Join(err, wrong); err != nil {
		return errors.Join(errFields, err)
	}
	o := v.operator
	h := handover{Key: make([]byte, catalogue.KeyIDSize), Provider: v.id(), Label: with.Label, Expires: with.ExpiresAt,
		Name: o.By, Role: string(o.Role), Person: o.Person, Text: o.Reason, Until: v.Now().Add(handoverLimit)}
	if !h.Expires.IsZero() && h.Expires.Before(h.Until) {
		h.Until = h.Expires
	}
	if _, err := io.ReadFull(v.Rand, h.Key); err != nil {
		return fmt.Errorf("generate the id of a key: %w", err)
	}
	address, err := v.seal(handoverUse, h)
	return v.lead(handoverPath+address, err)
}

// dayEnds returns the end of the day in New Zealand that a field names; the zero time for an empty field.
func (v *visit) dayEnds(name string) (time.Time, error) {
	given := v.field(name)
	if given == "" {
		return time.Time{}, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, given, v.zone)
	return day.AddDate(0, 0, 1), err
}

// revoke revokes a key of the provider.
func (v *visit) revoke(id string) error {
	all, err := v.Store.Keys(v.r.Context())
	if err == nil && !slices.ContainsFunc(all, func(k catalogue.Key) bool { return k.ID == id && k.Provider == v.id() }) {
		err = ports.ErrNotFound
	}
	if err == nil {
		_, err = v.operator.RevokeKey(v.r.Context(), id)
	}
	return err
}

// handover returns what the address of a page promises, if it still does.
func (d *desk) handover(r *http.Request) (h handover, err error) {
	if !d.unseal(handoverUse, mux.Vars(r)["token"], &h) || len(h.Key) != catalogue.KeyIDSize {
		return h, ports.ErrNotFound
	}
	all, err := d.Store.Keys(r.Context())
	if err != nil {
		return h, err
	}
	var entropy [32]byte
	copy(entropy[:], h.Key)
	_, key := catalogue.NewKey(h.Provider, catalogue.Sandbox, time.Time{}, entropy)
	if !d.Now().Before(h.Until) || slices.ContainsFunc(all, func(k catalogue.Key) bool { return k.ID == key.ID }) {
		return h, errOver
	}
	return h, nil
}

// offerKey shows that a key waits. It makes no key: programs that look at links before people do open this page too.
func (d *desk) offerKey(w http.ResponseWriter, r *http.Request) {
	h, err := d.handover(r)
	if err != nil {
		d.fail(w, r, err)
		return
	}
	_, here := d.session(r)
	view := handoverView{handover: h, At: h.Until.In(d.zone).Format(timeLayout), Here: here}
	d.show(w, r, http.StatusOK, "handover.html", "An API key", view)
}

// handoverView is the content of the page that hands over a key.
type handoverView struct {
	handover
	At   string
	Here bool // somebody who is signed in looks at it
	New  string
}

// handOver makes the key, and shows it.
func (d *desk) handOver(w http.ResponseWriter, r *http.Request) {
	h, err := d.handover(r)
	if err == nil {
		o := operate.Operator{Store: d.Store, Keyring: d.keyring, By: h.Name, Role: operate.Role(h.Role), Person: h.Person,
			Reason: h.Text, Now: d.Now, Rand: io.MultiReader(bytes.NewReader(h.Key), d.Rand)} // a key's id is made of the first bytes
		var key string
		if key, err = o.IssueKey(r.Context(), h.Provider, operate.KeyOptions{Label: h.Label, ExpiresAt: h.Expires}); err == nil {
			d.show(w, r, http.StatusOK, "handover.html", "An API key", handoverView{handover: h, New: key})
			return
		}
	}
	if errors.Is(err, ports.ErrDuplicate) {
		err = errOver
	}
	d.fail(w, r, err)
}
