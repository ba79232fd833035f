// Package notify posts notices to the webhooks of the operator when something needs a person: an agent that waits for approval, a charge of
// unknown outcome, an open breaker. A Watcher compares the present causes with the notices that it has already posted. If a cause still
// exists after a failed attempt or a restart, the Watcher posts the notice again. Calls of agents do not wait for webhooks.
package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/wire"
)

// A Condition is a present cause for a notice. Event, Service, Subject and Since identify the Condition.
type Condition struct {
	Event   config.Event
	Service string    // id of the service; empty: the whole gateway
	Subject string    // for example an agent id or an execution id; empty: the service or the gateway
	Since   time.Time // zero: unknown; the Watcher then uses the time at which it first saw the Condition
	Text    string    // one or two sentences for people, without secrets and parameters
}

// A Notice is the body of a request to a webhook, as JSON.
type Notice struct {
	// ID is the same in each attempt to post the notice. Receivers should ignore an id that they have seen.
	ID      string       `json:"id"`
	Event   config.Event `json:"event"`
	Service string       `json:"service,omitempty"`
	Subject string       `json:"subject,omitempty"`
	Since   time.Time    `json:"since"`
	Text    string       `json:"text"`
}

// Options configure a Watcher. All fields except Every are required.
type Options struct {
	// Look returns the present Conditions. If Look returns an error, the Watcher keeps the earlier Conditions in addition to those that Look
	// returned.
	Look func(context.Context) ([]Condition, error)
	Now  func() time.Time
	// Posted counts an attempt to post a notice.
	Posted func(e config.Event, delivered bool)
	Log    *zap.Logger
	// Every is the period between two calls to Look, and the pause after a first failed attempt. 0 means 15 seconds.
	Every time.Duration
}

const (
	defaultEvery = 15 * time.Second
	// mostConditions is the maximum number of Conditions that are remembered. Further Conditions are ignored until earlier ones have ended.
	mostConditions = 10_000
)

// A Watcher posts notices to webhooks. Its methods may be called concurrently.
type Watcher struct {
	o           Options
	hooks       chan []config.Webhook
	configuring sync.Mutex
}

// New returns a Watcher without webhooks.
func New(o Options) *Watcher {
	o.Every = cmp.Or(o.Every, defaultEvery)
	return &Watcher{o: o, hooks: make(chan []config.Webhook, 1)}
}

// Configure replaces the webhooks. A webhook that stays the same does not get the same notices again.
func (w *Watcher) Configure(hooks []config.Webhook) {
	w.configuring.Lock()
	defer w.configuring.Unlock()
	select { // only the newest webhooks matter
	case <-w.hooks:
	default:
	}
	w.hooks <- hooks
}

// Run posts notices until ctx ends. It then returns nil.
func (w *Watcher) Run(ctx context.Context) error {
	var hooks []*hook
	defer func() { closeAll(hooks) }()
	seen := map[string]*Notice{}
	tick := time.NewTicker(w.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-w.hooks:
			hooks = w.replace(ctx, hooks, next)
		case <-tick.C:
		}
		if len(hooks) == 0 {
			clear(seen)
			continue
		}
		found, err := w.o.Look(ctx)
		if err != nil && ctx.Err() == nil {
			w.o.Log.Warn("the conditions for notices cannot be read", zap.Error(wire.Loggable(err)))
		}
		seen = w.update(seen, found, err != nil)
		for _, h := range hooks {
			h.update(seen)
		}
	}
}

// update returns the notices for the Conditions that were found, by an identifier of the Condition. If partial is set, because not all
// Conditions are known, the earlier notices remain.
func (w *Watcher) update(before map[string]*Notice, found []Condition, partial bool) map[string]*Notice {
	now := map[string]*Notice{}
	if partial {
		maps.Copy(now, before)
	}
	for _, c := range found {
		if len(now) >= mostConditions {
			break
		}
		key := fmt.Sprintf("%q %q %q %d", c.Event, c.Service, c.Subject, c.Since.UnixNano())
		n := before[key]
		if n == nil {
			n = w.notice(c)
		}
		now[key] = n
	}
	return now
}

func (w *Watcher) notice(c Condition) *Notice {
	if c.Since.IsZero() {
		c.Since = w.o.Now()
	}
	since := c.Since.UTC().Truncate(time.Millisecond)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", c.Event, c.Service, c.Subject, since.UnixMilli()))
	return &Notice{
		ID: hex.EncodeToString(sum[:16]), Event: c.Event, Service: c.Service, Subject: c.Subject, Since: since, Text: c.Text,
	}
}

// replace starts a hook for each new webhook, and closes the hooks of the webhooks that were removed.
func (w *Watcher) replace(ctx context.Context, hooks []*hook, configured []config.Webhook) (next []*hook) {
	for i := range configured {
		same := func(h *hook) bool { return reflect.DeepEqual(h.to, configured[i]) }
		if at := slices.IndexFunc(hooks, same); at >= 0 {
			next = append(next, hooks[at])
			hooks = slices.Delete(hooks, at, at+1)
		} else {
			next = append(next, newHook(ctx, configured[i], w.o))
		}
	}
	closeAll(hooks)
	return next
}

func closeAll(hooks []*hook) {
	for _, h := range hooks {
		h.close()
	}
}
