package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/examples"
	"github.com/uimgate/uimgate/examples/shop/shopapi"
	"github.com/uimgate/uimgate/internal/daemon"
)

func demoCommand() *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use: "demo", Short: "See an agent discover, agree and execute, against a real gateway and shop", Args: usageArgs(cobra.NoArgs),
		Long: `Demo starts the example shop and a gateway in front of it on free ports, and walks an agent through
everything: discover, policy, agree, execute, a refused call, a limit, renew, revoke. It prints each
exchange, and then stays up to be tried until it is interrupted. Nothing is left behind.`,
		Example: `  uimgate demo
  uimgate demo --once   # ends after the walk: exit code 0 if every step did what it should`,
		RunE: func(c *cobra.Command, _ []string) error { return runDemo(c.Context(), c.OutOrStdout(), once) },
	}
	c.Flags().BoolVar(&once, "once", false, "end after the walk")
	return c
}

func runDemo(ctx context.Context, out io.Writer, once bool) error {
	dir, err := os.MkdirTemp("", "uimgate-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)

	shop, err := startShop(ctx, group)
	if err != nil {
		return err
	}
	cfg, err := demoConfig(dir, shop)
	if err != nil {
		return err
	}
	ready := make(chan daemon.Addresses, 1)
	group.Go(func() error {
		return daemon.Run(ctx, daemon.Options{Config: cfg, Log: zap.NewNop(), Now: time.Now, Ready: func(a daemon.Addresses) { ready <- a }})
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
	tour := &tour{out: out, gateway: addresses.Listen, shop: shop, key: key}
	walked := tour.walk(ctx)
	if walked == nil && !once {
		tour.stay(addresses, filepath.Join(cfg.Data, "admin.token"))
		<-ctx.Done()
	}
	stop()
	if err := group.Wait(); err != nil && walked == nil {
		return err
	}
	return walked
}

// demoConfig writes the example shop's own files, and reads them with the shop's address of now.
func demoConfig(dir, shop string) (*config.Config, error) {
	for _, name := range []string{"agents.json", "policy.json", "uimgate.yaml"} {
		text, err := examples.Files.ReadFile("shop/" + name)
		if err != nil {
			return nil, err
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
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Data: filepath.Join(dir, "data"), Env: env,
	})
	return cfg, problems.Err()
}

// startShop serves the example shop on a free port until ctx ends.
func startShop(ctx context.Context, group *errgroup.Group) (string, error) {
	shop, err := shopapi.New(shopapi.Config{Now: time.Now})
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

// exchanges prints each exchange of an agent with its service: what matters of it, on a few lines.
type exchanges struct {
	out  io.Writer
	mu   sync.Mutex
	last string
	same int
}

func (e *exchanges) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		var sent []byte
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			sent = body
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		answer, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		got, err := io.ReadAll(answer.Body)
		if err != nil {
			return nil, err
		}
		answer.Body = io.NopCloser(bytes.NewReader(got))
		e.print(r, sent, answer, got)
		return answer, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// shownFields are the header fields that are printed, in this order.
var shownFields = []string{
	"Authorization", "Idempotency-Key", "UIM-Proof", "RateLimit", "UIM-Charge", "Idempotency-Replayed", "Retry-After", "WWW-Authenticate",
}

func (e *exchanges) print(r *http.Request, sent []byte, answer *http.Response, got []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	summary := fmt.Sprintf("%s %s → %s", r.Method, r.URL.RequestURI(), answer.Status)
	if summary == e.last && bytes.Contains(sent, []byte(`"desk"`)) { // the limit's many equal calls
		e.same++
		return
	}
	if e.same > 0 {
		fmt.Fprintf(e.out, "   │ … and %d more like it\n", e.same)
	}
	e.last, e.same = summary, 0
	fmt.Fprintf(e.out, "   ┌ %s %s\n", r.Method, r.URL.RequestURI())
	e.fields(r.Header)
	e.body("→", sent)
	fmt.Fprintf(e.out, "   ├ %s\n", answer.Status)
	e.fields(answer.Header)
	e.body("←", got)
	fmt.Fprintln(e.out, "   └")
}

func (e *exchanges) fields(h http.Header) {
	for _, name := range shownFields {
		if value := h.Get(name); value != "" {
			fmt.Fprintf(e.out, "   │ %s: %s\n", name, shortened(value))
		}
	}
}

// body prints a document on one line, as far as it fits.
func (e *exchanges) body(arrow string, body []byte) {
	const most = 300
	if len(body) == 0 {
		return
	}
	var line bytes.Buffer
	if json.Compact(&line, body) != nil {
		line.Reset()
		line.Write(body)
	}
	text := shortened(strings.ReplaceAll(line.String(), "\n", " "))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + fmt.Sprintf(" … (%d bytes)", len(body))
	}
	fmt.Fprintf(e.out, "   │ %s %s\n", arrow, text)
}

var compactJWS = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`)

// shortened keeps PATs, agreements and proofs recognisable and useless.
func shortened(s string) string {
	return compactJWS.ReplaceAllStringFunc(s, func(jws string) string { return jws[:8] + "…" })
}
