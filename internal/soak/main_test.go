// Package soak tests whole gateways, as processes, under load and with faults: they are killed, stopped, disconnected
// from their store, given a wrong clock, reloaded, backed up. Meanwhile agents call, pay, repeat and revoke, and record what
// they sent and the answers; some come by the uAgents protocol and the AEA framework. The upstream records what reached it.
// Relays of messages are killed, too, between what agents send and what they are given.
// Afterwards judges compare these logs and the records in the store. No result depends on speed: a judge uses only the times in
// the logs, and each time only as the bound it is.
//
//	make soak                          # every test for a minute
//	go test ./internal/soak            # a few seconds each, longer on a slow machine: until enough has happened
//	go test -tags soak -v -run SQLite ./internal/soak
package soak

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		if err := runGateway(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if place := os.Getenv(relayVariable); place != "" {
		if err := runRelay(place); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
