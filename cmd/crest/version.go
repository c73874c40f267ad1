package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the commit that the program was built from, as "git describe" names it. The linker sets it: see the Makefile.
var version string

// describeBuild says what this program is in one line.
func describeBuild() string {
	source := version
	if info, ok := debug.ReadBuildInfo(); ok && source == "" {
		source = sourceOf(info.Settings)
	}
	if source == "" {
		source = "unknown"
	}
	return fmt.Sprintf("crest %s, built with %s for %s/%s", source, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// sourceOf returns what the go command has noted of the source, "" when it has noted nothing.
func sourceOf(settings []debug.BuildSetting) string {
	noted := map[string]string{}
	for _, s := range settings {
		noted[s.Key] = s.Value
	}
	source := noted["vcs.revision"]
	if noted["vcs.modified"] == "true" {
		source += "-dirty"
	}
	if at := noted["vcs.time"]; at != "" {
		source += " of " + at
	}
	return source
}
