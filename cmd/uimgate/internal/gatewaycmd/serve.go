// Package gatewaycmd implements the commands that create, check, publish and serve a configuration.
package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"os"
	"os/signal"
	"syscall"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/online"
	"github.com/uimgate/uimgate/internal/problem"
)

// Serve returns the command uimgate serve.
func Serve() *cobra.Command {
	var path string
	var o config.Overrides
	c := &cobra.Command{
		Use: "serve", Short: "Run the gateway", Args: cli.Args(cobra.NoArgs),
		Long: `Serve runs the gateway that a configuration describes. When the gateway is ready to accept requests, it
prints one line of JSON on stdout with the addresses on which it listens. The log goes to stderr. On
SIGHUP, or when one of its files changes, the gateway reloads the whole configuration; if the new one is
invalid, it keeps the old one. On SIGTERM, it finishes the calls in progress and exits. Under systemd, it
supports Type=notify-reload and WatchdogSec.`,
		Example: `  uimgate serve -c uimgate.yaml
  uimgate serve -c uimgate.yaml --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --data /tmp/uimgate`,
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), path, o, c.OutOrStdout(), c.ErrOrStderr(), func(daemon.Addresses) {})
		},
	}
	configFlag(c, &path)
	c.Flags().StringVar(&o.Listen, "listen", "", "public address, instead of server.listen; port 0 selects a free port")
	c.Flags().StringVar(&o.AdminListen, "admin-listen", "", "admin address, instead of admin.listen")
	c.Flags().StringVar(&o.Data, "data", "", "data directory, instead of data")
	return c
}

func configFlag(c *cobra.Command, path *string) {
	c.Flags().StringVarP(path, "config", "c", "uimgate.yaml", "configuration file")
}

// serve runs the gateway that the configuration at path describes, until ctx ends. It calls ready when the gateway accepts requests. If the
// configuration has errors, it prints them and returns cli.ErrSilent.
func serve(ctx context.Context, path string, o config.Overrides, stdout, stderr io.Writer, ready func(daemon.Addresses)) error {
	o.Env, o.Blocks = os.LookupEnv, bindings.Blocks()
	load := func() (*config.Config, config.Problems) { return config.Load(path, o) }
	cfg, problems := load()
	cli.PrintProblems(stderr, problems)
	if cfg == nil {
		return cli.ErrSilent
	}
	log := NewLogger(cfg.Telemetry.Log, stderr)
	defer func() { _ = log.Sync() }()
	stdlog.SetOutput(libraryLog{log})
	limit, err := membudget.LimitFromCGroup()
	if err != nil {
		log.Warn("memory", zap.Error(err))
	}
	log.Info("memory", zap.Int64("limit_bytes", limit))
	manager := serviceManager{log}
	defer manager.keepAlive()()
	program := cli.ReadVersion()
	err = daemon.Run(ctx, daemon.Options{
		Version: program.Version, Commit: program.Commit,
		Config: cfg, Load: load, Reload: hangups(ctx), Log: log, Now: time.Now, Environment: os.Getenv,
		Phase: manager.enter, Sockets: manager.sockets(),
		Ready: func(a daemon.Addresses) {
			if _, err := membudget.UnmapProgram(); err != nil {
				log.Warn("memory", zap.Error(err))
			}
			line, err := jsonv2.Marshal(struct {
				Ready bool `json:"ready"`
				daemon.Addresses
			}{true, a}, jsonv2.Deterministic(true))
			if err == nil {
				_, _ = fmt.Fprintf(stdout, "%s\n", line)
			}
			ready(a)
		},
	})
	if refused, ok := errors.AsType[*daemon.ProblemsError](err); ok {
		cli.PrintProblems(stderr, refused.Problems)
		return cli.ErrSilent
	}
	return err
}

// A libraryLog receives the lines that libraries write to the standard log. Such a line may quote a response of an upstream, so
// libraryLog logs only its length.
type libraryLog struct{ log *zap.Logger }

func (u libraryLog) Write(p []byte) (int, error) {
	u.log.Warn("a library wrote to the standard log; its text is withheld", zap.Int("bytes", len(p)))
	return len(p), nil
}

// hangups returns a channel that gets a value when the process receives SIGHUP. When ctx ends, hangups stops listening for the signal.
func hangups(ctx context.Context) <-chan struct{} {
	signals, reloads := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				select {
				case reloads <- struct{}{}:
				default:
				}
			}
		}
	}()
	return reloads
}

// NewLogger returns the logger of the process, which writes to w.
func NewLogger(c config.Log, w io.Writer) *zap.Logger {
	level, err := zapcore.ParseLevel(string(c.Level))
	if err != nil {
		level = zapcore.InfoLevel
	}
	enc := zap.NewProductionEncoderConfig()
	enc.TimeKey, enc.EncodeTime, enc.EncodeDuration = "time", zapcore.RFC3339NanoTimeEncoder, zapcore.SecondsDurationEncoder
	encoder := zapcore.NewJSONEncoder(enc)
	if c.Format == config.LogConsole || (c.Format == config.LogAuto && cli.IsTerminal(w)) {
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level))
}

