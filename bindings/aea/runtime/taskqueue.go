package runtime

import (
	"context"
	"slices"
	"sync"
)

// A job is work of a skill that waits for a task worker: a task, or one run of a behaviour. drop, which may be nil, is called instead of do
// if the runtime stops.
type job struct {
	of   *skillEntry
	do   func(ctx context.Context)
	drop func()
}

// fairFrom is the smallest number of workers, and of places, that a taskQueue divides fairly.
const fairFrom = 4

// A taskQueue holds jobs until a task worker takes them, in the order in which they were added. A skill gets another worker only while it
// occupies fewer workers than are free. It gets another place only while it takes fewer places than are free. So tasks and behaviours that
// never return leave workers and places for other skills. One skill can get all workers or places if there are fewer than fairFrom.
type taskQueue struct {
	workers, places int

	mu      sync.Mutex
	changed sync.Cond
	waiting []job
	queued  map[*skillEntry]int // waiting jobs
	running map[*skillEntry]int
	busy    int  // workers that run a job
	closed  bool // workers take no more jobs
	stopped bool // no more jobs are added
}

func newTaskQueue(l Limits) *taskQueue {
	q := &taskQueue{workers: l.TaskWorkers, places: l.Tasks, queued: map[*skillEntry]int{}, running: map[*skillEntry]int{}}
	q.changed.L = &q.mu
	return q
}

// add adds a job. Errors are ErrFull and ErrStopped.
func (q *taskQueue) add(j job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	free := q.places - len(q.waiting)
	switch {
	case q.stopped:
		return ErrStopped
	case free <= 0, q.places >= fairFrom && q.queued[j.of] >= free:
		return ErrFull
	}
	q.waiting = append(q.waiting, j)
	q.queued[j.of]++
	q.changed.Signal()
	return nil
}

// take returns the next job, and waits for one if necessary. The caller must call done when the job has ended. ok is false after close.
func (q *taskQueue) take() (j job, done func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed {
		if at := slices.IndexFunc(q.waiting, q.mayRun); at >= 0 {
			j := q.waiting[at]
			q.waiting = slices.Delete(q.waiting, at, at+1)
			change(q.queued, j.of, -1)
			change(q.running, j.of, 1)
			q.busy++
			q.changed.Signal() // there may be more
			return j, func() { q.end(j.of) }, true
		}
		q.changed.Wait()
	}
	return job{}, nil, false
}

// mayRun reports whether the skill of a job may occupy another worker. The caller holds the lock.
func (q *taskQueue) mayRun(j job) bool {
	return q.workers < fairFrom || q.running[j.of] < q.workers-q.busy
}

func (q *taskQueue) end(of *skillEntry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change(q.running, of, -1)
	q.busy--
	q.changed.Signal()
}

// change adds n to a count, and removes it when it is 0.
func change(counts map[*skillEntry]int, of *skillEntry, n int) {
	if counts[of] += n; counts[of] == 0 {
		delete(counts, of)
	}
}

// close lets take return. Jobs can still be added, for drop.
func (q *taskQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// drop rejects further jobs, and drops those that wait.
func (q *taskQueue) drop() {
	q.mu.Lock()
	q.stopped = true
	left := q.waiting
	q.waiting, q.queued = nil, nil
	q.mu.Unlock()
	for _, j := range left {
		if j.drop != nil {
			j.drop()
		}
	}
}

// len returns the number of waiting jobs.
func (q *taskQueue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
