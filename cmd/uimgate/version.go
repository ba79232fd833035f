package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker in releases; otherwise the module's own says it.
var version = ""

type buildVersion struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

func readVersion() buildVersion {
	v := buildVersion{Version: version, Commit: "unknown", Go: runtime.Version()}
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

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "Print version, commit and Go version", Args: usageArgs(cobra.NoArgs),
		Example: "  uimgate version --json",
		RunE: func(c *cobra.Command, _ []string) error {
			v := readVersion()
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "uimgate %s (commit %s, %s)\n", v.Version, v.Commit, v.Go)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as one line of JSON")
	return c
}
