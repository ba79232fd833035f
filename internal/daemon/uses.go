package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/store"
)

const (
	// usesEvery is how often a process writes the uses of intents into the store, and usesExact is the precision of their times.
	usesEvery = time.Minute
	usesExact = time.Hour
	// recentUse is how long after its last call an intent counts as used.
	recentUse = 7 * 24 * time.Hour
	// maxEnded is the number of intents that one problem lists.
	maxEnded = 5
)

// A useLog collects when agents call intents, until they are written into the store. It is safe for concurrent use.
type useLog struct {
	mu    sync.Mutex
	last  map[store.IntentUse]time.Time // by service and intent: the last recorded use
	fresh map[store.IntentUse]time.Time // uses that are not in the store yet
}

func newUseLog() *useLog {
	return &useLog{last: map[store.IntentUse]time.Time{}, fresh: map[store.IntentUse]time.Time{}}
}

// Record implements execute.Recorder. It records calls that were admitted.
func (l *useLog) Record(e *execute.Event) {
	if e.ExecutionID == "" || e.Intent == "" || e.Replayed {
		return
	}
	key := store.IntentUse{Service: e.Service, Intent: e.Intent}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.At.Sub(l.last[key]) < usesExact {
		return
	}
	l.last[key], l.fresh[key] = e.At, e.At
}

// take returns the uses that are not in the store yet.
func (l *useLog) take() []store.IntentUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]store.IntentUse, 0, len(l.fresh))
	for key, at := range l.fresh {
		out = append(out, store.IntentUse{Service: key.Service, Intent: key.Intent, At: at})
	}
	clear(l.fresh)
	slices.SortFunc(out, func(a, b store.IntentUse) int { // sorted, so that all processes write in one order and do not deadlock
		return strings.Compare(a.Service+" "+a.Intent, b.Service+" "+b.Intent)
	})
	return out
}

// putBack adds uses that could not be written.
func (l *useLog) putBack(uses []store.IntentUse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, use := range uses {
		key := store.IntentUse{Service: use.Service, Intent: use.Intent}
		if l.fresh[key].Before(use.At) {
			l.fresh[key] = use.At
		}
	}
}

// noteUses writes the uses of intents into the store until ctx is done, and once more then.
func (p *process) noteUses(ctx context.Context) error {
	err := every(ctx, usesEvery, func() { p.flushUses(ctx) })
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	p.flushUses(last)
	return err
}

func (p *process) flushUses(ctx context.Context) {
	uses := p.uses.take()
	if len(uses) == 0 {
		return
	}
	if err := p.store.NoteUses(ctx, uses); err != nil {
		p.uses.putBack(uses)
		p.Log.Warn("the uses of intents could not be recorded", zap.Error(err))
	}
}

// A usesReader returns the intents of a service that were called since a time.
type usesReader interface {
	Uses(ctx context.Context, service string, since time.Time) ([]store.IntentUse, error)
}

// endings returns the problems of a configuration that ends the calls of agents. A service without an intent that agents can call is a
// problem. So are intents that agents called in the last week and can no longer call, unless their retire_after announced the end. serving
// is the configuration in use. If it is not nil, only intents that agents can call under it count. If the uses cannot be read, endings
// returns a warning.
func endings(ctx context.Context, c *config.Config, l *service.LoadedConfig, serving *service.Snapshot, uses usesReader,
	now time.Time,
) (problems config.Problems) {
	for i, d := range l.Definitions() {
		at := fmt.Sprintf("services[%d].%s", i, policyPath(&c.Services[i], d))
		before := func(string) bool { return true }
		if serving != nil {
			s := serving.Service(d.ID)
			if s == nil {
				continue // the service is new
			}
			before = func(uid string) bool { ok, _ := s.Callable(ctx, uid); return ok }
			if s.NoneCallable(ctx) {
				continue
			}
		}
		if d.NoneCallable(ctx) {
			problems = append(problems, c.Problemf(problem.Error, at, noneCallable, d.ID))
			continue
		}
		for _, next := range d.Successors() {
			if next.NoneCallable(ctx) && !serves(serving, next) {
				problems = append(problems, c.Problemf(problem.Error, at, noneCallable+" from %s on", d.ID, next.From.UTC().Format(time.RFC3339)))
			}
		}
		used, err := uses.Uses(ctx, d.ID, now.Add(-recentUse))
		if err != nil {
			problems = append(problems, c.Problemf(problem.Warning, "store", "the uses of intents cannot be read: %v", err))
			continue
		}
		var ended []string
		cause := fmt.Sprintf("services[%d].agents_file", i)
		for _, use := range used {
			ok, why := d.Callable(ctx, use.Intent)
			if ok || d.EndedAsAnnounced(use.Intent) || !before(use.Intent) {
				continue
			}
			if _, err := d.Executable(use.Intent); err == nil && len(ended) == 0 {
				cause = at // the intent is still in agents.json
			}
			ended = append(ended, fmt.Sprintf("%s (called at %s or later; %s)", use.Intent, use.At.UTC().Format(time.RFC3339), why))
		}
		if len(ended) > 0 {
			list := strings.Join(ended[:min(maxEnded, len(ended))], ", ")
			if more := len(ended) - maxEnded; more > 0 {
				list += fmt.Sprintf(" and %d more", more)
			}
			problems = append(problems, c.Problemf(problem.Error, cause,
				"intents that agents called in the last 7 days would end: %s: set retire_after in agents.json to announce when they end, or use --force of check and reload", list))
		}
	}
	return problems
}

// policyPath returns the path of the setting with the policy of d.
func policyPath(s *config.Service, d *service.Definition) string {
	at := slices.IndexFunc(s.Versions(), func(v config.DatedPolicy) bool { return v.From.Equal(d.From) })
	return s.PolicyPath(max(0, at))
}

// noneCallable is the message of a problem. Its argument is the id of a service.
const noneCallable = "give the policy a permission for an intent that is offered, or use --force of check and reload: " +
	"agents could call no intent of service %s"

// serves reports whether the snapshot already offers the policy of a definition. s may be nil.
func serves(s *service.Snapshot, d *service.Definition) bool {
	if s == nil || s.Service(d.ID) == nil {
		return false
	}
	return slices.ContainsFunc(s.Service(d.ID).Successors(), func(has *service.Definition) bool {
		return has.Offer().Digest == d.Offer().Digest
	})
}

// Forced returns the problems, with errors turned into warnings.
func Forced(problems config.Problems) config.Problems {
	out := slices.Clone(problems)
	for i := range out {
		out[i].Level = problem.Warning
	}
	return out
}
