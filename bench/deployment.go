package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// A deployment is what a simulation predicts: gateway processes on one PostgreSQL, with their agents and their upstream. If arrivals is
// positive, calls arrive at random at this rate per second. Otherwise, agents are closed loops: each sends its next call after a response.
type deployment struct {
	costs       *costs
	processes   int
	cores       int // of each process
	serverCores int // of the machine with PostgreSQL
	shared      int // if positive, everything, including the agents, runs on one machine with this many processors
	agents      int // each has the same process and the same writer for all of its calls
	loops       int // concurrent calls of all agents together
	arrivals    float64
	upstream    time.Duration // time until the upstream responds
	rtt         time.Duration // of the network between gateway and PostgreSQL
	paid        bool
	seed        uint64
}

// A prediction is the result of a simulation.
type prediction struct {
	rate           float64 // calls per second
	p50, p99, mean time.Duration
	inside         float64 // mean number of calls under way
	bottleneck     string  // what is busy most of the time
	busy           float64 // the part of the time in which it is busy
}

// A process is a gateway in a simulation.
type process struct {
	cpu   *station
	lanes []*batcher
}

// A model is a deployment while it is simulated.
type model struct {
	deployment
	*simulation
	client, up, server *station
	flush              *batcher
	gateways           []process
	home               []int // process of each agent
	lane               []int // writer of each agent
	from               float64
	times              []float64
	under, last, area  float64 // calls under way, when that last changed, and its integral since from
}

// roundTrips is how many round trips a transaction of calls takes: the first reads, the second writes and commits.
const roundTrips = 2

// predict simulates a deployment for some seconds, after a start that does not count.
func (d deployment) predict(seconds float64) prediction {
	m := &model{deployment: d, simulation: newSimulation(d.seed), from: seconds / 5}
	m.client, m.up = &station{s: m.simulation, name: "agents"}, &station{s: m.simulation, name: "upstream"}
	m.server = &station{s: m.simulation, name: "PostgreSQL", servers: d.serverCores}
	machine := &station{s: m.simulation, name: "processors", servers: d.shared}
	if d.shared > 0 {
		m.client, m.up, m.server = machine, machine, machine
	}
	m.flush = &batcher{s: m.simulation, name: "flush", most: math.MaxInt, serve: func(_ int, done func()) { m.after(m.flushTime(), done) }}
	for i := range d.processes {
		g := process{cpu: &station{s: m.simulation, name: fmt.Sprintf("gateway %d", i), servers: d.cores}}
		if d.shared > 0 {
			g.cpu = machine
		}
		for n := range d.costs.Lanes {
			g.lanes = append(g.lanes, &batcher{
				s: m.simulation, name: fmt.Sprintf("writer %d of gateway %d", n, i), most: d.costs.Batch,
				serve: func(jobs int, done func()) { m.transaction(g.cpu, jobs, done) },
			})
		}
		m.gateways = append(m.gateways, g)
	}
	for i := range d.agents {
		m.home, m.lane = append(m.home, i%d.processes), append(m.lane, m.random.IntN(max(1, d.costs.Lanes)))
	}
	if d.arrivals > 0 {
		m.arrive()
	} else {
		for i := range d.loops {
			m.loop(i % d.agents)
		}
	}
	m.run(m.from + seconds)
	return m.result(seconds, machine)
}

func (m *model) loop(agent int) { m.call(agent, func() { m.loop(agent) }) }

func (m *model) arrive() {
	m.after(m.about(1/m.arrivals), func() {
		m.call(m.random.IntN(m.agents), func() {})
		m.arrive()
	})
}

// call simulates one call: the parts of the gateway before, between and after its transactions take a third of its time each.
func (m *model) call(agent int, done func()) {
	began, c := m.now, m.costs
	m.enter(1)
	g := m.gateways[m.home[agent]]
	cpu := func(at *station, mean micros) func(func()) {
		return func(next func()) { at.serve(m.about(mean.seconds()), next) }
	}
	store := func(next func()) { next() }
	if m.paid {
		store = g.lanes[m.lane[agent]].add
	}
	third := cpu(g.cpu, c.Gateway/3)
	wait := func(d float64) func(func()) { return func(next func()) { m.after(d, next) } }
	steps := []func(func()){
		cpu(m.client, c.Client), wait(c.Wait.seconds()), third, store, third, cpu(m.up, c.Upstream), wait(m.upstream.Seconds()), store, third,
	}
	var step func(n int)
	step = func(n int) {
		if n < len(steps) {
			steps[n](func() { step(n + 1) })
			return
		}
		m.enter(-1)
		if began >= m.from {
			m.times = append(m.times, m.now-began)
		}
		done()
	}
	step(0)
}

// transaction simulates a transaction that several calls share.
func (m *model) transaction(cpu *station, jobs int, done func()) {
	c := m.costs
	cpu.serve(c.Gatewayside.of(jobs), func() {
		m.after(roundTrips*m.rtt.Seconds(), func() {
			m.server.serve(c.Serverside.of(jobs), func() { m.flush.add(done) })
		})
	})
}

// flushTime returns a random time from the measured ones.
func (m *model) flushTime() float64 {
	if len(m.costs.Flush) == 0 {
		return 0
	}
	return m.costs.Flush[m.random.IntN(len(m.costs.Flush))].seconds()
}

// enter counts the calls under way.
func (m *model) enter(n float64) {
	if since := max(m.last, m.from); m.now > since {
		m.area += m.under * (m.now - since)
	}
	m.under, m.last = m.under+n, m.now
}

func (m *model) result(seconds float64, machine *station) prediction {
	m.enter(0)
	var p prediction
	slices.Sort(m.times)
	if n := len(m.times); n > 0 {
		sum := 0.0
		for _, t := range m.times {
			sum += t
		}
		p.rate, p.mean = float64(n)/seconds, duration(sum/float64(n))
		p.p50, p.p99 = duration(m.times[n/2]), duration(m.times[n*99/100])
	}
	p.inside = m.area / seconds
	consider := func(name string, busy float64) {
		if busy /= m.now; busy > p.busy {
			p.bottleneck, p.busy = name, busy
		}
	}
	stations := []*station{machine, m.server}
	for _, g := range m.gateways {
		stations = append(stations, g.cpu)
		for _, l := range g.lanes {
			consider(l.name, l.used)
		}
	}
	consider(m.flush.name, m.flush.used)
	for _, s := range stations {
		consider(s.name, s.used/float64(cmp.Or(s.servers, math.MaxInt)))
	}
	return p
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
