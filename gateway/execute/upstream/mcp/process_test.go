package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/mcp"
)

func TestAProcessGetsOnlyItsEnvironmentAndExactNumbers(t *testing.T) {
	t.Setenv("UIMGATE_ADMIN_TOKEN", "secret-of-the-gateway")
	s, _ := start(t, "plain")
	r, written, err := call(t, s, 30*time.Second)
	if err != nil || !written {
		t.Fatalf("got written %v, %v", written, err)
	}
	var out struct {
		StructuredContent struct {
			Env       []string        `json:"env"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"structuredContent"`
	}
	if err := json.Unmarshal(r.Result, &out); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out.StructuredContent.Env)
	if got := out.StructuredContent.Env; len(got) != 2 || strings.Contains(strings.Join(got, " "), "secret") {
		t.Errorf("the environment is %v", got)
	}
	if string(out.StructuredContent.Arguments) != `{"a":1.10}` {
		t.Errorf("the arguments are %s", out.StructuredContent.Arguments)
	}
}

func TestOutcomesOfProcesses(t *testing.T) {
	t.Parallel()
	for mode, c := range map[string]struct {
		result  string // of the call; empty: an error
		err     error  // nil: any but ErrTooLong
		written bool
		failure string // State.Failure contains it
	}{
		"noisy":          {result: `{"structuredContent":{"n":12345678901234567890}}`, written: true},
		"answersAndDies": {result: `{"structuredContent":{"last":true}}`, written: true, failure: "exit status 0"},
		"dies":           {written: true, failure: "exit status 4"},
		"floods":         {written: true, failure: "bytes outside responses"},
		"long":           {written: true, err: mcp.ErrTooLong, failure: "a line of more than"},
		"longReversed":   {written: true, err: mcp.ErrTooLong, failure: "a line of more than"},
		"longNote":       {written: true, failure: "a line of more than"},
		"exits":          {written: false, failure: "exit status 3"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, mode)
			r, written, err := call(t, s, 30*time.Second)
			switch {
			case c.result != "" && (err != nil || string(r.Result) != c.result):
				t.Errorf("got %s, %v; want %s", r.Result, err, c.result)
			case c.result == "" && (err == nil || errors.Is(err, mcp.ErrTooLong) != (c.err != nil)):
				t.Errorf("got %v; want %v", err, c.err)
			case written != c.written:
				t.Errorf("written is %v", written)
			}
			eventually(t, "the failure "+c.failure, func() bool { return strings.Contains(s.State().Failure, c.failure) })
		})
	}
}

// A response that is too long may belong to an earlier call that has already ended.
func TestALateResponseIsNotThatToAnotherCall(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "late")
	if _, err := s.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := call(t, s, time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	for range 3 { // in the meantime, the ping is answered, so only the next call waits
		if _, err := s.Tools(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, written, err := call(t, s, 30*time.Second); !written || err == nil || errors.Is(err, mcp.ErrTooLong) {
		t.Errorf("got written %v, %v", written, err)
	}
}

func TestAnEndedProcessStartsAgainAfterAPause(t *testing.T) {
	t.Parallel()
	s, ahead := start(t, "dies")
	if _, written, err := call(t, s, 30*time.Second); err == nil || !written {
		t.Fatalf("got written %v, %v", written, err)
	}
	eventually(t, "the process runs", func() bool { return s.State().Running == 0 && s.State().Failure != "" })
	if _, written, err := call(t, s, 30*time.Second); written || !errors.Is(err, mcp.ErrNotRunning) {
		t.Fatalf("during the pause: got written %v, %v", written, err)
	}
	ahead.Store(int64(time.Minute))
	if _, written, _ := call(t, s, 30*time.Second); !written || s.State().Restarts != 1 {
		t.Errorf("after the pause: written %v, %d restarts", written, s.State().Restarts)
	}
}

func TestAHungProcessEnds(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "hangs")
	_, written, err := call(t, s, time.Second)
	if !written || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got written %v, %v", written, err)
	}
	eventually(t, "the process runs", func() bool { return s.State().Running == 0 })
	eventually(t, "the failure is not that the process did not respond", func() bool {
		return strings.Contains(s.State().Failure, "did not respond")
	})
}

// A process that works on one message at a time cannot answer while it works.
func TestABusyProcessDoesNotEnd(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "plain")
	if _, err := s.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent, left := make(chan struct{}), make(chan error)
	begun := sync.OnceFunc(func() { close(sent) })
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := s.Call(ctx, mcp.Call{Tool: "work8s", Arguments: []byte("{}")}, func() error { begun(); return nil })
		left <- err
	}()
	<-sent
	if _, written, err := call(t, s, time.Second); !written || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got written %v, %v", written, err)
	}
	if err := <-left; err != nil || s.State().Failure != "" {
		t.Errorf("got %v; the process ended: %s", err, s.State().Failure)
	}
}

