package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/internal/fetch"
)

const (
	postTimeout = 10 * time.Second
	maxAnswer   = 64 << 10
	// A webhook gets at most burst notices in quick succession, and then one per perNotice, so that many simultaneous conditions do not flood
	// it. Further notices wait.
	perNotice = 2 * time.Second
	burst     = 20
	// longestPause is the maximum pause after a failed attempt. The pause starts at Options.Every, and each consecutive failure doubles it.
	longestPause = time.Hour
)

// delivered is the value of hook.tries for a notice that was delivered.
const delivered = -1

// A hook posts notices to one webhook, one after the other.
type hook struct {
	to     config.Webhook
	o      Options
	client *fetch.Client
	limit  *rate.Limiter
	stop   context.CancelFunc
	done   chan struct{}
	wake   chan struct{} // has a value if holding may have changed

	mu      sync.Mutex
	holding map[string]*Notice // notices for the present Conditions
	tries   map[string]int     // number of failed attempts, by key of holding, or the constant delivered
}

func newHook(ctx context.Context, to config.Webhook, o Options) *hook {
	ctx, stop := context.WithCancel(ctx)
	h := &hook{
		to: to, o: o, limit: rate.NewLimiter(rate.Every(perNotice), burst), stop: stop,
		client: fetch.New(fetch.Options{AllowInsecure: to.Private, Timeout: postTimeout, UserAgent: "uimgate"}),
		done:   make(chan struct{}), wake: make(chan struct{}, 1), tries: map[string]int{},
	}
	go h.run(ctx)
	return h
}

func (h *hook) close() {
	h.stop()
	<-h.done
	h.client.Close()
}

// update replaces the notices for the present Conditions. A notice whose Condition has ended is no longer posted. If the Condition holds
// again later, its notice is posted again.
func (h *hook) update(holding map[string]*Notice) {
	h.mu.Lock()
	h.holding = holding
	maps.DeleteFunc(h.tries, func(key string, _ int) bool { return holding[key] == nil })
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// next returns a notice that has not been delivered, or nil if there is none. It prefers the notices with the fewest failed attempts, so
// that a notice that the webhook refuses does not delay the others, and among these the oldest.
func (h *hook) next() (key string, first *Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, n := range h.holding {
		if h.tries[k] == delivered || !h.to.Wants(n.Event) {
			continue
		}
		if first == nil || cmp.Or(h.tries[k]-h.tries[key], n.Since.Compare(first.Since)) < 0 {
			key, first = k, n
		}
	}
	return key, first
}

// tried records an attempt. ok means that the notice was delivered.
func (h *hook) tried(key string, n *Notice, ok bool) {
	h.o.Posted(n.Event, ok)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.holding[key] == nil: // the Condition has ended
	case ok:
		h.tries[key] = delivered
	default:
		h.tries[key]++
	}
}

func (h *hook) run(ctx context.Context) {
	defer close(h.done)
	pause := h.o.Every
	for ctx.Err() == nil {
		key, n := h.next()
		if n == nil {
			select {
			case <-ctx.Done():
			case <-h.wake:
			}
			continue
		}
		if h.limit.Wait(ctx) != nil {
			return // ctx has ended
		}
		if err := h.post(ctx, n); err != nil {
			if ctx.Err() != nil {
				return
			}
			h.tried(key, n, false)
			h.o.Log.Warn("a notice cannot be delivered", zap.String("event", string(n.Event)), zap.String("id", n.ID),
				zap.Duration("again_in", pause), zap.Error(wire.Loggable(err)))
			if delay.For(ctx, pause) != nil {
				return
			}
			pause = min(2*pause, longestPause)
			continue
		}
		pause = h.o.Every
		h.tried(key, n, true)
	}
}

// post makes one attempt to post a notice. Any status other than 2xx is an error, including a redirect.
func (h *hook) post(ctx context.Context, n *Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return err
	}
	_, err = wire.Post(ctx, h.client, h.to.URL.String(), http.Header{
		"Content-Type": {"application/json"}, wire.SignatureHeader: {wire.Sign(h.to.Secret.Reveal(), h.o.Now(), body)},
	}, body, maxAnswer)
	return err
}
