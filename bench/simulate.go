package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// simulated is how many seconds of calls a simulation covers.
const simulated = 20

// simulate prints the load that a deployment could handle, computed from the costs in a file.
func simulate(_ context.Context, p plan) error {
	c, err := readCosts(p.costs)
	if err != nil {
		return err
	}
	d := p.deployment
	if d.processes < 1 || d.cores < 1 || d.serverCores < 1 || d.agents < 1 {
		return errors.New("-processes, -cores, -server-cores and -simulated-agents must be positive")
	}
	d.costs = c
	table := newTable("calls\tconnections\tcalls/s\tp50\tp99\tbottleneck\tbusy\t")
	for _, d.paid = range []bool{false, true} {
		loops := p.connections
		if d.arrivals > 0 {
			loops = []int{0}
		}
		for _, d.loops = range loops {
			r := d.predict(simulated)
			fmt.Fprintf(table, "%s\t%d\t%.0f\t%s\t%s\t%s\t%.0f%%\t\n", kindOf(d.paid), d.loops, r.rate, r.p50.Round(10*time.Microsecond),
				r.p99.Round(10*time.Microsecond), r.bottleneck, 100*r.busy)
		}
	}
	return table.Flush()
}

func kindOf(paid bool) string {
	if paid {
		return "paid"
	}
	return "free"
}

// checkSimulation measures deployments on this machine, and prints predictions next to the measurements. Gateways, PostgreSQL, the service
// and the agents share its processors. The last column is the number of processors that these programs used; other programs may have used
// the rest.
func checkSimulation(ctx context.Context, p plan) (err error) {
	c, err := readCosts(p.costs)
	if err != nil {
		return err
	}
	server, err := pgtest.New(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	table := newTable("calls\tprocesses\tupstream\tconnections\tcalls/s: predicted\tmeasured\terror\tp50: predicted\tmeasured\terror\t" +
		"p99: predicted\tmeasured\terror\tprocessors\t")
	for _, of := range []struct {
		processes int
		delay     time.Duration
	}{{1, 0}, {2, 0}, {2, 20 * time.Millisecond}} {
		for _, price := range []string{"", "0.01"} {
			paid := price != ""
			s, err := startSite(ctx, server, p.agents, of.processes, of.delay, price)
			if err != nil {
				return err
			}
			for _, loops := range p.connections {
				d := deployment{
					costs: c, processes: of.processes, shared: runtime.NumCPU(), agents: p.agents, loops: loops, upstream: of.delay, paid: paid,
					seed: p.deployment.seed,
				}
				said := d.predict(simulated)
				var got sample
				for range p.rounds {
					one, err := s.measure(ctx, loops, max(200, int(said.rate)))
					if err != nil {
						return errors.Join(err, s.stop())
					}
					got.keep(one)
				}
				fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t\n", kindOf(paid), of.processes, of.delay, loops,
					said.rate, got.rate, off(said.rate, got.rate), short(said.p50), short(got.p50), off(said.p50, got.p50), short(said.p99),
					short(got.p99), off(said.p99, got.p99), got.processors)
			}
			if err := s.stop(); err != nil {
				return err
			}
		}
	}
	return table.Flush()
}

// off returns by how many percent a prediction is off.
func off[T ~float64 | ~int64](predicted, measured T) string {
	return fmt.Sprintf("%+.0f%%", 100*(float64(predicted)/float64(measured)-1))
}

func short(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
