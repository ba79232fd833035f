package cases

import (
	"context"
	"fmt"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

// maxPolicies is the maximum size of all cached documents in bytes. Beyond it, the cache is cleared.
const maxPolicies = 64 << 20

// policies caches policies that several cases or lines use. The zero value is an empty cache.
type policies struct {
	vocabularies []*odrl.Vocabulary
	loaded       map[string]loadedPolicy
	size         int // bytes of the documents in loaded
}

type loadedPolicy struct {
	policy   *odrl.Policy
	problems problem.List
}

// load calls odrl.Load, or returns the cached result for the same document.
func (s *policies) load(ctx context.Context, document []byte, lenient bool) (*odrl.Policy, problem.List) {
	key := fmt.Sprintf("%t %s", lenient, document)
	if l, ok := s.loaded[key]; ok {
		return l.policy, l.problems
	}
	p, problems := odrl.Load(ctx, document, odrl.LoadOptions{Lenient: lenient, Vocabularies: s.vocabularies})
	if s.size += len(key); s.size > maxPolicies || s.loaded == nil {
		s.loaded, s.size = map[string]loadedPolicy{}, len(key)
	}
	if ctx.Err() == nil { // otherwise ctx interrupted the reading
		s.loaded[key] = loadedPolicy{p, problems}
	}
	return p, problems
}

// refusal describes why a policy was not loaded.
func refusal(problems problem.List) string {
	for _, p := range problems {
		if p.Level == problem.Error {
			return "policy: " + p.String()
		}
	}
	return "policy: the policy cannot be read"
}
