package gatewaycmd

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

func blocks() config.Blocks { return bindings.Blocks() }

// terms are the prices and limits of the intents of one service under its policy, and its settings by intent.
type terms struct {
	of       map[string]openapi.Terms
	settings map[string]config.IntentRule
	mapped   bool // the policy names parties, so that some intents may be permitted only to them
	problems config.Problems
}

// termsOf loads a configuration of files by name, as if dir contained them, and returns its terms. If the configuration cannot be loaded,
// only the problems are set.
func termsOf(ctx context.Context, dir string, files map[string][]byte) *terms {
	path := filepath.Join(dir, openapi.ConfigFile)
	cfg, problems := config.Parse(path, files[openapi.ConfigFile], overrides())
	if cfg == nil {
		return &terms{problems: problems}
	}
	for i := range cfg.Services {
		c := &cfg.Services[i]
		replace := func(f *config.File, name string) {
			if filepath.Clean(f.Path) == filepath.Join(dir, name) && files[name] != nil {
				f.Data = files[name]
			}
		}
		replace(&c.AgentsFile, openapi.AgentsFile)
		replace(&c.PolicyFile, openapi.PolicyFile)
		for n := range c.Policies {
			replace(&c.Policies[n].File, openapi.PolicyFile)
		}
	}
	loaded, more := service.Load(ctx, cfg, time.Now)
	problems = append(problems, more...)
	if loaded == nil {
		return &terms{problems: problems}
	}
	out := &terms{of: map[string]openapi.Terms{}, settings: map[string]config.IntentRule{}, problems: problems}
	for i, d := range loaded.Definitions() {
		if filepath.Clean(cfg.Services[i].AgentsFile.Path) != filepath.Join(dir, openapi.AgentsFile) {
			continue
		}
		out.mapped = len(cfg.Services[i].Parties) > 0
		out.settings = cfg.Services[i].Intents
		for _, in := range d.Offered() {
			got, err := d.Policy.Terms(ctx, odrl.Request{Intent: in.ID, AgentKey: []byte{0}})
			if err != nil {
				continue
			}
			t := openapi.Terms{Permitted: got.Permitted, Certain: len(got.Candidates) == 1}
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

// missing lists what a plan leaves to people: intents that no permission covers, prices of the curation that the policy does not charge,
// and settings of an intent that its next version lacks.
func (t *terms) missing(prices map[string]money.Amount, changes []openapi.Change) (out []string) {
	for _, p := range t.problems {
		if p.Level == problem.Error {
			return []string{"the terms cannot be compared: " + p.String()}
		}
	}
	var uncovered []string
	for _, uid := range slices.Sorted(maps.Keys(t.of)) {
		switch now := t.of[uid]; {
		case !now.Permitted && !t.mapped:
			uncovered = append(uncovered, uid)
		case now.Certain && now.Price != prices[uid]:
			out = append(out, fmt.Sprintf("%s: %s charges %s, %s has %s: use --merge to make them equal", uid, openapi.PolicyFile,
				priceText(now.Price), openapi.CurationFile, priceText(prices[uid])))
		}
	}
	if len(uncovered) > 0 {
		list := strings.Join(uncovered, ", ")
		out = append(out, fmt.Sprintf("%s permits no call of: %s: use --merge to add permissions", openapi.PolicyFile, list))
	}
	for _, c := range changes {
		if c.Kind != openapi.Replaced {
			continue
		}
		if _, had := t.settings[c.UID]; !had {
			continue
		}
		if _, has := t.settings[c.Successor]; !has {
			out = append(out, fmt.Sprintf("%s has settings for %s: copy them for %s", openapi.ConfigFile, c.UID, c.Successor))
		}
	}
	return out
}

func priceText(price money.Amount) string {
	if price.IsZero() {
		return "no price"
	}
	return price.String()
}
