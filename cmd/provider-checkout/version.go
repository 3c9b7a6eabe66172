package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version prints the version, the commit and the Go version of the build.
type version struct{}

func (*version) Run(c *call) error {
	built, commit := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = info.Main.Version
		modified := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = " (modified)"
			}
		}
		commit += modified
	}
	_, err := fmt.Fprintf(c.Stdout, "%s %s, commit %s, %s\n", program, built, commit, runtime.Version())
	return err
}
