package main

import (
	"math/rand/v2"
	"slices"
	"sort"
)

// A simulation is a queue of events in simulated time. Times are in seconds. It is deterministic for a seed.
type simulation struct {
	now    float64
	events []event // by their time; those of one time in the order in which they were added
	random *rand.Rand
}

type event struct {
	at float64
	do func()
}

func newSimulation(seed uint64) *simulation {
	return &simulation{random: rand.New(rand.NewPCG(seed, 0))}
}

// after runs do when d has passed.
func (s *simulation) after(d float64, do func()) {
	at := s.now + d
	later := sort.Search(len(s.events), func(i int) bool { return s.events[i].at > at })
	s.events = slices.Insert(s.events, later, event{at, do})
}

// run runs events until the given time.
func (s *simulation) run(until float64) {
	for len(s.events) > 0 && s.events[0].at <= until {
		next := s.events[0]
		s.events = s.events[1:]
		s.now = next.at
		next.do()
	}
	s.now = until
}

// about returns a random time with an exponential distribution.
func (s *simulation) about(mean float64) float64 { return s.random.ExpFloat64() * mean }

// A station is a number of processors that serve jobs in the order of their arrival.
type station struct {
	s       *simulation
	name    string
	servers int // 0 means as many as there are jobs
	busy    int
	queue   []job
	used    float64 // seconds of service
}

type job struct {
	takes float64
	done  func()
}

func (t *station) serve(takes float64, done func()) {
	if t.servers > 0 && t.busy == t.servers {
		t.queue = append(t.queue, job{takes, done})
		return
	}
	t.busy++
	t.begin(job{takes, done})
}

func (t *station) begin(j job) {
	t.used += j.takes
	t.s.after(j.takes, func() {
		if len(t.queue) > 0 {
			next := t.queue[0]
			t.queue = t.queue[1:]
			t.begin(next)
		} else {
			t.busy--
		}
		j.done()
	})
}

// A batcher serves all jobs that wait, up to a maximum, at the same time, as a writer of the store and a flush of the disk do.
type batcher struct {
	s       *simulation
	name    string
	most    int
	serve   func(jobs int, done func())
	waiting []func()
	running bool
	used    float64 // seconds in which it was serving
}

func (b *batcher) add(done func()) {
	b.waiting = append(b.waiting, done)
	if !b.running {
		b.next()
	}
}

func (b *batcher) next() {
	n := min(len(b.waiting), b.most)
	if b.running = n > 0; !b.running {
		return
	}
	batch := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	began := b.s.now
	b.serve(n, func() {
		b.used += b.s.now - began
		for _, done := range batch {
			done()
		}
		b.next()
	})
}
