package ports_test

import (
	"slices"
	"strings"
	"testing"
)

// The inspection finds every kind of breach, and nothing else.
func TestInspectionFindsBreaches(t *testing.T) {
	tests := []struct {
		name string
		file string
		body string // after the package clause
		want string // part of the one fault; "" without a fault
	}{
		{"a lower floor", "checkout/a.go", `import _ "example/money"`, ""},
		{"two floors down", "adapters/store/memory/a.go", `import _ "example/money"`, ""},
		{"a higher floor", "money/a.go", `import _ "example/checkout"`, "imports only lead down"},
		{"the service from the rules", "checkout/a.go", `import _ "example/checkout/service"`, "imports only lead down"},
		{"ports from the rules", "checkout/a.go", `import _ "example/ports"`, "imports only lead down"},
		{"the service from the ports", "ports/a.go", `import _ "example/checkout/service"`, "imports only lead down"},
		{"an adapter from the service", "checkout/service/a.go", `import _ "example/adapters/store/memory"`, "imports only lead down"},
		{"an adapter from a helper", "adapters/internal/web/a.go", `import _ "example/adapters/store/memory"`, "imports only lead down"},
		{"the command from an adapter", "adapters/store/memory/a.go", `import _ "example/cmd/x"`, "imports only lead down"},
		{"a package of the same floor", "catalogue/a.go", `import _ "example/events"`, "where no package imports another"},
		{"an adapter from another", "adapters/store/sqlite/a.go", `import _ "example/adapters/store/memory"`, "where no package imports another"},
		{"a helper from another", "adapters/internal/web/a.go", `import _ "example/adapters/internal/seal"`, "where no package imports another"},
		{"a helper from an adapter", "adapters/in/httpapi/a.go", `import _ "example/adapters/internal/web"`, ""},
		{"everything from the command", "cmd/x/a.go", `import (
			_ "example/adapters/in/httpapi"
			_ "example/checkout/service"
			_ "log/slog"
		)`, ""},
		{"a part of the program from the command", "cmd/x/a.go", `import _ "example/cmd/x/internal/a"`, ""},
		{"a part of the program from another", "cmd/x/internal/a/a.go", `import _ "example/cmd/x/internal/b"`, ""},
		{"a part of another program", "cmd/x/a.go", `import _ "example/cmd/y/internal/a"`, "where no package imports another"},
		{"a part of the program from an adapter", "adapters/store/memory/a.go", `import _ "example/cmd/x/internal/a"`, "imports only lead down"},
		{"an import without a floor", "cmd/x/a.go", `import _ "example/utils"`, "utils, which is on no floor"},
		{"a folder without a floor", "utils/a.go", "", "folder utils is on no floor"},
		{"a folder below a package", "checkout/rules/a.go", "", "folder checkout/rules is on no floor"},
		{"a file at the top", "a.go", "", "is on no floor"},

		{"pure packages in the rules", "checkout/a.go", `import (
			_ "crypto/hmac"
			_ "encoding/json"
			_ "net/url"
			_ "strings"
			_ "github.com/google/uuid"
		)`, ""},
		{"context in the rules", "checkout/a.go", `import _ "context"`, "imports context: it does no I/O"},
		{"io in money", "money/a.go", `import _ "io"`, "imports io: it does no I/O"},
		{"os in the catalogue", "catalogue/a.go", `import _ "os"`, "imports os: it does no I/O"},
		{"sync in the rules", "checkout/a.go", `import _ "sync"`, "imports sync:"},
		{"a lock by another name", "checkout/a.go", `import _ "sync/atomic"`, "imports sync/atomic:"},
		{"net in the events", "events/a.go", `import _ "net"`, "imports net:"},
		{"net/http in the events", "events/a.go", `import _ "net/http"`, "imports net/http:"},
		{"database/sql in the rules", "checkout/a.go", `import _ "database/sql"`, "imports database/sql:"},
		{"log in the agreement", "agreement/a.go", `import _ "log"`, "imports log:"},
		{"log/slog in the agreement", "agreement/a.go", `import _ "log/slog"`, "imports log/slog:"},
		{"chance in the rules", "checkout/a.go", `import _ "crypto/rand"`, "imports crypto/rand:"},
		{"weak chance in the rules", "checkout/a.go", `import _ "math/rand/v2"`, "imports math/rand/v2:"},
		{"unsafe in money", "money/a.go", `import _ "unsafe"`, "imports unsafe:"},
		{"files of templates in the agreement", "agreement/a.go", "import (\n_ \"embed\"\n_ \"text/template\"\n)", ""},
		{"files in the rules", "checkout/a.go", `import _ "embed"`, "imports embed: it does no I/O"},
		{"templates beside the agreement", "catalogue/a.go", `import _ "text/template"`, "imports text/template: it does no I/O"},
		{"templates of the disk", "agreement/a.go", "import \"text/template\"\nvar t, err = template.ParseFiles(n)", "template.ParseFiles in agreement"},
		{"context in the ports", "ports/a.go", `import _ "context"`, ""},
		{"io in the ports", "ports/a.go", `import _ "io"`, "it holds interfaces"},
		{"context, io and sync in the service", "checkout/service/a.go", `import (
			_ "context"
			_ "io"
			_ "sync"
		)`, ""},
		{"a logger in the service", "checkout/service/a.go", `import _ "log/slog"`, "Config.Report"},

		{"a third party in the rules", "checkout/a.go", `import _ "github.com/gorilla/mux"`, "only third party is google/uuid"},
		{"golang.org in the catalogue", "catalogue/a.go", `import _ "golang.org/x/text/unicode/norm"`, "only third party"},
		{"a third party in the service", "checkout/service/a.go", `import _ "golang.org/x/sync/errgroup"`, "only third party"},
		{"a third party in an adapter", "adapters/in/httpapi/a.go", `import _ "github.com/gorilla/mux"`, ""},
		{"a module whose name begins like ours", "money/a.go", `import _ "example.org/money"`, "only third party"},

		{"times as values", "checkout/a.go", "import \"time\"\nvar t = time.Unix(0, 0).After(time.Time{})", ""},
		{"the clock", "checkout/a.go", "import \"time\"\nvar t = time.Now()", "time.Now in checkout (floor 2)"},
		{"the clock by another name", "money/a.go", "import clock \"time\"\nvar t = clock.Since(x)", "clock.Since in money"},
		{"the clock as a value", "events/a.go", "import \"time\"\nvar now = time.Now", "time.Now in events"},
		{"a sleep", "catalogue/a.go", "import \"time\"\nfunc f() { time.Sleep(1) }", "time.Sleep in catalogue"},
		{"a timer", "checkout/a.go", "import \"time\"\nvar c = time.After(1)", "time.After in checkout"},
		{"zone data of the machine", "agreement/a.go", "import \"time\"\nvar z, _ = time.LoadLocation(n)", "time.LoadLocation"},
		{"the machine's zone", "agreement/a.go", "import \"time\"\nvar z = time.Local", "time.Local"},
		{"the clock into the file's own names", "checkout/a.go", "import . \"time\"\nvar t = Now()", "own names"},
		{"a random id", "checkout/a.go", "import \"github.com/google/uuid\"\nvar id = uuid.New()", "uuid.New in checkout"},
		{"an id that can be repeated", "events/a.go", "import \"github.com/google/uuid\"\nvar id = uuid.NewSHA1(n, b)", ""},
		{"printing", "checkout/a.go", "import \"fmt\"\nfunc f() { fmt.Println() }", "fmt.Println in checkout"},
		{"a method that is called like the clock", "checkout/a.go", "func f(d Dates) { d.Now() }", ""},
		{"the clock in the command", "cmd/x/a.go", "import \"time\"\nvar now = time.Now", ""},

		{"a JSON tag in the domain", "checkout/a.go", "type A struct { ID string `json:\"id\"` }", "in checkout/wire.go"},
		{"a JSON tag beside another", "adapters/in/httpapi/a.go", "type A struct { ID string `db:\"id\" json:\"id\"` }", "wire.go"},
		{"a JSON tag within a function", "cmd/x/a.go", "func f() { var v struct { A int `json:\"a\"` }; _ = v }", "wire.go"},
		{"a JSON tag on the wire", "adapters/in/httpapi/wire.go", "type a struct { ID string `json:\"id\"` }", ""},
		{"a JSON tag in the event envelope", "events/event.go", "type a struct { ID string `json:\"id\"` }", ""},
		{"another tag", "adapters/store/sqlite/a.go", "type a struct { ID string `db:\"json\"` }", ""},

		{"a file that is no Go", "money/a.go", "func {", "expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			faults := inspect("example", tt.file, "package p\n"+tt.body)
			switch {
			case tt.want == "" && len(faults) > 0:
				t.Errorf("%s with %s has faults %q, want none", tt.file, tt.body, faults)
			case tt.want != "" && (len(faults) != 1 || !strings.Contains(faults[0], tt.want)):
				t.Errorf("%s with %s has faults %q, want one with %q", tt.file, tt.body, faults, tt.want)
			}
		})
	}
}

func TestFaultsSayWhere(t *testing.T) {
	source := "package p\n\nimport \"time\"\n\nvar t = time.Now()\n"
	want := "money/a.go:5: "
	if faults := inspect("example", "money/a.go", source); len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
		t.Errorf("faults %q, want one that begins with %q", faults, want)
	}
}

func TestStrangersAtTheTopAreFound(t *testing.T) {
	entries := strings.Fields(".git/ .gitignore LICENSE README.md adapters/ go.mod go.sum money/ a.db main.go docs/ utils/ money")
	got := unexpectedEntries(entries, []string{"*.db"})
	if want := strings.Fields("main.go docs/ utils/ money"); !slices.Equal(got, want) {
		t.Errorf("unexpectedEntries(%q) = %q, want %q", entries, got, want)
	}
}
