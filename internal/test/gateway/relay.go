package gatetest

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"sync"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/store/sqlmail"
)

// RelaySettings are the block of a relay of MRP that lets tests send as much as they like.
const RelaySettings = "mrp_relay: {listen: '127.0.0.1:0', sends_per_minute: 1000000, polls_per_minute: 1000000, requests_per_minute: 1000000," +
	" new_agents_per_hour: 1000000}\n"

// runRelay runs a relay until the test ends. Its goroutines use the relay itself and never the field of Gate, which a test may set.
func (g *Gate) runRelay(set *config.MRPRelay) {
	own, err := relay.New(relay.Options{
		Store: sqlmail.New(g.Store, sqlmail.Options{MaxAgents: int64(set.Agents)}), Blobs: filepath.Join(g.dir, "blobs"), Now: g.Store.Now,
		Limits: relay.Limits{Sends: set.Sends, Polls: set.Polls, Others: set.Others}, Log: g.Log,
	})
	g.Must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(g.Context()))
	var running sync.WaitGroup
	running.Go(func() { own.Run(ctx) })
	server := httptest.NewServer(own)
	g.Relay, g.RelayURL = own, server.URL
	g.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
	})
}
