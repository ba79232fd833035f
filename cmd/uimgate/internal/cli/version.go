package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Release is the version of a release, which the release build sets. If it is empty, ReadVersion returns the version of the module.
var Release = ""

// A Version identifies a build of this program.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func (v Version) String() string {
	return fmt.Sprintf("uimgate %s (commit %s, %s)", v.Version, v.Commit, v.Go)
}

// ReadVersion returns the version of this program. Commit is "unknown" if the build information does not contain it.
func ReadVersion() Version {
	v := Version{Version: Release, Commit: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
