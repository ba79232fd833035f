package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
)

// The benchmark has three processes, so that the resources of the load and of the upstream do not count as the
// gateway's.
const (
	roleVariable     = "UIMGATE_BENCH_ROLE"
	upstreamVariable = "UIMGATE_BENCH_UPSTREAM"
	profileVariable  = "UIMGATE_BENCH_PROFILE" // file for a CPU profile of the gateway process
	storeVariable    = "UIMGATE_BENCH_STORE"   // sqlite or a postgres:// URL
	priceVariable    = "UIMGATE_BENCH_PRICE"   // of a call, such as 0.01; empty: free
	roleUpstream     = "upstream"
	roleGateway      = "gateway"
)

// addresses are what a child process prints when it is ready.
type addresses struct {
	Upstream, Gateway, Proxy, Usage string
}

type usage struct {
	CPU time.Duration
	RSS int64
}

type child struct {
	command   *exec.Cmd
	addresses addresses
}

// start starts a child process in a role. more are environment variables, as NAME=value.
func start(ctx context.Context, role, upstream string, more ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self)
	c.Env = append(append(os.Environ(), roleVariable+"="+role, upstreamVariable+"="+upstream), more...)
	c.Stderr = os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	made := &child{command: c}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &made.addresses)
	}
	if err != nil {
		made.stop()
		return nil, fmt.Errorf("the %s did not start: %w", role, err)
	}
	return made, nil
}

func (c *child) stop() {
	_ = c.command.Process.Signal(os.Interrupt)
	_ = c.command.Wait()
}

func (c *child) usage(ctx context.Context) (usage, error) {
	var u usage
	text, err := fetch(ctx, http.MethodGet, c.addresses.Usage, nil)
	if err != nil {
		return u, err
	}
	return u, json.Unmarshal(text, &u)
}

func ready(a addresses) error { return json.NewEncoder(os.Stdout).Encode(a) }

// runUpstream answers every request with a small JSON document.
func runUpstream(ctx context.Context) error {
	ln, origin, err := listen(ctx)
	if err != nil {
		return err
	}
	answer := []byte(`{"products":[{"id":"p1","name":"Desk lamp","price":39.9},{"id":"p2","name":"Floor lamp","price":89}],"total":2}`)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})}
	if err := ready(addresses{Upstream: origin}); err != nil {
		return err
	}
	return serveUntil(ctx, server, ln)
}

// runGateway runs a gateway and, in the same process, the plain reverse proxy of net/http.
func runGateway(ctx context.Context) error {
	upstream, err := url.Parse(os.Getenv(upstreamVariable))
	if err != nil {
		return err
	}
	stopProfile, err := profile(os.Getenv(profileVariable))
	if err != nil {
		return err
	}
	defer stopProfile()
	dir, err := os.MkdirTemp("", "uimgate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cfg, problems := writeConfig(dir, upstream.String(), cmp.Or(os.Getenv(storeVariable), "sqlite"), os.Getenv(priceVariable))
	if cfg == nil {
		return problems.Err()
	}
	ln, proxy, err := listen(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	plain := httputil.NewSingleHostReverseProxy(upstream)
	plain.Transport = &http.Transport{MaxIdleConnsPerHost: 256}
	mux.Handle("/echo", plain)
	mux.HandleFunc("/usage", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(currentUsage()) })
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: mux}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- serveUntil(ctx, server, ln) }()
	err = daemon.Run(ctx, daemon.Options{Config: cfg, Log: zap.NewNop(), Now: time.Now, Ready: func(a daemon.Addresses) {
		_ = ready(addresses{Gateway: a.Listen, Proxy: proxy, Usage: proxy + "/usage"})
	}})
	stop()
	return errors.Join(err, <-served)
}

func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); _ = f.Close() }, pprof.StartCPUProfile(f)
}

func currentUsage() usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}
	}
	rss := r.Maxrss
	if runtime.GOOS == "linux" { // kilobytes there, bytes on macOS
		rss *= 1024
	}
	return usage{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano()), RSS: rss}
}

func listen(ctx context.Context) (net.Listener, string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	return ln, "http://" + ln.Addr().String(), nil
}

func serveUntil(ctx context.Context, s *http.Server, ln net.Listener) error {
	done := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer done()
	if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// writeConfig writes a gateway for one intent with validation, a policy with a limit and optionally a price. It logs as
// in production, but discards the output.
func writeConfig(dir, upstream, store, price string) (*config.Config, config.Problems) {
	duty := ""
	if price != "" {
		duty = `, "duty": [{"action": "pay", "amount": "` + price + `", "unit": "USD"}]`
	}
	for name, text := range map[string]string{
		"agents.json": `{"service-info": {"name": "bench.example", "description": "Echo", "service_url": "https://bench.example"},
"intents": [{"intent_uid": "bench.example:echo:v1", "intent_name": "Echo", "description": "Answers.",
 "input_parameters": [
  {"name": "query", "type": "string", "required": true, "minLength": 1, "maxLength": 100},
  {"name": "category", "type": "string", "enum": ["home", "garden"]},
  {"name": "max_price", "type": "number", "minimum": 0},
  {"name": "page", "type": "integer", "minimum": 1, "default": 1}],
 "output_parameters": [{"name": "products", "type": "array", "required": true}, {"name": "total", "type": "integer"}],
 "endpoint": {"url": "https://bench.example/echo", "method": "POST", "content_type": "application/json"}}]}`,
		"policy.json": `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://bench.example/policy",
"profile": "http://example.com/profile/odrl-uim",
"permission": [{"target": "https://bench.example/api/intents", "action": "execute", "constraint": [
 {"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 1000000000, "unit": "hour"}]` + duty + `}]}`,
		"uimgate.yaml": `data: ` + filepath.Join(dir, "data") + `
store: "` + store + `"
billing: {credit: 1000000 USD, newcomers: 1000000 USD}
pat: {newcomers: 1000000000/hour}
server: {listen: 127.0.0.1:0, per_address: 1000000000/second, issue_per_address: 100000/minute}
admin: {listen: 127.0.0.1:0}
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: ` + upstream + `}
  intents: {"bench.example:echo:v1": {proof: optional}} # without the agent's signature and its check
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, config.Problems{{File: name, Message: err.Error()}}
		}
	}
	return config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{Env: os.LookupEnv})
}
