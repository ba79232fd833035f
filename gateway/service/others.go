package service

import (
	"context"
	"sync"
	"time"

	"github.com/uimgate/uimgate/pat"
)

const (
	askAgain  = time.Second     // pause after the store had no policy with a digest, or did not respond
	askMost   = 2 * time.Second // the time limit of one look-up
	maxOthers = 64              // the number of results that are kept; when it is reached, all are dropped
)

// others holds the policies that other processes offered after this process had read its configuration. Agents may already have agreed to
// them. It is safe for concurrent use.
type others struct {
	policies Policies
	to       *Definition
	lookUp   func(digest string) other
	newest   time.Time // when the newest policy that this process knows was first offered

	mu    sync.Mutex
	known map[string]other // by digest
}

// An other is the result of a look-up.
type other struct {
	comparison *comparison // nil: the policy is unknown, or too old to be compared
	until      time.Time   // when the look-up may be repeated; zero: never
}

// others returns the others of a version of a service. The version knows the policies in recent.
func (d *Directory) others(to *Definition, recent []pat.PolicyDocument) *others {
	o := &others{policies: d.state.Policies, to: to, known: map[string]other{}}
	o.lookUp = o.inStore
	for _, p := range recent {
		if p.FirstOffered.After(o.newest) {
			o.newest = p.FirstOffered
		}
	}
	return o
}

// comparison returns the comparison of an earlier policy with that of the version, or nil if the earlier policy is unknown. The digest must
// be that of a PAT or an agreement.
func (h *history) comparison(digest string) *comparison {
	if of := h.of[digest]; of != nil {
		return of()
	}
	return h.others.comparison(digest)
}

func (o *others) comparison(digest string) *comparison {
	if o.to.offers(digest) {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found, asked := o.known[digest]
	if asked && (found.until.IsZero() || o.to.now().Before(found.until)) {
		return found.comparison
	}
	if !asked && len(o.known) >= maxOthers {
		clear(o.known)
	}
	found = o.lookUp(digest)
	o.known[digest] = found
	return found.comparison
}

// inStore looks up a policy in the store, for at most askMost. All calls share the result, so it does not depend on the context of any of
// them.
func (o *others) inStore(digest string) other {
	ctx, cancel := context.WithTimeout(context.Background(), askMost)
	defer cancel()
	p, err := o.policies.Policy(ctx, o.to.ID, digest)
	switch {
	case err != nil:
		return other{until: o.to.now().Add(askAgain)}
	case !p.FirstOffered.After(o.newest):
		return other{}
	}
	return other{comparison: o.to.compare(context.Background(), p.Bytes)}
}
