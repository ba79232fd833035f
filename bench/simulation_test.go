package main

import (
	"math"
	"testing"
	"time"
)

// near fails the test if a number differs from the expected one by more than the given part of the expected one.
func near(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if math.Abs(got-want) > part*want {
		t.Errorf("%s: %.4f, want %.4f", what, got, want)
	}
}

// waits returns the mean time that jobs wait in a queue: they arrive at random at the given rate, and each takes service.
func waits(rate float64, servers int, service func(s *simulation) float64) float64 {
	s := newSimulation(1)
	at := &station{s: s, servers: servers}
	var sum, n float64
	var arrive func()
	arrive = func() {
		s.after(s.about(1/rate), func() {
			began, takes := s.now, service(s)
			at.serve(takes, func() { sum, n = sum+s.now-began-takes, n+1 })
			arrive()
		})
	}
	arrive()
	s.run(5e5)
	return sum / n
}

func TestMeanWaitsAreThoseOfQueueingTheory(t *testing.T) {
	t.Parallel()
	exponential := func(s *simulation) float64 { return s.about(1) }
	constant := func(*simulation) float64 { return 1 }
	near(t, "M/M/1 at 0.5", waits(0.5, 1, exponential), 1, 0.02)
	near(t, "M/M/1 at 0.8", waits(0.8, 1, exponential), 4, 0.04)
	near(t, "M/D/1 at 0.5", waits(0.5, 1, constant), 0.5, 0.02)
	near(t, "M/D/1 at 0.8", waits(0.8, 1, constant), 2, 0.04)
	near(t, "M/M/2 at 0.8", waits(1.6, 2, exponential), 0.64/0.36, 0.04) // Erlang C
}

func TestBatchesShareTheCostOfATransaction(t *testing.T) {
	t.Parallel()
	s := newSimulation(1)
	b := &batcher{s: s, most: 256, serve: func(n int, done func()) { s.after(0.003+0.0001*float64(n), done) }}
	served := 0
	var loop func()
	loop = func() { b.add(func() { served++; s.after(0, loop) }) }
	for range 20 {
		loop()
	}
	s.run(100)
	// The first caller comes back when the others have begun, so transactions of 19 jobs and of one alternate: 4.9 ms and 3.1 ms.
	near(t, "jobs per second", float64(served)/100, 20/0.008, 0.001)
}

// example has costs that are easy to compute with: a free call takes 1 ms of the gateway.
func example() deployment {
	return deployment{
		costs:     &costs{Gateway: 1000, Lanes: 4, Batch: 256, Gatewayside: sharedCost{100, 10}, Serverside: sharedCost{400, 50}, Flush: []micros{2000}},
		processes: 1, cores: 2, serverCores: 4, agents: 64, loops: 64, seed: 1,
	}
}

func TestThroughputSaturatesAtTheBottleneck(t *testing.T) {
	t.Parallel()
	d := example()
	p := d.predict(20)
	near(t, "calls per second of two cores", p.rate, 2000, 0.01)
	if p.bottleneck != "gateway 0" || p.busy < 0.99 {
		t.Errorf("bottleneck: %s, %.2f busy", p.bottleneck, p.busy)
	}
	d.processes = 3
	p = d.predict(20)
	near(t, "calls per second of three processes", p.rate, 6000, 0.02)
	d.loops, d.agents, d.upstream = 1, 1, 9*time.Millisecond
	p = d.predict(100)
	near(t, "calls per second of one agent", p.rate, 100, 0.02)
	d.paid = true
	p = d.predict(100) // two transactions of 0.56 ms and a flush of 2 ms each
	near(t, "paid calls per second of one agent", p.rate, 1/0.01512, 0.02)
}

func TestLittlesLawHolds(t *testing.T) {
	t.Parallel()
	d := example()
	d.paid, d.arrivals, d.upstream = true, 700, 20*time.Millisecond
	p := d.predict(60)
	near(t, "calls per second", p.rate, 700, 0.01)
	near(t, "calls under way", p.inside, p.rate*p.mean.Seconds(), 0.005)
	if again := d.predict(60); again != p {
		t.Errorf("two runs with the same seed: %+v, %+v", p, again)
	}
}
