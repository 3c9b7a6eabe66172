package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version prints the version, the commit and the Go version of the build.
func version(_ context.Context, c *call) error {
	if c.json {
		return jsonLines(c.Stdout).Encode(build())
	}
	_, err := fmt.Fprintln(c.Stdout, build())
	return err
}

// build returns the version, the commit and the Go version of this program.
func build() versionLine {
	v := versionLine{Version: "unknown", Commit: "unknown", GoVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Version = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.time":
				v.CommittedOn, _, _ = strings.Cut(s.Value, "T")
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	return v
}

func (v versionLine) String() string {
	commit := v.Commit
	if v.Modified {
		commit += " (modified)"
	}
	return fmt.Sprintf("%s %s, commit %s, %s", program, v.Version, commit, v.GoVersion)
}
