// Package soak tests complete gateway processes under load and with faults: they are killed, stopped, disconnected from their store, run
// with a wrong clock, reloaded and backed up. In the meantime agents call, pay, retry and revoke, and record their requests and the
// responses; some of them use the uAgents protocol or the AEA framework. The upstream records the requests that reach it. Message relays
// are killed as well, while agents send and receive messages.
//
// Afterwards, judges compare these logs with the records in the store. The results do not depend on speed: a judge uses only the times in
// the logs, and treats each of them only as a lower or an upper bound.
//
//	make soak                          # every test for a minute
//	make soak-short                    # seconds of outages, freezes, locks, a promoted standby and wrong clocks
//	go test ./internal/soak            # a few seconds of the others each; on a slow machine longer, until enough has happened
//	go test -tags soak -v -run SQLite ./internal/soak
package soak

import (
	"flag"
	"fmt"
	"os"
	"strconv"
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
	if err := flag.Set("test.parallel", strconv.Itoa(together)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
