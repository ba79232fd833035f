// Command bench measures whole gateways in one run:
//
//	path    free calls, compared with Go's plain reverse proxy. Gateway, proxy, service and load are separate processes.
//	        Responses of three sizes are passed on unchanged or checked against declared outputs. It prints CPU seconds per
//	        1,000 calls, also as multiples of the proxy's, with p50 and resident memory
//	telemetry
//	        the same free call without telemetry, with traces of 1 % of the calls sent to a collector, and with traces of all
//	doors   the same call over each protocol: CPU time as multiples of that over HTTP
//	paid    paid calls with and without receipts, on both engines. Each charge is durable before the upstream is called, and its
//	        capture before the response is sent. The CPU time of a call includes what the gateway does later: it writes charges
//	        into the tables, and appends them to the log
//	evidence
//	        the size of receipts and of what is kept for each charge, and how fast verify-ledger is, on SQLite
//	grants  units of one limit, granted by one and by three replicas, and the round trips to the database
//	relay   MRP messages that are sent and polled, on both engines, and the memory of a relay with many agents
//	idle    the memory of a gateway with many connections that are kept alive
//
// Three more sections run only if -only names them:
//
//	costs     the costs of the steps of a call on this machine, written to the file -costs
//	simulate  a simulation of gateways on one PostgreSQL, from the costs in that file: calls per second, latency, bottleneck
//	check     simulations next to measurements of the same deployments on this machine
//
// On a shared machine only the ratios are meaningful, because they come from one run.
//
//	go run ./bench -rounds 5 -calls 20000
//	go run ./bench -only paid
//	go run ./bench -only path -sizes 0.5kB -connections 16
//	go run ./bench -only costs -costs costs.json
//	go run ./bench -only simulate -costs costs.json -processes 3 -cores 4 -server-cores 8 -upstream 50ms -connections 64,1000
//	go run ./bench -only check -costs costs.json
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	play := roles[os.Getenv(roleVariable)]
	if play == nil {
		play = run
	}
	if err := play(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// roles are the tasks of the child processes.
var roles = map[string]func(context.Context) error{
	roleUpstream: runUpstream, roleProxy: runProxy, roleGateway: runGateway, roleRelay: runRelay, roleCollector: runCollector,
}

// A plan holds the arguments of the command line.
type plan struct {
	rounds, calls, agents int
	connections           []int
	sizes                 []size
	sqliteOnly            bool
	costs                 string // file of the costs
	deployment            deployment
}

// sections are the measurements, in the order in which they run.
var sections = []struct {
	name  string
	run   func(ctx context.Context, p plan) error
	named bool // runs only if it is named
}{
	{"path", path, false},
	{"telemetry", traced, false},
	{"doors", doors, false},
	{"paid", paid, false},
	{"evidence", proven, false},
	{"grants", grants, false},
	{"relay", relays, false},
	{"idle", idle, false},
	{"costs", measureCosts, true},
	{"simulate", simulate, true},
	{"check", checkSimulation, true},
}

func run(ctx context.Context) error {
	var p plan
	flag.IntVar(&p.rounds, "rounds", 5, "rounds of each measurement; the best one counts")
	flag.IntVar(&p.calls, "calls", 20_000, "calls per round")
	flag.IntVar(&p.agents, "agents", 16, "number of agents; each has its own PAT")
	flag.Func("connections", "numbers of concurrent connections, separated by commas (default 1,16,64)", p.setConnections)
	flag.Func("sizes", "sizes of responses, separated by commas (default 0.5kB,20kB,1MB)", p.setSizes)
	flag.BoolVar(&p.sqliteOnly, "sqlite", false, "paid calls on SQLite only")
	p.setDeployment()
	only := flag.String("only", "",
		"run only path, telemetry, doors, paid, evidence, grants, relay, idle, costs, simulate or check (default the first eight)")
	p.connections, p.sizes = []int{1, 16, 64}, sizes
	flag.Parse()
	fmt.Fprintf(os.Stderr, "%s, %d processors: %d rounds of %d calls\n", runtime.Version(), runtime.NumCPU(), p.rounds, p.calls)
	ran := 0
	for _, s := range sections {
		if *only != "" && *only != s.name || *only == "" && s.named {
			continue
		}
		if err := s.run(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		ran++
	}
	if ran == 0 {
		return fmt.Errorf("-only %s: no such section", *only)
	}
	return nil
}

// setDeployment adds the flags of a simulation.
func (p *plan) setDeployment() {
	d := &p.deployment
	flag.StringVar(&p.costs, "costs", "", "file that costs writes, and that simulate and check read")
	flag.IntVar(&d.processes, "processes", 1, "gateway processes in a simulation")
	flag.IntVar(&d.cores, "cores", 2, "processors of each gateway in a simulation")
	flag.IntVar(&d.serverCores, "server-cores", 4, "processors of PostgreSQL in a simulation")
	flag.IntVar(&d.agents, "simulated-agents", 1000, "agents in a simulation; all calls of one use the same gateway and writer")
	flag.Float64Var(&d.arrivals, "arrivals", 0, "calls that arrive each second in a simulation; 0 means closed loops on -connections")
	flag.DurationVar(&d.upstream, "upstream", 20*time.Millisecond, "time until the service responds in a simulation")
	flag.DurationVar(&d.rtt, "rtt", 0, "round trip time between gateway and PostgreSQL in a simulation")
	flag.Uint64Var(&d.seed, "seed", 1, "seed of a simulation")
}

func (p *plan) setConnections(list string) error {
	p.connections = nil
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return errors.New("want positive integers, separated by commas")
		}
		p.connections = append(p.connections, n)
	}
	return nil
}

