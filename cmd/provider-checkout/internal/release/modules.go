package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// module is one that is linked into the binary; the standard library counts as one.
type module struct {
	path, version string
	sum           string // as in go.sum; the standard library has none
	licences      []string
	texts         []text
}

// standard is the path under which the standard library is known to those who list its
// vulnerabilities.
const standard = "stdlib"

// listed is a package as `go list` prints it.
type listed struct {
	Dir, ImportPath string
	Standard        bool
	Root            string // of the standard library
	Module          *struct {
		Path, Version, Dir string
		Replace            *struct{ Path string }
	}
	Imports []string
}

// module returns the path of the package's module.
func (p listed) module() string {
	if p.Standard {
		return standard
	}
	return p.Module.Path
}

// list returns the packages that a binary is made of, for the system that it was built for.
func list(ctx context.Context, info *debug.BuildInfo) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Dir,ImportPath,Standard,Root,Module,Imports",
		"-tags="+setting(info, "-tags"), info.Path)
	cmd.Env = append(os.Environ(), "GOOS="+setting(info, "GOOS"), "GOARCH="+setting(info, "GOARCH"),
		"CGO_ENABLED="+setting(info, "CGO_ENABLED"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages of %s: %w: %s", info.Path, err, stderr.String())
	}
	var packages []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("list packages of %s: %w", info.Path, err)
		}
		packages = append(packages, p)
	}
}

// setting returns a setting of the build, or nothing.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// linked returns the modules in a binary, by their paths, the standard library last. What the
// binary says of itself decides; a source that would give another one is an error.
func linked(info *debug.BuildInfo, packages []listed, known table) ([]module, error) {
	folders, roots, versions := map[string][]string{}, map[string]string{}, map[string]string{}
	for _, p := range packages {
		m := p.module()
		folders[m] = append(folders[m], p.Dir)
		if p.Standard {
			roots[m] = p.Root
			continue
		}
		if p.Module.Replace != nil {
			return nil, fmt.Errorf("%s is replaced: a release holds modules as they were published", m)
		}
		roots[m], versions[m] = p.Module.Dir, p.Module.Version
	}
	delete(folders, info.Main.Path)
	if len(folders) != len(info.Deps)+1 { // and the standard library
		return nil, fmt.Errorf("the binary holds %d modules, its source %d", len(info.Deps), len(folders)-1)
	}
	deps := append(slices.Clone(info.Deps), &debug.Module{Path: standard, Version: strings.TrimPrefix(info.GoVersion, "go")})
	versions[standard] = deps[len(deps)-1].Version
	var modules []module
	for _, dep := range deps {
		if versions[dep.Path] != dep.Version {
			return nil, fmt.Errorf("the binary holds %s %s, its source %s", dep.Path, dep.Version, versions[dep.Path])
		}
		m := module{path: dep.Path, version: dep.Version, sum: dep.Sum}
		var err error
		m.licences, m.texts, err = inspect(m.path+"@"+m.version, filepath.Clean(roots[m.path]), folders[m.path], known)
		if err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	return modules, nil
}

// importsOf returns, by module, the other modules whose packages its linked packages import.
func importsOf(packages []listed) map[string][]string {
	owner := map[string]string{}
	for _, p := range packages {
		owner[p.ImportPath] = p.module()
	}
	imports := map[string][]string{}
	for _, p := range packages {
		for _, name := range p.Imports {
			to := owner[name]
			if from := p.module(); to != "" && to != from && !slices.Contains(imports[from], to) {
				imports[from] = append(imports[from], to)
			}
		}
	}
	for _, to := range imports {
		slices.Sort(to)
	}
	return imports
}

// fontsPackage is the package of ours that holds the work of others.
const fontsPackage = "/adapters/internal/fonts"

// embeddedFonts returns the fonts in a binary with their licences, as if they were a module.
func embeddedFonts(packages []listed, known table) (module, error) {
	for _, p := range packages {
		if !p.Standard && p.ImportPath == p.Module.Path+fontsPackage {
			ids, texts, err := inspect("fonts", p.Dir, nil, known)
			return module{path: "fonts", licences: ids, texts: texts}, err
		}
	}
	return module{}, fmt.Errorf("the binary has no package %s", fontsPackage)
}
