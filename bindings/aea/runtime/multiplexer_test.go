package runtime_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// A fakeClock is a clock that stands still until a test moves it.
type fakeClock struct {
	mu sync.Mutex
	at time.Time
}

func clock() *fakeClock { return &fakeClock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (h *fakeClock) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *fakeClock) move(by time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(by)
}

func TestConnectionSelection(t *testing.T) {
	t.Parallel()
	lines := map[string]*line{}
	now := clock()
	few := limits()
	few.Routes = 2
	id := func(name string) wire.PublicID { return wire.PublicID{Author: "test", Name: name, Version: "1.0.0"} }
	r := runtime.New(self, runtime.Options{Now: now.Now, Limits: few, Routing: runtime.Router{
		ByProtocol: map[wire.PublicID]wire.PublicID{fipaSpec: id("third"), httpSpec: id("gone")}, Default: id("second"),
	}})
	if err := r.Resources().Add(silent()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second", "third", "strict", "inside"} {
		lines[name] = newLine(name)
		o := runtime.ConnectionOptions{Inside: name == "inside"}
		switch name {
		case "strict":
			o.Restricted = []wire.PublicID{fipaSpec, defaultSpec}
			o.Excluded = []wire.PublicID{defaultSpec}
		default:
		}
		if err := r.Connect(lines[name], o); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Connect(newLine("first"), runtime.ConnectionOptions{}); err == nil {
		t.Error("two connections with one id")
	}
	early := runtime.Envelope{Envelope: message(t, "a", "r", 1, 0, defaultSpec, text("x"))}
	if err := r.Multiplexer().Send(early); !errors.Is(err, runtime.ErrDown) {
		t.Errorf("sent over a connection that is not running: %v, want %v", err, runtime.ErrDown)
	}
	start(t, r)
	for _, l := range lines {
		<-l.ready
	}
	come := func(by, from string) { lines[by].put(t, message(t, from, by, 1, 0, defaultSpec, text("x"))) }
	come("first", "ann")
	come("strict", "bob")
	toEcho := wire.PublicID{Author: "test", Name: "inside", Version: "9.9.9"}
	for _, row := range []struct {
		name    string
		to      string
		spec    wire.PublicID
		context string
		before  func()
		want    string
		err     error
	}{
		{name: "its context", to: "ann", spec: fipaSpec, context: "second", want: "second"},
		{name: "an unknown context", to: "ann", spec: fipaSpec, context: "gone", err: runtime.ErrNoConnection},
		{name: "the last envelope of the peer", to: "ann", spec: fipaSpec, want: "first"},
		{name: "the last one, not the first one", to: "ann", spec: fipaSpec, before: func() { come("second", "ann") }, want: "second"},
		{name: "its protocol", to: "cid", spec: fipaSpec, want: "third"},
		{name: "the protocol's connection is missing", to: "cid", spec: httpSpec, err: runtime.ErrNoConnection},
		{name: "the default", to: "cid", spec: defaultSpec, want: "second"},
		{name: "restricted", to: "bob", spec: fipaSpec, want: "strict"},
		{name: "not of the restricted ones", to: "bob", spec: httpSpec, err: runtime.ErrNotAllowed},
		{name: "excluded", to: "bob", spec: defaultSpec, err: runtime.ErrNotAllowed},
		{name: "too many peers: the longest idle one is removed", to: "bob", spec: defaultSpec, before: func() { come("first", "dan") }, want: "second"},
		{name: "too long ago", to: "dan", spec: fipaSpec, before: func() { now.move(time.Hour) }, want: "third"},
		{name: "a component by its id", to: "test/inside:1.0.0", spec: httpSpec, want: "inside"},
		{name: "a component of another version", to: toEcho.String(), spec: httpSpec, want: "inside"},
		{name: "an unknown component", to: "test/outside:1.0.0", spec: httpSpec, err: runtime.ErrNoConnection},
		{name: "a component, with a context", to: "test/inside:1.0.0", spec: httpSpec, context: "inside", err: wire.ErrUnsendable},
		{name: "nobody", to: "", spec: httpSpec, err: wire.ErrUnsendable},
	} {
		if row.before != nil {
			row.before()
		}
		e := runtime.Envelope{Envelope: message(t, self, "r", 1, 0, row.spec, text(row.name))}
		e.To = row.to
		if strings.Contains(row.to, "/") {
			e.Sender = skillID.String()
		}
		if row.context != "" {
			e.Context.ConnectionID = id(row.context)
		}
		if err := r.Multiplexer().Send(e); !errors.Is(err, row.err) || (err == nil) != (row.err == nil) {
			t.Errorf("%s: %v, want %v", row.name, err, row.err)
		}
		for name, l := range lines {
			got, done, ok := l.queue(row.to).First()
			if ok {
				done()
			}
			if ok != (name == row.want) || ok && got.To != row.to {
				t.Errorf("%s: by %s: %v", row.name, name, ok)
			}
		}
	}
}

// TestFirstConnectionIsDefault if the router has no default.
func TestFirstConnectionIsDefault(t *testing.T) {
	t.Parallel()
	a, b := newLine("a"), newLine("b")
	r := running(t, runtime.Options{}, nil, a, b)
	e := message(t, self, "r", 1, 0, defaultSpec, text("x"))
	e.To = "ann"
	if err := r.Multiplexer().Send(runtime.Envelope{Envelope: e}); err != nil {
		t.Fatal(err)
	}
	a.sent(t, "ann")
}
