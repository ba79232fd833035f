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

// paid measures calls that charge, through complete gateways on each engine: one that adds receipts to its responses, one that does not,
// and one for calls with a proof of key. Each gateway has its own database: a shared one would be larger, and the calls of one row would
// leave work for the next.
func paid(ctx context.Context, p plan) (err error) {
	type engine struct {
		name   string
		stores [len(paidRows)]string
	}
	engines := []engine{{"sqlite", [...]string{"sqlite", "sqlite", "sqlite"}}}
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
		var stores [len(paidRows)]string
		for i := range stores {
			database, err := server.CreateDatabase(ctx, "")
			if err != nil {
				return err
			}
			stores[i] = server.DSN(database)
		}
		engines = append(engines, engine{"postgres", stores})
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
		if err := paidOn(ctx, p, up.addresses.Upstream, proxy, engine.stores, report); err != nil {
			return fmt.Errorf("%s: %w", engine.name, err)
		}
	}
	return table.Flush()
}

// paidRows are the gateways that paid measures.
var paidRows = [...]struct {
	name     string
	receipts config.Receipts
	proved   bool
}{
	{name: "paid", receipts: config.ReceiptsCharged},
	{name: "paid, receipts off", receipts: config.ReceiptsOff},
	{name: "paid, proved", receipts: config.ReceiptsCharged, proved: true},
}

// paidOn measures a gateway for each row of paidRows, each on its own store.
func paidOn(
	ctx context.Context, p plan, upstream string, proxy *child, stores [len(paidRows)]string,
	report func(connections int, name string, m figures, proxy float64),
) error {
	call := callOf("declared", sizes[0].products)
	targets := []target{{
		name: "plain proxy", url: fmt.Sprintf("%s/products/%d", proxy.addresses.Proxy, sizes[0].products), body: call,
		of: proxy, mayBreak: true,
	}}
	var agents []agent // of the last gateway
	for i, row := range paidRows {
		settings := []string{storeVariable + "=" + stores[i], priceVariable + "=0.01", receiptsVariable + "=" + string(row.receipts)}
		if i > 0 {
			settings = append(settings, profileVariable+"=") // the first gateway writes the profile
		}
		gate, own, err := startGateway(ctx, p, upstream, settings...)
		if err != nil {
			return err
		}
		defer gate.stop()
		agents = own
		targets = append(targets, target{
			name: row.name, url: gate.addresses.Gateway + "/api/intents/execute", body: call, of: gate, agents: own, charged: true,
			proved: row.proved,
		})
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
