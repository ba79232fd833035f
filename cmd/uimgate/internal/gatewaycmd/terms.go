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
	"github.com/uimgate/uimgate/internal/limit"
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
	file     string   // the policy that is in force
	later    []*terms // the terms of the policies that follow it, in the order of their dates
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
	at, present := presentPolicies(dir, cfg, time.Now())
	if at < 0 {
		return loadTerms(ctx, dir, cfg, openapi.PolicyFile, problems)
	}
	var all []*terms
	for _, f := range present {
		one := *cfg
		one.Services = slices.Clone(cfg.Services)
		one.Services[at].Policies, one.Services[at].PolicyFile = nil, f
		all = append(all, loadTerms(ctx, dir, &one, nameIn(dir, f.Path), problems))
	}
	out := all[0]
	out.later = all[1:]
	return out
}

// presentPolicies returns the service that has the agents.json of dir and a list of policies, and the files of the policies that have not
// ended, in the order of their dates. The first one is in force. Without such a service, at is -1.
func presentPolicies(dir string, cfg *config.Config, now time.Time) (at int, out []config.File) {
	for i := range cfg.Services {
		c := &cfg.Services[i]
		if len(c.Policies) == 0 || filepath.Clean(c.AgentsFile.Path) != filepath.Join(dir, openapi.AgentsFile) {
			continue
		}
		for _, v := range c.Versions() {
			if !v.From.After(now) {
				out = nil // the policies before it have ended
			}
			out = append(out, v.File)
		}
		return i, out
	}
	return -1, nil
}

// datedPolicies returns the names of the policies that have not ended, if init does not write them: uimgate.yaml lists policies, and
// policy.json is not the only one.
func datedPolicies(dir string, existing map[string][]byte) (out []string) {
	cfg, _ := config.Parse(filepath.Join(dir, openapi.ConfigFile), existing[openapi.ConfigFile], overrides())
	if cfg == nil {
		return nil
	}
	_, files := presentPolicies(dir, cfg, time.Now())
	for _, f := range files {
		out = append(out, nameIn(dir, f.Path))
	}
	if len(out) == 1 && out[0] == openapi.PolicyFile {
		return nil
	}
	return out
}

// nameIn returns the path of a file relative to dir, if the file is below dir.
func nameIn(dir, path string) string {
	if name, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(name) {
		return name
	}
	return path
}

// loadTerms returns the terms of a configuration whose service has one policy, with the name file.
func loadTerms(ctx context.Context, dir string, cfg *config.Config, file string, problems config.Problems) *terms {
	loaded, more := service.Load(ctx, cfg, time.Now)
	problems = slices.Concat(problems, more)
	if loaded == nil {
		return &terms{file: file, problems: problems}
	}
	out := &terms{file: file, of: map[string]openapi.Terms{}, settings: map[string]config.IntentRule{}, problems: problems}
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
// and settings of an intent that its next version lacks. dated means that init does not write the policies.
func (t *terms) missing(prices map[string]money.Amount, changes []openapi.Change, dated bool) (out []string) {
	for _, l := range t.later {
		out = append(out, l.uncovered(dated)...)
	}
	for _, p := range t.problems {
		if p.Level == problem.Error {
			return []string{"the terms cannot be compared: " + p.String()}
		}
	}
	advice := ": use --merge to make them equal"
	if dated {
		advice = ""
	}
	for _, uid := range slices.Sorted(maps.Keys(t.of)) {
		now := t.of[uid]
		if (now.Permitted || t.mapped) && now.Certain && now.Price != prices[uid] {
			out = append(out, fmt.Sprintf("%s: %s charges %s, %s has %s%s", uid, t.file,
				priceText(now.Price), openapi.CurationFile, priceText(prices[uid]), advice))
		}
	}
	out = append(out, t.uncovered(dated)...)
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

// uncovered lists in one line the intents that the policy does not permit. dated means that init does not write the policy.
func (t *terms) uncovered(dated bool) []string {
	for _, p := range t.problems {
		if p.Level == problem.Error {
			return []string{t.file + " cannot be checked: " + p.String()}
		}
	}
	var uncovered []string
	for _, uid := range slices.Sorted(maps.Keys(t.of)) {
		if !t.of[uid].Permitted && !t.mapped {
			uncovered = append(uncovered, uid)
		}
	}
	if len(uncovered) == 0 {
		return nil
	}
	advice := "use --merge to add permissions"
	if dated {
		advice = "add permissions to this file"
	}
	return []string{fmt.Sprintf("%s permits no call of: %s: %s", t.file, strings.Join(uncovered, ", "), advice)}
}

// changesFrom lists the prices and limits that differ from those before, with both amounts. Agents must agree to them again.
func (t *terms) changesFrom(before *terms) (out []string) {
	for _, uid := range slices.Sorted(maps.Keys(t.of)) {
		was, is := before.of[uid], t.of[uid]
		if !was.Permitted || !is.Permitted {
			continue
		}
		var what []string
		if was.Price != is.Price {
			what = append(what, fmt.Sprintf("price %s → %s", priceText(was.Price), priceText(is.Price)))
		}
		if was.Limit != is.Limit {
			what = append(what, fmt.Sprintf("limit %s → %s", limitText(was.Limit), limitText(is.Limit)))
		}
		if len(what) > 0 {
			out = append(out, fmt.Sprintf("%s: %s; agents must agree again", uid, strings.Join(what, ", ")))
		}
	}
	return out
}

func limitText(rate limit.Rate) string {
	if rate.Period == "" {
		return "none"
	}
	return rate.String()
}

func priceText(price money.Amount) string {
	if price.IsZero() {
		return "no price"
	}
	return price.String()
}
