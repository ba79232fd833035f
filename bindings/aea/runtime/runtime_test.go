package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// TestSkillsAreDisabledAndRemoved disables and removes skills of a running agent.
func TestSkillsAreDisabledAndRemoved(t *testing.T) {
	t.Parallel()
	l := newLine("first")
	r := running(t, runtime.Options{}, []runtime.Skill{echo()}, l)
	requests := 0
	answered := func() bool {
		requests++
		l.put(t, message(t, "me", strings.Repeat("r", requests), 1, 0, defaultSpec, text("hello")))
		d := defaultMessage(t, l.sent(t, "me"))
		if d.Performative == protocol.DefaultError && d.Code != protocol.CodeUnsupportedSkill {
			t.Errorf("got %+v", d)
		}
		return string(d.Bytes) == "hello"
	}
	for _, step := range []struct {
		name string
		do   func() error
		err  error
		want bool
	}{
		{"as it is", func() error { return nil }, nil, true},
		{"disabled", func() error { return r.Filter().SetEnabled(skillID, false) }, nil, false},
		{"enabled", func() error { return r.Filter().SetEnabled(skillID, true) }, nil, true},
		{"another one enabled", func() error { return r.Filter().SetEnabled(defaultSpec, true) }, runtime.ErrNoSkill, true},
		{"again", func() error { return r.Resources().Add(echo()) }, runtime.ErrSkill, true},
		{"removed", func() error { return r.Resources().Remove(skillID) }, nil, false},
		{"removed twice", func() error { return r.Resources().Remove(skillID) }, runtime.ErrNoSkill, false},
		{"back", func() error { return r.Resources().Add(echo()) }, nil, true},
	} {
		if err := step.do(); !errors.Is(err, step.err) {
			t.Errorf("%s: %v, want %v", step.name, err, step.err)
		}
		if got := answered(); got != step.want {
			t.Errorf("%s: got a reply: %v, want %v", step.name, got, step.want)
		}
	}
	want := []runtime.HandlerStatus{{Skill: skillID.String(), Protocol: protocol.Default.Name, Enabled: true}}
	if got := r.Status(); !slices.Equal(got.Resources.Handlers, want) || len(got.Resources.Behaviours) != 0 || len(got.Skills) != 1 {
		t.Errorf("the runtime lists %+v, want only the skill that was added", got.Resources)
	}
}

func TestInvalidSkills(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, runtime.Message) error { return nil }
	act := func(context.Context) error { return nil }
	for name, s := range map[string]runtime.Skill{
		"no id":                         {},
		"no function":                   {ID: skillID, Handlers: []runtime.Handler{{Protocol: &protocol.Default}}},
		"no protocol":                   {ID: skillID, Handlers: []runtime.Handler{{Handle: handle}}},
		"two handlers of a protocol":    {ID: skillID, Handlers: []runtime.Handler{{&protocol.HTTP, handle}, {&protocol.HTTP, handle}}},
		"a behaviour that does nothing": {ID: skillID, Behaviours: []runtime.Behaviour{{Every: time.Second}}},
		"a behaviour without interval":  {ID: skillID, Behaviours: []runtime.Behaviour{{Act: act}}},
	} {
		if err := runtime.New(self, runtime.Options{Now: time.Now}).Resources().Add(s); !errors.Is(err, runtime.ErrSkill) {
			t.Errorf("%s: %v, want %v", name, err, runtime.ErrSkill)
		}
	}
}

// TestBehaviours checks that each behaviour runs when it is due, one run at a time, and not while its skill is disabled.
func TestBehaviours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var quick, long atomic.Int64
		r := running(t, runtime.Options{}, []runtime.Skill{{ID: skillID, Behaviours: []runtime.Behaviour{
			{Name: "quick", Every: time.Minute, Act: func(context.Context) error { quick.Add(1); return errors.New("on purpose") }},
			{Name: "long", Every: time.Minute, Act: func(context.Context) error { long.Add(1); time.Sleep(90 * time.Second); return nil }},
		}}})
		expect := func(when string, q, l int64) {
			synctest.Wait()
			if quick.Load() != q || long.Load() != l {
				t.Errorf("%s: %d and %d acts, want %d and %d", when, quick.Load(), long.Load(), q, l)
			}
		}
		expect("at once", 1, 1)
		time.Sleep(time.Second)
		expect("after a second", 1, 1)
		time.Sleep(time.Minute)
		expect("after a minute", 2, 1)
		time.Sleep(30 * time.Second)
		expect("when the long one has ended", 2, 2)
		if err := r.Filter().SetEnabled(skillID, false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		expect("disabled", 2, 2)
		if s := r.Status().Skills[0]; s.Handled != 4 || s.Failed != 2 || s.Enabled {
			t.Errorf("got %+v", s)
		}
	})
}

