package log

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/uimgate/uimgate/evidence"
)

const (
	height   = 8           // the number of levels of the tree in a tile
	width    = 1 << height // the number of hashes in a full tile
	maxLevel = 6           // the highest level of a tile
	// MaxSize is the maximum number of leaves in a tree.
	MaxSize = math.MaxInt64 >> height
)

// A Tile holds up to 256 consecutive hashes of one level of the tree: leaf hashes at level 0, and the roots of the full tiles below at each
// higher level. See C2SP tlog-tiles.
type Tile struct {
	Level  int
	N      int64  // number of the tile in its level
	Hashes []byte // the hashes, 32 bytes each
}

// A Tree is the right edge of a tree, which is enough to append leaves and to compute the root. It is not safe for concurrent use.
type Tree struct {
	size  int64
	edge  [][]byte // hashes of the last tile of each level; a full tile is replaced by an empty one
	dirty map[tilePlace][]byte
}

type tilePlace struct {
	level int
	n     int64
}

// OpenTree returns the tree with the given size. load returns the stored hashes of a tile, which may be more than the size implies.
func OpenTree(size int64, load func(level int, n int64) ([]byte, error)) (*Tree, error) {
	if size < 0 || size > MaxSize {
		return nil, fmt.Errorf("opening a log: the size %d is out of range", size)
	}
	t := &Tree{size: size, dirty: map[tilePlace][]byte{}}
	for level := 0; size>>(height*level) > 0; level++ {
		count := size >> (height * level)
		hashes := int(count%width) * tlog.HashSize
		var tile []byte
		if hashes > 0 {
			var err error
			if tile, err = load(level, count/width); err != nil {
				return nil, err
			}
			if len(tile) < hashes {
				return nil, fmt.Errorf("opening a log: tile %d of level %d has %d bytes; want %d", count/width, level, len(tile), hashes)
			}
		}
		t.edge = append(t.edge, append(make([]byte, 0, width*tlog.HashSize), tile[:hashes]...))
	}
	return t, nil
}

// Size returns the number of leaves.
func (t *Tree) Size() int64 { return t.size }

// Append appends the hash of a leaf.
func (t *Tree) Append(leaf evidence.Hash) {
	t.add(0, t.size, leaf[:])
	t.size++
}

// add appends a hash to a level. n is the number of the hash in the level.
func (t *Tree) add(level int, n int64, hash []byte) {
	if level == len(t.edge) {
		t.edge = append(t.edge, make([]byte, 0, width*tlog.HashSize))
	}
	tile := append(t.edge[level], hash...)
	t.edge[level] = tile
	t.dirty[tilePlace{level, n / width}] = tile
	if len(tile) == width*tlog.HashSize {
		root := rootOf(tile)
		t.edge[level] = make([]byte, 0, width*tlog.HashSize)
		t.add(level+1, n/width, root[:])
	}
}

// rootOf returns the root of a full tile.
func rootOf(tile []byte) tlog.Hash {
	var level [width]tlog.Hash
	for i := range level {
		level[i] = tlog.Hash(tile[i*tlog.HashSize:])
	}
	for n := width / 2; n > 0; n /= 2 {
		for i := range n {
			level[i] = tlog.NodeHash(level[2*i], level[2*i+1])
		}
	}
	return level[0]
}

// Root returns the root of the tree.
func (t *Tree) Root() (evidence.Hash, error) {
	root, err := tlog.TreeHash(t.size, Reader(func(level int, n int64) ([]byte, error) {
		if level >= len(t.edge) || n != t.size>>(height*level)/width {
			return nil, fmt.Errorf("tile %d of level %d is not on the right edge", n, level)
		}
		return t.edge[level], nil
	}))
	return evidence.Hash(root), err
}

// Changed returns the tiles that have changed since the previous call, or since the tree was opened, in the order of levels and
// numbers.
func (t *Tree) Changed() []Tile {
	tiles := make([]Tile, 0, len(t.dirty))
	for at, hashes := range t.dirty {
		tiles = append(tiles, Tile{at.level, at.n, hashes})
	}
	clear(t.dirty)
	slices.SortFunc(tiles, func(a, b Tile) int { return cmp.Or(a.Level-b.Level, cmp.Compare(a.N, b.N)) })
	return tiles
}
