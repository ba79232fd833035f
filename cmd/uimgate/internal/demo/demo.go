// Package demo demonstrates a real gateway in front of the example shop. An agent, an assistant with a bridge, a person without a key and a
// person's assistant agree to the shop's policy. They call its intents through every door that accepts a PAT. Each step checks its result.
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

// Options configure Run. All except Once and Doors are required.
type Options struct {
	Out     io.Writer
	Once    bool   // return after the tour; otherwise the gateway runs until the context is done
	Doors   bool   // show agents of other networks instead: uAgents, the AEA framework and MRP
	Program string // the name of this program on the command line
	Version string
	Now     func() time.Time
}

// Run starts the shop and the gateway, takes all steps of the tour, and removes its files. It returns the error of the first step that
// fails.
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

// otherDoors opens the doors for other networks in the shop's configuration. Agents of the AEA framework sign agreements but not calls, so
// orders must be possible without a proof of key.
const otherDoors = `  - doors: {uagents: {}, aea: {tcp: "127.0.0.1:0"}, mrp: {}}
    intents: {"` + orderUID + `": {proof: optional}}
    agents_file:`

// spending is the setting that lets people permit clients without a key to spend money.
const spending = `  - doors: {mcp: {consent: {budget: {max: 1 EUR/month, per_call: 0.05 EUR, confirm_above: 0.05 EUR}}}}
    agents_file:`

// relay configures the relay of the gateway for MRP agents. It raises the limit on messages, so that an agent reaches the limit of the
// policy first.
const relay = `
mrp_relay: {listen: "127.0.0.1:0", sends_per_minute: 100}
`

// Config writes the files of the example shop to a directory, and loads them with the address of the shop. If doors is true, it opens the
// doors for other networks. Otherwise, people may give budgets to clients without a key.
func Config(dir, shop string, doors bool) (*config.Config, error) {
	for _, name := range []string{"agents.json", "policy.json", "uimgate.yaml"} {
		text, err := examples.Files.ReadFile("shop/" + name)
		if err != nil {
			return nil, err
		}
		if !doors {
			text = bytes.Replace(text, []byte("  - agents_file:"), []byte(spending), 1)
		} else {
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

// startShop serves the example shop on a free port until ctx ends, and returns its URL.
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
			return fmt.Errorf("serving the shop: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return "http://" + ln.Addr().String(), nil
}
