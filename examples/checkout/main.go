// Command checkout serves a page that imitates a hosted checkout, and posts its events to a gateway.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/uimgate/uimgate/examples/checkout/page"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9100", "address to listen on; port 0 selects a free port")
	webhook := flag.String("webhook", "http://127.0.0.1:8080/api/credit/webhook", "webhook of the gateway")
	stripe := flag.Bool("stripe", false, "post events in the form of Stripe")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *listen, page.Options{
		Webhook: *webhook, Secret: os.Getenv("PAYMENTS_SECRET"), Stripe: *stripe,
		Now: time.Now, //nolint:forbidigo // a program of its own
	})
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "checkout: %v\n", err)
		os.Exit(1)
	}
}

const headerTimeout = 10 * time.Second

func run(ctx context.Context, listen string, o page.Options) error {
	if o.Secret == "" {
		return errors.New("set PAYMENTS_SECRET to payments.webhook.secret of the gateway")
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: page.New(o), ReadHeaderTimeout: headerTimeout}
	fmt.Printf("{\"ready\":true,\"listen\":\"http://%s\"}\n", ln.Addr())
	end := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer end()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
