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
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The packages of the module are in layers, called floors: a package imports only packages of
// strictly lower floors, none of its own. The tests of this file check the module's own sources
// for that.

// floor is one layer of the module.
type floor struct {
	name     string
	folders  []string // patterns as of path.Match, from the module's root
	std      func(pkg string) bool
	outsider func(pkg string) bool // third parties
	advice   string                // for an import that is not allowed
	pure     bool                  // it reads neither the clock nor randomness, and prints nothing
}

// floors lists the floors from the lowest up. The adapters' helpers are between the
// service and the adapters, so that all adapters may share them.
func floors() []floor {
	const takeIt = "take the value as an argument, or let an adapter fetch it"
	core := func(name string, folders ...string) floor {
		return floor{name, folders, isPure, onlyUUID, "it does no I/O: " + takeIt, true}
	}
	return []floor{
		{"the texts for users", []string{"testdata/*"}, is("embed"), onlyUUID, "it holds files and nothing that runs", true},
		{"the rules of text", []string{"money/text"}, isPure, is("golang.org/x/text/unicode/norm", "golang.org/x/net/idna"), "it does no I/O: " + takeIt, true},
		core("floor 0", "money"),
		core("floor 1", "catalogue", "events", "agreement"),
		core("floor 2", "checkout"),
		{"floor 3", []string{"ports"}, or(isPure, is("context")), onlyUUID,
			"it holds interfaces and nothing that runs", false},
		{"the service's helpers", []string{"checkout/service/bounded", "checkout/service/letter"}, or(isPure, is("sync", "embed", "html/template")), onlyUUID, "it only remembers", false},
		{"floor 4", []string{"checkout/service"}, not(is("log", "log/slog")), onlyUUID,
			"it reaches the outside through ports only, and reports failures by Config.Report", false},
		{"the operators' acts", []string{"checkout/service/operate"}, not(is("log", "log/slog")), onlyUUID,
			"it reaches the outside through ports only", false},
		{"the levels of tests", []string{"adapters/kit/testlevel"}, all, all, "", false},
		{"the adapters' helpers", []string{"adapters/internal/*", "adapters/store/privatefile", "adapters/sim/apiclient", "adapters/sim/bankaccount"},
			all, all, "", false},
		{"the stores' helpers", []string{"adapters/store/rows"}, all, all, "", false},
		{"floor 5", []string{"adapters/in/*", "adapters/in/*/internal/*", "adapters/out/*", "adapters/store/*", "adapters/kit/*", "adapters/sim/*"}, all, all, "", false},
		{"floor 6", []string{"cmd/*", "cmd/*/internal/*", "cmd/*/packaging"}, all, all, "", false},
	}
}

// isPure reports whether a package of the standard library does no I/O and knows neither
// clock, chance nor other goroutines (package time is for values: see impure).
func isPure(pkg string) bool {
	switch pkg {
	case "crypto/rand", "crypto/tls", "crypto/x509", "hash/maphash":
		return false
	case "bytes", "cmp", "errors", "fmt", "html", "iter", "maps", "math", "math/big", "math/bits", "net/mail",
		"net/netip", "net/url", "regexp", "slices", "sort", "strconv", "strings", "time":
		return true
	}
	family, _, _ := strings.Cut(pkg, "/")
	return slices.Contains([]string{"crypto", "encoding", "hash", "unicode"}, family)
}

// besides returns the imports that only one folder of its floor may have. Package agreement has its wordings as files of templates:
// embed reads them when the program is built, and text/template writes them to memory, so that neither does I/O at run time (see impure).
func besides(folder string) []string {
	if folder == "agreement" {
		return []string{"embed", "text/template"}
	}
	return nil
}

