package main

import (
	"context"
	"fmt"
	"time"
)

// sizes are the answers of the service, by how many products they hold; a large one is asked for less often.
var sizes = []struct {
	name     string
	products int
	rarer    int
}{
	{"0.5 kB", 4, 1},
	{"20 kB", 170, 4},
	{"1 MB", 8700, 100},
}

// path measures free calls beside the plain reverse proxy.
func path(ctx context.Context, p plan) error {
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
	gate, tokens, err := startGateway(ctx, p, up.addresses.Upstream)
	if err != nil {
		return err
	}
	defer gate.stop()
	execute := gate.addresses.Gateway + "/api/intents/execute"
	table := newTable("answer\tconnections\t\tcalls/s\tp50\tp99\tCPU s/1000\tx proxy\tRSS\t")
	for _, size := range sizes {
		targets := []target{
			{"plain proxy", fmt.Sprintf("%s/products/%d", proxy.addresses.Proxy, size.products), callOf("passed", size.products), proxy, true},
			{"passed on", execute, callOf("passed", size.products), gate, false},
			{"declared", execute, callOf("declared", size.products), gate, false},
		}
		for _, connections := range []int{1, 16, 64} {
			best, err := compare(ctx, targets, tokens, connections, p.rounds, max(2*connections, p.calls/size.rarer))
			if err != nil {
				return err
			}
			for i, m := range best {
				fmt.Fprintf(table, "%s\t%d\t%s\t%.0f\t%s\t%s\t%.4f\t%.2f\t%d MiB\t\n", size.name, connections, targets[i].name, m.rate,
					m.p50.Round(time.Microsecond), m.p99.Round(time.Microsecond), m.cpu, m.cpu/best[0].cpu, m.rss>>20)
			}
		}
	}
	return table.Flush()
}
