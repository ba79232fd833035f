package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// startBridge (bridge SERVICE [FLAG…]) runs uimgate mcp over HTTP on a free port until the script ends, and sets BRIDGE.
func startBridge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: bridge SERVICE [FLAG…]")
	}
	self, err := findUimgate(ts)
	ts.Check(err)
	c := exec.Command(self, append([]string{"mcp", "--listen", "127.0.0.1:0"}, args...)...)
	c.Dir = ts.MkAbs(".")
	url, stop, err := listening(c)
	ts.Check(err)
	ts.Defer(func() {
		if err := stop(); err != nil {
			ts.Logf("%v", err)
		}
	})
	ts.Setenv("BRIDGE", url)
}

// listening starts a bridge, and returns its URL and a function that stops it.
func listening(c *exec.Cmd) (url string, stop func() error, err error) {
	var log strings.Builder
	c.Stderr = &log
	stdout, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return "", nil, err
	}
	stop = func() error {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			return fmt.Errorf("the bridge ended with %w: %s", err, log.String())
		}
		return nil
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the bridge did not start: %w", stop())
	}
	return strings.TrimSpace(line), stop, nil
}

// listTools (tools URL) prints the names of the tools of an MCP endpoint, one per line, as the official client reads them.
func listTools(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: tools URL")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: args[0], MaxRetries: -1}, nil)
	if err == nil {
		defer func() { _ = session.Close() }()
		var list *mcp.ListToolsResult
		if list, err = session.ListTools(ctx, nil); err == nil {
			for _, tool := range list.Tools {
				_, _ = fmt.Fprintln(ts.Stdout(), tool.Name)
			}
		}
	}
	if (err != nil) != neg {
		ts.Fatalf("got %v", err)
	}
}
