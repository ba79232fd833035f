package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/notify"
	"github.com/uimgate/uimgate/gateway/wire"
)

const secret = "0123456789abcdef"

// A receiver is a webhook that keeps the notices that it accepts.
type receiver struct {
	url      string
	accepted chan notify.Notice

	mu     sync.Mutex
	status func(notify.Notice) int // nil: always 204
	seen   []string                // the ids of all attempts
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{accepted: make(chan notify.Notice, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var n notify.Notice
		if err = errors.Join(err, json.Unmarshal(body, &n)); err != nil {
			t.Error(err)
		}
		var at int64
		signature := request.Header.Get(wire.SignatureHeader)
		if _, err := fmt.Sscanf(signature, "t=%d,", &at); err != nil || signature != wire.Sign(secret, time.Unix(at, 0), body) {
			t.Errorf("the signature %q does not match: %v", signature, err)
		}
		if got := request.Header.Get("Content-Type"); request.Method != http.MethodPost || got != "application/json" {
			t.Errorf("got %s %q; want %v, %q", request.Method, got, http.MethodPost, "application/json")
		}
		w.WriteHeader(r.answer(n))
	}))
	t.Cleanup(s.Close)
	r.url = s.URL + "/hook"
	return r
}

func (r *receiver) answer(n notify.Notice) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, n.ID)
	status := http.StatusNoContent
	if r.status != nil {
		status = r.status(n)
	}
	if status == http.StatusNoContent {
		r.accepted <- n
	}
	return status
}

func (r *receiver) attempts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

func (r *receiver) answers(status func(notify.Notice) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) hook(t *testing.T, events ...config.Event) config.Webhook {
	t.Helper()
	u, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	return config.Webhook{URL: u, Secret: config.NewSecret(secret), Events: events}
}

// A world has the conditions that hold.
type world struct {
	mu    sync.Mutex
	holds []notify.Condition
	fails error
	looks chan struct{}
}

func (w *world) set(holds ...notify.Condition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds = holds
}

func (w *world) look(context.Context) ([]notify.Condition, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.looks <- struct{}{}:
	default:
	}
	return slices.Clone(w.holds), w.fails
}

// looked waits until the watcher has compared the current state.
func (w *world) looked() {
	<-w.looks
	<-w.looks
	<-w.looks
}

// watch runs a Watcher until the test ends.
func watch(t *testing.T, w *world, hooks ...config.Webhook) *notify.Watcher {
	t.Helper()
	w.looks = make(chan struct{})
	watcher := notify.New(notify.Options{
		Look: w.look, Now: time.Now, Posted: func(config.Event, bool) {}, Log: zap.NewNop(), Every: time.Millisecond,
	})
	watcher.Configure(hooks)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- watcher.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return watcher
}

var (
	waiting = notify.Condition{
		Event: config.AgentWaiting, Service: "shop", Subject: "agent-1", Since: time.Unix(1_800_000_000, 0), Text: "An agent waits.",
	}
	open = notify.Condition{Event: config.BreakerOpen, Service: "shop", Subject: "shop.example:search:v1", Text: "Open."}
)

func TestNoticeIsPostedOnceWhileItsCauseHolds(t *testing.T) {
	t.Parallel()
	r, w := receive(t), &world{}
	w.set(waiting)
	watch(t, w, r.hook(t))
	got := <-r.accepted
	if got.ID == "" || got.Event != waiting.Event || got.Service != "shop" || got.Subject != "agent-1" ||
		!got.Since.Equal(waiting.Since) || got.Text != waiting.Text {
		t.Errorf("got %+v", got)
	}
	w.set(waiting, open)
	if got := <-r.accepted; got.Event != config.BreakerOpen || got.Since.IsZero() {
		t.Errorf("got %+v", got)
	}
	w.set(waiting)
	w.looked()
	w.set(waiting, open) // it begins again
	if got := <-r.accepted; got.Event != config.BreakerOpen {
		t.Errorf("got %+v, want Event %v", got, config.BreakerOpen)
	}
	w.looked()
	if n := len(r.attempts()); n != 3 {
		t.Errorf("got %d attempts, want 3", n)
	}
}

