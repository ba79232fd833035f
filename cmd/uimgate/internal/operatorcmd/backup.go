package operatorcmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/store"
)

// copyColumns are the output of backup, restore, move-store and verify-ledger.
var copyColumns = cli.Fields(`engine file bytes schema_version agents agreements executions unresolved ledger_entries latest_entry
	relay_agents relay_messages relay_blobs set_aside`,
	cli.ForPeople("bytes", func(c daemon.Copy) string {
		if c.File == "" {
			return ""
		}
		return humanBytes(c.Bytes)
	}),
)

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// A keeper holds the flags of backup, restore, move-store and verify-ledger.
type keeper struct {
	operator
	data string
}

func (k *keeper) stateFlags(c *cobra.Command) *cobra.Command {
	c.Flags().StringVarP(&k.config, "config", "c", "uimgate.yaml", "configuration file")
	c.Flags().StringVar(&k.data, "data", "", "data directory, instead of data in the configuration")
	c.Flags().StringVarP(&k.format, "output", "o", "table", "table, json or csv")
	return c
}

// open loads the configuration, and returns a keeper of its state that reports progress on stderr. If the configuration is invalid, open
// prints the problems and returns cli.ErrSilent. For needed, see config.Overrides.Needed.
func (k *keeper) open(c *cobra.Command, needed func(string, bool) bool) (*daemon.Keeper, error) {
	if err := cli.CheckFormat(k.format); err != nil {
		return nil, err
	}
	cfg, problems := config.Load(k.config, config.Overrides{Blocks: bindings.Blocks(), Env: os.LookupEnv, Data: k.data, Needed: needed})
	out := c.ErrOrStderr()
	if cfg == nil {
		cli.PrintProblems(out, problems)
		return nil, cli.ErrSilent
	}
	return &daemon.Keeper{Config: cfg, Now: time.Now, Progress: daemon.Progress{
		Copied: func(part, whole int64) {
			fmt.Fprintf(out, "Copied %s of about %s.\n", humanBytes(part), humanBytes(whole))
		},
		Checking: func(d time.Duration) { fmt.Fprintf(out, "Still checking the copy after %s.\n", d.Round(time.Second)) },
	}}, nil
}

// ofState reports whether the command needs a value of the configuration to find the state.
func ofState(path string, _ bool) bool { return path == "" || path == "data" || path == "store" }

const postgresBackup = "the state is in PostgreSQL: back it up with pg_dump, which makes a consistent copy while the gateways run.\n" +
	"To restore it: stop every gateway, load the dump with pg_restore, run 'uimgate restore --after-external', start the gateways"

