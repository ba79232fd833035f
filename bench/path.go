package main

import (
	"context"
	"fmt"
	"time"
)

// A size is the size of a response in products. Responses of this size are requested less often, by the factor rarer.
type size struct {
	name     string
	products int
	rarer    int
}

var sizes = []size{{"0.5kB", 4, 1}, {"20kB", 170, 4}, {"1MB", 8700, 100}}

// path measures free calls, and compares them with the plain reverse proxy.
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
	gate, agents, err := startGateway(ctx, p, up.addresses.Upstream)
	if err != nil {
		return err
	}
	defer gate.stop()
	execute := gate.addresses.Gateway + "/api/intents/execute"
	table := newTable("answer\tconnections\t\tcalls/s\tp50\tp99\tCPU s/1000\tx proxy\tallocations\tRSS\t")
	for _, size := range p.sizes {
		plain := fmt.Sprintf("%s/products/%d", proxy.addresses.Proxy, size.products)
		targets := []target{
			{name: "plain proxy", url: plain, body: callOf("passed", size.products), of: proxy, mayBreak: true},
			{name: "passed on", url: execute, body: callOf("passed", size.products), of: gate},
			{name: "declared", url: execute, body: callOf("declared", size.products), of: gate},
		}
		for _, connections := range p.connections {
			best, err := compare(ctx, targets, agents, connections, p.rounds, max(2*connections, p.calls/size.rarer))
			if err != nil {
				return err
			}
			for i, m := range best {
				fmt.Fprintf(table, "%s\t%d\t%s\t%.0f\t%s\t%s\t%.4f\t%.2f\t%.0f\t%d MiB\t\n", size.name, connections, targets[i].name, m.rate,
					m.p50.Round(time.Microsecond), m.p99.Round(time.Microsecond), m.cpu, m.cpu/best[0].cpu, m.allocs, m.rss>>20)
			}
		}
	}
	return table.Flush()
}
