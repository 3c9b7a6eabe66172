package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version prints the version, the commit and the Go version of the build.
func version(_ context.Context, c *call) error {
	release, commit := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		release = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " (modified)"
			}
		}
	}
	_, err := fmt.Fprintf(c.Stdout, "%s %s, commit %s, %s\n", program, release, commit, runtime.Version())
	return err
}
