package gocardlesstest_test

import "testing"

func TestLifecycleOverTheAPI(t *testing.T) {
	b := newBench(t)
	got := b.fulfilled()
	t.Logf("%s", got.raw)
	t.Logf("%s", b.ok(200, "GET", "/mandates/"+got.text("billing_requests.links.mandate_request_mandate"), "").raw)
	t.Logf("%s", b.ok(200, "GET", "/events?limit=3", "").raw)
	t.Logf("%s", b.ok(200, "GET", "/creditors", "").raw)
}
