package door_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
)

// A worker is an agent that works from its start until it is released.
type worker struct {
	in      *agentsTest
	service string
	release chan struct{}
}

// An agentsTest has workers for services, and records their events in order.
type agentsTest struct {
	door.Agents[*worker]

	mu      sync.Mutex
	events  []string
	fails   map[string]bool // the operations that fail, as "ID made" or "ID updated"
	workers map[string]*worker
	running chan string // ids of services whose worker has started
}

func newAgentsTest() *agentsTest {
	return &agentsTest{fails: map[string]bool{}, workers: map[string]*worker{}, running: make(chan string, 100)}
}

func (o *agentsTest) note(words ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, strings.Join(words, " "))
}

// takeEvents returns the events since its last call.
func (o *agentsTest) takeEvents() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.events
	o.events = nil
	return strings.Join(all, ", ")
}

func (w *worker) Run(taking, working context.Context) {
	w.in.note(w.service, "runs")
	w.in.running <- w.service
	<-taking.Done()
	w.in.note(w.service, "takes no more")
	select {
	case <-w.release:
		w.in.note(w.service, "is done")
	case <-working.Done():
		w.in.note(w.service, "is cut off")
	}
}

func (w *worker) Close()        { w.in.note(w.service, "is closed") }
func (w *worker) UnderWay() int { return 7 }

// opens opens the agents of these services. A question mark after a name means that the running worker of the service must be replaced.
func (o *agentsTest) opens(t *testing.T, names ...string) error {
	t.Helper()
	var services []*service.Service
	another := map[string]bool{}
	for _, name := range names {
		id := strings.TrimSuffix(name, "?")
		another[id] = id != name
		services = append(services, &service.Service{Definition: &service.Definition{ID: id}})
	}
	return o.Open(t.Context(), door.OpenRequest[*worker]{
		Services: services, Drain: time.Minute,
		Good: func(w *worker, s *service.Service) bool { return w.service == s.ID && !another[s.ID] },
		New: func(_ context.Context, s *service.Service) (*worker, error) {
			if o.fails[s.ID+" made"] {
				return nil, errMade
			}
			o.note(s.ID, "is made")
			o.workers[s.ID] = &worker{o, s.ID, make(chan struct{})}
			return o.workers[s.ID], nil
		},
		Update: func(_ context.Context, w *worker, s *service.Service) error {
			o.note(w.service, "is updated")
			if o.fails[s.ID+" updated"] {
				return errUpdate
			}
			return nil
		},
	})
}

var (
	errMade   = errors.New("no room")
	errUpdate = errors.New("no ears")
)

// runs calls Run in the background, and returns a function that ends it.
func (o *agentsTest) runs(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := o.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	end = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(end)
	return end
}

func (o *agentsTest) expect(t *testing.T, want string) {
	t.Helper()
	if got := o.takeEvents(); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

func TestAgentsFollowServices(t *testing.T) {
	t.Parallel()
	o := newAgentsTest()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(o.opens(t, "a"))
	o.expect(t, "a is made, a is updated")
	o.runs(t)
	<-o.running
	o.expect(t, "a runs")
	must(o.opens(t, "a", "b"))
	<-o.running
	o.expect(t, "a is updated, b is made, b is updated, b runs")

	first, _ := o.Of("a")
	close(o.workers["a"].release)
	must(o.opens(t, "a?", "b")) // the old worker ends before the new one starts
	<-o.running
	o.expect(t, "a takes no more, a is done, a is made, a is updated, b is updated, a runs")
	if now, ok := o.Of("a"); !ok || now == first {
		t.Error("the agent of a is the first one")
	}
	close(o.workers["b"].release)
	must(o.opens(t, "a"))
	o.expect(t, "b takes no more, b is done, a is updated")
	if _, ok := o.Of("b"); ok {
		t.Error("b has an agent")
	}
	close(o.workers["a"].release)
	if left := o.Drain(t.Context()); left != 0 {
		t.Errorf("%d left, want 0", left)
	}
	o.expect(t, "a takes no more, a is done")
}

// The failure of one service does not affect other services.
func TestAgentsThatFail(t *testing.T) {
	t.Parallel()
	o := newAgentsTest()
	o.fails["a made"], o.fails["b updated"] = true, true
	err := o.opens(t, "a", "b", "c")
	if !errors.Is(err, errMade) || !errors.Is(err, errUpdate) || !strings.Contains(err.Error(), "the agent of a: no room") {
		t.Errorf("got %v; want %v, %v and an error that contains %q", err, errMade, errUpdate, "the agent of a: no room")
	}
	o.expect(t, "b is made, b is updated, b is closed, c is made, c is updated")
	for id, want := range map[string]bool{"a": false, "b": false, "c": true} {
		if _, ok := o.Of(id); ok != want {
			t.Errorf("%s: %t, want %v", id, ok, want)
		}
	}
	clear(o.fails)
	o.fails["c updated"] = true // its worker continues
	if err := o.opens(t, "a", "b", "c"); !errors.Is(err, errUpdate) {
		t.Errorf("got %v, want %v", err, errUpdate)
	}
	o.expect(t, "a is made, a is updated, b is made, b is updated, c is updated")
	for _, id := range []string{"a", "b", "c"} {
		if _, ok := o.Of(id); !ok {
			t.Errorf("%s has no agent", id)
		}
	}
	o.Drain(t.Context()) // no worker has run
	all := strings.Split(o.takeEvents(), ", ")
	if slices.Sort(all); !slices.Equal(all, []string{"a is closed", "b is closed", "c is closed"}) {
		t.Errorf("got %v, want %+v", all, []string{"a is closed", "b is closed", "c is closed"})
	}
}

// When the drain time is over, agents are cut off, and Drain returns the number of messages in progress.
func TestAgentsAreCutOff(t *testing.T) {
	t.Parallel()
	o := newAgentsTest()
	if err := o.opens(t, "a"); err != nil {
		t.Fatal(err)
	}
	o.runs(t)
	<-o.running
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if left := o.Drain(over); left != 7 {
		t.Errorf("%d left, want 7", left)
	}
	o.expect(t, "a is made, a is updated, a runs, a takes no more, a is cut off")
}

// After Run has ended, new agents are closed instead of run.
func TestAgentsEndWithRun(t *testing.T) {
	t.Parallel()
	o := newAgentsTest()
	if err := o.opens(t, "a"); err != nil {
		t.Fatal(err)
	}
	end := o.runs(t)
	<-o.running
	end()
	o.expect(t, "a is made, a is updated, a runs, a takes no more, a is cut off")
	if err := o.opens(t, "a", "b"); err != nil {
		t.Fatal(err)
	}
	o.expect(t, "a is updated, b is made, b is updated, b is closed")
	if left := o.Drain(t.Context()); left != 0 {
		t.Errorf("%d left, want 0", left)
	}
	o.expect(t, "")
}
