package ports_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The packages of the module are in layers, called floors: a package imports only packages of strictly lower floors. The tests of this
// file check the module's own sources for that.

// floor is one layer of the module.
type floor struct {
	folders []string // patterns as of path.Match, from the module's root
	imports string   // a pattern of what its packages may import from outside of the module; "" for everything
	pure    bool     // they read neither the clock nor randomness, and print nothing
}

// values are the packages that do no I/O and know neither randomness nor other goroutines.
const values = `bytes|cmp|errors|fmt|html|iter|maps|math|net/(mail|netip|url)|regexp|slices|strconv|strings|time|unicode(/utf8)?|` +
	`crypto/(hkdf|hmac|sha256|subtle)|encoding/(base32|base64|binary|hex|json)|hash/crc32|github\.com/google/uuid`

// floors lists the floors from the lowest up. The packages of the highest, the program, may import each other.
var floors = []floor{
	{[]string{"testdata/*"}, "embed", true},
	{[]string{"money/text"}, values + `|golang\.org/x/(text/unicode/norm|net/idna)`, true},
	{[]string{"money"}, values, true},
	{[]string{"catalogue", "events"}, values, true},
	{[]string{"agreement"}, values + `|embed|text/template`, true}, // its wordings are templates that are built into the program
	{[]string{"checkout"}, values, true},
	{[]string{"ports"}, values + `|context`, false},
	{[]string{"checkout/service/bounded", "checkout/service/letter"}, values + `|sync|embed|html/template`, false},
	{[]string{"checkout/service"}, values + `|context|io|runtime/debug|sync(/atomic)?`, false},
	{[]string{"checkout/service/operate"}, values + `|context|io`, false},
	{[]string{"adapters/kit/testlevel"}, "", false},
	{[]string{"adapters/internal/*", "adapters/store/privatefile", "adapters/sim/apiclient", "adapters/sim/bankaccount"}, "", false},
	{[]string{"adapters/store/rows"}, "", false},
	{[]string{"adapters/in/*", "adapters/in/*/internal/*", "adapters/out/*", "adapters/store/*", "adapters/kit/*", "adapters/sim/*"}, "", false},
	{[]string{"cmd/*", "cmd/*/internal/*", "cmd/*/packaging"}, "", false},
}

// strangers are the packages of one floor of the house that are on two of the list, because their imports differ.
var strangers = map[string][]string{"agreement": {"catalogue", "events"}}

// impure matches what pure floors may not even name: now := time.Now reads the clock later.
var impure = regexp.MustCompile(`^(time\.(Now|Since|Until|After|AfterFunc|Tick|NewTimer|NewTicker|Sleep|LoadLocation|Local)|` +
	`fmt\.(Print|Scan)(f|ln)?|template\.Parse(Files|Glob|FS)|` +
	`uuid\.(New|NewString|NewRandom|NewUUID|NewV6|NewV7|NewDCE(Security|Group|Person)|SetRand|EnableRandPool))$`)

// heightOf returns the floor of a folder; -1 without a floor.
func heightOf(folder string) int {
	return slices.IndexFunc(floors, func(f floor) bool {
		return slices.ContainsFunc(f.folders, func(pattern string) bool {
			match, err := path.Match(pattern, folder)
			return match && err == nil
		})
	})
}

// inspect returns everything in one file of the module that breaks a rule of the floors.
func inspect(module, name, source string) (faults []string) {
	files, folder := token.NewFileSet(), path.Dir(name)
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	fault := func(at ast.Node, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("%s:%d: ", name, files.Position(at.Pos()).Line)+fmt.Sprintf(format, args...))
	}
	height := heightOf(folder)
	if height < 0 {
		fault(file, "folder %s is on no floor: give it one in floors, or put the file where it belongs", folder)
		return faults
	}
	own := floors[height]
	for _, spec := range file.Imports {
		pkg, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		inner, ours := strings.CutPrefix(pkg, module+"/")
		below := heightOf(inner) < height && !slices.Contains(strangers[folder], inner) || height == len(floors)-1
		switch {
		case spec.Name != nil && (spec.Name.Name == "." || own.pure && spec.Name.Name != "_"):
			fault(spec, "%s is imported under another name: use its own, so that readers and this test see it", pkg)
		case ours && heightOf(inner) < 0:
			fault(spec, "%s imports %s, which is on no floor: give it one in floors", folder, inner)
		case ours && !below:
			fault(spec, "%s imports %s, but imports only lead down: take a value or an interface of a lower floor instead", folder, inner)
		case !ours && own.imports != "" && !regexp.MustCompile(`^(`+own.imports+`)$`).MatchString(pkg):
			fault(spec, "%s imports %s: take the value as an argument, or let an adapter fetch it", folder, pkg)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if named := fmt.Sprint(n.X) + "." + n.Sel.Name; ok && own.pure && impure.MatchString(named) {
				fault(x, "%s in %s, which knows neither clock, randomness nor terminal: take its result as an argument", named, folder)
			}
		case *ast.Field:
			if n.Tag != nil && strings.Contains(n.Tag.Value, `json:"`) && path.Base(name) != "wire.go" && folder != "events" {
				fault(n, "a JSON tag outside wire.go and package events: give the wire its own struct in %s/wire.go, and a converter", folder)
			}
		}
		return true
	})
	return faults
}