// impure lists what pure floors may not even name, of packages that they may import.
func impure() map[string][]string {
	return map[string][]string{
		"time": {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep",
			"LoadLocation", "Local"},
		"text/template": {"ParseFiles", "ParseGlob", "ParseFS"},
		"fmt":           {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
		"github.com/google/uuid": {"New", "NewString", "NewRandom", "NewUUID", "NewV6", "NewV7",
			"NewDCESecurity", "NewDCEGroup", "NewDCEPerson", "SetRand", "EnableRandPool"},
	}
}

func all(string) bool { return true }

func onlyUUID(pkg string) bool { return pkg == "github.com/google/uuid" }

func is(pkgs ...string) func(string) bool {
	return func(pkg string) bool { return slices.Contains(pkgs, pkg) }
}

func or(f, g func(string) bool) func(string) bool {
	return func(pkg string) bool { return f(pkg) || g(pkg) }
}

func not(f func(string) bool) func(string) bool {
	return func(pkg string) bool { return !f(pkg) }
}

// floorOf returns the height of a folder's floor, or false without a floor.
func floorOf(all []floor, folder string) (height int, ok bool) {
	height = slices.IndexFunc(all, func(f floor) bool {
		return slices.ContainsFunc(f.folders, func(pattern string) bool {
			match, err := path.Match(pattern, folder)
			return match && err == nil
		})
	})
	return height, height >= 0
}

// inspection checks one source file and collects its faults.
type inspection struct {
	module string
	floors []floor
	folder string // of the file
	height int    // of the folder's floor
	fset   *token.FileSet
	faults []string
}

// inspect returns everything in one file of the module that breaks a rule of the floors.
func inspect(module, name, source string) []string {
	in := inspection{module: module, floors: floors(), folder: path.Dir(name), fset: token.NewFileSet()}
	file, err := parser.ParseFile(in.fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	var ok bool
	if in.height, ok = floorOf(in.floors, in.folder); !ok {
		in.fault(file, "folder %s is on no floor: give it one in floors, or put the file where it belongs", in.folder)
		return in.faults
	}
	for _, spec := range file.Imports {
		in.importSpec(spec)
	}
	if in.floors[in.height].pure {
		in.selectors(file)
	}
	if path.Base(name) != "wire.go" && in.folder != "events" {
		in.tags(file)
	}
	return in.faults
}

func (in *inspection) fault(at ast.Node, format string, args ...any) {
	p := in.fset.Position(at.Pos())
	in.faults = append(in.faults, fmt.Sprintf("%s:%d: ", p.Filename, p.Line)+fmt.Sprintf(format, args...))
}

func (in *inspection) importSpec(spec *ast.ImportSpec) {
	pkg, own := importPath(spec), in.floors[in.height]
	inner, ours := strings.CutPrefix(pkg, in.module+"/")
	first, _, _ := strings.Cut(pkg, "/")
	if spec.Name != nil && spec.Name.Name == "." {
		in.fault(spec, "%s is imported into the file's own names: name the package, so that readers and this test see it", pkg)
	}
	switch {
	case ours:
		in.neighbour(spec, inner)
	case strings.Contains(first, ".") && !own.outsider(pkg):
		in.fault(spec, "%s (%s) imports %s: below the adapters the only third party is google/uuid", in.folder, own.name, pkg)
	case !strings.Contains(first, ".") && !own.std(pkg) && !slices.Contains(besides(in.folder), pkg):
		in.fault(spec, "%s (%s) imports %s: %s", in.folder, own.name, pkg, own.advice)
	}
}

// neighbour judges the import of a package of the module itself.
func (in *inspection) neighbour(spec *ast.ImportSpec, inner string) {
	height, ok := floorOf(in.floors, inner)
	switch {
	case !ok:
		in.fault(spec, "%s imports %s, which is on no floor: give it one in floors", in.folder, inner)
	case height == in.height && !ofOneProgram(in.folder, inner):
		in.fault(spec, "%s imports %s, but both are on %s, where no package imports another: "+
			"what both need belongs below them, what joins them above", in.folder, inner, in.floors[height].name)
	case height > in.height:
		in.fault(spec, "%s (%s) imports %s (%s), but imports only lead down: "+
			"take a value or an interface of a lower floor instead", in.folder, in.floors[in.height].name, inner, in.floors[height].name)
	}
}

// ofOneProgram reports whether two folders belong to the same program, whose packages may import each other.
func ofOneProgram(a, b string) bool {
	program := func(folder string) string {
		parts := strings.SplitN(folder, "/", 3)
		return strings.Join(parts[:min(2, len(parts))], "/")
	}
	return strings.HasPrefix(a, "cmd/") && program(a) == program(b)
}

// selectors finds the clock, chance and the terminal in a file that must do without them. A
// name need not be called to be found: now := time.Now reads the clock later.
func (in *inspection) selectors(file *ast.File) {
	names := map[string]string{} // of imports in this file
	for _, spec := range file.Imports {
		pkg := importPath(spec)
		names[path.Base(pkg)] = pkg
		if spec.Name != nil {
			names[spec.Name.Name] = pkg
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if ok && slices.Contains(impure()[names[x.Name]], sel.Sel.Name) {
			in.fault(sel, "%s.%s in %s (%s), which knows neither clock, chance nor terminal: take its result as an argument",
				x.Name, sel.Sel.Name, in.folder, in.floors[in.height].name)
		}
		return true
	})
}

// tags finds forbidden JSON struct tags.
func (in *inspection) tags(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok || field.Tag == nil {
			return true
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		if _, tagged := reflect.StructTag(tag).Lookup("json"); tagged || err != nil {
			in.fault(field, "a JSON tag outside wire.go and package events: wire and domain are different types; "+
				"give the wire its own struct in %s/wire.go, and a converter", in.folder)
		}
		return true
	})
}

func importPath(spec *ast.ImportSpec) string {
	pkg, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return pkg
}

// unexpectedEntries returns the entries of the module's root that do not belong there. Folders end
// in a slash; ignored are patterns as of path.Match.
func unexpectedEntries(entries, ignored []string) []string {
	allowed := strings.Fields("checkout/ catalogue/ money/ agreement/ events/ ports/ adapters/ cmd/ testdata/" +
		" go.mod go.sum README.md LICENSE")
	return slices.DeleteFunc(slices.Clone(entries), func(entry string) bool {
		return strings.HasPrefix(entry, ".") || slices.Contains(allowed, entry) ||
			slices.ContainsFunc(ignored, func(pattern string) bool {
				match, err := path.Match(pattern, entry)
				return match && err == nil
			})
	})
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

func moduleName(t *testing.T) string {
	t.Helper()
	module, ok := strings.CutPrefix(cmp.Or(strings.Split(read(t, "go.mod"), "\n")...), "module ")
	if !ok {
		t.Fatal("go.mod does not begin with the module's name")
	}
	return module
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
	module := moduleName(t)
	seen := map[string]bool{}
	for name, source := range sources(t) {
		seen[path.Dir(name)] = true
		for _, fault := range inspect(module, name, source) {
			t.Error(fault)
		}
	}
	for _, f := range floors() {
		for _, folder := range f.folders {
			if !strings.Contains(folder, "*") && !seen[folder] {
				t.Errorf("%s has no package %s any more: fix floors, or this test checks nothing there", f.name, folder)
			}
		}
	}
}

func TestTopLevelFoldersAreFixed(t *testing.T) {
	entries, err := fs.ReadDir(root(), ".")
	if err != nil {
		t.Fatal(err)
	}
	var names, ignored []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	for _, line := range strings.Fields(read(t, ".gitignore")) {
		ignored = append(ignored, strings.TrimPrefix(line, "/"))
	}
	for _, name := range unexpectedEntries(names, ignored) {
		t.Errorf("%s has no place at the top of the module, which a newcomer reads as the list of its parts: "+
			"put it into the part that it belongs to", name)
	}
}
