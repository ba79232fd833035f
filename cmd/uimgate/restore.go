package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// restoredMeans is what an operator has to know after a restore.
const restoredMeans = `Every PAT issued so far has ended: agents agree again. The gateway makes a new signing key when it starts; where the
key is published elsewhere, such as in DNS, publish the new one.
Every limit counts as used up: per second to per week until that time has passed from now, per month and year until
the calendar month or year ends (UTC). Lifetime limits know only what the backup knew.
What happened after the backup is not known: calls made since are not in the ledger and their idempotency keys are
forgotten; blocks, approvals, revocations and top-ups made since must be made again. An agreement signed less than five
minutes ago could be used a second time: where that matters, start the gateway five minutes from now.
`

func restoreCommand() *cobra.Command {
	k := &keeper{}
	external := false
	c := k.keeperFlags(&cobra.Command{
		Use: "restore FILE | --after-external", Short: "Take the state of a gateway back to a backup", Args: usageArgs(cobra.MaximumNArgs(1)),
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
				return usageError{errors.New("from what? give either a FILE or --after-external")}
			}
			cfg, err := k.load(c)
			if err != nil {
				return err
			}
			if cfg.Store.Engine != config.SQLite && !external {
				return errors.New(postgresBackup)
			}
			var made copied
			if external {
				made, err = afterExternal(c.Context(), cfg)
			} else {
				made, err = restore(c.Context(), c.ErrOrStderr(), cfg.Data, args[0])
			}
			if err != nil {
				return err
			}
			if made.SetAside != "" {
				fmt.Fprintf(c.ErrOrStderr(), "The state before is kept as %s.\n", plain(made.SetAside))
			}
			fmt.Fprint(c.ErrOrStderr(), restoredMeans)
			return k.print(c, made)
		},
	})
	c.Flags().BoolVar(&external, "after-external", false, "the state was put back already, by other tools")
	return c
}

// hold takes hold of a data directory that no gateway may be using.
func hold(data string) (*config.DataDir, error) {
	dir, err := config.OpenDataDir(data)
	if errors.Is(err, config.ErrDataInUse) {
		return nil, fmt.Errorf("%w\nA state is restored while its gateway is stopped", err)
	}
	return dir, err
}

// restore replaces the state of a data directory by the one in a backup.
func restore(ctx context.Context, say io.Writer, data, from string) (made copied, err error) {
	dir, err := hold(data)
	if err != nil {
		return copied{}, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	state := dir.StatePath()
	fresh, err := tempBeside(state)
	if err != nil {
		return copied{}, fmt.Errorf("restoring: %w", err)
	}
	defer removeDatabase(fresh) // where it got another name, there is nothing to remove
	if err := copyFile(ctx, say, from, fresh); err != nil {
		return copied{}, fmt.Errorf("reading the backup: %w", err)
	}
	// From here on it is the copy that counts: nobody else can change it.
	if _, err := inspect(ctx, say, fresh); err != nil {
		return copied{}, fmt.Errorf("%s cannot be restored, and nothing was changed: %w", from, err)
	}
	found, err := sqlstore.Restore(ctx, fresh, sqlstore.Options{Now: time.Now})
	if err != nil {
		return copied{}, fmt.Errorf("%s cannot be restored, and nothing was changed: %w", from, err)
	}
	if err := syncFile(fresh); err != nil {
		return copied{}, fmt.Errorf("restoring: %w", err)
	}
	aside, err := replaceState(ctx, state, fresh)
	if err != nil {
		return copied{}, fmt.Errorf("restoring: %w", err)
	}
	made = copiedOf(state, found)
	made.SetAside = aside
	return made, nil
}

// besides are the files that SQLite keeps beside a database.
var besides = []string{"-wal", "-shm", "-journal"}

func removeDatabase(path string) {
	for _, suffix := range append([]string{""}, besides...) {
		_ = os.Remove(path + suffix)
	}
}

// replaceState puts a database in place of the one at state, in one step, and keeps that one under another name, which
// it returns; none where there was none.
func replaceState(ctx context.Context, state, fresh string) (aside string, err error) {
	if _, err := os.Lstat(state); err == nil {
		aside = state + ".before-restore-" + time.Now().UTC().Format("20060102T150405.000Z")
		// With its log written back the old state is one file. Where it is too damaged for that, what is there is kept.
		if err := sqlstore.Fold(ctx, state); errors.Is(err, sqlstore.ErrInUse) {
			return "", err
		}
		for _, suffix := range besides {
			if err := os.Rename(state+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		if err := os.Link(state, aside); err != nil { // a file system without hard links
			if err := os.Rename(state, aside); err != nil {
				return "", err
			}
		}
	}
	if err := os.Rename(fresh, state); err != nil {
		return "", err
	}
	return aside, syncFile(filepath.Dir(state))
}

// copyFile copies a file into another that is there.
func copyFile(ctx context.Context, say io.Writer, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	defer watchCopy(say, from, to)()
	_, err = io.Copy(out, readerUntil{ctx, in})
	return err
}

// readerUntil reads until a context ends.
type readerUntil struct {
	ctx context.Context //nolint:containedctx // io.Reader has no other place for it
	r   io.Reader
}

func (u readerUntil) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// afterExternal does what restore does to a state that is in its place already.
func afterExternal(ctx context.Context, cfg *config.Config) (made copied, err error) {
	dir, err := hold(cfg.Data)
	if err != nil {
		return copied{}, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	file := "PostgreSQL" // its URL may hold a password
	if cfg.Store.Engine == config.SQLite {
		file = dir.StatePath()
		if _, err := os.Stat(file); err != nil {
			return copied{}, fmt.Errorf("there is no state: %w", err)
		}
	}
	state, err := sqlstore.Open(ctx, dir.StorePlace(cfg.Store), sqlstore.Options{Now: time.Now})
	if err != nil {
		return copied{}, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	found, err := state.Restored(ctx)
	if err != nil {
		return copied{}, err
	}
	return copiedOf(file, found), nil
}
