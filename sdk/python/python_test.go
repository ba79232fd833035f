// Package python_test runs the tests of the Python SDK against whole gateways.
package python_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/stubs"
	"github.com/uimgate/uimgate/intents"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/test/station"
)

// interpreter returns a Python that has what the SDK needs. If there is none, it skips the test, or fails it if UIMGATE_REQUIRE_LANGUAGES
// is 1.
var interpreter = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import sys, httpx, cryptography; sys.exit(sys.version_info < (3, 10))").Run() == nil {
			return name
		}
	}
	return ""
})

func python(t *testing.T) string {
	t.Helper()
	name := interpreter()
	if name == "" && os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
		t.Fatal("no Python 3.10 with httpx and cryptography: install python3-httpx and python3-cryptography")
	}
	if name == "" {
		t.Skip("NOT TESTED: no Python 3.10 with httpx and cryptography")
	}
	return name
}

// sources reads the files of the SDK, so that a change of one invalidates a cached result.
func sources(t *testing.T) {
	t.Helper()
	for _, root := range []string{"src", "tests"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".py") {
				_, err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// run runs modules of tests, all in one process. Variables of the environment have the form NAME=value.
func run(t *testing.T, modules []string, env ...string) {
	t.Helper()
	sources(t)
	args := []string{"-B", "-W", "error::ResourceWarning", "-m", "unittest", "-v"}
	for _, module := range modules {
		args = append(args, "tests."+module)
	}
	c := exec.CommandContext(t.Context(), python(t), args...)
	c.Env = append(os.Environ(), append([]string{"PYTHONPATH=src", "UIMGATE_DIR=" + t.TempDir()}, env...)...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	if err != nil {
		t.Fatalf("%v: %v\n%s", modules, err, out.String())
	}
	for _, module := range modules {
		if !strings.Contains(out.String(), "\nOK") || !strings.Contains(out.String(), "(tests."+module+".") {
			t.Fatalf("%s has no tests that pass:\n%s", module, out.String())
		}
	}
}

// A gateway is a gateway behind a proxy, with an upstream. A test in Python controls all three over HTTP.
type gateway struct {
	*station.Station

	mu       sync.Mutex
	requests map[string]int // by path
	upstream int            // calls that reached the upstream
	reject   bool           // the upstream refuses
	lose     int            // responses that the proxy still loses
	redirect string         // where the proxy redirects every POST; empty: nowhere
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	s := &gateway{Station: station.New(t), requests: map[string]int{}}
	s.Upstream = s.respond
	s.Controls.HandleFunc("POST /set", func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lose, _ = strconv.Atoi(r.FormValue("lose"))
		s.redirect, s.reject = r.FormValue("redirect"), r.FormValue("reject") != ""
	})
	s.Controls.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"upstream": s.upstream, "requests": s.requests})
	})
	s.Start(t, http.HandlerFunc(s.pass))
	return s
}

// pass passes a request to the gateway, unless the test wants another response.
func (s *gateway) pass(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests[r.URL.Path]++
	lost, redirect := s.lose > 0 && r.Method == http.MethodPost, s.redirect
	if lost {
		s.lose--
	}
	s.mu.Unlock()
	switch {
	case redirect != "" && r.Method == http.MethodPost:
		http.Redirect(w, r, redirect, http.StatusTemporaryRedirect)
	case lost:
		s.Proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		s.Proxy.ServeHTTP(w, r)
	}
}

// respond is the upstream: it returns the parameters of the call.
func (s *gateway) respond(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.upstream++
	reject := s.reject
	s.mu.Unlock()
	if reject {
		http.Error(w, `{"message": "sold out"}`, http.StatusConflict)
		return
	}
	station.Echo(w, r)
}

