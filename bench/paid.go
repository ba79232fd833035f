package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/uimgate/uimgate/store/storetest/pgtest"
)

// paid measures calls that charge, through a whole gateway on each engine.
func paid(ctx context.Context, p plan) (err error) {
	engines := []struct{ name, store string }{{"sqlite", "sqlite"}}
	server, err := pgtest.New(ctx, nil)
	switch {
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
	table := newTable("engine\tconnections\tpaid calls/s\tp50\tp99\tCPU s/1000\t")
	for _, engine := range engines {
		if err := paidOn(ctx, p, up.addresses.Upstream, engine.store, func(connections int, m figures) {
			fmt.Fprintf(table, "%s\t%d\t%.0f\t%s\t%s\t%.4f\t\n", engine.name, connections, m.rate, m.p50.Round(10*time.Microsecond),
				m.p99.Round(10*time.Microsecond), m.cpu)
		}); err != nil {
			return fmt.Errorf("%s: %w", engine.name, err)
		}
	}
	return table.Flush()
}

func paidOn(ctx context.Context, p plan, upstream, store string, report func(connections int, m figures)) error {
	gate, tokens, err := startGateway(ctx, p, upstream, storeVariable+"="+store, priceVariable+"=0.01")
	if err != nil {
		return err
	}
	defer gate.stop()
	paid := []target{{"paid", gate.addresses.Gateway + "/api/intents/execute", callOf("declared", sizes[0].products), gate, false}}
	for _, connections := range p.connections {
		// Fewer calls where no other call shares a flush of the disk.
		calls := max(100, min(p.calls/10, p.calls*connections/160))
		best, err := compare(ctx, paid, tokens, connections, p.rounds, calls)
		if err != nil {
			return err
		}
		report(connections, best[0])
	}
	return nil
}
