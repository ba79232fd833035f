package runtime_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// hanging returns a skill whose handler of the protocol default does not return before let is closed.
func hanging(let <-chan struct{}, began *atomic.Int64) runtime.Skill {
	hang := func(context.Context, runtime.Message) error {
		began.Add(1)
		<-let
		return nil
	}
	return runtime.Skill{ID: askerID, Handlers: []runtime.Handler{{Protocol: &protocol.Default, Handle: hang}}}
}

// TestHangingSkill checks that a skill whose handler never returns stops the messages of its protocol for at most Limits.Handler, whether
// the messages come from agents or from another skill. When its handlers return, it gets messages again.
func TestHangingSkill(t *testing.T) {
	t.Parallel()
	for name, flood := range map[string]func(t *testing.T, r *runtime.Runtime, l *line, i int){
		"messages of agents": func(t *testing.T, _ *runtime.Runtime, l *line, i int) {
			t.Helper()
			l.put(t, message(t, "sender"+strconv.Itoa(i), "r", 1, 0, defaultSpec, text("x")))
		},
		"messages of a skill": func(t *testing.T, r *runtime.Runtime, _ *line, _ int) {
			t.Helper()
			if _, err := r.Start(skillID, defaultSpec, askerID.String(), text("x")); err != nil && !errors.Is(err, runtime.ErrFull) {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, let := newLine("first"), make(chan struct{})
				var began atomic.Int64
				r := running(t, runtime.Options{}, []runtime.Skill{echo(), hanging(let, &began)}, l)
				for i := range 100 {
					flood(t, r, l, i)
				}
				time.Sleep(runtime.DefaultLimits.Handler + time.Second)
				for i := range 100 {
					who := "late" + strconv.Itoa(i)
					l.put(t, message(t, who, "r", 1, 0, defaultSpec, text("hello")))
					if d := defaultMessage(t, l.sent(t, who)); string(d.Bytes) != "hello" {
						t.Fatalf("%s: got %+v", who, d)
					}
				}
				s := r.Status().Skills[1]
				if most := int64(runtime.DefaultLimits.Workers); s.Overdue < most/4 || began.Load() > most {
					t.Errorf("got %+v after %d calls; want at least %d overdue calls, and at most %d calls", s, began.Load(), most/4, most)
				}
				close(let)
				synctest.Wait()
				before := began.Load()
				l.put(t, message(t, "last", "r", 1, 0, defaultSpec, text("hello")))
				synctest.Wait()
				if s := r.Status().Skills[1]; s.Overdue != 0 || began.Load() != before+1 {
					t.Errorf("got %+v after %d calls, want no overdue calls and %d", s, began.Load(), before+1)
				}
			})
		})
	}
}

// TestBusySkillAnswersWithError checks that the sender of a message gets an error if the only skill for it has too many overdue calls.
func TestBusySkillAnswersWithError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, let := newLine("first"), make(chan struct{})
		few := limits()
		few.Workers = 4
		r := running(t, runtime.Options{Limits: few}, []runtime.Skill{hanging(let, new(atomic.Int64))}, l)
		l.put(t, message(t, "first", "r", 1, 0, defaultSpec, text("x")))
		time.Sleep(runtime.DefaultLimits.Handler + time.Second)
		l.put(t, message(t, "second", "r", 1, 0, defaultSpec, text("x")))
		if d := defaultMessage(t, l.sent(t, "second")); d.Code != protocol.CodeUnsupportedSkill {
			t.Errorf("got %+v, want the code %d", d, protocol.CodeUnsupportedSkill)
		}
		if s := r.Status(); s.Skills[0].Overdue != 1 || s.Errors.UnsupportedSkill != 1 {
			t.Errorf("got %+v", s)
		}
		close(let)
	})
}

// TestHangingTasks checks that behaviours and tasks of one skill that never return, in any number, leave workers and places for those of
// other skills.
func TestHangingTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		hang := func(context.Context) error { <-let; return nil }
		var bad runtime.Skill
		bad.ID = askerID
		for i := range 4 * runtime.DefaultLimits.TaskWorkers {
			bad.Behaviours = append(bad.Behaviours, runtime.Behaviour{Name: strconv.Itoa(i), Once: true, Act: hang})
		}
		bad.Tasks = []runtime.Task{{Name: "hang", Execute: func(ctx context.Context, _ any) (any, error) { return nil, hang(ctx) }}}
		var acts atomic.Int64
		good := runtime.Skill{
			ID: skillID, Tasks: []runtime.Task{{Name: "add", Execute: func(context.Context, any) (any, error) { return 1, nil }}},
			Behaviours: []runtime.Behaviour{{Name: "act", Every: time.Minute, Act: func(context.Context) error { acts.Add(1); return nil }}},
		}
		r := running(t, runtime.Options{}, []runtime.Skill{bad, good})
		for n := 0; ; n++ {
			if _, err := r.Enqueue(askerID, "hang", nil); errors.Is(err, runtime.ErrFull) {
				break
			}
			if n > runtime.DefaultLimits.Tasks {
				t.Fatal("a skill can enqueue tasks without limit")
			}
		}
		time.Sleep(10*time.Minute + time.Second)
		if n := acts.Load(); n < 10 {
			t.Errorf("the behaviour of the other skill acted %d times, want 10", n)
		}
		result, err := r.Enqueue(skillID, "add", nil)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := result.Value(); v != 1 || err != nil {
			t.Errorf("got %v, %v; want 1", v, err)
		}
		close(let)
	})
}

// TestPanicsOfPrograms checks that a program's protocol whose Parse panics, and a skill whose State panics, do not end the process: the
// sender gets an error, and the agent still serves others.
func TestPanicsOfPrograms(t *testing.T) {
	t.Parallel()
	l, p := newLine("first"), pricing()
	p.Parse = func([]byte) (protocol.Content, error) { panic("on purpose") }
	bad := runtime.Skill{
		ID: askerID, Protocols: []*protocol.Protocol{p}, State: func() any { panic("on purpose") },
		Handlers: []runtime.Handler{{Protocol: p, Handle: func(context.Context, runtime.Message) error { return nil }}},
	}
	r := running(t, runtime.Options{}, []runtime.Skill{bad, echo()}, l)
	l.put(t, message(t, "me", "r", 1, 0, p.Specs[0], price("5 EUR")))
	if d := defaultMessage(t, l.sent(t, "me")); d.Performative != protocol.DefaultError {
		t.Errorf("got %+v, want an error", d)
	}
	l.put(t, message(t, "me", "s", 1, 0, defaultSpec, text("hello")))
	if d := defaultMessage(t, l.sent(t, "me")); string(d.Bytes) != "hello" {
		t.Errorf("got %+v", d)
	}
	if state, ok := r.Resources().State(askerID); ok || r.Status().Skills[0].State != nil {
		t.Errorf("got %v, want no state", state)
	}
}