// writeStubs writes the typed code for the intents of the gateway, and returns its directory.
func writeStubs(t *testing.T) string {
	t.Helper()
	catalog, problems := intents.Parse([]byte(gatetest.AgentsFile), intents.Options{Now: time.Now()})
	if catalog == nil {
		t.Fatal(problems)
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "shop_stubs.py"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stubs.Write(f, stubs.Python, "shop.example", catalog), f.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestWithGateway runs the modules that need a gateway, in two processes, each with a gateway of its own.
func TestWithGateway(t *testing.T) {
	t.Parallel()
	python(t)
	for name, modules := range map[string][]string{
		"calls":  {"test_client", "test_async", "test_stubs"},
		"others": {"test_trouble", "test_auth", "test_docs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, modules, append(newGateway(t).Env(), "UIMGATE_STUBS="+writeStubs(t))...)
		})
	}
}

// TestReceipts has the program uimgate verify the receipts that the package keeps.
func TestReceipts(t *testing.T) {
	t.Parallel()
	python(t)
	program := station.Binary(t) // before the gateway starts, because its clock does not advance
	run(t, []string{"test_receipts"}, append(newGateway(t).Env(), "UIMGATE_BINARY="+program)...)
}

// TestAlone runs the modules that need no gateway.
func TestAlone(t *testing.T) {
	t.Parallel()
	python(t)
	run(t, []string{"test_vectors", "test_units", "test_hostile"})
}

// packager returns a Python with which the wheel can be built: Debian's, with python3-pip, python3-setuptools, python3-wheel and
// python3-venv.
func packager(t *testing.T) string {
	t.Helper()
	const name = "/usr/bin/python3"
	if exec.CommandContext(t.Context(), name, "-c", "import setuptools, pip, wheel, venv, ensurepip, httpx, cryptography").Run() == nil {
		return name
	}
	if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
		t.Fatal("install python3-pip, python3-setuptools, python3-wheel and python3-venv")
	}
	t.Skip("NOT TESTED: " + name + " has no pip, setuptools, wheel or venv")
	return ""
}

// command runs a command, which must succeed, and returns what it prints.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1795262400")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestWheel builds the wheels, and installs that of this platform into an empty project. The program in it is a script that prints its
// arguments. Where UIMGATE_REQUIRE_LANGUAGES is 1, it builds them twice, and compares the bytes.
func TestWheel(t *testing.T) {
	t.Parallel()
	sources(t)
	interpreter, dir := packager(t), t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"ran $*\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var sums []string
	builds := 1
	if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
		builds = 2
	}
	for range builds {
		out := filepath.Join(dir, strconv.Itoa(len(sums)))
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		command(t, "../../deploy/package/wheels.sh", "v0.2.0-rc.1", out, program, "linux/amd64")
		sum := sha256.New()
		for _, name := range []string{"uimgate-0.2.0rc1-py3-none-any.whl", platformWheel} {
			data, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			sum.Write(data)
		}
		sums = append(sums, hex.EncodeToString(sum.Sum(nil)))
	}
	if sums[0] != sums[builds-1] {
		t.Error("two builds write different bytes")
	}
	venv := filepath.Join(dir, "venv")
	command(t, interpreter, "-m", "venv", "--system-site-packages", "--without-pip", venv)
	wheel := filepath.Join(dir, "0", platformWheel)
	command(t, interpreter, "-m", "pip", "--python", venv+"/bin/python", "install", "--quiet", "--no-index", "--no-deps", wheel)
	if out := command(t, venv+"/bin/uimgate", "mcp", "shop.example"); out != "ran mcp shop.example\n" {
		t.Errorf("the program printed %q", out)
	}
	const use = "import uimgate, uimgate.auth, pathlib; p = pathlib.Path(uimgate.__file__).parent; " +
		"assert (p / 'py.typed').exists() and 'venv' in str(p); print(uimgate.__version__, uimgate.Key.generate().algorithm)"
	if out := command(t, venv+"/bin/python", "-c", use); out != "0.2.0rc1 EdDSA\n" {
		t.Errorf("the package printed %q", out)
	}
}

const platformWheel = "uimgate-0.2.0rc1-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl"

// TestTypes checks the types of the package where UIMGATE_REQUIRE_LANGUAGES is 1, because mypy takes half a minute the first time. Later,
// it checks the files that have changed and what depends on them.
func TestTypes(t *testing.T) {
	if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") != "1" {
		t.Skip("NOT TESTED: UIMGATE_REQUIRE_LANGUAGES is not 1")
	}
	t.Parallel()
	sources(t)
	name, err := exec.LookPath("mypy")
	if err != nil {
		t.Fatal("install mypy")
	}
	// The packages that the adapters extend are not installed.
	command(t, name, "--strict", "--cache-dir", typesCache(t, name), "--exclude", adapters, "src",
		filepath.Join(writeStubs(t), "shop_stubs.py"))
}

// typesCache returns the directory in which mypy keeps its results: one for each version of mypy and each copy of this package. mypy
// compares the files with it, and ignores results of other options.
func typesCache(t *testing.T, mypy string) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(t.TempDir(), "cache")
	}
	sum := sha256.Sum256([]byte(command(t, mypy, "--version") + here))
	return filepath.Join(root, "uimgate-tests", "mypy-"+hex.EncodeToString(sum[:8]))
}

const adapters = `/(langchain|llamaindex|openai_agents|pydantic_ai)\.py$`
