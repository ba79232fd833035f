package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// paid measures calls that charge, through a complete gateway on each engine.
func paid(ctx context.Context, p plan) (err error) {
	engines := []struct{ name, store string }{{"sqlite", "sqlite"}}
	var server *pgtest.Cluster
	if !p.sqliteOnly {
		server, err = pgtest.New(ctx, nil)
	}
	switch {
	case p.sqliteOnly:
	case errors.Is(err, pgtest.ErrNotInstalled):
		fmt.Fprintln(os.Stderr, err)
	case err != nil:
		return err
	default:
		defer func() { err = errors.Join(err, server.Close()) }()
		name, err := server.CreateDatabase(ctx, "")
		if err != nil {
			return err
		}
		engines = append(engines, struct{ name, store string }{"postgres", server.DSN(name)})
	}
	up, err := start(ctx, roleUpstream, "")
	if err != nil {
		return err
	}
	defer up.stop()
	proxy, err := start(ctx, roleProxy, up.addresses.Upstream)
	if err != nil {
		return err
	}
	defer proxy.stop()
	table := newTable("engine\tconnections\t\tcalls/s\tp50\tp99\tCPU s/1000\tx proxy\t")
	for _, engine := range engines {
		if err := paidOn(ctx, p, up.addresses.Upstream, proxy, engine.store, func(connections int, name string, m figures, proxy float64) {
			fmt.Fprintf(table, "%s\t%d\t%s\t%.0f\t%s\t%s\t%.4f\t%.2f\t\n", engine.name, connections, name, m.rate,
				m.p50.Round(10*time.Microsecond), m.p99.Round(10*time.Microsecond), m.cpu, m.cpu/proxy)
		}); err != nil {
			return fmt.Errorf("%s: %w", engine.name, err)
		}
	}
	return table.Flush()
}

func paidOn(
	ctx context.Context, p plan, upstream string, proxy *child, store string,
	report func(connections int, name string, m figures, proxy float64),
) error {
	gate, agents, err := startGateway(ctx, p, upstream, storeVariable+"="+store, priceVariable+"=0.01")
	if err != nil {
		return err
	}
	defer gate.stop()
	execute, call := gate.addresses.Gateway+"/api/intents/execute", callOf("declared", sizes[0].products)
	targets := []target{
		{
			name: "plain proxy", url: fmt.Sprintf("%s/products/%d", proxy.addresses.Proxy, sizes[0].products), body: call,
			of: proxy, mayBreak: true,
		},
		{name: "paid", url: execute, body: call, of: gate},
		{name: "paid, proved", url: execute, body: call, of: gate, proved: true},
	}
	for _, connections := range p.connections {
		// With few connections, make fewer calls: they do not share flushes of the disk.
		calls := max(100, min(p.calls/10, p.calls*connections/160))
		best, err := compare(ctx, targets, agents, connections, p.rounds, calls)
		if err != nil {
			return err
		}
		for i, m := range best {
			report(connections, targets[i].name, m, best[0].cpu)
		}
	}
	return nil
}
