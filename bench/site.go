package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/internal/limit"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// adminToken is the token of the operator at the gateways of this program.
const adminToken = "bench-admin-token-0123456789abcdef"

// hourly is a limit that is never reached.
var hourly = limit.Limit{ID: "hourly", Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}}

// A site is a service with several gateways in front of it, on one PostgreSQL database. Each agent calls one of the gateways only, as
// behind a load balancer that keeps the agents of an address together.
type site struct {
	server   *pgtest.Cluster
	database string
	up       *child
	gates    []*child
	agents   [][]agent // of each gateway; all are approved
}

// startSite starts a site with the given number of gateways. All calls cost price, or nothing if it is empty.
func startSite(ctx context.Context, server *pgtest.Cluster, agents, gateways int, delay time.Duration, price string) (_ *site, err error) {
	database, err := server.CreateDatabase(ctx, "")
	if err != nil {
		return nil, err
	}
	s := &site{server: server, database: database, agents: make([][]agent, gateways)}
	if s.up, err = start(ctx, roleUpstream, "", delayVariable+"="+delay.String()); err != nil {
		return nil, err
	}
	for range gateways {
		g, err := start(ctx, roleGateway, s.up.addresses.Upstream, storeVariable+"="+server.DSN(database), priceVariable+"="+price)
		if err != nil {
			return nil, errors.Join(err, s.stop())
		}
		s.gates = append(s.gates, g)
	}
	all, err := agree(ctx, s.gates[0].addresses.Gateway, max(agents, gateways))
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	for i, a := range all {
		path := s.gates[0].addresses.Admin + "/admin/v1/agents/" + a.name + "/approve"
		if _, err := fetchWith(ctx, http.MethodPost, path, http.Header{"Authorization": {"Bearer " + adminToken}}, nil); err != nil {
			return nil, errors.Join(err, s.stop())
		}
		s.agents[i%gateways] = append(s.agents[i%gateways], a)
	}
	_, err = s.measure(ctx, 4*gateways, 400) // until connections and caches are warm, and all gateways have read the approvals
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *site) stop() error {
	for _, c := range append(s.gates, s.up) {
		c.stop()
	}
	return nil
}

// A sample is a measurement of calls: the CPU time of each part and the transactions for a call, calls per second, how long calls took, and
// how many processors all parts together have used.
type sample struct {
	client, gateway, upstream, server micros
	transactions                      float64
	rate                              float64
	p50, p99                          time.Duration
	processors                        float64
}

// keep keeps the better of two measurements: noise only makes values worse.
func (s *sample) keep(other sample) {
	if other.rate > s.rate {
		*s = other
	}
}

// counters are the values that a measurement reads at its beginning and at its end.
type counters struct {
	client, gateway, upstream, server time.Duration
	transactions                      int64
}

func (s *site) counters(ctx context.Context) (c counters, err error) {
	for _, g := range s.gates {
		u, err := g.usage(ctx)
		if err != nil {
			return c, err
		}
		c.gateway += u.CPU
	}
	u, err := s.up.usage(ctx)
	if err != nil {
		return c, err
	}
	c.upstream = u.CPU
	if c.server, err = s.server.CPU(); err != nil {
		return c, err
	}
	c.client = currentUsage().CPU
	const witnesses = "SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM sequences WHERE name LIKE 'witness:%:%'" // each transaction adds 1
	c.transactions, err = s.server.Number(ctx, s.database, witnesses)
	return c, err
}

// measure makes calls in closed loops, which it divides among the gateways.
func (s *site) measure(ctx context.Context, loops, calls int) (sample, error) {
	before, err := s.counters(ctx)
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	var mu sync.Mutex
	var times []time.Duration
	group, running := errgroup.WithContext(ctx)
	for i, g := range s.gates {
		n := loops/len(s.gates) + min(1, max(0, loops%len(s.gates)-i))
		if n == 0 {
			continue
		}
		t := target{name: "calls", url: g.addresses.Gateway + "/api/intents/execute", body: callOf("declared", sizes[0].products), of: g}
		group.Go(func() error {
			took, err := load(running, t, s.agents[i], n, calls*n/loops)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, took...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return sample{}, err
	}
	wall := time.Since(began)
	after, err := s.counters(ctx)
	if err != nil {
		return sample{}, err
	}
	slices.Sort(times)
	n := len(times)
	each := func(before, after time.Duration) micros { return microsOf(after-before) / micros(n) }
	got := sample{
		client: each(before.client, after.client), gateway: each(before.gateway, after.gateway), upstream: each(before.upstream, after.upstream),
		server: each(before.server, after.server), transactions: float64(after.transactions-before.transactions) / float64(n),
		rate: float64(n) / wall.Seconds(), p50: times[n/2], p99: times[n*99/100],
	}
	got.processors = (got.client + got.gateway + got.upstream + got.server).seconds() * got.rate
	return got, nil
}
