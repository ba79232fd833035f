package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Restore replaces the state with the one in a backup. k.Limits defines how limits count. The gateway must not be running. If Restore
// returns an error while it copies or checks the backup, the state is unchanged. It returns ErrNotEmbedded if the state is in PostgreSQL.
func (k *Keeper) Restore(ctx context.Context, from string) (made Copy, err error) {
	if k.Config.Store.Engine != config.SQLite {
		return Copy{}, ErrNotEmbedded
	}
	dir, err := k.hold()
	if err != nil {
		return Copy{}, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	state := dir.StatePath()
	fresh, done, err := tempBeside(state)
	if err != nil {
		return Copy{}, fmt.Errorf("restoring: %w", err)
	}
	defer done()
	if err := k.copyFile(ctx, from, fresh); err != nil {
		return Copy{}, fmt.Errorf("reading the backup: %w", err)
	}
	// From here on only the copy is used: no other process can change it.
	if _, err := k.inspect(ctx, fresh); err != nil {
		return Copy{}, fmt.Errorf("%s cannot be restored, and the state is unchanged: %w", from, err)
	}
	found, err := sqlstore.Restore(ctx, fresh, k.Limits, sqlstore.Options{Now: k.Now})
	if err != nil {
		return Copy{}, fmt.Errorf("%s cannot be restored, and the state is unchanged: %w", from, err)
	}
	if err := syncPath(fresh); err != nil {
		return Copy{}, fmt.Errorf("restoring: %w", err)
	}
	aside, err := k.replaceState(ctx, state, fresh)
	if err != nil {
		return Copy{}, fmt.Errorf("restoring: %w", err)
	}
	made = copyOf(state, found)
	made.SetAside = aside
	return made, nil
}

// AfterExternal completes a restore that was made with other tools: it migrates the schema, checks that the accounts balance, and marks the
// state as restored, as Restore does. The gateway must not be running.
func (k *Keeper) AfterExternal(ctx context.Context) (made Copy, err error) {
	dir, err := k.hold()
	if err != nil {
		return Copy{}, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	file := ""
	if k.Config.Store.Engine == config.SQLite {
		file = dir.StatePath()
		if _, err := os.Stat(file); err != nil {
			return Copy{}, fmt.Errorf("the restored state cannot be read: %w", err)
		}
	}
	state, err := sqlstore.Open(ctx, dir.StorePlace(k.Config.Store), sqlstore.Options{Now: k.Now})
	if err != nil {
		return Copy{}, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	found, err := state.Restored(ctx, k.Limits)
	if err != nil {
		return Copy{}, err
	}
	return copyOf(file, found), nil
}

// hold locks the data directory. It returns an error if a gateway is using the directory.
func (k *Keeper) hold() (*config.DataDir, error) {
	dir, err := config.OpenDataDir(k.Config.Data)
	if errors.Is(err, config.ErrDataInUse) {
		return nil, fmt.Errorf("%w: the state can be restored only while the gateway is stopped", err)
	}
	return dir, err
}

// besides are the suffixes of the files that SQLite keeps next to a database.
var besides = []string{"-wal", "-shm", "-journal"}

// replaceState replaces the database at state with the file fresh in one step. It keeps the old database under another name, which it
// returns; aside is empty if there was no database.
func (k *Keeper) replaceState(ctx context.Context, state, fresh string) (aside string, err error) {
	if _, err := os.Lstat(state); err == nil {
		aside = state + ".before-restore-" + k.Now().UTC().Format("20060102T150405.000Z")
		// Once its write-ahead log is merged, the old state is one file. If it is too damaged for that, all its files are kept.
		if err := sqlstore.Fold(ctx, state); errors.Is(err, sqlstore.ErrInUse) {
			return "", err
		}
		for _, suffix := range besides {
			if err := os.Rename(state+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		if err := os.Link(state, aside); err != nil { // the file system does not support hard links
			if err := os.Rename(state, aside); err != nil {
				return "", err
			}
		}
	}
	if err := os.Rename(fresh, state); err != nil {
		return "", err
	}
	return aside, syncPath(filepath.Dir(state))
}

// copyFile copies a file over another existing one, and reports its progress.
func (k *Keeper) copyFile(ctx context.Context, from, to string) (err error) {
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
	defer k.watchCopy(ctx, from, to)()
	_, err = io.Copy(out, readerUntil{ctx, in})
	return err
}

// readerUntil reads until its context is done.
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
