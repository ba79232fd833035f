package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// start runs the shop on a free port. It returns the address, and a function that stops the shop.
func start(t *testing.T, args ...string) (address string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), noEnv, in, t.Output())
		_ = in.Close()
	}()
	var ready struct {
		Ready  bool
		Listen string
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil || !ready.Ready {
		t.Fatalf("no ready line: %q, %v", line, err)
	}
	return ready.Listen, func() int { cancel(); return <-code }
}

func noEnv(string) string { return "" }

func TestRun(t *testing.T) {
	address, stop := start(t)
	resp, err := http.Get(address + "/products/stool")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || !strings.Contains(string(body), "Birch stool") {
		t.Errorf("got %s, %v", body, err)
	}
	http.DefaultClient.CloseIdleConnections()
	if code := stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestExitCodes(t *testing.T) {
	address, stop := start(t)
	defer stop()
	taken := strings.TrimPrefix(address, "http://")
	for _, tt := range []struct {
		args        []string
		code        int
		out, errors string
	}{
		{[]string{"--help"}, 0, "Example:", ""},
		{[]string{"--nope"}, 2, "", "--help"},
		{[]string{"extra"}, 2, "", `unexpected argument "extra"`},
		{[]string{"--listen", taken}, 1, "", "address already in use"},
		{[]string{"--listen", "nonsense"}, 1, "", "shop: "},
	} {
		var out, errs strings.Builder
		code := run(t.Context(), tt.args, noEnv, &out, &errs)
		if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.errors) {
			t.Errorf("%q: %d, %q, %q", tt.args, code, out.String(), errs.String())
		}
	}
}
