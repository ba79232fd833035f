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

// runRelay runs the relay of the process until the test ends.
func (g *Gate) runRelay(set *config.MRPRelay) {
	var err error
	g.Relay, err = relay.New(relay.Options{
		Store: sqlmail.New(g.Store, sqlmail.Options{MaxAgents: int64(set.Agents)}), Blobs: filepath.Join(g.dir, "blobs"), Now: g.Store.Now,
		Limits: relay.Limits{Sends: set.Sends, Polls: set.Polls, Others: set.Others}, Log: g.Log,
	})
	g.Must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(g.Context()))
	var running sync.WaitGroup
	running.Go(func() { g.Relay.Run(ctx) })
	server := httptest.NewServer(g.Relay)
	g.RelayURL = server.URL
	g.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
	})
}
