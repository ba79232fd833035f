package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/internal/limit"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/lease"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// grantCallers is the number of concurrent callers per replica, and grantTime the duration of a measurement.
const (
	grantCallers = 16
	grantTime    = 2 * time.Second
)

// grants measures how fast units of one limit of one agent are granted: for rolling limits, whose units replicas lease, and for a lifetime
// limit, which takes a transaction for each unit.
func grants(ctx context.Context, p plan) (err error) {
	dir, err := os.MkdirTemp("", "uimgate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	table := newTable("engine\treplicas\tlimit\tgrants/s\tround trips/1000\t")
	measure := func(engine string, replicas int, dsn string, trips *atomic.Int64) error {
		for _, period := range []limit.Period{limit.Second, limit.Hour, limit.Lifetime} {
			var best float64
			var request string
			for range p.rounds {
				rate, perThousand, err := grantsOn(ctx, dsn, replicas, period, trips)
				if err != nil {
					return err
				}
				if rate > best {
					best, request = rate, fmt.Sprintf("%.2f", perThousand)
				}
			}
			if trips == nil {
				request = "none: in process"
			}
			fmt.Fprintf(table, "%s\t%d\tper %s\t%.0f\t%s\t\n", engine, replicas, period, best, request)
		}
		return nil
	}
	if err := measure("sqlite", 1, filepath.Join(dir, "state.db"), nil); err != nil {
		return err
	}
	server, err := pgtest.New(ctx, nil)
	if errors.Is(err, pgtest.ErrNotInstalled) {
		fmt.Fprintln(os.Stderr, err)
		return table.Flush()
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for _, replicas := range []int{1, 3} {
		name, err := server.CreateDatabase(ctx, "")
		if err != nil {
			return err
		}
		proxy, dsn, err := newCountedProxy(ctx, server, name)
		if err != nil {
			return err
		}
		err = measure("postgres", replicas, dsn, &proxy.trips)
		if err = errors.Join(err, proxy.listener.Close()); err != nil {
			return err
		}
	}
	return table.Flush()
}

// grantsOn lets several replicas on one database admit calls for grantTime. It returns how many calls were admitted per second, and how
// many round trips to the database were counted in trips per 1,000 calls; trips is nil if round trips are not counted.
func grantsOn(
	ctx context.Context, dsn string, replicas int, period limit.Period, trips *atomic.Int64,
) (perSecond, tripsPerThousand float64, err error) {
	request := store.BeginRequest{
		Execution: store.Execution{Service: "s", AgentID: "a"},
		Limits: []store.Reservation{{
			Principal: "a",
			Limit:     limit.Limit{ID: "0123456789abcdef", Rate: limit.Rate{Max: limit.MaxCount, Period: period}},
		}},
		Candidates: []store.Candidate{{Rule: "r"}},
		Hold:       time.Minute,
	}
	holders := make([]*lease.Holder, replicas)
	for i := range holders {
		s, err := sqlstore.Open(ctx, dsn, sqlstore.Options{Now: time.Now})
		if err != nil {
			return 0, 0, err
		}
		defer s.Close() //nolint:errcheck // the database is discarded
		holders[i] = lease.New(s, lease.Options{Now: time.Now, Sole: replicas == 1 && trips == nil})
		defer holders[i].Close() //nolint:errcheck,contextcheck // the database is discarded, and closing takes time
		if _, err := holders[i].Begin(ctx, request); err != nil {
			return 0, 0, err
		}
	}
	var granted atomic.Int64
	var before int64
	if trips != nil {
		before = trips.Load()
	}
	began := time.Now()
	var group errgroup.Group
	for _, h := range holders {
		for range grantCallers {
			group.Go(func() error {
				for time.Since(began) < grantTime {
					if _, err := h.Begin(ctx, request); err != nil {
						return err
					}
					granted.Add(1)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return 0, 0, err
	}
	took := time.Since(began)
	if trips != nil {
		tripsPerThousand = float64(trips.Load()-before) * 1000 / float64(granted.Load())
	}
	return float64(granted.Load()) / took.Seconds(), tripsPerThousand, nil
}

// A countedProxy forwards connections to a database and counts the bursts of bytes sent to it. Each burst is a round trip, because the
// client waits for a response after it.
type countedProxy struct {
	listener net.Listener
	socket   string
	trips    atomic.Int64
}

func newCountedProxy(ctx context.Context, server *pgtest.Cluster, database string) (*countedProxy, string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	w := &countedProxy{listener: ln, socket: server.Socket()}
	go w.serve()
	u, err := url.Parse(server.DSN(database))
	if err != nil {
		return nil, "", err
	}
	u.Host, u.RawQuery = ln.Addr().String(), "sslmode=disable"
	return w, u.String(), nil
}

// serve forwards connections until the listener is closed.
func (w *countedProxy) serve() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := net.Dial("unix", w.socket)
			if err != nil {
				return
			}
			defer server.Close()
			go func() {
				defer client.Close()
				_, _ = io.Copy(client, server)
			}()
			_, _ = io.Copy(server, countedReader{client, &w.trips})
		}()
	}
}

// A countedReader counts the reads that return bytes.
type countedReader struct {
	io.Reader
	n *atomic.Int64
}

func (c countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if n > 0 {
		c.n.Add(1)
	}
	return n, err
}
