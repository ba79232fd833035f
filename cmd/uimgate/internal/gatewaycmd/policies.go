package gatewaycmd

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/intents/openapi"
)

// A presentPolicy is a policy that has not ended.
type presentPolicy struct {
	name string // relative to the directory of the configuration
	file config.File
	from time.Time // zero: it is in force
}

// presentPolicies returns the index of the first service that uses the agents.json of dir, or -1 if no service does. It also returns the
// policies of this service that have not ended, in the order of their dates. The first policy is in force. A policy that takes effect
// twice is listed once.
func presentPolicies(dir string, services []config.Service, now time.Time) (at int, out []presentPolicy) {
	at = slices.IndexFunc(services, func(s config.Service) bool { return nameIn(dir, s.AgentsFile.Path) == openapi.AgentsFile })
	if at < 0 {
		return at, nil
	}
	versions := services[at].Versions()
	first := 0
	for i, v := range versions {
		if !v.From.After(now) {
			first = i // the policies before this one have ended
		}
	}
	for i, v := range versions[first:] {
		p := presentPolicy{name: nameIn(dir, v.File.Path), file: v.File}
		if i > 0 {
			p.from = v.From
		}
		if !slices.ContainsFunc(out, func(o presentPolicy) bool { return o.name == p.name }) {
			out = append(out, p)
		}
	}
	return at, out
}

// policyNames returns the names of the configured policies that have not ended. files holds the files of the configuration by name. The
// configuration may have errors. ok is false if it cannot be read at all.
func policyNames(dir string, files map[string][]byte) (names []string, ok bool) {
	text, has := files[openapi.ConfigFile]
	if !has {
		return nil, true
	}
	services := config.Outline(filepath.Join(dir, openapi.ConfigFile), text, overrides())
	_, present := presentPolicies(dir, services, time.Now())
	for _, p := range present {
		if p.file.Path != "" {
			names = append(names, p.name)
		}
	}
	return names, services != nil
}

// setPolicies sets the options about the policies that uimgate.yaml names. init without --merge does not write policies if one of them
// follows another.
func (s *initSettings) setPolicies(ctx context.Context, existing map[string][]byte) {
	if s.force { // uimgate.yaml will be replaced
		return
	}
	names, ok := policyNames(s.out, existing)
	s.options.Policies = names
	s.options.KeepPolicy = !ok || len(names) > 1 && !s.merge
	if !s.merge {
		return
	}
	s.options.Merge = func(agents []byte) map[string]map[string]openapi.Terms {
		files := maps.Clone(existing)
		files[openapi.AgentsFile] = agents
		out := map[string]map[string]openapi.Terms{}
		for _, t := range termsOf(ctx, s.out, files) {
			if t.of == nil {
				return nil
			}
			out[t.file] = t.of
		}
		return out
	}
}
