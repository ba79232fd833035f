package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/uimgate/uimgate/config"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// paid measures calls that charge, through complete gateways on each engine: one that adds receipts to its responses, and one that does
// not. Each gateway has its own database.
func paid(ctx context.Context, p plan) (err error) {
	type engine struct{ name, store, other string }
	engines := []engine{{"sqlite", "sqlite", "sqlite"}}
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
		var databases [2]string
		for i := range databases {
			if databases[i], err = server.CreateDatabase(ctx, ""); err != nil {
				return err
			}
		}
		engines = append(engines, engine{"postgres", server.DSN(databases[0]), server.DSN(databases[1])})
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
		report := func(connections int, name string, m figures, proxy float64) {
			fmt.Fprintf(table, "%s\t%d\t%s\t%.0f\t%s\t%s\t%.4f\t%.2f\t\n", engine.name, connections, name, m.rate,
				m.p50.Round(10*time.Microsecond), m.p99.Round(10*time.Microsecond), m.cpu, m.cpu/proxy)
		}
		if err := paidOn(ctx, p, up.addresses.Upstream, proxy, engine.store, engine.other, report); err != nil {
			return fmt.Errorf("%s: %w", engine.name, err)
		}
	}
	return table.Flush()
}

// paidOn measures gateways on two databases of one engine. The one on the database other adds no receipts.
func paidOn(
	ctx context.Context, p plan, upstream string, proxy *child, store, other string,
	report func(connections int, name string, m figures, proxy float64),
) error {
	gate, agents, err := startGateway(ctx, p, upstream, storeVariable+"="+store, priceVariable+"=0.01")
	if err != nil {
		return err
	}
	defer gate.stop()
	bare, others, err := startGateway(ctx, p, upstream, storeVariable+"="+other, priceVariable+"=0.01",
		receiptsVariable+"="+string(config.ReceiptsOff), profileVariable+"=") // the other gateway writes the profile
	if err != nil {
		return err
	}
	defer bare.stop()
	const path = "/api/intents/execute"
	execute, call := gate.addresses.Gateway+path, callOf("declared", sizes[0].products)
	targets := []target{
		{
			name: "plain proxy", url: fmt.Sprintf("%s/products/%d", proxy.addresses.Proxy, sizes[0].products), body: call,
			of: proxy, mayBreak: true,
		},
		{name: "paid", url: execute, body: call, of: gate},
		{name: "paid, receipts off", url: bare.addresses.Gateway + path, body: call, of: bare, agents: others},
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