// The inspection finds every kind of breach, and nothing else.
func TestInspectionFindsBreaches(t *testing.T) {
	for _, tt := range []struct{ file, body, want string }{ // part of the one fault; "" without a fault
		{"checkout/a.go", `import _ "example/money"`, ""},
		{"money/a.go", `import _ "example/checkout"`, "only lead down"},
		{"agreement/a.go", `import _ "example/events"`, "only lead down"},
		{"adapters/store/sqlite/a.go", `import _ "example/adapters/store/memory"`, "only lead down"},
		{"adapters/in/httpapi/a.go", `import _ "example/adapters/internal/web"`, ""},
		{"adapters/store/memory/a.go", `import _ "example/cmd/x/internal/a"`, "only lead down"},
		{"cmd/x/a.go", `import _ "example/cmd/x/internal/a"`, ""},
		{"cmd/x/a.go", `import _ "example/utils"`, "utils, which is on no floor"},
		{"checkout/rules/a.go", "", "folder checkout/rules is on no floor"},
		{"checkout/a.go", `import _ "context"`, "imports context"},
		{"checkout/a.go", `import _ "crypto/rand"`, "imports crypto/rand"},
		{"checkout/a.go", `import _ "text/template"`, "imports text/template"},
		{"checkout/service/a.go", `import _ "log/slog"`, "imports log/slog"},
		{"checkout/service/a.go", `import _ "github.com/gorilla/mux"`, "imports github.com/gorilla/mux"},
		{"money/a.go", `import _ "example.org/money"`, "imports example.org/money"},
		{"checkout/a.go", "import \"time\"\nvar t = time.Unix(0, 0).After(time.Time{})", ""},
		{"checkout/a.go", "import \"time\"\nvar now = time.Now", "a.go:3: time.Now in checkout"},
		{"checkout/a.go", "import clock \"time\"\nvar t = clock.Now()", "under another name"},
		{"cmd/x/a.go", "import . \"time\"\nvar t = Now()", "under another name"},
		{"cmd/x/a.go", "import \"time\"\nvar now = time.Now", ""},
		{"checkout/a.go", "type A struct { ID string `db:\"id\" json:\"id\"` }", "a JSON tag"},
		{"adapters/in/httpapi/wire.go", "type a struct { ID string `json:\"id\"` }", ""},
		{"money/a.go", "func {", "expected"},
	} {
		got := inspect("example", tt.file, "package p\n"+tt.body)
		if want := min(len(tt.want), 1); len(got) != want || !strings.Contains(strings.Join(got, ""), tt.want) {
			t.Errorf("%s with %s has the faults %q, want %q", tt.file, tt.body, got, tt.want)
		}
	}
}

// root is the module as a file system.
func root() fs.FS { return os.DirFS("..") }

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := fs.ReadFile(root(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sources yields the name and the text of every source file of the module that is no test.
func sources(t *testing.T) iter.Seq2[string, string] {
	return func(yield func(name, source string) bool) {
		err := fs.WalkDir(root(), ".", func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && name != "." && (strings.ContainsAny(entry.Name()[:1], "._") || entry.Name() == "testdata"):
				return fs.SkipDir // as the go tool does
			case entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
				return nil
			case !yield(name, read(t, name)):
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestModuleKeepsItsFloors(t *testing.T) {
	module, ok := strings.CutPrefix(cmp.Or(strings.Split(read(t, "go.mod"), "\n")...), "module ")
	if !ok {
		t.Fatal("go.mod does not begin with the module's name")
	}
	seen := map[string]bool{}
	for name, source := range sources(t) {
		seen[path.Dir(name)] = true
		for _, fault := range inspect(module, name, source) {
			t.Error(fault)
		}
	}
	for _, f := range floors {
		for _, folder := range f.folders {
			if !strings.Contains(folder, "*") && !seen[folder] {
				t.Errorf("there is no package %s any more: fix floors, or this test checks nothing there", folder)
			}
		}
	}
}

func TestTopLevelFoldersAreFixed(t *testing.T) {
	allowed := strings.Fields("checkout catalogue money agreement events ports adapters cmd testdata go.mod go.sum README.md LICENSE")
	ignored := strings.Fields(read(t, ".gitignore"))
	entries, err := fs.ReadDir(root(), ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		passed := strings.HasPrefix(e.Name(), ".") || slices.Contains(allowed, e.Name()) || slices.ContainsFunc(ignored, func(pattern string) bool {
			match, err := path.Match(strings.Trim(pattern, "/"), e.Name())
			return match && err == nil
		})
		if !passed {
			t.Errorf("%s has no place at the top of the module, which a newcomer reads as the list of its parts: "+
				"put it into the part that it belongs to", e.Name())
		}
	}
}

// Every refusal of the module is made in one file, so that what the service may answer can be read there in a minute.
func TestRefusalsAreMadeInOneFile(t *testing.T) {
	const refusals = "checkout/refusals.go"
	elsewhere := regexp.MustCompile(`\bcheckout\.(Error\{|Code\()|\bnew\(checkout\.Error\)|\bcheckout\.Code += "`)
	within := regexp.MustCompile(`(?m)(^|[^.\w])(Error\{|refuse\(|new\(Error\)|Code\()|\bCode += "`)
	for name, source := range sources(t) {
		makes := elsewhere
		if path.Dir(name) == "checkout" {
			makes = within
		}
		if found := makes.FindAllString(source, -1); (len(found) > 0) != (name == refusals) {
			t.Errorf("%s makes the refusals %q: add a function to %s, and call it", name, found, refusals)
		}
	}
}
