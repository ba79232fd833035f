package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/internal/delay"
)

const (
	idleConnections = 10_000
	// idleFor is how long connections are idle before the memory of the gateway is measured. It is shorter than ten seconds, after which the
	// gateway closes a connection without a request.
	idleFor = 6 * time.Second
	// idleLong is longer than the minute within which the gateway returns memory to the system.
	idleLong = 70 * time.Second
)

// idle opens connections that are kept alive. It prints the resident memory of the gateway before that, when they are open, after one call
// on each, after an idle time, and after another call on each.
func idle(ctx context.Context, p plan) error {
	if runtime.GOOS != "linux" {
		fmt.Fprintln(os.Stderr, "idle: skipped, because only Linux reports the resident memory of a process")
		return nil
	}
	gate, agents, stop, err := startServed(ctx, p)
	if err != nil {
		return err
	}
	defer stop()
	var connections []net.Conn
	defer func() {
		for _, c := range connections {
			_ = c.Close()
		}
	}()
	table := newTable("connections\t\tRSS\tat most\t")
	note := func(what string) error {
		rss, most, err := gate.resident()
		fmt.Fprintf(table, "%d\t%s\t%d MiB\t%d MiB\t\n", len(connections), what, rss>>20, most>>20)
		return err
	}
	host := strings.TrimPrefix(gate.addresses.Gateway, "http://")
	call := wireCall(host, agents[0].token, callOf("passed", sizes[0].products))
	steps := []struct {
		name string
		do   func() error
	}{
		{"agents have agreed", func() error { return nil }},
		{"open", func() (err error) {
			connections, err = dialMany(ctx, host, idleConnections)
			return err
		}},
		{"idle, no request yet", func() error { return delay.For(ctx, idleFor) }},
		{"one call on each", func() error { return askOnEach(ctx, connections, call) }},
		{"idle", func() error { return delay.For(ctx, idleFor) }},
		{"idle for a minute", func() error { return delay.For(ctx, idleLong) }},
		{"another call on each", func() error { return askOnEach(ctx, connections, call) }},
		{"idle again", func() error { return delay.For(ctx, idleFor) }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if err := note(step.name); err != nil {
			return err
		}
	}
	return table.Flush()
}

// dialMany opens n connections. If one cannot be opened, it returns those that are open, and the error.
func dialMany(ctx context.Context, address string, n int) ([]net.Conn, error) {
	connections := make([]net.Conn, 0, n)
	for range n {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return connections, err
		}
		connections = append(connections, c)
	}
	return connections, nil
}

// wireCall returns the bytes of an HTTP request for a call.
func wireCall(host, token, body string) []byte {
	return fmt.Appendf(nil, "POST /api/intents/execute HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n"+
		"Content-Length: %d\r\n\r\n%s", host, token, len(body), body)
}

// askOnEach makes one call on each connection, sixteen at a time.
func askOnEach(ctx context.Context, connections []net.Conn, call []byte) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for _, c := range connections {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if _, err := c.Write(call); err != nil {
				return err
			}
			return done(http.ReadResponse(bufio.NewReader(c), nil))
		})
	}
	return group.Wait()
}

// resident returns the current and the maximum resident memory of a child, in bytes.
func (c *child) resident() (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.command.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			now = kilobytes << 10
		case "VmHWM:":
			most = kilobytes << 10
		}
	}
	if now == 0 {
		return 0, 0, errors.New("the system does not report the resident memory")
	}
	return now, most, nil
}
