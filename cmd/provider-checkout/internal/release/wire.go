package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
)

// The parts of CycloneDX 1.6 that a Go binary needs.
type (
	billWire struct {
		Format       string           `json:"bomFormat"`
		SpecVersion  string           `json:"specVersion"`
		Version      int              `json:"version"`
		Metadata     metadataWire     `json:"metadata"`
		Components   []componentWire  `json:"components"`
		Dependencies []dependencyWire `json:"dependencies"`
	}
	metadataWire struct {
		Component  componentWire  `json:"component"`
		Properties []propertyWire `json:"properties"`
	}
	componentWire struct {
		Type     string        `json:"type"`
		Ref      string        `json:"bom-ref"`
		Name     string        `json:"name"`
		Version  string        `json:"version"`
		Hashes   []hashWire    `json:"hashes,omitempty"`
		Licences []licenceWire `json:"licenses,omitempty"`
		PURL     string        `json:"purl"`
		Pedigree *pedigreeWire `json:"pedigree,omitempty"`
	}
	hashWire struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	licenceWire struct {
		Expression string `json:"expression"`
	}
	pedigreeWire struct {
		Commits []commitWire `json:"commits"`
	}
	commitWire struct {
		ID string `json:"uid"`
	}
	propertyWire struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependencyWire struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// billOfMaterials returns what a binary is made of, and which module imports which. It has neither a time nor a serial number,
// so that it is the same whenever it is made.
func billOfMaterials(info *debug.BuildInfo, binary []byte, modules []module, imports map[string][]string) ([]byte, error) {
	program := componentWire{
		Type: "application", Ref: purl(info.Main.Path, info.Main.Version), Name: path.Base(info.Path), Version: info.Main.Version,
		Hashes: []hashWire{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(binary))}},
		PURL:   purl(info.Main.Path, info.Main.Version),
	}
	if commit := setting(info, "vcs.revision"); commit != "" {
		program.Pedigree = &pedigreeWire{[]commitWire{{commit}}}
	}
	bill := billWire{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadataWire{Component: program}}
	bill.Metadata.Properties = []propertyWire{{"cdx:reproducible", "true"}, {"cdx:gomod:build:env:GOVERSION", info.GoVersion}}
	for _, key := range []string{"GOOS", "GOARCH", "CGO_ENABLED"} {
		bill.Metadata.Properties = append(bill.Metadata.Properties, propertyWire{"cdx:gomod:build:env:" + key, setting(info, key)})
	}

	refs := map[string]string{}
	for _, m := range modules {
		refs[m.path] = purl(m.path, m.version)
	}
	dependencies := func(ref, module string) dependencyWire {
		d := dependencyWire{Ref: ref}
		for _, to := range imports[module] {
			d.DependsOn = append(d.DependsOn, refs[to])
		}
		return d
	}
	bill.Dependencies = append(bill.Dependencies, dependencies(program.Ref, info.Main.Path))
	for _, m := range modules {
		c, err := m.component()
		if err != nil {
			return nil, err
		}
		bill.Components = append(bill.Components, c)
		bill.Dependencies = append(bill.Dependencies, dependencies(c.Ref, m.path))
	}

	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(bill)
	return b.Bytes(), err
}

// component converts a module. Its hash is that of go.sum, over the module's files, which is a
// SHA-256 too; it is not that of any archive.
func (m module) component() (componentWire, error) {
	c := componentWire{
		Type: "library", Ref: purl(m.path, m.version), Name: m.path, Version: m.version, PURL: purl(m.path, m.version),
		Licences: []licenceWire{{strings.Join(m.licences, " AND ")}},
	}
	if m.path == standard {
		return c, nil
	}
	sum, isSum := strings.CutPrefix(m.sum, "h1:")
	hash, err := base64.StdEncoding.DecodeString(sum)
	if !isSum || err != nil || len(hash) != sha256.Size {
		return c, fmt.Errorf("%s %s has no hash in the binary, but %q", m.path, m.version, m.sum)
	}
	c.Hashes = []hashWire{{"SHA-256", fmt.Sprintf("%x", hash)}}
	return c, nil
}

// purl returns the package URL of a Go module.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