// Check returns the command uimgate check.
func Check() *cobra.Command {
	var path, data string
	var strict, withOnline, force bool
	c := &cobra.Command{
		Use: "check", Short: "Report all problems of a configuration at once", Args: cli.Args(cobra.NoArgs),
		Long: `Check loads a configuration with all files that it names, as serve would, and prints each problem as
file:line: message. It opens no port. If there is a database, check reads it. If the database has state of a service
that the configuration no longer names, check reports an error. If allow or parties reserves an agent id that another
key already uses, check prints a warning.

It is an error if agents can call no intent of a service. It is also an error if, according to the database, agents
called an intent in the last 7 days and can no longer call it. A running gateway would refuse such a configuration.
With --force, check reports both as warnings.

With --online, check also looks up the names of the services, and connects to their ports, to the upstreams and to
the collectors. It fetches the directory of the CA and the metadata of the identity provider. It prints what works,
and a warning for what does not.`,
		Example: `  uimgate check -c uimgate.yaml
  uimgate check -c uimgate.yaml --strict   # warnings count as errors
  uimgate check -c uimgate.yaml --online   # DNS, ports, upstreams, CA
  uimgate check -c /etc/uimgate/uimgate.yaml --data /var/lib/uimgate`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, problems := config.Load(path, config.Overrides{Blocks: bindings.Blocks(), Env: os.LookupEnv, Data: data})
			services := 0
			if cfg != nil {
				loaded, more := service.Load(c.Context(), cfg, time.Now)
				problems = append(problems, more...)
				if loaded != nil {
					keeper := daemon.Keeper{Config: cfg, Now: time.Now}
					behind := keeper.LeftBehind(c.Context())
					if len(behind) == 0 && keeper.HasEmptyServer(c.Context()) {
						fmt.Fprintln(c.ErrOrStderr(), "ok: store: the database is empty: the gateway creates its tables when it starts")
					}
					problems = append(problems, behind...)
					problems = append(problems, keeper.CheckServices(c.Context(), loaded)...)
					ending := keeper.CheckEndings(c.Context(), loaded)
					if force {
						ending = daemon.Forced(ending)
					}
					problems = append(problems, ending...)
				}
				services = len(cfg.Services)
			}
			if withOnline && !problems.Failed() {
				problems = append(problems, checkOnline(c, cfg)...)
			}
			cli.PrintProblems(c.ErrOrStderr(), problems)
			if problems.Failed() || (strict && len(problems) > 0) {
				return cli.ErrSilent
			}
			fmt.Fprintf(c.ErrOrStderr(), "%s: good: %s\n", path, problem.Counted(services, "service"))
			return nil
		},
	}
	configFlag(c, &path)
	c.Flags().StringVar(&data, "data", "", "data directory, instead of data in the configuration")
	c.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	c.Flags().BoolVar(&force, "force", false, "report intents that end as warnings, not as errors")
	c.Flags().BoolVar(&withOnline, "online", false, "also check DNS, ports, upstreams, collectors and the CA, over the network")
	return c
}

// checkOnline prints the checks that succeed, and returns the problems of those that fail.
func checkOnline(c *cobra.Command, cfg *config.Config) (problems config.Problems) {
	for _, f := range online.Check(c.Context(), cfg, nil) {
		if f.OK {
			fmt.Fprintf(c.ErrOrStderr(), "ok: %s: %s\n", f.Path, f.Text)
		} else {
			problems = append(problems, f.Problem(cfg))
		}
	}
	return problems
}

// Config returns the command uimgate config.
func Config() *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Print the schema, the reference or the effective values of the configuration", Example: "  uimgate config dump\n  uimgate config schema > uimgate.schema.json",
	}
	c.AddCommand(&cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of uimgate.yaml, for editors", Args: cli.Args(cobra.NoArgs),
		Example: "  uimgate config schema > uimgate.schema.json",
		RunE: func(c *cobra.Command, _ []string) error {
			schema, err := config.Schema(bindings.Blocks())
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(schema)
			return err
		},
	}, &cobra.Command{
		Use: "reference", Short: "Print every key with its default and meaning", Args: cli.Args(cobra.NoArgs),
		Example: "  uimgate config reference",
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(config.Reference(bindings.Blocks()))
			return err
		},
	}, configDump())
	return c
}

func configDump() *cobra.Command {
	var path, format string
	c := &cobra.Command{
		Use: "dump", Short: "Print the effective configuration, with defaults and without secrets", Args: cli.Args(cobra.NoArgs),
		Long: `Dump prints the configuration as a gateway reads it from the same file and environment. It marks each default, and
prints values of the environment in place of those in the file. It prints secrets, and values of ${file:…}, as ***.
It needs neither a gateway nor a database.`,
		Example: "  uimgate config dump -c uimgate.yaml\n  uimgate config dump -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			if format != "yaml" && format != "json" {
				return cli.Usage(fmt.Errorf("-o must be yaml or json, not %q", format))
			}
			cfg, problems := config.Load(path, config.Overrides{Blocks: bindings.Blocks(), Env: os.LookupEnv})
			cli.PrintProblems(c.ErrOrStderr(), problems)
			if cfg == nil {
				return cli.ErrSilent
			}
			if format == "json" {
				return cli.PrintLine(c.OutOrStdout(), cfg.Dump())
			}
			_, err := c.OutOrStdout().Write(cfg.Dump().YAML())
			return err
		},
	}
	configFlag(c, &path)
	c.Flags().StringVarP(&format, "output", "o", "yaml", "yaml or json")
	return c
}
