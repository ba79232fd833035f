package plan

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// maxChecks is how many results of checked a process caches. Each takes about 200 bytes.
const maxChecks = 4096

// A checkResult is what checked returned.
type checkResult struct{ err error }

var checks = sync.OnceValue(func() *cache.Cache[[sha256.Size]byte, checkResult] {
	return cache.New(cache.Options[[sha256.Size]byte, checkResult]{Max: maxChecks})
})

// checkedOnce is like checked, but a process compares equal plans over equal data only once. left is the residual that the plan was made
// from.
func checkedOnce(ctx context.Context, p *rules.Program, in *Inputs, left *Residual, made *Plan, maxSteps int) error {
	key := checkKey(p, in, left, maxSteps)
	if known, ok := checks().Get(key); ok {
		return known.err
	}
	err := checked(ctx, p, in, made, maxSteps)
	if ctx.Err() == nil {
		checks().Set(key, checkResult{err})
	}
	return err
}

// A checkedLeaf has the parts of a rules.Leaf that checked reads.
type checkedLeaf struct {
	ID, Slot, Kind, Operator string
	Value                    any
	Window                   bool
	From, To                 int64
	Pointer                  string
}

// checkKey returns the digest of everything that the result of checked depends on. The residual and the inputs determine the plan. The data
// determines the results of OPA, because the modules are the same for all policies. The rest determines what is compared, and the messages.
func checkKey(p *rules.Program, in *Inputs, left *Residual, maxSteps int) [sha256.Size]byte {
	of := struct {
		Residual []string
		Data     map[string]any
		Targets  map[string]string
		Agents   map[string][]rules.AgentName
		Slots    []rules.Slot
		Leaves   []checkedLeaf
		Rules    int
		MaxSteps int
	}{
		Residual: []string{left.Result.String()}, Data: p.Engine.Data, Targets: map[string]string{}, Agents: map[string][]rules.AgentName{},
		Rules: len(p.Rules), MaxSteps: maxSteps,
	}
	for _, m := range left.Modules {
		of.Residual = append(of.Residual, m.String())
	}
	for uid, names := range in.targets {
		of.Targets[uid] = names.String()
	}
	for agent, names := range in.agents {
		for _, name := range names {
			of.Agents[agent] = append(of.Agents[agent], name.AgentName)
		}
	}
	for _, s := range in.Slots {
		of.Slots = append(of.Slots, s.Slot)
	}
	for _, l := range p.Leaves {
		of.Leaves = append(of.Leaves, checkedLeaf{
			l.ID, l.Slot.Key(), l.Kind, l.Operator, l.Value, l.Window, l.From, l.To, l.Source.Pointer,
		})
	}
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%#v", of) // quotes texts and sorts maps, so that different values are written differently
	return [sha256.Size]byte(digest.Sum(nil))
}
