package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/internal/membudget"
)

// The service, the plain proxy, the gateway and the load run in separate processes, so that their resources are counted separately.
const (
	roleVariable     = "UIMGATE_BENCH_ROLE"
	upstreamVariable = "UIMGATE_BENCH_UPSTREAM"
	profileVariable  = "UIMGATE_BENCH_PROFILE"  // file for profiles of the gateway process
	storeVariable    = "UIMGATE_BENCH_STORE"    // sqlite or a postgres:// URL
	priceVariable    = "UIMGATE_BENCH_PRICE"    // price of a call, such as 0.01; empty means free
	receiptsVariable = "UIMGATE_BENCH_RECEIPTS" // value of evidence.receipts; empty means the default
	delayVariable    = "UIMGATE_BENCH_DELAY"    // time until the service responds, such as 20ms; empty means 0
	tracesVariable   = "UIMGATE_BENCH_TRACES"   // settings of telemetry.otlp; empty means no telemetry
	roleUpstream     = "upstream"
	roleProxy        = "proxy"
	roleGateway      = "gateway"
)

// addresses is the line that a child process prints when it is ready.
type addresses struct {
	Upstream, Gateway, Proxy, Usage, Collector string
	Admin                                      string
	UAgent                                     string // the gateway's address among agents of the uAgents protocol
	AEA                                        map[string]string
}

type usage struct {
	CPU    time.Duration
	RSS    int64
	Allocs uint64 // objects allocated since the process started
}

type child struct {
	command   *exec.Cmd
	addresses addresses
}

// start starts a child process with a role and additional environment variables (NAME=value), and waits until the process is ready.
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

// startGateway starts a gateway, and makes the agents of the plan agree to its policy.
func startGateway(ctx context.Context, p plan, upstream string, more ...string) (*child, []agent, error) {
	gate, err := start(ctx, roleGateway, upstream, more...)
	if err != nil {
		return nil, nil, err
	}
	agents, err := agree(ctx, gate.addresses.Gateway, p.agents)
	if err != nil {
		gate.stop()
		return nil, nil, err
	}
	return gate, agents, nil
}

