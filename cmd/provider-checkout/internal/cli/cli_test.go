package cli

import (
	"context"
	"strings"
	"testing"
)

func TestFlagsStandBeforeAndAfterArguments(t *testing.T) {
	for _, args := range [][]string{
		{"--out", "x.pdf", "--store", "sqlite:a.db", "PPA-1"},
		{"PPA-1", "--out=x.pdf", "--store=sqlite:a.db"},
		{"--out", "x.pdf", "PPA-1", "--store", "sqlite:a.db"},
		{"--out", "x.pdf", "--store", "sqlite:a.db", "--", "PPA-1"},
	} {
		var out, store string
		var got []string
		p := Program{Name: "provider-checkout", Commands: []Command{{
			Name: "agreements pdf", Args: []string{"NUMBER"},
			Setup: func(fs *Flags) Action {
				fs.StringVar(&out, "out", "", "`FILE`")
				fs.Require("out")
				fs.StringVar(&store, "store", "sqlite:b.db", "`STORE`")
				return func(_ context.Context, c *Call) error {
					got = c.Args
					return nil
				}
			},
		}}}
		unset := func(string) string { return "" }
		var stderr strings.Builder
		if code := p.Run(t.Context(), append([]string{"agreements", "pdf"}, args...), unset, nil, nil, &stderr); code != ExitDone {
			t.Errorf("%q: status %d, %s", args, code, stderr.String())
		} else if len(got) != 1 || got[0] != "PPA-1" || out != "x.pdf" || store != "sqlite:a.db" {
			t.Errorf("%q = arguments %q, out %q, store %q", args, got, out, store)
		}
	}
}
