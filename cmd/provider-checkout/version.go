package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version prints the version, the commit and the Go version of the build.
type version struct{ JSONFlag }

func (*version) Run(c *call) error {
	b := build()
	if !c.json {
		_, err := fmt.Fprintln(c.Stdout, b)
		return err
	}
	r := record{{name: "version", value: b.version}, {name: "commit", value: b.commit}, {name: "committed_on", value: b.committedOn}}
	if b.modified {
		r = append(r, field{name: "modified", value: true})
	}
	return c.print(append(r, field{name: "go_version", value: runtime.Version()}))
}

// built is the version of a build.
type built struct {
	version, commit string
	committedOn     string // a date in UTC
	modified        bool
}

// build returns the version and the commit of this program.
func build() built {
	v := built{version: "unknown", commit: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.version = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.commit = s.Value
			case "vcs.time":
				v.committedOn, _, _ = strings.Cut(s.Value, "T")
			case "vcs.modified":
				v.modified = s.Value == "true"
			}
		}
	}
	return v
}

func (v built) String() string {
	commit := v.commit
	if v.modified {
		commit += " (modified)"
	}
	return fmt.Sprintf("%s %s, commit %s, %s", program, v.version, commit, runtime.Version())
}
