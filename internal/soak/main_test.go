// Package soak judges whole gateways, as processes, under load and in trouble: they are killed, stopped, cut off from
// their store, given a wrong clock, reloaded. Meanwhile agents call, pay, repeat and revoke, and write down what they
// sent and were told; so does the upstream of what reached it. Afterwards judges hold these logs, and the records in the
// store, against each other. Nothing is judged by how fast it went: a judge only uses the times in the logs, and
// takes each only for the bound it is.
//
//	make soak                          # every test for a minute
//	go test ./internal/soak            # a cut of a few seconds each, longer on a slow machine: until enough has happened
//	go test -tags soak -v -run SQLite ./internal/soak
package soak

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		if err := beGateway(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
