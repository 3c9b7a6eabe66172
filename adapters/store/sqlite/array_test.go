package sqlite

import (
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// pair has a column of each kind that a checkout has.
type pair struct {
	text  string
	cents int64
	count int
	at    time.Time
}

func TestReadArray(t *testing.T) {
	columns := sqlstore.Columns[pair]{
		{Name: "text", Field: func(p *pair) any { return &p.text }},
		{Name: "cents", Field: func(p *pair) any { return &p.cents }},
		{Name: "count", Field: func(p *pair) any { return &p.count }},
		{Name: "at_ms", Field: func(p *pair) any { return (*sqlstore.Time)(&p.at) }},
	}
	for _, tt := range []struct {
		array string
		want  pair
		says  string // of the error, if there is to be one
	}{
		{`["ā\u0001\n",-9223372036854775808,7,1]`, pair{"ā\u0001\n", -1 << 63, 7, time.UnixMilli(1).UTC()}, ""},
		{`["",0,0,null]`, pair{}, ""},
		{`["",0,0]`, pair{}, "column at_ms"},
		{`["",0,0,1,2]`, pair{}, "instead of"},
		{`["",0,0,1`, pair{}, "EOF"},
		{`{}`, pair{}, "instead of"},
		{``, pair{}, "EOF"},
		{`[1,0,0,1]`, pair{}, "column text"},
		{`[null,0,0,1]`, pair{}, "column text"},
		{`["","0",0,1]`, pair{}, "column cents"},
		{`["",null,0,1]`, pair{}, "column cents"},
		{`["",9223372036854775808,0,1]`, pair{}, "column cents"},
		{`["",0,1.5,1]`, pair{}, "column count"},
		{`["",0,0,"now"]`, pair{}, "column at_ms"},
		{`["",0,0,true]`, pair{}, "column at_ms"},
		{"[\"\xff\",0,0,1]", pair{}, "column text"},
	} {
		var got pair
		err := readArray([]byte(tt.array), columns, &got)
		switch {
		case tt.says == "" && (err != nil || got != tt.want):
			t.Errorf("readArray(%s) = %+v, %v; want %+v", tt.array, got, err, tt.want)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("readArray(%s): got error %v, want one that says %q", tt.array, err, tt.says)
		}
	}
}
