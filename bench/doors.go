package main

import (
	"context"
	"fmt"
	"time"
)

// doors measures the same call over each protocol, with declared outputs. A2A stores each call under the message id, uAgents under the
// envelope, and AEA under the message, as HTTP does for a call with an idempotency key.
func doors(ctx context.Context, p plan) error {
	gate, agents, stop, err := startServed(ctx, p)
	if err != nil {
		return err
	}
	defer stop()
	if err := agreeInEnvelopes(ctx, agents, gate.addresses); err != nil {
		return err
	}
	var uids []string
	for _, size := range p.sizes {
		uids = append(uids, uidOf("declared", size.products))
	}
	if err := negotiate(ctx, agents, gate.addresses, uids); err != nil {
		return err
	}
	ec, err := curve()
	if err != nil {
		return err
	}
	execute, mcp, a2a := gate.addresses.Gateway+"/api/intents/execute", gate.addresses.Gateway+"/mcp", gate.addresses.Gateway+"/a2a"
	table := newTable("answer\tconnections\t\tcalls/s\tp50\tp99\tCPU s/1000\tx HTTP\tallocations\t")
	for _, size := range p.sizes {
		uid, body := uidOf("declared", size.products), callOf("declared", size.products)
		tool := fmt.Sprintf("declared-%d_v1", size.products)
		targets := []target{
			{name: "HTTP", url: execute, body: body, of: gate},
			{name: "MCP 2025-11-25", url: mcp, body: toolCallOf(tool, ""), of: gate, header: map[string]string{
				"MCP-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream",
			}},
			{name: "MCP 2026-07-28", url: mcp, body: toolCallOf(tool, metaOf2026), of: gate, header: map[string]string{
				"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
				"Accept": "application/json, text/event-stream",
			}},
			{name: "HTTP, with a key", url: execute, body: body, of: gate, keyed: true},
			{name: "A2A 1.0", url: a2a, body: messageOf("declared", size.products), of: gate, keyed: true, header: map[string]string{
				"A2A-Version": "1.0",
			}},
			{name: "uAgents", body: body, of: gate, keyed: true, uid: uid, way: inEnvelopes},
			{name: "AEA, tcp", body: body, of: gate, keyed: true, uid: uid, way: inMessages},
		}
		for _, connections := range p.connections {
			best, err := compare(ctx, targets, agents, connections, p.rounds, max(2*connections, p.calls/size.rarer))
			if err != nil {
				return err
			}
			for i, m := range best {
				fmt.Fprintf(table, "%s\t%d\t%s\t%.0f\t%s\t%s\t%.4f\t%s\t%.0f\t\n", size.name, connections, targets[i].name, m.rate,
					m.p50.Round(time.Microsecond), m.p99.Round(time.Microsecond), m.cpu, besideHTTP(targets, best, i), m.allocs)
				if targets[i].name == "uAgents" {
					fmt.Fprintf(table, "\t\t without the curve\t\t\t\t%.4f\t%.2f (%.2f with a key)\t\t\n", m.cpu-ec, (m.cpu-ec)/best[0].cpu,
						(m.cpu-ec)/best[kept].cpu)
				}
			}
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Printf("The elliptic curve takes %.4f CPU s for 1,000 envelopes: one is verified, one signed.\n", ec)
	return nil
}

// besideHTTP returns the CPU time of a call as a multiple of that of the same call over HTTP. For a stored call, it also returns the
// multiple of an HTTP call with an idempotency key.
func besideHTTP(targets []target, measured []figures, i int) string {
	ratio := measured[i].cpu / measured[0].cpu
	if i == kept || !targets[i].keyed {
		return fmt.Sprintf("%.2f", ratio)
	}
	return fmt.Sprintf("%.2f (%.2f with a key)", ratio, measured[i].cpu/measured[kept].cpu)
}

// kept is the index of the HTTP call with an idempotency key among the targets.
const kept = 3

// messageOf returns a message that calls an intent. The message id is the idempotency key of the call, so the call is stored.
func messageOf(kind string, products int) string {
	return `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"KEY","role":"ROLE_USER","parts":[` +
		`{"data":` + callOf(kind, products) + `,"mediaType":"application/json"}]}}}`
}

const metaOf2026 = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func toolCallOf(tool, meta string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool +
		`","arguments":{"query":"lamp","category":"home","max_price":99.5,"page":2}` + meta + `}}`
}