// startServed starts a service, and a gateway in front of it, as startGateway does. stop ends both.
func startServed(ctx context.Context, p plan) (gate *child, agents []agent, stop func(), err error) {
	up, err := start(ctx, roleUpstream, "")
	if err != nil {
		return nil, nil, nil, err
	}
	if gate, agents, err = startGateway(ctx, p, up.addresses.Upstream); err != nil {
		up.stop()
		return nil, nil, nil, err
	}
	return gate, agents, func() { gate.stop(); up.stop() }, nil
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

// idleTime returns the processor time that a gateway takes within lastWork when it has no work to do.
func (c *child) idleTime(ctx context.Context) (time.Duration, error) {
	time.Sleep(lastWork)
	before, err := c.usage(ctx)
	if err != nil {
		return 0, err
	}
	time.Sleep(lastWork)
	after, err := c.usage(ctx)
	return after.CPU - before.CPU, err
}

func ready(a addresses) error { return json.NewEncoder(os.Stdout).Encode(a) }

// runUpstream responds to /products/{n} with n products.
func runUpstream(ctx context.Context) error {
	delay, err := time.ParseDuration(cmp.Or(os.Getenv(delayVariable), "0"))
	if err != nil {
		return err
	}
	ln, origin, err := listen(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	for _, size := range sizes {
		answer := productsOf(size.products)
		mux.HandleFunc(fmt.Sprintf("/products/%d", size.products), func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(delay)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
			_, _ = w.Write(answer)
		})
	}
	if err := ready(addresses{Upstream: origin, Usage: origin + "/usage"}); err != nil {
		return err
	}
	return serveUntil(ctx, withUsage(mux), ln)
}

func productsOf(n int) []byte {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"id":"p-%d","name":"Product number %d","price":%d.5,"currency":"EUR","tags":["red","large"],"in_stock":%t}`,
			i, i, i%100, i%2 == 0)
	}
	return fmt.Appendf(nil, `{"products":[%s],"total":%d}`, strings.Join(list, ","), n)
}

// buffers saves the plain proxy one allocation per call.
type buffers struct{ sync.Pool }

func (b *buffers) Get() []byte {
	if kept, ok := b.Pool.Get().(*[]byte); ok {
		return *kept
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(kept []byte) { b.Pool.Put(&kept) }

// runProxy runs the fastest configuration of the reverse proxy of net/http. It is the minimum cost of a gateway written in Go.
func runProxy(ctx context.Context) error {
	upstream, err := url.Parse(os.Getenv(upstreamVariable))
	if err != nil {
		return err
	}
	ln, origin, err := listen(ctx)
	if err != nil {
		return err
	}
	plain := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }, BufferPool: &buffers{},
		ErrorLog:  log.New(io.Discard, "", 0), // it reports connections that the load closes at the end of a round
		Transport: &http.Transport{MaxIdleConns: 256, MaxIdleConnsPerHost: 256, DisableCompression: true},
	}
	if err := ready(addresses{Proxy: origin, Usage: origin + "/usage"}); err != nil {
		return err
	}
	return serveUntil(ctx, withUsage(plain), ln)
}

// withUsage returns a server for another handler that also serves the resource usage of the process.
func withUsage(other http.Handler) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("/", other)
	mux.HandleFunc("/usage", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(currentUsage()) })
	return &http.Server{ReadHeaderTimeout: time.Minute, Handler: mux}
}

// runGateway runs a gateway.
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
	cfg, problems := writeConfig(dir, upstream.String(), settings{
		store: cmp.Or(os.Getenv(storeVariable), "sqlite"), price: os.Getenv(priceVariable), receipts: os.Getenv(receiptsVariable),
		traces: os.Getenv(tracesVariable),
	})
	if cfg == nil {
		return problems.Err()
	}
	ln, origin, err := listen(ctx)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- serveUntil(ctx, withUsage(http.NotFoundHandler()), ln) }()
	err = daemon.Run(ctx, daemon.Options{Config: cfg, Log: zap.NewNop(), Now: time.Now, Ready: func(a daemon.Addresses) {
		_, _ = membudget.UnmapProgram() // as the serve command does
		_ = ready(addresses{
			Gateway: a.Listen, Admin: a.Admin, Usage: origin + "/usage", UAgent: a.Doors["uagents"]["address"], AEA: a.Doors["aea"],
		})
	}})
	stop()
	return errors.Join(err, <-served)
}

// profile records two profiles until stop is called: a CPU profile at path, and one of all allocations at path.allocs. If path is empty,
// it does nothing.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	allocs, err := os.Create(path + ".allocs")
	if err != nil {
		return nil, err
	}
	runtime.MemProfileRate = 4 << 10
	return func() {
		pprof.StopCPUProfile()
		_ = pprof.Lookup("allocs").WriteTo(allocs, 0)
		_, _ = f.Close(), allocs.Close()
	}, pprof.StartCPUProfile(f)
}

func currentUsage() usage {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}
	}
	rss := r.Maxrss
	if runtime.GOOS == "linux" { // kilobytes on Linux, bytes on macOS
		rss *= 1024
	}
	objects := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	metrics.Read(objects)
	return usage{CPU: time.Duration(r.Utime.Nano() + r.Stime.Nano()), RSS: rss, Allocs: objects[0].Value.Uint64()}
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

// settings are the parts of a configuration in which the gateways of this program differ.
type settings struct {
	store    string
	price    string // if it is empty, calls are free
	receipts string // evidence.receipts; empty means the default
	traces   string // settings of telemetry.otlp; empty means no telemetry
}

// writeConfig writes the configuration of a gateway, and loads it. For each size, there is one intent with declared outputs, and one
// without. Calls are validated, and the policy has a limit.
func writeConfig(dir, upstream string, s settings) (*config.Config, config.Problems) {
	duty := ""
	if s.price != "" {
		duty = `, "duty": [{"action": "pay", "amount": "` + s.price + `", "unit": "USD"}]`
	}
	optional := ""
	if s.receipts != "" {
		optional = "evidence: {receipts: " + s.receipts + "}\n"
	}
	if s.traces != "" {
		optional += "telemetry: {otlp: {" + s.traces + "}}\n"
	}
	var intents, proofs []string
	for _, size := range sizes {
		for name, outputs := range map[string]string{
			"passed": "", "declared": `"output_parameters": [{"name": "products", "type": "array", "required": true, "items": {"type": "object"}},
  {"name": "total", "type": "integer"}],`,
		} {
			uid := uidOf(name, size.products)
			intents = append(intents, `{"intent_uid": "`+uid+`", "intent_name": "Products", "description": "Answers.",
 "input_parameters": [
  {"name": "query", "type": "string", "required": true, "minLength": 1, "maxLength": 100},
  {"name": "category", "type": "string", "enum": ["home", "garden"]},
  {"name": "max_price", "type": "number", "minimum": 0},
  {"name": "page", "type": "integer", "minimum": 1, "default": 1}],`+outputs+`
 "endpoint": {"url": "https://bench.example/products/`+strconv.Itoa(size.products)+`", "method": "POST", "content_type": "application/json"}}`)
			proofs = append(proofs, `"`+uid+`": {proof: optional}`)
		}
	}
	for name, text := range map[string]string{
		"agents.json": `{"service-info": {"name": "bench.example", "description": "Products", "service_url": "https://bench.example"},
"intents": [` + strings.Join(intents, ",") + `]}`,
		"policy.json": `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://bench.example/policy",
"profile": "http://example.com/profile/odrl-uim",
"permission": [{"target": "https://bench.example/api/intents", "action": "execute", "constraint": [
 {"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 1000000000, "unit": "hour"}]` + duty + `}]}`,
		"uimgate.yaml": `data: ` + filepath.Join(dir, "data") + `
store: "` + s.store + `"
billing: {credit: 1000000 USD, newcomers: 1000000 USD}
pat: {newcomers: 1000000000/hour}
server: {listen: 127.0.0.1:0, connections_per_address: 16384, per_address: 1000000000/second, issue_per_address: 100000/minute}
admin: {listen: 127.0.0.1:0, token: ` + adminToken + `}
` + optional + `
services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: ` + upstream + `}
  doors: {uagents: {}, aea: {tcp: "127.0.0.1:0"}}
  intents: {` + strings.Join(proofs, ", ") + `} # without the agent's signature and its check
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, config.Problems{{File: name, Message: err.Error()}}
		}
	}
	return config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{Blocks: bindings.Blocks(), Env: os.LookupEnv})
}