// Backup returns the command uimgate backup.
func Backup() *cobra.Command {
	k := &keeper{}
	return k.stateFlags(&cobra.Command{
		Use: "backup FILE", Short: "Back up the state of a gateway, which may be running", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Backup writes a consistent copy of the state to FILE: agents, agreements with their evidence, PAT records, limits,
the ledger, and the data of a message relay except the contents of its files. The gateway may be running, and backup
does not block it. FILE must not exist. It appears only when it is complete, checked and synced, and only its owner
can read it.

FILE contains neither the keys in the data directory, nor the admin token, nor the audit stream. A restore does not need
these keys: it ends every PAT issued before, and the gateway creates a new key. FILE does contain the private keys of
ACME certificates, and the results that calls with an idempotency key returned during the last day, so protect it like
the data directory.`,
		Example: "  uimgate backup /var/backups/uimgate-2026-11-21.db",
		RunE: func(c *cobra.Command, args []string) error {
			state, err := k.open(c, ofState)
			if err != nil {
				return err
			}
			made, err := state.Backup(c.Context(), args[0])
			return k.print(c, made, err)
		},
	})
}

// VerifyLedger returns the command uimgate verify-ledger.
func VerifyLedger() *cobra.Command {
	k := &keeper{}
	var since string
	c := k.stateFlags(&cobra.Command{
		Use: "verify-ledger", Short: "Check that the accounts match the ledger", Args: cli.Args(cobra.NoArgs),
		Long: `Verify-ledger adds up the whole ledger, and compares the sums with the accounts, with the amounts that calls hold,
and with what all unapproved agents owe together. It rebuilds each entry, the chain of each account and the log of each
service, and compares the records of calls, policies, agreements, proofs and questions with what the entries name. It
compares refunds, moves of credit and invoices with the entries, and verifies the signatures of the logs. It prints the
verdict on stderr. If something differs, verify-ledger names the first place and exits with code 1: something other than
uimgate changed, added or removed rows. The gateway may be running. Every gateway makes the same check when it starts
for the first time and every day, and logs an error if something differs.

A person with the data directory and its keys can forge an internally consistent ledger. Compare it with the receipts of
agents and the cosignatures of witnesses to detect this: see docs/evidence.md.

With --since FILE, verify-ledger rebuilds only the entries that were added since the check that wrote FILE, and then
replaces FILE. If FILE does not exist, it checks everything and creates FILE. It still checks all sums. It also checks
that no earlier entry is missing, that each log begins with the leaves that were verified, and that the hash of each
entry is in its log. It does not rebuild earlier entries, and does not compare their records, proofs and questions, so
it does not detect changes to their other columns: check the whole ledger from time to time. Keep FILE where a person
who can write to the database cannot write.`,
		Example: "  uimgate verify-ledger\n  uimgate verify-ledger --since /var/lib/audit/shop.json",
		RunE: func(c *cobra.Command, _ []string) error {
			state, err := k.open(c, ofState)
			if err != nil {
				return err
			}
			var found daemon.Copy
			whole := since == ""
			if whole {
				found, err = state.VerifyLedger(c.Context())
			} else {
				found, whole, err = state.VerifyLedgerSince(c.Context(), since)
			}
			if err := k.print(c, found, err); err != nil {
				return err
			}
			entries := fmt.Sprintf("%d entries", found.Entries)
			if found.Entries == 1 {
				entries = "1 entry"
			}
			verdict := "The ledger is consistent"
			if !whole {
				verdict = "The ledger is consistent since the last check"
			}
			fmt.Fprintf(c.ErrOrStderr(), "%s: %s, %s.\n", verdict, entries, problem.Counted(found.Accounts, "account"))
			return nil
		},
	})
	c.Flags().StringVar(&since, "since", "", "check only what was added since the check that wrote this file, and replace the file")
	return c
}

func (k *keeper) print(c *cobra.Command, made daemon.Copy, err error) error {
	if errors.Is(err, daemon.ErrNotEmbedded) {
		return errors.New(postgresBackup)
	}
	if err != nil {
		return err
	}
	return cli.PrintOne(c, k.format, made, copyColumns)
}

// restoredMeans explains the consequences of a restore for the operator and for agents.
const restoredMeans = `Every PAT issued so far has ended: agents must agree again. The gateway creates a new signing key when it starts. If you
publish the key elsewhere, such as in DNS, publish the new one.
%s
Everything that happened after the backup is lost: later calls are not in the ledger, and their idempotency keys are
forgotten. Repeat the blocks, approvals, revocations and top-ups made since. An agreement signed less than five minutes
ago could be used a second time: if that matters, wait five minutes before you start the gateway.
`

// Restore returns the command uimgate restore.
func Restore() *cobra.Command {
	k := &keeper{}
	external := false
	limits := store.DefaultRestoredLimits()
	c := k.stateFlags(&cobra.Command{
		Use: "restore FILE | --after-external", Short: "Restore the state of a gateway from a backup", Args: cli.Args(cobra.MaximumNArgs(1)),
		Long: `Restore replaces the state in the data directory with FILE, which backup made. It fails if a gateway uses the
directory, or if FILE is damaged, does not balance or was made by a newer uimgate. It keeps the previous state next to
the new one, and does not change the keys in the data directory.

Every PAT issued so far ends: agents must agree again. The gateway creates a new signing key when it starts. What happened
after the backup is lost: calls, top-ups, approvals, blocks and revocations.

--limits sets how the limits of policies count from now on, because a backup does not contain the latest calls:
  used    Agents in the backup wait: limits per second, minute, hour, day and week count as used up for one such
          period from now. Limits per month and year continue from the counts in the backup, and --allowance percent of
          each limit also counts as used. Agents that are not in the backup start anew.
  backup  All limits continue from the counts in the backup. Agents can exceed a limit by the calls since the backup.
  fresh   All limits start anew. Agents can exceed a limit by the calls since its period began.
In all modes, lifetime limits continue from the counts in the backup. pat.limit and ceilings do so too, unless fresh
deletes their counts. A call under a limit that is held back like this gets 429 RESTORED_LIMITS, which states
until when; uimgate status lists the periods. To change the mode later, stop the gateway and run restore --after-external --limits.

With --after-external, restore works on a state that another tool, such as pg_restore, has already restored: it checks
that the accounts balance, ends PATs and sets limits as above. Stop every gateway first.`,
		Example: `  uimgate restore /var/backups/uimgate-2026-11-21.db
  uimgate restore /var/backups/uimgate-2026-11-21.db --limits backup
  uimgate restore --after-external`,
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == external {
				return cli.Usage(errors.New("give either a FILE or --after-external"))
			}
			if err := checkRestoredLimits(limits, c.Flags().Changed("allowance")); err != nil {
				return cli.Usage(err)
			}
			state, err := k.open(c, nil)
			if err != nil {
				return err
			}
			state.Limits = limits
			var made daemon.Copy
			if external {
				made, err = state.AfterExternal(c.Context())
			} else {
				made, err = state.Restore(c.Context(), args[0])
			}
			if err == nil {
				if made.SetAside != "" {
					fmt.Fprintf(c.ErrOrStderr(), "The previous state is kept as %s.\n", cli.Sanitize(made.SetAside))
				}
				fmt.Fprintf(c.ErrOrStderr(), restoredMeans, limitsMean(limits))
			}
			return k.print(c, made, err)
		},
	})
	c.Flags().BoolVar(&external, "after-external", false, "the state was already restored by another tool")
	c.Flags().StringVar((*string)(&limits.Mode), "limits", string(limits.Mode), "how limits count from now on: used, backup or fresh")
	c.Flags().Int64Var(&limits.Allowance, "allowance", limits.Allowance,
		"with --limits used: the percentage of each limit per month and year that counts as used since the backup")
	return c
}

// checkRestoredLimits checks the flags --limits and --allowance. allowed reports whether --allowance was given.
func checkRestoredLimits(l store.RestoredLimits, allowed bool) error {
	switch {
	case !slices.Contains(store.RestoreModes, l.Mode):
		return fmt.Errorf("--limits must be used, backup or fresh, not %q", l.Mode)
	case l.Allowance < 0 || l.Allowance > 100:
		return fmt.Errorf("--allowance must be between 0 and 100, not %d", l.Allowance)
	case allowed && l.Mode != store.RestoreUsed:
		return fmt.Errorf("--allowance has no effect with --limits %s", l.Mode)
	}
	return nil
}

// limitsMean explains the effect of a restore on limits.
func limitsMean(l store.RestoredLimits) string {
	switch l.Mode {
	case store.RestoreBackup:
		return "All limits continue from the counts in the backup."
	case store.RestoreFresh:
		return "All limits start anew, except lifetime limits, which continue from the counts in the backup."
	default:
		return fmt.Sprintf(`For agents in the backup, limits per second, minute, hour, day and week count as used up for one such period from now:
calls get 429 RESTORED_LIMITS. Limits per month and year continue from the counts in the backup, and %d%% of each limit
also counts as used. Agents that are not in the backup start anew. Lifetime limits, pat.limit and ceilings continue from the
counts in the backup. uimgate status lists what is held back.`, l.Allowance)
	}
}
