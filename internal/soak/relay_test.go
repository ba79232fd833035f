package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/uimgate/uimgate/bindings/mrp/relayhost"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A relay of the Machine Relay Protocol on SQLite is killed about once a second, and restarted.
func TestRelayKilledUnderLoad(t *testing.T) {
	t.Parallel()
	newMailWorld(t, filepath.Join(t.TempDir(), "state.db"), 1).runAndJudge()
}

// Two relays share one PostgreSQL database, and one at a time is killed.
func TestRelayReplicasKilledUnderLoad(t *testing.T) {
	t.Parallel()
	newMailWorld(t, pgtest.Start(t).Database(t), 2).runAndJudge()
}

// If relayVariable is set, the test binary runs a relay, and the variable holds a relayPlace as JSON.
const relayVariable = "UIMGATE_SOAK_RELAY"

type relayPlace struct{ Store, Blobs string }

func runRelay(text string) error {
	var place relayPlace
	if err := json.Unmarshal([]byte(text), &place); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	state, err := sqlstore.Open(ctx, place.Store, sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	defer func() { _ = state.Close() }()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(os.Stderr), zapcore.InfoLevel))
	const many = 1_000_000
	host, err := relayhost.New(relayhost.Options{
		Listener: ln, State: state, Blobs: place.Blobs, Shared: true, Drain: 5 * time.Second, Log: log,
		Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // agents choose their own addresses
		Settings: relayhost.Settings{
			Blobs: 1 << 30, Agents: many, Messages: many, Bytes: 1 << 30, Waiting: many, Sends: many, Polls: many, Others: many, Newcomers: many,
		},
	})
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode("http://" + ln.Addr().String()); err != nil {
		return err
	}
	return host.Run(ctx)
}

// A relayProcess is one relay; most of the time, it has a process.
type relayProcess struct {
	place   string // a relayPlace as JSON
	log     string // path
	process *exec.Cmd
	at      atomic.Pointer[string] // URL; nil while no process runs
}

func (r *relayProcess) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c := exec.CommandContext(ctx, self)
	c.Env, c.Stderr = append(os.Environ(), relayVariable+"="+r.place), log
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	r.process = c
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var url string
	if err == nil {
		err = json.Unmarshal(line, &url)
	}
	if err != nil {
		_ = c.Process.Kill()
		text, _ := os.ReadFile(r.log)
		return fmt.Errorf("a relay did not start: %w, %w\n%s", err, c.Wait(), text[max(0, len(text)-4096):])
	}
	r.at.Store(&url)
	return nil
}

// end ends the process with a signal. For SIGTERM, it returns the error of the process.
func (r *relayProcess) end(by os.Signal) error {
	if r.process == nil {
		return nil
	}
	r.at.Store(nil)
	err := r.process.Process.Signal(by)
	ended := r.process.Wait()
	r.process = nil
	if err == nil && by != syscall.SIGKILL {
		err = ended
	}
	return err
}

// newMailWorld starts the given number of relays on one store.
func newMailWorld(t *testing.T, store string, replicas int) *mailWorld {
	t.Helper()
	w := &mailWorld{t: t, clock: newClock(), over: make(chan struct{}), done: make(chan struct{})}
	place, err := json.Marshal(relayPlace{Store: store, Blobs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range replicas {
		r := &relayProcess{place: string(place), log: filepath.Join(t.TempDir(), fmt.Sprint("log", i))}
		t.Cleanup(func() { _ = r.end(syscall.SIGKILL) })
		if err := r.start(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		w.relays = append(w.relays, r)
	}
	return w
}

// killLoop kills a relay about once a second and restarts it, until the load is over. Then all relays are running.
func (w *mailWorld) killLoop() {
	for pause(w.over, random(300*time.Millisecond, 1200*time.Millisecond)) {
		r := pick(w.relays)
		err := r.end(syscall.SIGKILL)
		if err == nil {
			err = r.start(context.WithoutCancel(w.t.Context()))
		}
		if err != nil {
			w.t.Error(err)
			return
		}
		w.kills.Add(1)
	}
}