func (p *plan) setSizes(list string) error {
	p.sizes = nil
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(sizes, func(s size) bool { return s.name == name })
		if i < 0 {
			return errors.New("want one or more of 0.5kB, 20kB and 1MB, separated by commas")
		}
		p.sizes = append(p.sizes, sizes[i])
	}
	return nil
}

func newTable(columns string) *tabwriter.Writer {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, columns)
	return table
}

// A target is an endpoint that receives calls.
type target struct {
	name, url string
	body      string
	of        *child // the process whose resources count
	mayBreak  bool   // under load the plain proxy sometimes sends an incomplete response: the call is then repeated
	proved    bool   // each call is sent with a proof of key
	header    map[string]string
	charged   bool    // each call is charged: the process works for it until lastWork after the call
	keyed     bool    // each call has a separate idempotency key: "KEY" in the body, or a header
	agents    []agent // instead of those of the measurement; nil: none
	uid       string  // uid of the intent, if way is set
	way       way
}

// callers returns the agents that call the target.
func (t *target) callers(others []agent) []agent {
	if t.agents != nil {
		return t.agents
	}
	return others
}

// A way opens an agent's connection over another protocol for calls to a target. send makes one call.
type way func(ctx context.Context, by *agent, t target, client *http.Client) (send func() error, stop func(), err error)

// lastWork is more than the two seconds within which a gateway writes charges into its tables and appends them to its log.
const lastWork = 2500 * time.Millisecond

// figures are the best values of all rounds, because noise only makes values worse.
type figures struct {
	rate, cpu, allocs float64 // calls per second; CPU seconds per 1,000 calls; allocations per call
	p50, p99          time.Duration
	rss               int64
}

// compare runs the targets in turn, round after round, so that noise affects all of them equally.
func compare(ctx context.Context, targets []target, agents []agent, connections, rounds, calls int) ([]figures, error) {
	best, idle := make([]figures, len(targets)), make([]time.Duration, len(targets))
	for i, t := range targets { // warm up connections, caches and the garbage collector
		_, err := load(ctx, t, t.callers(agents), connections, calls/10+connections)
		if err == nil && t.charged {
			idle[i], err = t.of.idleTime(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	for range rounds {
		for i, t := range targets {
			before, err := t.of.usage(ctx)
			if err != nil {
				return nil, err
			}
			began := time.Now()
			times, err := load(ctx, t, t.callers(agents), connections, calls)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			took := time.Since(began)
			if t.charged {
				time.Sleep(lastWork)
			}
			after, err := t.of.usage(ctx)
			if err != nil {
				return nil, err
			}
			slices.Sort(times)
			if now, _, err := t.of.resident(); err == nil { // if this fails, the maximum is used
				after.RSS = now
			}
			n := float64(len(times))
			m := figures{
				rate: n / took.Seconds(), p50: times[len(times)/2], p99: times[len(times)*99/100], rss: after.RSS,
				cpu: (after.CPU - before.CPU - idle[i]).Seconds() * 1000 / n, allocs: float64(after.Allocs-before.Allocs) / n,
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
	return figures{
		rate: max(a.rate, b.rate), cpu: min(a.cpu, b.cpu), allocs: min(a.allocs, b.allocs),
		p50: min(a.p50, b.p50), p99: min(a.p99, b.p99), rss: max(a.rss, b.rss),
	}
}
