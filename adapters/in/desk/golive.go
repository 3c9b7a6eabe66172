package desk

import (
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Step is a step of a provider's integration on its way to production.
type Step struct {
	Name      string
	Words     string    // what is to be done
	Help      string    // the address of the page that explains it
	At        time.Time // when it was done; zero before
	RequestID string    // in which request; "" where no request did it
}

// HasGoLive reports whether providers have a page of their steps to production.
func (p page) HasGoLive() bool { return p.v.GoLive != nil }

// goLiveView is the content of the page of a provider's steps.
type goLiveView struct {
	Code, Name string
	Steps      []Step
	Missing    int
}

// goLive shows which steps a provider has proven.
func (v *visit) goLive() error {
	if v.GoLive == nil {
		return ports.ErrNotFound
	}
	p, err := v.Store.Provider(v.r.Context(), v.id())
	if err != nil {
		return err
	}
	view := goLiveView{Code: p.Code, Name: p.DisplayName()}
	if view.Steps, err = v.GoLive(v.r.Context(), p.Code); err != nil {
		return err
	}
	for _, s := range view.Steps {
		if s.At.IsZero() {
			view.Missing++
		}
	}
	return v.page("golive.html", "Steps to production", view)
}
