// Package relaycmd implements the commands for operators of a relay of the Machine Relay Protocol: uimgate mrp-relay, which runs a relay,
// and the subcommands of uimgate mrp that read and change its state.
package relaycmd

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/mrp/relayhost"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// storeVariable is the environment variable with the URL of a PostgreSQL database. It is not a flag, because the URL contains a password.
const storeVariable = "UIMGATE_MRP_STORE"

// drain is how long requests in progress may take to finish at shutdown.
const drain = 20 * time.Second

// flags are the flags of mrp-relay.
type flags struct {
	log               func(io.Writer) *zap.Logger
	settings          relayhost.Settings
	data, blobs       string
	cert, key         string
	metrics           string
	proxies           []string
	bytes, blobsBytes string
}

// Serve returns the command uimgate mrp-relay. The command calls log with its stderr to create its logger.
func Serve(log func(io.Writer) *zap.Logger) *cobra.Command {
	f := &flags{log: log, settings: *relayhost.Defaults()}
	s := &f.settings
	c := &cobra.Command{
		Use: "mrp-relay", Short: "Run a relay of the Machine Relay Protocol, without a gateway",
		Long: `Mrp-relay runs a relay through which agents send messages and files to each other, with version 1
of the Machine Relay Protocol. Agents need no account: an agent is an Ed25519 key, which the relay
registers with its first signed request. The relay stores its state in an SQLite database in the
data directory, or in the PostgreSQL database whose URL is in ` + storeVariable + `.
Several relays can share a PostgreSQL database.

When the relay is ready to accept requests, it prints one line of JSON with its addresses. The log
goes to stderr. On SIGTERM, the relay finishes the requests in progress and exits. A gateway runs
the same relay if its configuration has the block mrp_relay.`,
		Example: `  uimgate mrp-relay --data ./relay
  uimgate mrp-relay --listen :443 --tls-cert cert.pem --tls-key key.pem --metrics 127.0.0.1:9090
  UIMGATE_MRP_STORE=postgres://relay@db/relay uimgate mrp-relay --blobs-dir /srv/blobs`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage(fmt.Errorf("mrp-relay takes no arguments, only flags: %q", args[0]))
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	fs := c.Flags()
	fs.StringVar(&s.Listen, "listen", s.Listen, "address and port to listen on; port 0 selects a free port")
	fs.StringVar(&f.data, "data", "./relay", "directory of the state and the files; only one process can use it at a time")
	fs.StringVar(&f.blobs, "blobs-dir", "", "directory of the files, which all relays on one database must share (default blobs in --data)")
	fs.StringVar(&f.cert, "tls-cert", "", "PEM file with the certificate and its chain (default: serve http)")
	fs.StringVar(&f.key, "tls-key", "", "PEM file with the private key of the certificate")
	fs.StringVar(&f.metrics, "metrics", "", "address and port to serve /metrics for Prometheus on (default: no metrics)")
	fs.StringArrayVar(&f.proxies, "trusted-proxy", nil, "network whose X-Forwarded-For is trusted, such as 10.0.0.0/8; may be repeated")
	fs.StringVar(&f.blobsBytes, "blobs", humanize.IBytes(uint64(s.Blobs)), "maximum size of all files together")
	fs.StringVar(&f.bytes, "message-bytes", humanize.IBytes(uint64(s.Bytes)), "maximum size of all messages together")
	fs.IntVar(&s.Agents, "agents", s.Agents, "maximum number of agents")
	fs.IntVar(&s.Messages, "messages", s.Messages, "maximum number of stored messages")
	fs.IntVar(&s.Waiting, "waiting", s.Waiting, "maximum number of messages waiting for one agent")
	fs.IntVar(&s.Sends, "sends-per-minute", s.Sends, "messages that one agent may send per minute")
	fs.IntVar(&s.Polls, "polls-per-minute", s.Polls, "polls that one agent may make per minute")
	fs.IntVar(&s.Others, "requests-per-minute", s.Others, "other requests that one agent may make per minute")
	fs.IntVar(&s.Newcomers, "new-agents-per-hour", s.Newcomers, "agents that one client address may register per hour")
	fs.BoolVar(&s.PrivateWebhooks, "private-webhooks", false, "allow webhooks at private addresses and over http; only for closed networks")
	return c
}

// ready is the line that announces that the relay accepts requests.
type ready struct {
	Ready   bool   `json:"ready"`
	Relay   string `json:"mrp_relay"`
	Metrics string `json:"metrics,omitempty"`
}

func (f *flags) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	log := f.log(stderr)
	defer func() { _ = log.Sync() }()
	if _, err := membudget.LimitFromCGroup(); err != nil {
		log.Warn("memory", zap.Error(err))
	}
	o, err := f.options(ctx, log)
	if err != nil {
		return err
	}
	data, err := config.OpenDataDir(f.data)
	if err != nil {
		return errors.Join(err, o.Listener.Close())
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	place := os.Getenv(storeVariable)
	if o.Shared = place != ""; !o.Shared {
		place = data.StatePath()
	}
	if o.State, err = sqlstore.Open(ctx, place, sqlstore.Options{Now: time.Now}); err != nil {
		return errors.Join(err, o.Listener.Close())
	}
	defer func() { err = errors.Join(err, o.State.Close()) }()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o.Metrics = registry
	host, err := relayhost.New(o)
	if err != nil {
		return errors.Join(err, o.Listener.Close())
	}
	line := ready{Ready: true, Relay: address(o.Listener, o.Certificate != nil)}
	if f.metrics != "" {
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.metrics)
		if err != nil {
			return errors.Join(fmt.Errorf("listening for metrics: %w", err), o.Listener.Close())
		}
		line.Metrics = address(ln, false) + "/metrics"
		defer serveMetrics(ln, registry).Close() //nolint:errcheck // the server ends with the process
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "%s\n", text)
	log.Info("serving", zap.String("listen", line.Relay))
	err = host.Run(ctx)
	log.Info("stopped")
	return err
}

