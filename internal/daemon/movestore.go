package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// ErrEmbedded means that the configuration does not name a PostgreSQL database.
var ErrEmbedded = errors.New("the configuration does not name a PostgreSQL database")

// MoveStore moves the state from the SQLite database in the data directory into the PostgreSQL database of the configuration, and renames
// the file. No gateway may use either database. If MoveStore fails, the file keeps the state. It returns ErrEmbedded if the configuration
// names no PostgreSQL database.
func (k *Keeper) MoveStore(ctx context.Context) (made Copy, err error) {
	if k.Config.Store.Engine == config.SQLite {
		return Copy{}, ErrEmbedded
	}
	dir, err := config.OpenDataDir(k.Config.Data)
	if errors.Is(err, config.ErrDataInUse) {
		return Copy{}, fmt.Errorf("%w: the state can be moved only while the gateway is stopped", err)
	}
	if err != nil {
		return Copy{}, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	state := dir.StatePath()
	if _, err := os.Stat(state); errors.Is(err, fs.ErrNotExist) {
		return Copy{}, fmt.Errorf("%s does not exist: check that this is the data directory of the gateway that used SQLite", state)
	}
	found, err := sqlstore.Transfer(ctx, state, dir.StorePlace(k.Config.Store), sqlstore.Options{Now: k.Now})
	if err != nil {
		return Copy{}, fmt.Errorf("the state was not moved, and is still in %s: %w", state, err)
	}
	made = copyOf("", found)
	made.SetAside = state + ".moved-" + k.Now().UTC().Format("20060102T150405.000Z")
	if err := errors.Join(os.Rename(state, made.SetAside), syncPath(filepath.Dir(state))); err != nil {
		return Copy{}, fmt.Errorf("the state was moved, but rename or remove %s before you start the gateway: %w", state, err)
	}
	return made, nil
}

// LeftBehind returns a problem if the configuration names a PostgreSQL database without agents, and the data directory has an SQLite
// database with agents. Without the state in that database, blocked agents could return, and limits and debts would begin anew. LeftBehind
// changes nothing, and ignores databases that it cannot read.
func (k *Keeper) LeftBehind(ctx context.Context) config.Problems {
	state := config.StatePath(k.Config.Data)
	if _, err := os.Stat(state); err != nil || k.Config.Store.Engine == config.SQLite {
		return nil
	}
	if behind, err := sqlstore.HasAgents(ctx, state); err != nil || !behind {
		return nil
	}
	if used, err := sqlstore.HasAgents(ctx, k.place()); err != nil || used {
		return nil
	}
	return config.Problems{k.Config.Problemf(problem.Error, "store", "has no agents yet, and %s has the state of this gateway: "+
		"run uimgate move-store to move it, or rename that file to start without it", state)}
}