func TestFailureToLookEndsNoCondition(t *testing.T) {
	t.Parallel()
	r, w := receive(t), &world{}
	w.set(waiting)
	watch(t, w, r.hook(t))
	<-r.accepted
	w.mu.Lock()
	w.holds, w.fails = nil, errors.New("the store is gone")
	w.mu.Unlock()
	w.looked()
	w.mu.Lock()
	w.holds, w.fails = []notify.Condition{waiting, open}, nil
	w.mu.Unlock()
	if got := <-r.accepted; got.Event != config.BreakerOpen {
		t.Errorf("the same notice came again: %+v, want Event %v", got, config.BreakerOpen)
	}
}

func TestFailedNoticeIsPostedAgain(t *testing.T) {
	t.Parallel()
	r, w := receive(t), &world{}
	failures := 2
	r.answers(func(notify.Notice) int {
		if failures--; failures >= 0 {
			return http.StatusBadGateway
		}
		return http.StatusNoContent
	})
	w.set(waiting)
	watch(t, w, r.hook(t))
	got := <-r.accepted
	if ids := r.attempts(); len(ids) != 3 || ids[0] != got.ID || ids[1] != got.ID {
		t.Errorf("got %q; want length 3, [0] %v and [1] %v", ids, got.ID, got.ID)
	}
}

func TestRefusedNoticeDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	r, w := receive(t), &world{}
	r.answers(func(n notify.Notice) int {
		if n.Event == config.AgentWaiting {
			return http.StatusBadRequest
		}
		return http.StatusNoContent
	})
	w.set(waiting, open)
	watch(t, w, r.hook(t))
	if got := <-r.accepted; got.Event != config.BreakerOpen {
		t.Errorf("got %+v, want Event %v", got, config.BreakerOpen)
	}
}

func TestWebhookGetsTheEventsItWants(t *testing.T) {
	t.Parallel()
	some, all, w := receive(t), receive(t), &world{}
	w.set(waiting, open)
	watch(t, w, some.hook(t, config.BreakerOpen), all.hook(t))
	<-all.accepted
	<-all.accepted
	if got := <-some.accepted; got.Event != config.BreakerOpen {
		t.Errorf("got %+v, want Event %v", got, config.BreakerOpen)
	}
	w.looked()
	if n := len(some.attempts()); n != 1 {
		t.Errorf("got %d attempts, want 1", n)
	}
}

func TestReconfiguration(t *testing.T) {
	t.Parallel()
	kept, removed, added, w := receive(t), receive(t), receive(t), &world{}
	w.set(waiting)
	watcher := watch(t, w, kept.hook(t), removed.hook(t))
	<-kept.accepted
	<-removed.accepted
	watcher.Configure([]config.Webhook{added.hook(t), kept.hook(t)})
	<-added.accepted
	w.set(waiting, open)
	<-added.accepted
	if got := <-kept.accepted; got.Event != config.BreakerOpen {
		t.Errorf("the same notice came again: %+v, want Event %v", got, config.BreakerOpen)
	}
	if n := len(removed.attempts()); n != 1 {
		t.Errorf("%d attempts at a webhook that was removed", n)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(inside.Close)
	tried := make(chan struct{}, 1000)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
		tried <- struct{}{}
	}))
	t.Cleanup(outside.Close)
	w := &world{}
	w.set(waiting)
	r := &receiver{url: outside.URL}
	watch(t, w, r.hook(t))
	<-tried
	<-tried // it counts as a failure
}

func TestManyConditionsAreBounded(t *testing.T) {
	t.Parallel()
	r, w := receive(t), &world{}
	var many []notify.Condition
	for i := range 20_000 {
		c := waiting
		c.Subject = strings.Repeat("x", i%10) + fmt.Sprint(i)
		many = append(many, c)
	}
	w.set(many...)
	watch(t, w, r.hook(t))
	for range 20 { // the others wait for their turn
		<-r.accepted
	}
	w.set()
	w.looked()
	if n := len(r.attempts()); n > 21 {
		t.Errorf("got %d attempts, want at most 21", n)
	}
}
