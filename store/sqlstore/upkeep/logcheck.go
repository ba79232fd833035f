package upkeep

import (
	"bytes"
	"context"
	"fmt"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	selectLogs = "SELECT service, epoch, size, seq, root FROM log_heads ORDER BY service, epoch"
	// selectUpper reads the tiles that are computed from the leaves.
	selectUpper = "SELECT level, n, hashes FROM log_tiles WHERE service = ? AND epoch = ? AND (level > 0 OR n >= ?)"
	// selectUnlogged finds a line that is in no log, although the logs contain all lines up to a later one.
	selectUnlogged = `SELECT l.service FROM ledger l LEFT JOIN log_heads h ON h.service = l.service AND h.epoch = l.epoch
		WHERE l.k >= 0 AND l.seq <= (SELECT n FROM sequences WHERE name = 'logged') AND l.seq > COALESCE(h.seq, 0) LIMIT 1`
	selectTiles = "SELECT n, first_seq, hashes FROM log_tiles WHERE service = ? AND epoch = ? AND level = 0 AND n >= ? ORDER BY n LIMIT 2"
	// selectLogged reads the leaves of those lines in a part of the ledger that belong to one log.
	selectLogged = `SELECT seq, leaf FROM ledger WHERE service = ? AND seq >= ? AND seq < ? AND epoch = ? AND k >= 0
		UNION ALL SELECT seq, leaf FROM log_entries WHERE service = ? AND seq >= ? AND seq < ? AND epoch = ? ORDER BY 1`
)

// A loggedHead is the state of a log according to the database.
type loggedHead struct {
	service          string
	epoch, size, seq int64
	root             evidence.Hash
}

// checkLogs rebuilds the Merkle tree of each log from its leaves, and checks that the root and the tiles are the stored ones. It also
// checks that each line of the ledger up to the last leaf is in the log, in the same order. Leaves of deleted lines stay in the log. It
// also verifies what the keys of the logs have signed. If since is not nil, each log must begin with the leaves that it had at that point.
func checkLogs(ctx context.Context, reader *engine.Reader, heads []loggedHead, issuers epochIssuers, since *VerifiedPoint) error {
	if err := checkSizes(ctx, reader, heads); err != nil {
		return err
	}
	var service string
	if reader.Find(ctx, selectUnlogged, nil, &service) {
		return fmt.Errorf("the logs of service %q lack a line of the ledger: %w", service, store.ErrAltered)
	}
	for _, h := range heads {
		if h.size == 0 {
			continue
		}
		if err := checkLog(ctx, reader, h, since); err != nil {
			return err
		}
	}
	return checkSigned(ctx, reader, issuers)
}

// readLogHeads reads the state of all logs.
func readLogHeads(ctx context.Context, reader *engine.Reader) (heads []loggedHead) {
	for row := range reader.Query(ctx, selectLogs) {
		var h loggedHead
		var root []byte
		row(&h.service, &h.epoch, &h.size, &h.seq, &root)
		h.root = evidence.HashOf(root)
		heads = append(heads, h)
	}
	return heads
}

// selectEntries counts, for each service, the entries that it ever had, and those that are not in a log yet.
const selectEntries = `SELECT service, CAST(SUM(entries) AS BIGINT), CAST(SUM(open) AS BIGINT) FROM (
	SELECT service, lines AS entries, 0 AS open FROM accounts
	UNION ALL SELECT service, 1, CASE WHEN seq > (SELECT n FROM sequences WHERE name = 'logged') THEN 1 ELSE 0 END FROM log_entries
	UNION ALL SELECT service, 0, 1 FROM ledger WHERE k >= 0 AND seq > (SELECT n FROM sequences WHERE name = 'logged')) AS every
	GROUP BY service`

// checkSizes checks that no service has more leaves in its logs than it has had entries. It thus detects entries that were cut
// off the end of a chain together with their number in the account.
func checkSizes(ctx context.Context, reader *engine.Reader, heads []loggedHead) error {
	leaves := map[string]int64{}
	for _, h := range heads {
		leaves[h.service] += h.size
	}
	for row := range reader.Query(ctx, selectEntries) {
		var service string
		var entries, open int64
		row(&service, &entries, &open)
		if leaves[service] > entries-open { // fewer leaves: old lines were deleted while the service had no log
			return fmt.Errorf("the logs of service %q have %d leaves, but the ledger has had %d entries, including %d that are not in a log yet: %w", service,
				leaves[service], entries, open, store.ErrAltered)
		}
	}
	return nil
}