// A process that does not read for a while blocks the pipe. A call that ends meanwhile does not end any other, whether a part of it was
// written or not. The permission of a waiting call is checked again.
func TestCallsToAFullPipeEndNoOther(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"short messages": 3900, "long messages": 300_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, "plain")
			if _, err := s.Tools(t.Context()); err != nil {
				t.Fatal(err)
			}
			sent, left := make(chan struct{}), make(chan error)
			begun := sync.OnceFunc(func() { close(sent) })
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, _, err := s.Call(ctx, mcp.Call{Tool: "work3s", Arguments: []byte("{}")}, func() error { begun(); return nil })
				left <- err
			}()
			<-sent
			var others sync.WaitGroup
			var unwritten, rechecked atomic.Int64
			for range 40 {
				others.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					asked := int64(0)
					_, written, err := s.Call(ctx, mcp.Call{Tool: "wait", Arguments: []byte(`{"a":"` + strings.Repeat("x", size) + `"}`)}, func() error {
						asked++
						return nil
					})
					if err == nil {
						t.Error("a call got a response")
					}
					if !written {
						unwritten.Add(1)
					}
					if asked > 1 {
						rechecked.Add(1)
					}
				})
			}
			others.Wait()
			if unwritten.Load() == 0 || size < 4096 && rechecked.Load() == 0 {
				t.Errorf("%d calls were not written; the permission of %d was checked again", unwritten.Load(), rechecked.Load())
			}
			if err := <-left; err != nil || s.State().Failure != "" {
				t.Errorf("got %v; the process ended: %s", err, s.State().Failure)
			}
		})
	}
}

// A new process may take some time for its first response, but not forever.
func TestAProcessThatOpensNoSessionEnds(t *testing.T) {
	t.Parallel()
	s, ahead := start(t, "stuck")
	if _, written, err := call(t, s, time.Second); written || !errors.Is(err, context.DeadlineExceeded) || s.State().Running != 1 {
		t.Fatalf("got written %v, %v with %d processes", written, err, s.State().Running)
	}
	ahead.Store(int64(time.Minute))
	if _, written, err := call(t, s, time.Second); written || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got written %v, %v", written, err)
	}
	eventually(t, "the process runs", func() bool { return s.State().Running == 0 })
}

// The first request to a server of an earlier revision may get no response at all. Enough time must be left for initialize.
func TestASilentProcessIsInitialized(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "silent")
	if _, written, err := call(t, s, 5*time.Second); err != nil || !written {
		t.Errorf("got written %v, %v", written, err)
	}
}

func TestCloseEndsTheWholeProcessGroup(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"child", "stays"} {
		s, _ := start(t, mode)
		r, _, err := call(t, s, 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			StructuredContent struct {
				PID int `json:"pid"`
			} `json:"structuredContent"`
		}
		if err := json.Unmarshal(r.Result, &out); err != nil || out.StructuredContent.PID == 0 {
			t.Fatalf("got %s, %v", r.Result, err)
		}
		s.Close()
		eventually(t, "process of mode "+mode+" lives", func() bool { return !lives(out.StructuredContent.PID) })
	}
}

// pidOf returns the process that returned a result in mode plain.
func pidOf(tb testing.TB, r mcp.Reply, err error) int {
	tb.Helper()
	var out struct {
		StructuredContent struct {
			PID int `json:"pid"`
		} `json:"structuredContent"`
	}
	if err != nil || json.Unmarshal(r.Result, &out) != nil || out.StructuredContent.PID == 0 {
		tb.Fatalf("got %s, %v", r.Result, err)
	}
	return out.StructuredContent.PID
}

// A call may reach a server after a reload has closed it, while the closed process works on other calls or after it has ended.
func TestProcessesAfterCloseEnd(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "plain")
	r, _, err := call(t, s, 30*time.Second)
	pids := []int{pidOf(t, r, err)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	entered, left := make(chan struct{}), make(chan struct{})
	begun := sync.OnceFunc(func() { close(entered) })
	go func() {
		defer close(left)
		_, _, _ = s.Call(ctx, mcp.Call{Tool: "wait", Arguments: []byte("{}")}, func() error { begun(); return nil })
	}()
	<-entered
	s.Close()
	r, _, err = call(t, s, 30*time.Second)
	pids = append(pids, pidOf(t, r, err))
	if pids[0] == pids[1] {
		t.Error("the closed process got another call")
	}
	cancel()
	<-left
	for _, pid := range pids {
		eventually(t, "a process lives", func() bool { return !lives(pid) })
	}
	r, _, err = call(t, s, 30*time.Second)
	last := pidOf(t, r, err)
	eventually(t, "a process started after Close lives", func() bool { return !lives(last) })
	eventually(t, "a process is counted", func() bool { return s.State().Running+s.State().Closing == 0 })
}

// lives reports whether a process exists and is not a zombie.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func TestToolsOfAProcess(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "plain")
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Name != "try" || tools[0].Digest == "" {
		t.Fatalf("got %v, %v", tools, err)
	}
	if names, required, open := tools[0].Properties(); len(names) != 1 || len(required) != 1 || !open {
		t.Errorf("got %v, %v, %v", names, required, open)
	}
}

func TestARefusedCallIsNotWritten(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "dies")
	refused := errors.New("no grant")
	_, written, err := s.Call(t.Context(), mcp.Call{Tool: "try", Arguments: []byte("{}")}, func() error { return refused })
	if written || !errors.Is(err, refused) {
		t.Errorf("got written %v, %v", written, err)
	}
}
