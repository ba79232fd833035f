package operatorcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store/sqlstore"
)

var keyColumns = cli.Fields("kid alg purpose process signing created_at not_after jwk*",
	cli.TextColumn("purpose", func(k agreements.Key) keys.Purpose { return cmp.Or(k.Purpose, "pat") }),
)

// Keys returns the command uimgate keys, which manages the keys with which the gateway signs. Private keys never leave the data directory.
func Keys() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "keys", Short: "Create, rotate, retire and list the signing keys of a gateway",
		Example: "  uimgate keys list\n  uimgate keys rotate --all",
	}, o.keysNew(), o.keysRotate(), o.keysRetire(), o.keysList())
}

func (o *operator) keysList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the signing keys that still verify", Args: cli.Args(cobra.NoArgs),
		Long: `List prints the keys of all processes that share the database. PROCESS is the machine and the data directory of the
process that has the private key. SIGNING is yes for the keys with which that process signs. A key with a time under
NOT_AFTER no longer signs anything.`,
		Example: "  uimgate keys list -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			return printQuery(c, o, keyColumns, operation.Keys, operation.None{})
		},
	}
}

func (o *operator) keysRotate() *cobra.Command {
	var r agreements.Rotation
	purpose := keys.ForPATs.Name()
	c := &cobra.Command{
		Use: "rotate", Short: "Sign with a new key from now on", Args: cli.Args(cobra.NoArgs),
		Long: `Rotate creates a new key, which signs all PATs from now on. The previous key continues to verify PATs until
the last PAT that it signed has expired. Rotate prints the new key.

Each process that shares a PostgreSQL database signs with a key of its own, and rotate replaces only the key of the
process that handles the request. With --all, every process creates new keys for PATs and for agent cards of A2A: a
running process within a second, any other when it starts. Rotate then prints the newest keys of each process, after
at most 3 seconds.

--purpose receipt and --purpose log replace the key that signs receipts or checkpoints of the log, in the process that
handles the request. The previous key stays in the key set for as long as the ledger is kept, because agents verify receipts with it.`,
		Example: "  uimgate keys rotate\n  uimgate keys rotate --all\n  uimgate keys rotate --purpose receipt",
		RunE: func(c *cobra.Command, _ []string) error {
			if purpose != keys.ForPATs.Name() {
				if r.Purpose = keys.Purpose(purpose); !r.Purpose.Lasting() || r.All {
					return cli.Usage(errors.New("--purpose must be pat, receipt or log, and receipt and log cannot be used with --all"))
				}
			}
			if r.All {
				var list api.Page[agreements.Key]
				err := printListing(c, o, keyColumns, func(
					ctx context.Context, api *client.Client, _ api.PageRequest,
				) (api.Page[agreements.Key], error) {
					var err error
					list, err = rotateAll(ctx, api)
					return list, err
				})
				printAbsent(c.ErrOrStderr(), list.Items)
				return err
			}
			return printAnswer(c, o, keyColumns, operation.RotateKey, r)
		},
	}
	c.Flags().BoolVar(&r.All, "all", false, "rotate the keys of every process that shares the database")
	c.Flags().StringVar(&purpose, "purpose", purpose, "purpose of the key to replace: pat, receipt or log")
	return c
}

func (o *operator) keysRetire() *cobra.Command {
	var at string
	all := false
	c := &cobra.Command{
		Use: "retire KID | --all", Short: "Retire a key, and end every PAT that it signed", Args: cli.Args(cobra.MaximumNArgs(1)),
		Long: `Retire ends a key immediately, or at a future time. From then on, the PATs that it signed are invalid, and
agents must agree again. Retire a key if it leaked; otherwise, rotate it. The process that signs with it, whichever it
is, creates a new key within a second or, if it does not run, when it starts.

With --all, retire ends the keys of every process that shares the database, and thus every PAT. It prints the keys that
it retired. Use it if you do not know which key leaked.`,
		Example: "  uimgate keys retire tK3o0cNcBg-3dcYUyKhcRmdDoDuFJl9SGSCPEqOhZlA\n  uimgate keys retire --all",
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == all {
				return cli.Usage(errors.New("give either a KID or --all"))
			}
			if all {
				return printQuery(c, o, keyColumns, operation.RetireKeys, agreements.KeysRetirement{At: at})
			}
			r := agreements.Retirement{KeyID: keys.ID(args[0]), At: at}
			return printAnswer(c, o, keyColumns, operation.RetireKey, r)
		},
	}
	c.Flags().StringVar(&at, "at", "", "time, such as 2030-01-31T12:00:00Z (default now)")
	c.Flags().BoolVar(&all, "all", false, "retire the keys of every process that shares the database")
	return c
}

// keysNew returns the command that creates the first key before the gateway runs for the first time. A running gateway needs uimgate keys
// rotate instead.
func (o *operator) keysNew() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use: "new", Short: "Create the signing key before the gateway runs for the first time", Args: cli.Args(cobra.NoArgs),
		Long: `New creates the signing key in the data directory, so that you can publish its public key before the gateway runs.
If there is a key already, new prints it. If a gateway is running, new fails: use rotate instead.`,
		Example: "  uimgate keys new -c uimgate.yaml",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(o.format); err != nil {
				return err
			}
			cfg, problems := config.Load(o.config, config.Overrides{Blocks: bindings.Blocks(), Env: os.LookupEnv, Data: data})
			if cfg == nil {
				cli.PrintProblems(c.ErrOrStderr(), problems)
				return cli.ErrSilent
			}
			return o.makeKey(c, cfg)
		},
	}
	c.Flags().StringVar(&data, "data", "", "data directory, instead of data in the configuration")
	return c
}

func (o *operator) makeKey(c *cobra.Command, cfg *config.Config) (err error) {
	dir, err := config.OpenDataDir(cfg.Data)
	if errors.Is(err, config.ErrDataInUse) {
		return fmt.Errorf("%w\nA running gateway has a key: to create a new one, run 'uimgate keys rotate'", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	state, err := sqlstore.Open(c.Context(), dir.StorePlace(cfg.Store), sqlstore.Options{Now: time.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	ring, err := keys.Open(c.Context(), keys.Config{
		Store: state, Files: dir.Keys(), Algorithm: string(cfg.PAT.Algorithm),
		Overlap: max(time.Minute, cfg.PAT.TTL+cfg.PAT.RenewGrace+2*cfg.PAT.Leeway), Process: dir.Process(), Now: time.Now,
	})
	if err != nil {
		return err
	}
	for _, k := range ring.Keys(time.Now()) {
		if k.ID == ring.Current() {
			return cli.PrintOne(c, o.format, agreements.KeyOf(k), keyColumns)
		}
	}
	return errors.New("the key that was created cannot be found")
}
