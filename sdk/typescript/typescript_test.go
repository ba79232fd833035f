// Package typescript_test builds the TypeScript SDK, and runs its tests against whole gateways.
package typescript_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/examples/shop/shopapi"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/test/station"
)

var update = flag.Bool("update", false, "write src/reasons.ts")

// TestReasons checks that the SDK knows each reason of a refusal that an agent can meet.
func TestReasons(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range reason.All() {
		names = append(names, string(r))
	}
	slices.Sort(names)
	want := "// Written by go test ./sdk/typescript -run Reasons -update from internal/reason.\n\n" +
		"/** The reasons of refusals that this version knows. A newer service may give others. */\n" +
		"export const REASONS = [\n  \"" + strings.Join(names, "\",\n  \"") + "\",\n] as const;\n\n" +
		"/** The exact cause of a refusal: details.reason. */\nexport type Reason = (typeof REASONS)[number];\n"
	const file = "src/reasons.ts"
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): run go test ./sdk/typescript -run Reasons -update", file, err)
	}
}

// sources lists what the build and the tests depend on. The test reads these files, so that a change of one also invalidates a cached
// result.
var sources = []string{"src", "test", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.cjs.json", "build.mjs"}

var build = sync.OnceValue(func() error {
	sum := sha256.New()
	for _, root := range sources {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if !strings.HasPrefix(path, "test") {
				fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	const mark = "dist/.built"
	digest := hex.EncodeToString(sum.Sum(nil))
	if built, err := os.ReadFile(mark); err == nil && string(built) == digest {
		return nil
	}
	if out, err := exec.CommandContext(context.Background(), "node", "build.mjs").CombinedOutput(); err != nil {
		return fmt.Errorf("node build.mjs: %w\n%s", err, out)
	}
	return os.WriteFile(mark, []byte(digest), 0o600)
})

// sdk builds the package. If Node.js or the packages of package-lock.json are not installed, it skips the test, or fails it if
// UIMGATE_REQUIRE_LANGUAGES is 1.
func sdk(t *testing.T) {
	t.Helper()
	_, missing := os.Stat("node_modules")
	if _, err := exec.LookPath("node"); err != nil || missing != nil {
		if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
			t.Fatal("the packages of the SDK are not installed: install Node.js 20 or later and npm, then make clients")
		}
		t.Skip("the packages of the SDK are not installed: make clients")
	}
	if err := build(); err != nil {
		t.Fatal(err)
	}
}

// run runs one file of tests with node:test, which needs no second process for it. Variables of the environment have the form NAME=value.
func run(t *testing.T, file string, env ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "node", "--test-reporter=spec", "test/"+file)
	c.Env = append(os.Environ(), append([]string{"NODE_NO_WARNINGS=1", "UIMGATE_DIR=" + t.TempDir()}, env...)...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		t.Fatalf("node test/%s: %v\n%s", file, err, out.String())
	}
	if !strings.Contains(out.String(), "ℹ fail 0") || strings.Contains(out.String(), "ℹ pass 0") {
		t.Fatalf("test/%s has no tests that pass:\n%s", file, out.String())
	}
}

// A gateway is a gateway with an upstream, which a test in JavaScript controls over HTTP.
type gateway struct {
	*station.Station

	mu    sync.Mutex
	calls int    // that reached the upstream
	mode  string // of the next responses of the upstream
}

// newGateway starts a gateway. prepare is that of station.New.
func newGateway(t *testing.T, prepare ...func(*gatetest.Gate)) *gateway {
	t.Helper()
	return newGatewayBehind(t, func(next http.Handler) http.Handler { return next }, prepare...)
}

// newGatewayBehind starts a gateway behind a proxy.
func newGatewayBehind(t *testing.T, proxy func(http.Handler) http.Handler, prepare ...func(*gatetest.Gate)) *gateway {
	t.Helper()
	s := &gateway{Station: station.New(t, prepare...)}
	if len(prepare) == 0 {
		s.Upstream = s.respond
	}
	s.Controls.HandleFunc("POST /mode", func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mode = r.FormValue("m")
	})
	s.Controls.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(s.calls)
	})
	s.Start(t, proxy(s.Proxy))
	return s
}

// respond is the upstream: it returns the parameters of the call.
func (s *gateway) respond(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls++
	mode := s.mode
	s.mu.Unlock()
	switch mode {
	case "reject":
		http.Error(w, `{"message": "sold out"}`, http.StatusConflict)
	case "break":
		panic(http.ErrAbortHandler)
	default:
		station.Echo(w, r)
	}
}

// TestClient runs the tests of the client, each file beside a gateway of its own.
func TestClient(t *testing.T) {
	t.Parallel()
	sdk(t)
	for _, file := range []string{
		"client.test.mjs", "trouble.test.mjs", "budget.test.mjs", "fetch.test.mjs", "web.test.mjs",
		"frameworks.test.mjs",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			run(t, file, newGateway(t).Env()...)
		})
	}
}

// TestReceipts has the program uimgate verify the receipts that the package keeps.
func TestReceipts(t *testing.T) {
	t.Parallel()
	sdk(t)
	binary := station.Binary(t) // before the gateway starts, because its clock does not advance
	run(t, "receipts.test.mjs", append(newGateway(t).Env(), "UIMGATE_BINARY="+binary)...)
}

// TestSamples runs the samples of the documentation, which call the example shop.
func TestSamples(t *testing.T) {
	t.Parallel()
	sdk(t)
	const root = "../.."
	for _, page := range []string{"docs/for-agents/typescript.md", "docs/for-agents/frameworks.md"} {
		if _, err := os.ReadFile(filepath.Join(root, page)); err != nil { // a change of a page invalidates a cached result
			t.Fatal(err)
		}
	}
	shop, err := shopapi.New(shopapi.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	s := newGateway(t, func(g *gatetest.Gate) {
		for _, name := range []string{"agents.json", "policy.json"} {
			text, err := os.ReadFile(filepath.Join(root, "examples/shop", name))
			g.Must(err)
			g.Write(name, string(text))
		}
		g.Upstream = shop.ServeHTTP
	})
	run(t, "docs.test.mjs", s.Env()...)
}

// TestUnits runs the tests that need no gateway.
func TestUnits(t *testing.T) {
	t.Parallel()
	sdk(t)
	for _, name := range []string{
		"docs/protocols/vectors.json", "evidence/testdata/terms.json", "agent/stubs/testdata/shop_ts.golden",
		"agent/stubs/testdata/hostile_ts.golden",
	} {
		if _, err := os.ReadFile(filepath.Join("../..", name)); err != nil { // a change of the file invalidates a cached result
			t.Fatal(err)
		}
	}
	for _, file := range []string{
		"encoding.test.mjs", "keys.test.mjs", "vectors.test.mjs", "types.test.mjs", "hostile.test.mjs", "terms.test.mjs",
		"guard.test.mjs",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			run(t, file)
		})
	}
}