// TestTasksAreLimited checks that both running and waiting tasks are limited.
func TestTasksAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		few := limits()
		few.Tasks, few.TaskWorkers = 3, 2
		let := make(chan struct{})
		did := make(chan struct{}, 10)
		r := running(t, runtime.Options{Limits: few}, []runtime.Skill{{ID: skillID, Tasks: []runtime.Task{
			{Name: "wait", Execute: func(context.Context, any) (any, error) { <-let; did <- struct{}{}; return nil, nil }},
			{Name: "panic", Execute: func(context.Context, any) (any, error) { panic("on purpose") }},
		}}})
		enqueue := func(task string) error {
			_, err := r.Enqueue(skillID, task, nil)
			return err
		}
		for i := range 6 {
			want := i < 5
			if err := enqueue("wait"); (err == nil) != want || err != nil && !errors.Is(err, runtime.ErrFull) {
				t.Errorf("task %d: %v", i+1, err)
			}
			synctest.Wait()
		}
		if n := r.Status().Tasks; n != 3 {
			t.Errorf("%d tasks wait, want 3", n)
		}
		close(let)
		for range 5 {
			<-did
		}
		if err := enqueue("panic"); err != nil {
			t.Error(err)
		}
		if err := enqueue("wait"); err != nil {
			t.Error(err)
		}
		<-did
	})
}

// TestStopping checks that a stopping runtime processes accepted envelopes and accepts no others. synctest checks that it leaves no
// goroutine.
func TestStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started, let := make(chan string, 100), make(chan struct{})
		l := newLine("first")
		r := runtime.New(self, runtime.Options{Now: time.Now})
		if err := errors.Join(r.Resources().Add(slow(started, let)), r.Connect(l, runtime.ConnectionOptions{})); err != nil {
			t.Fatal(err)
		}
		stop := start(t, r)
		<-l.ready
		l.put(t, message(t, "me", "r", 1, 0, defaultSpec, text("x")))
		<-started
		l.put(t, message(t, "me", "r", 1, 0, defaultSpec, text("x"))) // the second waits for the first to end
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		synctest.Wait()
		if err := l.port.Receive(t.Context(), request(t, "me", "late")); !errors.Is(err, runtime.ErrStopped) {
			t.Errorf("accepted after the stop: %v, want %v", err, runtime.ErrStopped)
		}
		close(let)
		for range 2 {
			if d := defaultMessage(t, l.sent(t, "me")); string(d.Bytes) != "at last" {
				t.Errorf("got %+v", d)
			}
		}
		<-stopped
		if s := r.Status(); s.InBox.Dropped != 1 || s.Connections[0].Up {
			t.Errorf("got %+v", s)
		}
	})
}

// TestStoppingDoesNotWaitForever checks that a handler that obeys its context, the envelopes behind it and a peer that does not read cannot
// block the shutdown.
func TestStoppingDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine("first")
		started := make(chan struct{})
		r := runtime.New(self, runtime.Options{Now: time.Now})
		obeys := runtime.Handler{Protocol: &protocol.Default, Handle: func(ctx context.Context, m runtime.Message) error {
			close(started)
			<-ctx.Done()
			return m.Reply(text("too late"))
		}}
		skill := runtime.Skill{ID: skillID, Handlers: []runtime.Handler{obeys}}
		if err := errors.Join(r.Connect(l, runtime.ConnectionOptions{}), r.Resources().Add(skill)); err != nil {
			t.Fatal(err)
		}
		stop := start(t, r)
		<-l.ready
		l.put(t, message(t, "me", "r", 1, 0, defaultSpec, text("x")))
		<-started
		l.put(t, message(t, "me", "r", 2, 1, defaultSpec, text("x")))
		began := time.Now()
		stop()
		if took := time.Since(began); took != runtime.DefaultLimits.Drain {
			t.Errorf("took %v, want %v", took, runtime.DefaultLimits.Drain)
		}
		if s := r.Status().InBox; s.Dropped != 1 || s.Waiting != 0 || s.Taken != 1 {
			t.Errorf("got %+v; want Dropped 1, Waiting 0 and Taken 1", s)
		}
	})
}

// A broken connection fails at once the first few times.
type broken struct {
	*line
	ends int
	ran  chan struct{}
}

func (b *broken) Run(ctx context.Context, _ *runtime.Port) error {
	b.ran <- struct{}{}
	if b.ends--; b.ends >= 0 {
		return errors.New("no\x1b[1m way")
	}
	<-ctx.Done()
	return nil
}

func TestConnectionsAreRestarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &broken{newLine("broken"), 3, make(chan struct{})}
		r := runtime.New(self, runtime.Options{Now: time.Now})
		start(t, r)
		if err := r.Connect(b, runtime.ConnectionOptions{}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 4 {
			<-b.ran
		}
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("took %v, want %v", took, 7*time.Second)
		}
		if s := r.Status().Connections[0]; !s.Up || s.Restarts != 3 || s.LastError != "no?[1m way" {
			t.Errorf("got %+v", s)
		}
	})
}

// TestStartedDialogue checks that replies continue a dialogue that the runtime started, and that a dialogue between a skill and a
// connection reaches no other skill.
func TestStartedDialogue(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	skill := func(id wire.PublicID) runtime.Skill {
		return runtime.Skill{ID: id, Handlers: []runtime.Handler{{Protocol: &protocol.HTTP, Handle: func(_ context.Context, m runtime.Message) error {
			got <- id.Name + " hears " + m.Sender
			return nil
		}}}}
	}
	other := wire.PublicID{Author: "shop", Name: "other", Version: "1.0.0"}
	outside, inside := newLine("first"), newLine("inside")
	r := running(t, runtime.Options{}, []runtime.Skill{skill(skillID), skill(other)}, outside)
	if err := r.Connect(inside, runtime.ConnectionOptions{Inside: true}); err != nil {
		t.Fatal(err)
	}
	<-inside.ready
	answer := func(l *line, e wire.Envelope) {
		m, err := wire.DecodeMessage(e.Message)
		if err != nil {
			t.Fatal(err)
		}
		m = wire.Message{
			ID: -1, Target: 1, StarterRef: m.StarterRef, ResponderRef: "b1",
			Content: protocol.HTTPMessage{Performative: protocol.HTTPResponse, Status: 200}.Encode(),
		}
		e.To, e.Sender = e.Sender, e.To
		if e.Message, err = m.Encode(); err != nil {
			t.Fatal(err)
		}
		l.put(t, e)
	}
	ask := protocol.HTTPMessage{Performative: protocol.HTTPRequest, Method: "GET", URL: "/"}
	if _, err := r.Start(wire.PublicID{}, httpSpec, "ann", ask); err != nil {
		t.Fatal(err)
	}
	answer(outside, outside.sent(t, "ann"))
	if a, b := <-got, <-got; a+b != "echo hears annother hears ann" {
		t.Errorf("got %s, %s", a, b)
	}
	if _, err := r.Start(skillID, httpSpec, inside.id.String(), ask); err != nil {
		t.Fatal(err)
	}
	answer(inside, inside.sent(t, inside.id.String()))
	if a := <-got; a != "echo hears test/inside:1.0.0" || len(got) != 0 {
		t.Errorf("%s, %d more", a, len(got))
	}
}

func TestDecisionMaker(t *testing.T) {
	t.Parallel()
	key, err := identity.NewKey(append(make([]byte, 31), 1))
	if err != nil {
		t.Fatal(err)
	}
	allowed := []byte(skillID.String() + "\ntext")
	for _, ledger := range []identity.Ledger{identity.Fetchai, identity.Cosmos, identity.Ethereum} {
		d, public := runtime.NewDecisionMaker(runtime.DecisionConfig{Key: key, Ledger: ledger, Log: zap.NewNop()}), key.Public(ledger)
		signature, err := d.Sign(skillID, allowed)
		if err != nil || !public.Verify(allowed, signature) {
			t.Errorf("%s: %v", ledger, err)
		}
		for _, text := range []string{"", "text", skillID.String(), "uim-aea-1\ntext", askerID.String() + "\ntext", " " + string(allowed)} {
			if signature, err := d.Sign(skillID, []byte(text)); signature != "" || !errors.Is(err, runtime.ErrNotSigned) {
				t.Errorf("%s: %q: %q, %v; want %v", ledger, text, signature, err, runtime.ErrNotSigned)
			}
		}
		if s := d.Status(); s.Signed != 1 || s.Refused != 6 || s.Address != public.Address() || s.PublicKey != public.String() {
			t.Errorf("%s: got %+v", ledger, s)
		}
	}
	keyless := runtime.NewDecisionMaker(runtime.DecisionConfig{Ledger: identity.Fetchai, Log: zap.NewNop()})
	if _, err := keyless.Sign(skillID, allowed); !errors.Is(err, runtime.ErrNotSigned) {
		t.Errorf("without a key: %v, want %v", err, runtime.ErrNotSigned)
	}
}

func TestStatusIsJSON(t *testing.T) {
	t.Parallel()
	r := running(t, runtime.Options{}, []runtime.Skill{echo()}, newLine("first"))
	data, err := json.Marshal(r.Status())
	if err != nil || strings.Contains(string(data), `"Open"`) || !strings.Contains(string(data), `"connections":[{"id":"test/first:1.0.0","up":true,`) {
		t.Errorf("got %s, %v", data, err)
	}
}
