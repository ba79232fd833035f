package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const roleCollector = "collector"

// traced measures free calls without telemetry and with traces, as multiples of the CPU time without telemetry: the median of the ratios of
// all rounds. The differences are small, and the best rounds of two gateways would come from different times. Two gateways without
// telemetry show how far equal gateways differ in this run; the ratios refer to the mean of both.
func traced(ctx context.Context, p plan) error {
	up, err := start(ctx, roleUpstream, "")
	if err != nil {
		return err
	}
	defer up.stop()
	sink, err := start(ctx, roleCollector, "")
	if err != nil {
		return err
	}
	defer sink.stop()
	var targets []target
	for _, gate := range []struct {
		name  string
		oneIn int
	}{{"off", 0}, {"off again", 0}, {"none sampled", 1_000_000}, {"1 %", 100}, {"100 %", 1}} {
		traces := ""
		if gate.oneIn > 0 {
			traces = "endpoint: " + sink.addresses.Collector + ", sample_one_in: " + strconv.Itoa(gate.oneIn)
		}
		process, agents, err := startGateway(ctx, p, up.addresses.Upstream, tracesVariable+"="+traces)
		if err != nil {
			return err
		}
		defer process.stop()
		targets = append(targets, target{
			name: gate.name, url: process.addresses.Gateway + "/api/intents/execute", body: callOf("passed", sizes[0].products), of: process,
			agents: agents,
		})
	}
	table := newTable("traces\tconnections\tcalls/s\tp50\tp99\tCPU s/1000\tx off\tallocations\tRSS\t")
	for _, connections := range p.connections {
		best, ratios := make([]figures, len(targets)), make([][]float64, len(targets))
		for n := range p.rounds {
			first := n % len(targets) // each gateway has each place in a round equally often
			order := slices.Concat(targets[first:], targets[:first])
			round, err := compare(ctx, order, nil, connections, 1, max(2*connections, p.calls))
			if err != nil {
				return err
			}
			round = slices.Concat(round[len(round)-first:], round[:len(round)-first])
			for i, m := range round {
				best[i] = better(best[i], m)
				ratios[i] = append(ratios[i], 2*m.cpu/(round[0].cpu+round[1].cpu))
			}
		}
		for i, m := range best {
			slices.Sort(ratios[i])
			fmt.Fprintf(table, "%s\t%d\t%.0f\t%s\t%s\t%.4f\t%.3f\t%.1f\t%d MiB\t\n", targets[i].name, connections, m.rate,
				m.p50.Round(time.Microsecond), m.p99.Round(time.Microsecond), m.cpu, ratios[i][len(ratios[i])/2], m.allocs, m.rss>>20)
		}
	}
	return table.Flush()
}

// runCollector accepts all telemetry, and drops it.
func runCollector(ctx context.Context) error {
	ln, origin, err := listen(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	})
	if err := ready(addresses{Collector: origin}); err != nil {
		return err
	}
	return serveUntil(ctx, &http.Server{ReadHeaderTimeout: time.Minute, Handler: mux}, ln)
}