// options converts the flags to options, and opens the listener. The caller must close the listener.
func (f *flags) options(ctx context.Context, log *zap.Logger) (o relayhost.Options, err error) {
	o = relayhost.Options{Blobs: f.blobs, Drain: drain, Version: cli.ReadVersion().Version, Log: log}
	if o.Blobs == "" {
		o.Blobs = filepath.Join(f.data, "blobs")
	}
	for _, size := range []struct {
		text string
		into *int64
	}{{f.blobsBytes, &f.settings.Blobs}, {f.bytes, &f.settings.Bytes}} {
		n, err := humanize.ParseBytes(size.text)
		if err != nil || n < 1<<20 || n > 1<<50 {
			return o, cli.Usage(fmt.Errorf("%q is not a size from 1 MiB to 1 PiB, such as 10GiB", size.text))
		}
		*size.into = int64(n)
	}
	s := &f.settings
	for name, n := range map[string]int{
		"agents": s.Agents, "messages": s.Messages, "waiting": s.Waiting, "sends-per-minute": s.Sends, "polls-per-minute": s.Polls,
		"requests-per-minute": s.Others, "new-agents-per-hour": s.Newcomers,
	} {
		if n < 1 || n > 1_000_000_000 {
			return o, cli.Usage(fmt.Errorf("--%s must be from 1 to 1000000000", name))
		}
	}
	for _, text := range f.proxies {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return o, cli.Usage(fmt.Errorf("--trusted-proxy: %q is not a network, such as 10.0.0.0/8", text))
		}
		o.Proxies = append(o.Proxies, p)
	}
	if (f.cert == "") != (f.key == "") {
		return o, cli.Usage(errors.New("--tls-cert and --tls-key must be used together"))
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return o, fmt.Errorf("reading the certificate: %w", err)
		}
		if text := config.CertificateProblem(&pair, time.Now()); text != "" {
			log.Warn("certificate", zap.String("file", f.cert), zap.String("problem", text))
		}
		o.Certificate = func() *tls.Certificate { return &pair }
	}
	o.Settings = *s
	if o.Listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen); err != nil {
		return o, fmt.Errorf("listening on %s: %w", s.Listen, err)
	}
	return o, nil
}

func address(ln net.Listener, secure bool) string {
	if secure {
		return "https://" + ln.Addr().String()
	}
	return "http://" + ln.Addr().String()
}

func serveMetrics(ln net.Listener, registry *prometheus.Registry) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(ln) }()
	return s
}
