package operatorcmd

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
)

// A StateCopy is the output of backup and restore.
type StateCopy struct {
	Engine     string    `json:"engine"`         // sqlite or postgres
	File       string    `json:"file,omitempty"` // of sqlite
	Bytes      int64     `json:"bytes,omitempty"`
	Schema     int64     `json:"schema_version"`
	Agents     int64     `json:"agents"`
	Agreements int64     `json:"agreements"`
	Executions int64     `json:"executions"`
	Unresolved int64     `json:"unresolved"`
	Entries    int64     `json:"ledger_entries"`
	Latest     time.Time `json:"latest_entry,omitzero"`
	// The data of a message relay.
	RelayAgents   int64  `json:"relay_agents"`
	RelayMessages int64  `json:"relay_messages"`
	RelayBlobs    int64  `json:"relay_blobs"`         // files, without their bytes
	SetAside      string `json:"set_aside,omitempty"` // restore: location of the previous state
}

func stateCopyOf(c daemon.Copy) StateCopy {
	return StateCopy{
		Engine: string(c.Engine), File: c.File, Bytes: c.Bytes,
		Schema: c.Schema, Agents: c.Agents, Agreements: c.Agreements, Executions: c.Executions,
		Unresolved: c.Unresolved, Entries: c.Entries, Latest: c.Latest,
		RelayAgents: c.RelayAgents, RelayMessages: c.RelayMessages, RelayBlobs: c.RelayBlobs, SetAside: c.SetAside,
	}
}

var stateCopyColumns = []cli.Column[StateCopy]{
	cli.TextColumn("engine", func(c StateCopy) string { return c.Engine }),
	cli.TextColumn("file", func(c StateCopy) string { return c.File }),
	cli.CountColumn("bytes", func(c StateCopy) int64 { return c.Bytes }).ForPeople(func(c StateCopy) string {
		if c.File == "" {
			return ""
		}
		return humanBytes(c.Bytes)
	}),
	cli.CountColumn("schema_version", func(c StateCopy) int64 { return c.Schema }),
	cli.CountColumn("agents", func(c StateCopy) int64 { return c.Agents }),
	cli.CountColumn("agreements", func(c StateCopy) int64 { return c.Agreements }),
	cli.CountColumn("executions", func(c StateCopy) int64 { return c.Executions }),
	cli.CountColumn("unresolved", func(c StateCopy) int64 { return c.Unresolved }),
	cli.CountColumn("ledger_entries", func(c StateCopy) int64 { return c.Entries }),
	cli.TimeColumn("latest_entry", func(c StateCopy) time.Time { return c.Latest }),
	cli.CountColumn("relay_agents", func(c StateCopy) int64 { return c.RelayAgents }),
	cli.CountColumn("relay_messages", func(c StateCopy) int64 { return c.RelayMessages }),
	cli.CountColumn("relay_blobs", func(c StateCopy) int64 { return c.RelayBlobs }),
	cli.TextColumn("set_aside", func(c StateCopy) string { return c.SetAside }),
}

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// A keeper is the flags of backup and restore.
type keeper struct {
	operator
	data string
}

func (k *keeper) stateFlags(c *cobra.Command) *cobra.Command {
	c.Flags().StringVarP(&k.config, "config", "c", "uimgate.yaml", "the configuration")
	c.Flags().StringVar(&k.data, "data", "", "data directory, instead of data")
	c.Flags().StringVarP(&k.format, "output", "o", "table", "table, json or csv")
	return c
}

// open opens the data directory, and reports progress on stderr.
func (k *keeper) open(c *cobra.Command) (*daemon.Keeper, error) {
	if err := cli.CheckFormat(k.format); err != nil {
		return nil, err
	}
	cfg, problems := config.Load(k.config, config.Overrides{Blocks: bindings.Blocks(), Env: os.LookupEnv, Data: k.data})
	out := c.ErrOrStderr()
	if cfg == nil {
		cli.PrintProblems(out, problems)
		return nil, cli.ErrSilent
	}
	return &daemon.Keeper{Config: cfg, Now: time.Now, Progress: daemon.Progress{
		Copied: func(part, whole int64) {
			fmt.Fprintf(out, "Copied %s of about %s.\n", humanBytes(part), humanBytes(whole))
		},
		Checking: func(d time.Duration) { fmt.Fprintf(out, "Checking the copy since %s.\n", d.Round(time.Second)) },
	}}, nil
}

const postgresBackup = "the state is in PostgreSQL, which has its own tools: pg_dump makes a backup that is of one moment " +
	"while the gateways run.\n" +
	"To restore it: stop every gateway, load the dump with pg_restore, run 'uimgate restore --after-external', start the gateways"

