package ports_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"testing"
)

// Every refusal of the module is made in one file, so that what the service may answer can be read there in a minute.
const refusals = "checkout/refusals.go"

func TestRefusalsAreMadeInOneFile(t *testing.T) {
	made := 0
	for name, source := range sources(t) {
		found := madeRefusals(t, moduleName(t), name, source)
		if name == refusals {
			made = len(found)
			continue
		}
		for _, fault := range found {
			t.Error(fault)
		}
	}
	if made == 0 {
		t.Errorf("%s makes no refusal: this test looks for them in the wrong place", refusals)
	}
}

func TestMadeRefusalsAreFound(t *testing.T) {
	const imported = `import "example/checkout"` + "\n"
	for _, tt := range []struct {
		name, file, body string
		want             bool
	}{
		{"an error of another type", "adapters/a.go", imported + `var e = other.Error{}`, false},
		{"a refusal", "adapters/a.go", imported + `var e error = &checkout.Error{Code: checkout.CodeBusy}`, true},
		{"several refusals", "adapters/a.go", imported + `var e = []checkout.Error{{}}`, true},
		{"a new refusal", "adapters/a.go", imported + `var e = new(checkout.Error)`, true},
		{"a refusal by its zero value", "adapters/a.go", imported + `var e checkout.Error`, true},
		{"a copy of a refusal", "adapters/a.go", imported + `var e *checkout.Error`, false},
		{"a refusal under another name of the package", "adapters/a.go", `import rules "example/checkout"` + "\nvar e = rules.Error{}", true},
		{"a code", "adapters/a.go", imported + `const c checkout.Code = "TEAPOT"`, true},
		{"a converted code", "adapters/a.go", imported + `var c = checkout.Code("TEAPOT")`, true},
		{"a code that is used", "adapters/a.go", imported + `func f(c checkout.Code) bool { return c == checkout.CodeBusy }`, false},
		{"a table of codes", "adapters/a.go", imported + `var t = map[checkout.Code]int{checkout.CodeBusy: 503}`, false},
		{"a function that asks for a refusal", "adapters/a.go", imported + `func f(err error) { errors.AsType[*checkout.Error](err) }`, false},
		{"a package of the same name", "adapters/a.go", `import "elsewhere/checkout"` + "\nvar e = checkout.Error{}", false},
		{"a refusal in the rules", "checkout/a.go", `func f() error { return &Error{} }`, true},
		{"a code in the rules", "checkout/a.go", `const CodeTeapot Code = "TEAPOT"`, true},
		{"the maker of all refusals", "checkout/a.go", `var e = refuse(CodeBusy, "")`, true},
		{"a refusal by its name", "checkout/a.go", `var e = refuseToken()`, false},
		{"an error of the rules' service", "checkout/service/a.go", `var e = Error{}`, false},
	} {
		if got := madeRefusals(t, "example", tt.file, "package p\n"+tt.body); (len(got) > 0) != tt.want {
			t.Errorf("%s: %s with %s: found %q, want some: %v", tt.name, tt.file, tt.body, got, tt.want)
		}
	}
}

// madeRefusals returns the places in a source file at which a checkout.Error or a checkout.Code is made.
func madeRefusals(t *testing.T, module, name, source string) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(at ast.Node, what string) {
		p := fset.Position(at.Pos())
		found = append(found, fmt.Sprintf("%s:%d: %s is made outside of %s: add a function there, and call it", p.Filename, p.Line, what, refusals))
	}
	is := named(module, file, path.Dir(name))
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if element, ok := n.Type.(*ast.ArrayType); is(n.Type, "Error") || ok && is(element.Elt, "Error") {
				add(n, "a refusal")
			}
		case *ast.ValueSpec:
			switch {
			case is(n.Type, "Error"):
				add(n, "a refusal")
			case is(n.Type, "Code") && n.Values != nil:
				add(n, "a code")
			}
		case *ast.CallExpr:
			_, local := n.Fun.(*ast.Ident)
			switch {
			case is(n.Fun, "Code"):
				add(n, "a code")
			case local && is(n.Fun, "refuse"):
				add(n, "a refusal")
			case isNew(n.Fun) && len(n.Args) == 1 && is(n.Args[0], "Error"):
				add(n, "a refusal")
			}
		}
		return true
	})
	return found
}

func isNew(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "new"
}

// named returns a function that reports whether an expression of the file is this name of package checkout.
func named(module string, file *ast.File, folder string) func(e ast.Expr, name string) bool {
	var imported []string // names of package checkout in this file
	for _, spec := range file.Imports {
		if importPath(spec) == module+"/checkout" {
			name := "checkout"
			if spec.Name != nil {
				name = spec.Name.Name
			}
			imported = append(imported, name)
		}
	}
	return func(e ast.Expr, name string) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return folder == "checkout" && e.Name == name
		case *ast.SelectorExpr:
			pkg, ok := e.X.(*ast.Ident)
			return ok && e.Sel.Name == name && slices.Contains(imported, pkg.Name)
		}
		return false
	}
}
