package log

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/uimgate/uimgate/evidence"
)

// A Reader returns the stored hashes of a tile. It may return more hashes than the tree at the size of a proof has.
type Reader func(level int, n int64) ([]byte, error)

// ErrRange means that a size, an index or a tile is outside of the tree.
var ErrRange = errors.New("outside of the log")

// ReadHashes implements tlog.HashReader. It reads each tile once.
func (r Reader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	tiles := map[tilePlace][]byte{}
	for i, index := range indexes {
		tile := tlog.TileForIndex(height, index)
		at := tilePlace{tile.L, tile.N}
		data, read := tiles[at]
		if !read {
			var err error
			if data, err = r(at.level, at.n); err != nil {
				return nil, err
			}
			tiles[at] = data
		}
		if len(data) < tile.W*tlog.HashSize {
			return nil, fmt.Errorf("tile %d of level %d has %d bytes; want %d", tile.N, tile.L, len(data), tile.W*tlog.HashSize)
		}
		hash, err := tlog.HashFromTile(tile, data[:tile.W*tlog.HashSize], index)
		if err != nil {
			return nil, err
		}
		hashes[i] = hash
	}
	return hashes, nil
}

// Root returns the root of the tree with the first size leaves.
func (r Reader) Root(size int64) (evidence.Hash, error) {
	if size < 0 || size > MaxSize {
		return evidence.Hash{}, ErrRange
	}
	root, err := tlog.TreeHash(size, r)
	return evidence.Hash(root), err
}

// Inclusion returns the proof that leaf number index is in the tree with the first size leaves. See RFC 6962, section 2.1.1.
func (r Reader) Inclusion(size, index int64) ([]evidence.Hash, error) {
	if index < 0 || index >= size || size > MaxSize {
		return nil, ErrRange
	}
	proof, err := tlog.ProveRecord(size, index, r)
	return hashesOf(proof), err
}

// Consistency returns the proof that the tree with the first before leaves is a prefix of the tree with the first size leaves. The proof is
// empty if before is 0. See RFC 6962, section 2.1.2.
func (r Reader) Consistency(before, size int64) ([]evidence.Hash, error) {
	switch {
	case before < 0 || before > size || size > MaxSize:
		return nil, ErrRange
	case before == 0 || before == size:
		return nil, nil
	}
	proof, err := tlog.ProveTree(size, before, r)
	return hashesOf(proof), err
}

func hashesOf(proof []tlog.Hash) []evidence.Hash {
	out := make([]evidence.Hash, len(proof))
	for i, h := range proof {
		out[i] = evidence.Hash(h)
	}
	return out
}

func tlogHashes(proof []evidence.Hash) []tlog.Hash {
	out := make([]tlog.Hash, len(proof))
	for i, h := range proof {
		out[i] = tlog.Hash(h)
	}
	return out
}

// ParseTilePath parses the part of the path of a tile after /tile/, such as 0/x001/234 or 1/000.p/5, and returns the width, which is the
// number of hashes. The error is ErrRange.
func ParseTilePath(path string) (level int, n int64, hashes int, err error) {
	tile, err := tlog.ParseTilePath("tile/" + strconv.Itoa(height) + "/" + path)
	if err != nil || tile.L < 0 || tile.L > maxLevel || strings.HasPrefix(path, "data/") {
		return 0, 0, 0, ErrRange
	}
	return tile.L, tile.N, tile.W, nil
}

// TileWidth returns the number of hashes of a tile in the tree with the given size. It is 0 if the tree has no such tile.
func TileWidth(size int64, level int, n int64) int {
	if level < 0 || n < 0 || level > maxLevel {
		return 0
	}
	count := size>>(height*level) - n*width
	if n > size>>(height*level)/width {
		return 0
	}
	return int(min(max(count, 0), width))
}
