// Package demo demonstrates a real gateway in front of the example shop: an agent, an assistant with a bridge and a person without a key
// find the shop's intents, agree, and call them through every door that accepts a PAT. Each step checks its own result.
package demo

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/examples"
	"github.com/uimgate/uimgate/examples/shop/shopapi"
	"github.com/uimgate/uimgate/internal/daemon"
)

// Options of Run. All except Once are required.
type Options struct {
	Out     io.Writer
	Once    bool   // end after the tour; otherwise the gateway runs until the context ends
	Doors   bool   // show agents of other networks instead: of uAgents, of the AEA framework and of MRP
	Program string // the name of this program on the command line
	Version string
	Now     func() time.Time
}

// Run starts shop and gateway, takes all steps, and returns the error of the first that fails its check.
func Run(ctx context.Context, o Options) error {
	dir, err := os.MkdirTemp("", "uimgate-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)

	shop, err := startShop(ctx, group, o.Now)
	if err != nil {
		return err
	}
	cfg, err := Config(dir, shop, o.Doors)
	if err != nil {
		return err
	}
	ready := make(chan daemon.Addresses, 1)
	group.Go(func() error {
		return daemon.Run(ctx, daemon.Options{Config: cfg, Log: zap.NewNop(), Now: o.Now, Ready: func(a daemon.Addresses) { ready <- a }})
	})
	var addresses daemon.Addresses
	select {
	case addresses = <-ready:
	case <-ctx.Done():
		return group.Wait()
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	tour := &tour{Options: o, gateway: addresses.Listen, doors: addresses.Doors, shop: shop, data: cfg.Data, key: key}
	walked := tour.walk(ctx)
	if walked == nil && !o.Once {
		tour.stay(addresses, filepath.Join(cfg.Data, "admin.token"))
		<-ctx.Done()
	}
	stop()
	if err := group.Wait(); err != nil && walked == nil {
		return err
	}
	return walked
}

// otherDoors opens the doors of other networks in the shop's configuration. Agents of the AEA framework sign agreements but not calls, so
// orders must be possible without a proof of key.
const otherDoors = `  - doors: {uagents: {}, aea: {tcp: "127.0.0.1:0"}, mrp: {}}
    intents: {"` + orderUID + `": {proof: optional}}
    agents_file:`

// relay is the relay of the gateway, for agents of MRP: an agent sends it more messages than the default limit before its own limit is
// reached.
const relay = `
mrp_relay: {listen: "127.0.0.1:0", sends_per_minute: 100}
`

// Config writes the example shop's own files into a directory, and reads them with the shop's present address. doors opens the doors that
// are closed by default.
func Config(dir, shop string, doors bool) (*config.Config, error) {
	for _, name := range []string{"agents.json", "policy.json", "uimgate.yaml"} {
		text, err := examples.Files.ReadFile("shop/" + name)
		if err != nil {
			return nil, err
		}
		if doors {
			text = bytes.Replace(text, []byte("  - agents_file:"), []byte(otherDoors), 1)
			if name == "uimgate.yaml" {
				text = append(text, relay...)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	env := func(name string) (string, bool) {
		if name == "SHOP_URL" {
			return shop, true
		}
		return "", false
	}
	cfg, problems := config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{
		Blocks: bindings.Blocks(),
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Data: filepath.Join(dir, "data"), Env: env,
	})
	return cfg, problems.Err()
}

// startShop serves the example shop on a free port until ctx ends.
func startShop(ctx context.Context, group *errgroup.Group, now func() time.Time) (string, error) {
	shop, err := shopapi.New(shopapi.Config{Now: now})
	if err != nil {
		return "", err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: shop, ReadHeaderTimeout: time.Minute}
	group.Go(func() error {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("the shop: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return "http://" + ln.Addr().String(), nil
}
