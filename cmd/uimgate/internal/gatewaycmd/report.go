package gatewaycmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents/openapi"
)

// Bounds of the list on a terminal: maxListed groups, each with maxExamples operations. The README lists more.
const (
	maxListed   = 40
	maxExamples = 3
)

func (s *initSettings) report(w io.Writer, found *openapi.Import, result *openapi.Result) {
	list := func(heading string, all []openapi.Finding) {
		if len(all) == 0 {
			return
		}
		fmt.Fprintf(w, "%s:\n", heading)
		listed := 0
		for n, g := range openapi.Groups(all) {
			if n == maxListed {
				fmt.Fprintf(w, "  … and %d more: see %s\n", len(all)-listed, filepath.Join(s.out, openapi.ReadmeFile))
				break
			}
			fmt.Fprintf(w, "  %s\n", g.Line(maxExamples))
			listed += len(g.Findings)
		}
	}
	list("Not offered", found.Unmapped)
	list("Omitted or changed", found.Notes)
	for _, message := range result.Messages {
		fmt.Fprintln(w, message)
	}
	fmt.Fprintf(w, "%s: operations: %d offered, %d not offered", s.out, len(found.Intents), len(found.Unmapped))
	if found.Hidden > 0 {
		fmt.Fprintf(w, ", %d hidden (edit %s to offer them)", found.Hidden, openapi.CurationFile)
	}
	fmt.Fprintf(w, "; intents: %d added, %d changed, %d unchanged, %d retired\n", result.Added, result.Changed, result.Same, result.Retired)
}

// check prints the problems that serve would report about the written files. If one of them is an error, it returns cli.ErrSilent.
func (s *initSettings) check(ctx context.Context, w io.Writer) error {
	path := filepath.Join(s.out, openapi.ConfigFile)
	o := overrides()
	variables := map[string]string{} // environment variables that the operator must still set
	if s.tools.isSet() {
		variables = s.tools.settings().Variables()
	}
	o.Env = func(name string) (string, bool) {
		if value, set := variables[name]; set {
			return value, true
		}
		return os.LookupEnv(name)
	}
	cfg, problems := config.Load(path, o)
	if cfg != nil {
		_, more := service.Load(ctx, cfg, time.Now)
		problems = append(problems, more...)
	}
	cli.PrintProblems(w, problems)
	if problems.Failed() {
		fmt.Fprintf(w, "%s: fix these problems before you run uimgate serve\n", path)
		return cli.ErrSilent
	}
	if len(variables) > 0 {
		names := slices.Sorted(maps.Keys(variables))
		fmt.Fprintf(w, "Set these environment variables for uimgate serve: %s\n", strings.Join(names, ", "))
	}
	fmt.Fprintf(w, "Next: read %s, then run uimgate serve -c %s\n", filepath.Join(s.out, openapi.ReadmeFile), path)
	return nil
}
