// Command shop runs the API of a small shop, as an upstream for a gateway.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/uimgate/uimgate/examples/shop/shopapi"
)

const usage = `shop runs the API of a small shop: GET /products, GET /products/{id}, POST /orders.

Usage: shop [--listen ADDRESS] [--api-key KEY]

  --listen ADDRESS   address to listen on; port 0 selects a free port (default 127.0.0.1:9000)
  --api-key KEY      require this key in X-Api-Key (default $SHOP_API_KEY); if it is empty, no key is required

When the shop is ready, it prints one line of JSON: {"ready":true,"listen":"http://127.0.0.1:9000"}.

Example:
  go run ./examples/shop --listen 127.0.0.1:9000 &
  curl 'http://127.0.0.1:9000/products?query=lamp&max_price=50'
`

// drain is the maximum time that requests in progress may take when the shop stops.
const drain = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 if the shop was stopped, 1 after an error, and 2 if the command line is invalid.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	listen := flags.String("listen", "127.0.0.1:9000", "")
	key := flags.String("api-key", getenv("SHOP_API_KEY"), "")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(stdout, usage)
		return 0
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "shop: %v\nTry shop --help.\n", err)
		return 2
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(stderr, "shop: unexpected argument %q\nTry shop --help.\n", flags.Arg(0))
		return 2
	}
	if err := serve(ctx, *listen, *key, stdout); err != nil {
		_, _ = fmt.Fprintf(stderr, "shop: %v\n", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, listen, key string, stdout io.Writer) error {
	shop, err := shopapi.New(shopapi.Config{APIKey: key, Now: time.Now}) //nolint:forbidigo // the program's own clock
	if err != nil {
		return err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler: shop, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	ready := struct {
		Ready  bool   `json:"ready"`
		Listen string `json:"listen"`
	}{true, "http://" + ln.Addr().String()}
	if err := json.NewEncoder(stdout).Encode(ready); err != nil {
		_ = srv.Close()
		return errors.Join(err, ended(served))
	}
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	return errors.Join(srv.Shutdown(bounded), ended(served))
}

// ended waits until the server has stopped, and returns its error, or nil if the server was closed.
func ended(served <-chan error) error {
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
