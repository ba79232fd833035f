// Command bench measures whole gateways in one run:
//
//	path    free calls against the plain reverse proxy of the same Go process: requests per second, p50, p99, CPU
//	        seconds per 1,000 calls and resident memory
//	paid    calls that charge, each durable before the upstream is called and before its answer leaves, on both engines
//	grants  places under one limit, from one and from three replicas, and their round trips to the database
//
// Figures of a shared machine mean little by themselves; read the ratios, which come from one run.
//
//	go run ./bench -rounds 5 -calls 20000
//	go run ./bench -only paid
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch os.Getenv(roleVariable) {
	case roleUpstream:
		err = runUpstream(ctx)
	case roleGateway:
		err = runGateway(ctx)
	default:
		err = run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A plan holds the arguments of the command line.
type plan struct{ rounds, calls, agents int }

// sections are the measurements, in order.
var sections = []struct {
	name string
	run  func(ctx context.Context, p plan) error
}{
	{"path", path},
	{"paid", paid},
	{"grants", grants},
}

func run(ctx context.Context) error {
	var p plan
	flag.IntVar(&p.rounds, "rounds", 5, "rounds of each; the best counts")
	flag.IntVar(&p.calls, "calls", 20_000, "calls a round")
	flag.IntVar(&p.agents, "agents", 16, "agents, each with a PAT of its own")
	only := flag.String("only", "", "one of path, paid, grants; empty: all of them")
	flag.Parse()
	fmt.Fprintf(os.Stderr, "%s, %d processors: %d rounds of %d calls\n", runtime.Version(), runtime.NumCPU(), p.rounds, p.calls)
	ran := 0
	for _, s := range sections {
		if *only != "" && *only != s.name {
			continue
		}
		if err := s.run(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		ran++
	}
	if ran == 0 {
		return fmt.Errorf("-only %s: there is no such section", *only)
	}
	return nil
}

// path measures free calls beside the plain reverse proxy.
func path(ctx context.Context, p plan) error {
	up, err := start(ctx, roleUpstream, "")
	if err != nil {
		return err
	}
	defer up.stop()
	gate, err := start(ctx, roleGateway, up.addresses.Upstream)
	if err != nil {
		return err
	}
	defer gate.stop()
	tokens, err := agree(ctx, gate.addresses.Gateway, p.agents)
	if err != nil {
		return err
	}
	targets := []target{
		{"plain reverse proxy", gate.addresses.Proxy + "/echo"},
		{"execute path", gate.addresses.Gateway + "/api/intents/execute"},
	}
	table := newTable("connections\t\tcalls/s\tp50\tp99\tCPU s/1000\tRSS\t")
	for _, connections := range []int{1, 16} {
		best, err := compare(ctx, gate, targets, tokens, connections, p.rounds, p.calls)
		if err != nil {
			return err
		}
		for i, t := range targets {
			m := best[i]
			fmt.Fprintf(table, "%d\t%s\t%.0f\t%s\t%s\t%.4f\t%d MiB\t\n", connections, t.name, m.rate, m.p50.Round(time.Microsecond),
				m.p99.Round(time.Microsecond), m.cpu, m.rss>>20)
		}
		fmt.Fprintf(table, "%d\tratio\t%.2f\t%.2f\t%.2f\t%.2f\t\t\n", connections,
			best[1].rate/best[0].rate, ratio(best[1].p50, best[0].p50), ratio(best[1].p99, best[0].p99), best[1].cpu/best[0].cpu)
		fmt.Fprintf(table, "%d\tadded\t\t%s\t%s\t\t\t\n", connections, (best[1].p50 - best[0].p50).Round(time.Microsecond),
			(best[1].p99 - best[0].p99).Round(time.Microsecond))
	}
	return table.Flush()
}

func newTable(columns string) *tabwriter.Writer {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, columns)
	return table
}

type target struct{ name, url string }

// figures are the best values of all rounds: noise only makes values worse.
type figures struct {
	rate, cpu float64
	p50, p99  time.Duration
	rss       int64
}

// compare runs the targets in turn, round after round, so that both have the same noise.
func compare(ctx context.Context, gate *child, targets []target, tokens []string, connections, rounds, calls int) ([]figures, error) {
	best := make([]figures, len(targets))
	for _, t := range targets { // warm up: connections, caches, the collector
		if _, err := load(ctx, t.url, tokens, connections, calls/10+connections); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	for range rounds {
		for i, t := range targets {
			before, err := gate.usage(ctx)
			if err != nil {
				return nil, err
			}
			began := time.Now()
			times, err := load(ctx, t.url, tokens, connections, calls)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			took := time.Since(began)
			after, err := gate.usage(ctx)
			if err != nil {
				return nil, err
			}
			slices.Sort(times)
			m := figures{
				rate: float64(len(times)) / took.Seconds(), p50: times[len(times)/2], p99: times[len(times)*99/100],
				cpu: (after.CPU - before.CPU).Seconds() * 1000 / float64(len(times)), rss: after.RSS,
			}
			best[i] = better(best[i], m)
		}
	}
	return best, nil
}

func better(a, b figures) figures {
	if a.rate == 0 {
		return b
	}
	return figures{max(a.rate, b.rate), min(a.cpu, b.cpu), min(a.p50, b.p50), min(a.p99, b.p99), max(a.rss, b.rss)}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
