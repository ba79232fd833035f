package runtime

import (
	"context"
	"errors"
	"slices"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// ErrNoTask means that the skill has no task with this name, or is disabled.
var ErrNoTask = errors.New("the skill has no such task")

// A TaskResult is the result of a task that was enqueued.
type TaskResult struct {
	done  chan struct{}
	value any
	err   error
}

// Done returns a channel that is closed when the task has ended.
func (t *TaskResult) Done() <-chan struct{} { return t.done }

// Value returns the result of the task, and waits until it has ended. The error is that of the task, ErrStopped if the runtime stopped
// before the task began, or an error that reports a panic.
func (t *TaskResult) Value() (any, error) {
	<-t.done
	return t.value, t.err
}

// Enqueue starts a task of an enabled skill. It runs concurrently with the handlers. Errors are ErrNoSkill, ErrNoTask, ErrFull if too many
// tasks are waiting, and ErrStopped.
func (r *Runtime) Enqueue(skill wire.PublicID, task string, argument any) (*TaskResult, error) {
	of, t, err := r.filter.task(skill, task)
	if err != nil {
		return nil, err
	}
	result := &TaskResult{done: make(chan struct{}), err: ErrStopped}
	err = r.tasks.add(job{
		of: of,
		do: func(ctx context.Context) {
			defer close(result.done)
			result.err = r.guard(func() (err error) {
				result.value, err = t.Execute(ctx, argument)
				return err
			})
			r.note(of, result.err)
		},
		drop: func() { close(result.done) },
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// update runs tasks until the queue is closed. Tasks get the context working, which outlives the one that stops the runtime.
func (r *Runtime) update(working context.Context) {
	for {
		j, done, ok := r.tasks.take()
		if !ok {
			return
		}
		j.do(working)
		done()
	}
}

// task returns a task of an enabled skill.
func (f *Filter) task(skill wire.PublicID, name string) (*skillEntry, Task, error) {
	f.resources.mu.RLock()
	defer f.resources.mu.RUnlock()
	s := f.resources.find(skill)
	if s == nil {
		return nil, Task{}, ErrNoSkill
	}
	at := slices.IndexFunc(s.Tasks, func(t Task) bool { return t.Name == name })
	if at < 0 || s.disabled {
		return nil, Task{}, ErrNoTask
	}
	return s, s.Tasks[at], nil
}
