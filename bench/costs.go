package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// micros is a time in microseconds.
type micros float64

func (m micros) seconds() float64 { return float64(m) / 1e6 }

func microsOf(d time.Duration) micros { return micros(float64(d) / float64(time.Microsecond)) }

// costs are the measured costs of the steps of a call, all in microseconds: CPU times, except Wait and Flush.
type costs struct {
	Client   micros `json:"client"`   // of the agent, for each call
	Gateway  micros `json:"gateway"`  // of the gateway, for each call, without its transactions
	Upstream micros `json:"upstream"` // of the service, for each call
	Wait     micros `json:"wait"`     // the time of a call that is not CPU time: the network, and until the system runs a process

	Lanes       int        `json:"lanes"` // writers of calls in a gateway process
	Batch       int        `json:"batch"` // the most operations in a transaction
	Gatewayside sharedCost `json:"transaction_gateway"`
	Serverside  sharedCost `json:"transaction_server"`
	Flush       []micros   `json:"flush"` // quantiles of the time that a transaction takes in addition to its CPU times
}

// A sharedCost is the cost of a transaction: one part for the transaction, and one for each operation in it. A paid call has two
// operations.
type sharedCost struct {
	Transaction micros `json:"transaction"`
	Operation   micros `json:"operation"`
}

// of returns the cost of a transaction in seconds.
func (c sharedCost) of(operations int) float64 {
	return (c.Transaction + micros(operations)*c.Operation).seconds()
}

// The writers of the store on PostgreSQL, and how many operations share one of its transactions.
const (
	postgresLanes = 4
	postgresBatch = 256
)

func readCosts(path string) (*costs, error) {
	if path == "" {
		return nil, errors.New("-costs FILE is required")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c costs
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.Lanes < 1 || c.Batch < 1 {
		return nil, fmt.Errorf("%s: lanes and batch must be positive", path)
	}
	return &c, nil
}

// measureCosts measures the costs on this machine, and writes them to p.costs.
func measureCosts(ctx context.Context, p plan) (err error) {
	if p.costs == "" {
		return errors.New("-costs FILE is required")
	}
	server, err := pgtest.New(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	c := &costs{Lanes: postgresLanes, Batch: postgresBatch}
	if err := c.measureCalls(ctx, server, p); err != nil {
		return err
	}
	if err := c.measureFlush(ctx, server, p.rounds); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return os.WriteFile(p.costs, append(text, '\n'), 0o600)
}

// measureCalls measures calls of one gateway: free ones, and paid ones that share transactions with few and with many others.
func (c *costs) measureCalls(ctx context.Context, server *pgtest.Cluster, p plan) error {
	const few, many = 4, 64
	var best [4]sample
	for i, m := range []struct {
		price        string
		loops, calls int
	}{{"", 1, p.calls / 4}, {"", 16, p.calls}, {"0.01", few, p.calls / 10}, {"0.01", many, p.calls / 4}} {
		s, err := startSite(ctx, server, p.agents, 1, 0, m.price)
		if err != nil {
			return err
		}
		for range p.rounds {
			var got sample
			if got, err = s.measure(ctx, m.loops, m.calls); err != nil {
				break
			}
			best[i].keep(got)
		}
		if err := errors.Join(err, s.stop()); err != nil {
			return err
		}
	}
	alone, free, apart, together := best[0], best[1], best[2], best[3]
	c.Client, c.Gateway, c.Upstream = free.client, free.gateway, free.upstream
	c.Wait = max(0, microsOf(alone.p50)-c.Client-c.Gateway-c.Upstream)
	// A call costs x for each of its transactions, and y for each of its two operations.
	fit := func(apartCosts, togetherCosts micros) sharedCost {
		x := max(0, (apartCosts-togetherCosts)/micros(apart.transactions-together.transactions))
		return sharedCost{x, max(0, togetherCosts-x*micros(together.transactions)) / 2}
	}
	c.Gatewayside, c.Serverside = fit(apart.gateway-free.gateway, together.gateway-free.gateway), fit(apart.server, together.server)
	return nil
}

// storeTime is how long transactions are measured in each round.
const storeTime = time.Second

const flushQuantiles = 50

// measureFlush measures consecutive transactions of one paid call each, and subtracts their CPU times.
func (c *costs) measureFlush(ctx context.Context, server *pgtest.Cluster, rounds int) error {
	var best []time.Duration
	for range rounds {
		times, err := transactionTimes(ctx, server)
		if err != nil {
			return err
		}
		if best == nil || times[len(times)/2] < best[len(best)/2] {
			best = times
		}
	}
	cpu := c.Gatewayside.Transaction + c.Gatewayside.Operation + c.Serverside.Transaction + c.Serverside.Operation
	for i := range flushQuantiles {
		c.Flush = append(c.Flush, max(0, microsOf(best[(2*i+1)*len(best)/(2*flushQuantiles)])-cpu))
	}
	return nil
}

// transactionTimes returns how long transactions take, sorted.
func transactionTimes(ctx context.Context, server *pgtest.Cluster) (times []time.Duration, err error) {
	database, err := server.CreateDatabase(ctx, "")
	if err != nil {
		return nil, err
	}
	s, err := sqlstore.Open(ctx, server.DSN(database), sqlstore.Options{Now: time.Now})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	credit := money.Amount{Nano: 1 << 60, Currency: "USD"}
	for n, end := 0, time.Now().Add(storeTime); time.Now().Before(end); n++ {
		began := time.Now()
		admission, err := s.Begin(ctx, store.BeginRequest{
			Execution:  store.Execution{ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", n), Service: "s", AgentID: "a", Intent: "i"},
			Limits:     []store.Reservation{{Principal: "a", Limit: hourly}},
			Candidates: []store.Candidate{{Rule: "r", Charge: money.Amount{Nano: 1, Currency: "USD"}}},
			Billing:    store.Billing{Credit: credit}, Hold: time.Minute,
		})
		if err != nil {
			return nil, err
		}
		begun := time.Now()
		if _, err = s.Settle(ctx, admission, store.Settlement{State: store.Captured, Outcome: store.Done}); err != nil {
			return nil, err
		}
		times = append(times, begun.Sub(began), time.Since(begun))
	}
	slices.Sort(times)
	return times, nil
}
