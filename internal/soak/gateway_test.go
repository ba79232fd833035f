package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
)

// If dirVariable is set, the test binary runs a gateway, and the variable names the directory of its configuration. The file offsetFile in
// that directory has an offset for the clock. It is read at the start, and again at SIGUSR1.
const (
	dirVariable = "UIMGATE_SOAK_GATEWAY"
	offsetFile  = "offset"
)

// A wallClock is the clock of a machine: it can be set while a process runs.
type wallClock struct {
	dir    string
	offset atomic.Int64
}

func (c *wallClock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// set reads the offset.
func (c *wallClock) set() error {
	text, err := os.ReadFile(filepath.Join(c.dir, offsetFile))
	if err != nil {
		return err
	}
	offset, err := time.ParseDuration(string(text))
	c.offset.Store(int64(offset))
	return err
}

func runGateway(dir string) error {
	wall, began := &wallClock{dir: dir}, time.Now()
	if err := wall.set(); err != nil {
		return err
	}
	step := make(chan os.Signal, 1)
	signal.Notify(step, syscall.SIGUSR1)
	go func() {
		for range step {
			if err := wall.set(); err != nil {
				panic(err)
			}
		}
	}()
	load := func() (*config.Config, config.Problems) {
		return config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{Blocks: bindings.Blocks(), Env: func(string) (string, bool) { return "", false }})
	}
	cfg, problems := load()
	if cfg == nil {
		return problems.Err()
	}
	hangup, reload := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for range hangup {
			reload <- struct{}{}
		}
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(os.Stderr), zapcore.InfoLevel))
	err := daemon.Run(ctx, daemon.Options{
		Config: cfg, Load: load, Reload: reload, Log: log, Now: wall.now, Elapsed: func() time.Duration { return time.Since(began) },
		Ready: func(a daemon.Addresses) { _ = json.NewEncoder(os.Stdout).Encode(a) },
	})
	if refused, ok := errors.AsType[*daemon.ProblemsError](err); ok {
		return refused.Problems.Err()
	}
	return err
}

// A gateway is one replica: a directory and, most of the time, a process.
type gateway struct {
	name   string
	dir    string
	offset time.Duration // offset of its clock
	memory string        // GOMEMLIMIT; empty means that of the environment

	mu        sync.Mutex // held while the process is started or ended
	process   *exec.Cmd
	addresses atomic.Pointer[daemon.Addresses] // nil while no process runs
}

func newGateway(t *testing.T, name, config string) *gateway {
	t.Helper()
	g := &gateway{name: name, dir: filepath.Join(t.TempDir(), name)}
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"uimgate.yaml": config, "agents.json": agentsFile(), "policy.json": policyFile(), seedFile: seed, keyFile: aeatest.KeyPublished,
	} {
		if err := g.write(name, text); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = g.end(syscall.SIGKILL) })
	return g
}

// write replaces a file of the configuration atomically, as operators should do.
func (g *gateway) write(name, text string) error {
	path := filepath.Join(g.dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// start starts the process, and returns when it accepts requests.
func (g *gateway) start(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.startLocked(ctx)
}

// restart ends the process with a signal and starts it again. No other start comes between the two.
func (g *gateway) restart(ctx context.Context, by os.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.endLocked(by); err != nil {
		return err
	}
	return g.startLocked(ctx)
}

func (g *gateway) startLocked(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(g.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c := exec.CommandContext(ctx, self)
	if err := g.write(offsetFile, g.offset.String()); err != nil {
		return err
	}
	c.Env = append(os.Environ(), dirVariable+"="+g.dir)
	if g.memory != "" {
		c.Env = append(c.Env, "GOMEMLIMIT="+g.memory)
	}
	c.Stderr = log
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	a := &daemon.Addresses{}
	if err == nil {
		err = json.Unmarshal(line, a)
	}
	if err != nil {
		_ = c.Process.Kill()
		return fmt.Errorf("%s did not start: %w, %w\n%s", g.name, err, c.Wait(), g.lastLogLines())
	}
	g.process = c
	g.addresses.Store(a)
	return nil
}

// end ends the process with a signal, and waits for it. For signals that allow an orderly shutdown, it returns the error of the process.
func (g *gateway) end(by os.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.endLocked(by)
}

func (g *gateway) endLocked(by os.Signal) error {
	if g.process == nil {
		return nil
	}
	g.addresses.Store(nil)
	if err := g.process.Process.Signal(by); err != nil {
		return fmt.Errorf("%s ended unexpectedly: %w\n%s", g.name, err, g.lastLogLines())
	}
	err := g.process.Wait()
	g.process = nil
	if by == syscall.SIGKILL {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", g.name, err, g.lastLogLines())
	}
	return nil
}

// signal sends a signal after which the process continues.
func (g *gateway) signal(s os.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process == nil {
		return fmt.Errorf("%s is not running", g.name)
	}
	return g.process.Process.Signal(s)
}

// url returns the address for agents, or "" while no process runs.
func (g *gateway) url() string {
	if a := g.addresses.Load(); a != nil {
		return a.Listen
	}
	return ""
}

func (g *gateway) admin() string {
	if a := g.addresses.Load(); a != nil {
		return a.Admin
	}
	return ""
}

func (g *gateway) statePath() string { return filepath.Join(g.dir, "data", "state.db") }

func (g *gateway) logPath() string { return filepath.Join(g.dir, "log") }

// log returns the log of all processes of the gateway.
func (g *gateway) log() string {
	text, _ := os.ReadFile(g.logPath())
	return string(text)
}

func (g *gateway) lastLogLines() string {
	lines := strings.Split(strings.TrimSpace(g.log()), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
