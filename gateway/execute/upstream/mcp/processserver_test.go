package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/mcp"
)

// modeName is the environment variable that makes the test binary a server.
const modeName = "TOOLS_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeName); mode != "" {
		serveTools(mode)
		return
	}
	os.Exit(m.Run())
}

// serveTools is a server of MCP 2025-11-25 on standard input and output that misbehaves as the mode says.
func serveTools(mode string) {
	if mode == "exits" {
		os.Exit(3)
	}
	if mode == "stuck" {
		time.Sleep(time.Hour)
	}
	in := bufio.NewReader(os.Stdin)
	var first json.RawMessage // the id of the first call
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if mode == "stays" {
				time.Sleep(time.Hour)
			}
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
				Meta      json.RawMessage `json:"_meta"`
			} `json:"params"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		result := func(r string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, r) }
		switch m.Method {
		case "server/discover", "ping":
			if mode == "silent" && m.Method == "server/discover" {
				continue
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
		case "initialize":
			result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`)
		case "tools/list":
			result(`{"tools":[{"name":"try","inputSchema":{"type":"object","properties":{"a":{}},"required":["a"]}}]}`)
		case "tools/call":
			if m.Params.Name == "wait" {
				continue
			}
			if pause, ok := strings.CutPrefix(m.Params.Name, "work"); ok {
				d, _ := time.ParseDuration(pause)
				time.Sleep(d)
			}
			switch mode {
			case "dies":
				os.Exit(4)
			case "answersAndDies":
				result(`{"structuredContent":{"last":true}}`)
				os.Exit(0)
			case "hangs":
				time.Sleep(time.Hour)
			case "floods":
				for {
					fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 100) + `"}}`)
				}
			case "long":
				result(`{"structuredContent":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`)
			case "longReversed":
				fmt.Printf(`{"result":{"structuredContent":{"text":"%s"}},"jsonrpc":"2.0","id":%s}`+"\n", strings.Repeat("x", 1<<20), m.ID)
			case "longNote":
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", 1<<20) + `"}}`)
			case "late":
				if first == nil {
					first = m.ID
					continue
				}
				fmt.Printf(`{"result":{"structuredContent":{"text":"%s"}},"jsonrpc":"2.0","id":%s}`+"\n", strings.Repeat("x", 1<<20), first)
			case "noisy":
				fmt.Println("Debug: called", m.Params.Name)
				fmt.Println(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}`)
				fmt.Println(`{"jsonrpc":"2.0","id":99999,"result":{}}`)
				result(`{"structuredContent":{"n":12345678901234567890}}`)
			case "reports":
				report(m.Params.Meta, m.Params.Arguments)
				result(`{"structuredContent":{"done":true}}`)
			case "child":
				c := exec.Command("sleep", "1000")
				c.Stdout = os.Stdout
				if err := c.Start(); err != nil {
					panic(err)
				}
				result(`{"structuredContent":{"pid":` + strconv.Itoa(c.Process.Pid) + `}}`)
			default:
				all, _ := json.Marshal(map[string]any{"env": os.Environ(), "pid": os.Getpid(), "arguments": m.Params.Arguments, "meta": m.Params.Meta})
				result(`{"structuredContent":` + string(all) + `}`)
			}
		}
	}
}

func command(tb testing.TB, mode string) mcp.Command {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return mcp.Command{Path: self, Args: []string{"-test.run=^$"}, Env: []string{modeName + "=" + mode, "PATH=" + os.Getenv("PATH")}}
}

// start returns a server with one session, and a clock that tests can set forward.
func start(tb testing.TB, mode string) (*mcp.Server, *atomic.Int64) {
	tb.Helper()
	var ahead atomic.Int64
	s, err := mcp.New(mcp.Config{
		Command: command(tb, mode), Sessions: 1, MaxMessage: 64 << 10,
		Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s, &ahead
}

func call(tb testing.TB, s *mcp.Server, timeout time.Duration) (mcp.Reply, bool, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), timeout)
	defer cancel()
	return s.Call(ctx, mcp.Call{Tool: "try", Arguments: []byte(`{"a":1.10}`)}, func() error { return nil })
}

// eventually waits until ok returns true.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("after 30 s: %s", what)
		}
	}
}