// A leafTile is a tile that contains the leaves of a log.
type leafTile struct {
	n, firstSeq int64
	hashes      []byte
}

func checkLog(ctx context.Context, reader *engine.Reader, h loggedHead, since *VerifiedPoint) error {
	tree, err := log.OpenTree(0, nil)
	if err != nil {
		return err
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("the log of service %q, epoch %d: %s: %w", h.service, h.epoch, fmt.Sprintf(format, args...), store.ErrAltered)
	}
	upper := map[tilePlace][]byte{}
	verified, root := since.rootAt(h.service, h.epoch)
	for n := int64(0); tree.Size() < h.size; n++ {
		tiles := leafTiles(ctx, reader, h, n)
		if len(tiles) == 0 || tiles[0].n != n || len(tiles[0].hashes)%evidence.HashSize != 0 {
			return wrong("tile %d is missing", n)
		}
		until := h.seq + 1
		if len(tiles) > 1 {
			until = tiles[1].firstSeq
		}
		if err := checkTile(ctx, reader, h, tiles[0], until, wrong); err != nil {
			return err
		}
		for leaf := range chunks(tiles[0].hashes) {
			if tree.Size() == h.size {
				return wrong("it has more leaves than its checkpoint")
			}
			tree.Append(leaf)
			if tree.Size() != verified {
				continue
			}
			if was, err := tree.Root(); err != nil || was != root {
				return wrong("its first %d leaves are not those that the last check verified", verified)
			}
		}
		for _, tile := range tree.Changed() { // frees the tiles behind the right edge
			if tile.Level > 0 {
				upper[tilePlace{tile.Level, tile.N}] = tile.Hashes
			}
		}
	}
	if root, err := tree.Root(); err != nil || root != h.root {
		return wrong("the root of its %d leaves does not match its checkpoint", h.size)
	}
	return checkUpper(ctx, reader, h, upper, wrong)
}

// A tilePlace is the place of a tile in a log.
type tilePlace struct {
	level int
	n     int64
}

// checkUpper compares the stored tiles above the leaves with those that belong to the leaves. Proofs contain their hashes.
func checkUpper(ctx context.Context, reader *engine.Reader, h loggedHead, want map[tilePlace][]byte,
	wrong func(string, ...any) error,
) error {
	for row := range reader.Query(ctx, selectUpper, h.service, h.epoch, (h.size+255)/256) {
		var at tilePlace
		var hashes []byte
		row(&at.level, &at.n, &hashes)
		if tile, is := want[at]; !is || !bytes.Equal(tile, hashes) {
			return wrong("tile %d of level %d does not belong to its leaves", at.n, at.level)
		}
		delete(want, at)
	}
	for at := range want {
		return wrong("tile %d of level %d is missing", at.n, at.level)
	}
	return nil
}

// chunks iterates over the hashes in a tile.
func chunks(hashes []byte) func(func(evidence.Hash) bool) {
	return func(yield func(evidence.Hash) bool) {
		for i := 0; i+evidence.HashSize <= len(hashes); i += evidence.HashSize {
			if !yield(evidence.Hash(hashes[i : i+evidence.HashSize])) {
				return
			}
		}
	}
}

// leafTiles reads the tile n and the next one.
func leafTiles(ctx context.Context, reader *engine.Reader, h loggedHead, n int64) (tiles []leafTile) {
	for row := range reader.Query(ctx, selectTiles, h.service, h.epoch, n) {
		var t leafTile
		row(&t.n, &t.firstSeq, &t.hashes)
		tiles = append(tiles, t)
	}
	return tiles
}

// checkTile checks that all lines whose leaves belong to a tile exist, in order.
func checkTile(ctx context.Context, reader *engine.Reader, h loggedHead, t leafTile, until int64,
	wrong func(string, ...any) error,
) error {
	part := []any{h.service, t.firstSeq, until, h.epoch}
	rest := t.hashes
	for row := range reader.Query(ctx, selectLogged, append(part, part...)...) {
		var seq int64
		var leaf []byte
		row(&seq, &leaf)
		for len(rest) >= evidence.HashSize && !bytes.Equal(rest[:evidence.HashSize], leaf) {
			rest = rest[evidence.HashSize:]
		}
		if len(rest) < evidence.HashSize {
			return wrong("it does not contain line %d of the ledger", seq)
		}
		rest = rest[evidence.HashSize:]
	}
	return nil
}