// Backup is uimgate backup.
func Backup() *cobra.Command {
	k := &keeper{}
	return k.stateFlags(&cobra.Command{
		Use: "backup FILE", Short: "Copy the state of a gateway, also while it runs", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Backup writes the state of one moment into FILE: agents, agreements with their evidence, PAT records, limits and the
ledger, and what a relay of messages keeps, but for the bytes of its files. The gateway may run meanwhile and is not
kept waiting. FILE must not exist; it appears whole, checked and synced, readable by its owner alone, or not at all.

FILE holds no private key, no admin token and no audit stream. Restored, it needs none of the keys: every PAT
issued before ends, and the gateway makes a new key. It does hold what agents were answered under idempotency keys
in the last day, so guard it like the data directory.`,
		Example: "  uimgate backup /var/backups/uimgate-2026-11-21.db",
		RunE: func(c *cobra.Command, args []string) error {
			state, err := k.open(c)
			if err != nil {
				return err
			}
			made, err := state.Backup(c.Context(), args[0])
			return k.print(c, made, err)
		},
	})
}

// VerifyLedger is uimgate verify-ledger.
func VerifyLedger() *cobra.Command {
	k := &keeper{}
	return k.stateFlags(&cobra.Command{
		Use: "verify-ledger", Short: "Check that the accounts are the sums over the ledger", Args: cli.Args(cobra.NoArgs),
		Long: `Verify-ledger adds up the whole ledger and compares it with the accounts, what calls hold and what unapproved
agents owe together. It names the first account that differs, and then exits with 1: entries were removed or changed
by something other than uimgate. A gateway may run meanwhile; each checks the same when it starts, and logs it.`,
		Example: "  uimgate verify-ledger",
		RunE: func(c *cobra.Command, _ []string) error {
			state, err := k.open(c)
			if err != nil {
				return err
			}
			found, err := state.VerifyLedger(c.Context())
			return k.print(c, found, err)
		},
	})
}

func (k *keeper) print(c *cobra.Command, made daemon.Copy, err error) error {
	if errors.Is(err, daemon.ErrNotEmbedded) {
		return errors.New(postgresBackup)
	}
	if err != nil {
		return err
	}
	return cli.PrintOne(c, k.format, stateCopyOf(made), stateCopyColumns)
}

// restoredMeans explains the consequences of a restore for the operator and for agents.
const restoredMeans = `Every PAT issued so far has ended: agents agree again. The gateway makes a new signing key when it starts; where the
key is published elsewhere, such as in DNS, publish the new one.
Every limit of a policy counts as used up: per second to per week until that time has passed from now, per month and
year until the calendar month or year ends (UTC). Lifetime limits, pat.limit and ceilings know only what the backup knew.
What happened after the backup is not known: calls made since are not in the ledger and their idempotency keys are
forgotten; blocks, approvals, revocations and top-ups made since must be made again. An agreement signed less than five
minutes ago could be used a second time: where that matters, start the gateway five minutes from now.
`

// Restore is uimgate restore.
func Restore() *cobra.Command {
	k := &keeper{}
	external := false
	c := k.stateFlags(&cobra.Command{
		Use: "restore FILE | --after-external", Short: "Take the state of a gateway back to a backup", Args: cli.Args(cobra.MaximumNArgs(1)),
		Long: `Restore puts the state in FILE, which backup made, in place of the one in the data directory. It refuses while a gateway
runs there, and a FILE that is damaged, does not balance or was made by a newer uimgate. The state before is kept
beside the new one, not deleted. Keys in the data directory are not touched.

` + restoredMeans + `
With --after-external it takes a state that other tools have put back already, such as pg_restore, and does the
rest: it checks that the accounts balance, ends PATs and fills limits as above. Stop every gateway first.`,
		Example: `  uimgate restore /var/backups/uimgate-2026-11-21.db
  uimgate restore --after-external`,
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == external {
				return cli.Usage(errors.New("from what? give either a FILE or --after-external"))
			}
			state, err := k.open(c)
			if err != nil {
				return err
			}
			var made daemon.Copy
			if external {
				made, err = state.AfterExternal(c.Context())
			} else {
				made, err = state.Restore(c.Context(), args[0])
			}
			if err == nil {
				if made.SetAside != "" {
					fmt.Fprintf(c.ErrOrStderr(), "The state before is kept as %s.\n", cli.Sanitize(made.SetAside))
				}
				fmt.Fprint(c.ErrOrStderr(), restoredMeans)
			}
			return k.print(c, made, err)
		},
	})
	c.Flags().BoolVar(&external, "after-external", false, "the state was put back already, by other tools")
	return c
}
