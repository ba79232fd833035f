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

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A copied is what backup and restore say they made.
type copied struct {
	File       string    `json:"file"`
	Bytes      int64     `json:"bytes,omitempty"`
	Schema     int64     `json:"schema_version"`
	Agents     int64     `json:"agents"`
	Agreements int64     `json:"agreements"`
	Executions int64     `json:"executions"`
	Unresolved int64     `json:"unresolved"`
	Entries    int64     `json:"ledger_entries"`
	Latest     time.Time `json:"latest_entry,omitzero"`
	SetAside   string    `json:"set_aside,omitempty"` // restore: where the state before is
}

func copiedOf(file string, c sqlstore.Contents) copied {
	out := copied{File: file, Schema: c.Schema, Agents: c.Agents, Agreements: c.Agreements, Executions: c.Executions, Unresolved: c.Unresolved, Entries: c.Entries, Latest: c.Latest}
	if info, err := os.Stat(file); err == nil {
		out.Bytes = info.Size()
	}
	return out
}

var copiedColumns = []column[copied]{
	textColumn("file", func(c copied) string { return c.File }),
	countColumn("bytes", func(c copied) int64 { return c.Bytes }).forPeople(func(c copied) string { return humanBytes(c.Bytes) }),
	countColumn("schema_version", func(c copied) int64 { return c.Schema }),
	countColumn("agents", func(c copied) int64 { return c.Agents }),
	countColumn("agreements", func(c copied) int64 { return c.Agreements }),
	countColumn("executions", func(c copied) int64 { return c.Executions }),
	countColumn("unresolved", func(c copied) int64 { return c.Unresolved }),
	countColumn("ledger_entries", func(c copied) int64 { return c.Entries }),
	timeColumn("latest_entry", func(c copied) time.Time { return c.Latest }),
	textColumn("set_aside", func(c copied) string { return c.SetAside }),
}

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(0, n))) }

// A keeper is who backs up and restores: it works on the data directory itself, with no gateway in between.
type keeper struct {
	operator
	data string
}

func (k *keeper) keeperFlags(c *cobra.Command) *cobra.Command {
	c.Flags().StringVarP(&k.config, "config", "c", "uimgate.yaml", "the configuration")
	c.Flags().StringVar(&k.data, "data", "", "data directory, instead of data")
	c.Flags().StringVarP(&k.format, "output", "o", "table", "table, json or csv")
	return c
}

func (k *keeper) load(c *cobra.Command) (*config.Config, error) {
	if err := k.checkFormat(); err != nil {
		return nil, err
	}
	cfg, problems := config.Load(k.config, config.Overrides{Env: os.LookupEnv, Data: k.data})
	if cfg == nil {
		printProblems(c.ErrOrStderr(), problems)
		return nil, errSilent
	}
	return cfg, nil
}

const postgresBackup = `the state is in PostgreSQL, which has its own tools: pg_dump makes a backup that is of one moment while the gateways run.
To restore it: stop every gateway, load the dump with pg_restore, run 'uimgate restore --after-external', start the gateways`

func backupCommand() *cobra.Command {
	k := &keeper{}
	return k.keeperFlags(&cobra.Command{
		Use: "backup FILE", Short: "Copy the state of a gateway, also while it runs", Args: usageArgs(cobra.ExactArgs(1)),
		Long: `Backup writes the state of one moment into FILE: agents, agreements with their evidence, PAT records, limits and the
ledger. The gateway may run meanwhile and is not kept waiting. FILE must not exist; it appears whole, checked and
synced, readable by its owner alone, or not at all.

FILE holds no private key, no admin token and no audit stream. Restored, it needs none of the keys: every PAT
issued before ends, and the gateway makes a new key. It does hold what agents were answered under idempotency keys
in the last day, so guard it like the data directory.`,
		Example: "  uimgate backup /var/backups/uimgate-2026-11-21.db",
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := k.load(c)
			if err != nil {
				return err
			}
			if cfg.Store.Engine != config.SQLite {
				return errors.New(postgresBackup)
			}
			made, err := backup(c.Context(), c.ErrOrStderr(), config.StatePath(cfg.Data), args[0])
			if err != nil {
				return err
			}
			return k.print(c, made)
		},
	})
}

func (k *keeper) print(c *cobra.Command, made copied) error {
	return printOne(c, &k.operator, made, copiedColumns)
}

// backup copies the database at state to a file of that name, which appears only when it is complete.
func backup(ctx context.Context, say io.Writer, state, to string) (made copied, err error) {
	if _, err := os.Lstat(to); err == nil {
		return copied{}, fmt.Errorf("%s exists: a backup is never written over another file", to)
	}
	if _, err := os.Stat(state); errors.Is(err, fs.ErrNotExist) {
		return copied{}, fmt.Errorf("there is no state at %s: is this the data directory, and has the gateway run?", state)
	}
	temp, err := tempBeside(to)
	if err != nil {
		return copied{}, fmt.Errorf("writing the backup: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp)
		}
	}()
	watched := watchCopy(say, state, temp)
	err = sqlstore.Backup(ctx, state, temp)
	watched()
	if err != nil {
		return copied{}, err
	}
	found, err := inspect(ctx, say, temp)
	if err != nil {
		return copied{}, fmt.Errorf("the copy is not sound, so there is no backup: %w", err)
	}
	if err := syncFile(temp); err != nil {
		return copied{}, fmt.Errorf("writing the backup: %w", err)
	}
	if err := placeNew(temp, to); err != nil {
		return copied{}, fmt.Errorf("writing the backup: %w", err)
	}
	return copiedOf(to, found), nil
}

// tempBeside makes an empty file for its owner alone in the directory of another.
func tempBeside(path string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-uimgate-*")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// placeNew gives a file its name unless that is taken.
func placeNew(from, to string) error {
	err := os.Link(from, to) // unlike a rename it never replaces a file
	switch {
	case err == nil:
		if err := os.Remove(from); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrExist):
		return err
	default: // a file system without hard links
		if _, err := os.Lstat(to); err == nil {
			return fmt.Errorf("%s: %w", to, fs.ErrExist)
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
	}
	return syncFile(filepath.Dir(to))
}

// syncFile makes a file, or the names in a directory, durable.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// sayEvery is how often work that takes long says how far it is.
const sayEvery = 5 * time.Second

// watchCopy says how large a growing copy is, until the function it returns is called.
func watchCopy(say io.Writer, from, to string) (stop func()) {
	return every(func() {
		whole, err := os.Stat(from)
		part, err2 := os.Stat(to)
		if err == nil && err2 == nil {
			fmt.Fprintf(say, "Copied %s of about %s.\n", humanBytes(part.Size()), humanBytes(whole.Size()))
		}
	})
}

func every(say func()) (stop func()) {
	ticker, ended, gone := time.NewTicker(sayEvery), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				say()
			}
		}
	}()
	return func() { ticker.Stop(); close(ended); <-gone }
}

// inspect proves that a copy is whole.
func inspect(ctx context.Context, say io.Writer, path string) (sqlstore.Contents, error) {
	begun := time.Now()
	defer every(func() {
		fmt.Fprintf(say, "Checking the copy since %s.\n", time.Since(begun).Round(time.Second))
	})()
	return sqlstore.Inspect(ctx, path)
}
