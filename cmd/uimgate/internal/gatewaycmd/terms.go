package gatewaycmd

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/odrl"
)

func blocks() config.Blocks { return bindings.Blocks() }

// terms holds the prices and limits of the intents of one service under one of its policies, and the settings of the intents.
type terms struct {
	of       map[string]openapi.Terms // by UID; nil if the policy could not be loaded
	settings map[string]config.IntentRule
	problems config.Problems
	file     string    // the name of the policy
	from     time.Time // when the policy takes effect; zero: it is in force
}

// termsOf loads a configuration of files by name, as if dir contained them, and returns the terms under each policy that has not ended, in
// the order of their dates. There is at least one, and the first one is in force. If the configuration cannot be loaded, the result
// contains only the problems.
func termsOf(ctx context.Context, dir string, files map[string][]byte) []*terms {
	path := filepath.Join(dir, openapi.ConfigFile)
	cfg, problems := config.Parse(path, files[openapi.ConfigFile], overrides())
	if cfg == nil {
		return []*terms{{problems: problems}}
	}
	replace := func(f *config.File) {
		if data := files[nameIn(dir, f.Path)]; data != nil && f.Path != "" {
			f.Data = data
		}
	}
	for i := range cfg.Services {
		c := &cfg.Services[i]
		replace(&c.AgentsFile)
		replace(&c.PolicyFile)
		for n := range c.Policies {
			replace(&c.Policies[n].File)
		}
	}
	at, present := presentPolicies(dir, cfg.Services, time.Now())
	if at < 0 {
		return []*terms{loadTerms(ctx, dir, cfg, presentPolicy{name: openapi.PolicyFile}, problems)}
	}
	var out []*terms
	failed := false
	for _, p := range present {
		one := *cfg
		one.Services = slices.Clone(cfg.Services)
		one.Services[at].Policies, one.Services[at].PolicyFile = nil, p.file
		t := loadTerms(ctx, dir, &one, p, problems)
		out, failed = append(out, t), failed || t.problems.Failed()
	}
	if len(present) > 1 && !failed {
		_, out[0].problems = service.Load(ctx, cfg, time.Now) // for example, two policies are the same
	}
	return out
}

// loadTerms returns the terms of a configuration whose service has one policy. problems are those found before.
func loadTerms(ctx context.Context, dir string, cfg *config.Config, policy presentPolicy, problems config.Problems) *terms {
	loaded, more := service.Load(ctx, cfg, time.Now)
	out := &terms{file: policy.name, from: policy.from, problems: slices.Concat(more, problems)}
	if loaded == nil {
		return out
	}
	out.of, out.settings = map[string]openapi.Terms{}, map[string]config.IntentRule{}
	for i, d := range loaded.Definitions() {
		if nameIn(dir, cfg.Services[i].AgentsFile.Path) != openapi.AgentsFile {
			continue
		}
		out.settings = cfg.Services[i].Intents
		for _, in := range d.Offered() {
			got, err := d.Policy.Terms(ctx, odrl.Request{Intent: in.ID, AgentKey: []byte{0}})
			if err != nil {
				continue
			}
			t := openapi.Terms{Permitted: got.Permitted, Covered: d.Policy.Covers(in.ID), Certain: len(got.Candidates) == 1}
			if len(got.Candidates) > 0 {
				t.Price = got.Candidates[0].Charge
				if limits := got.Candidates[0].Limits; len(limits) > 0 {
					t.Limit = limits[0].Rate
					t.Certain = t.Certain && len(limits) == 1
				}
			}
			out.of[in.ID] = t
		}
	}
	return out
}
