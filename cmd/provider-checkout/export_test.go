package main

import (
	"strings"
	"testing"
)

func TestExportTellsEverythingOfACheckout(t *testing.T) {
	o := newOperator(t)
	o.confirmedOver(t)
	out := o.prints(t, "export")
	for kind, want := range map[string]int{"provider": 2, "course": 3, "key": 2, "checkout": 1, "contact": 1, "opportunity": 1,
		"dda": 1, "agreement": 1, "document": 1, "event": 3} {
		if got := strings.Count(out, `{"kind":"`+kind+`"`); got != want {
			t.Errorf("%d of kind %s, want %d", got, kind, want)
		}
	}
	if got := strings.Count(out, `"collection_date":"`); got != 53 {
		t.Errorf("%d payments, want 53", got)
	}
}
