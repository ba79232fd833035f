package log_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
)

// A memory stores tiles.
type memory map[string][]byte

func place(level int, n int64) string { return fmt.Sprintf("%d/%d", level, n) }

func (m memory) tile(level int, n int64) ([]byte, error) {
	if tile, ok := m[place(level, n)]; ok {
		return tile, nil
	}
	return nil, errors.New("no tile " + place(level, n))
}

func (m memory) store(tiles []log.Tile) {
	for _, t := range tiles {
		m[place(t.Level, t.N)] = slices.Clone(t.Hashes)
	}
}

func leaf(i int64) evidence.Hash {
	return evidence.LeafHash([]byte("entry " + strconv.FormatInt(i, 10)))
}

// grow appends leaves from the size of the tree up to size, and stores the tiles.
func grow(tree *log.Tree, m memory, size int64) {
	for i := tree.Size(); i < size; i++ {
		tree.Append(leaf(i))
	}
	m.store(tree.Changed())
}

func open(tb testing.TB, m memory, size int64) *log.Tree {
	tb.Helper()
	tree, err := log.OpenTree(size, m.tile)
	if err != nil {
		tb.Fatal(err)
	}
	return tree
}

func newKey(name string) (ed25519.PrivateKey, string) {
	seed := evidence.LeafHash([]byte(name))
	key := ed25519.NewKeyFromSeed(seed[:])
	return key, log.VerifierKey(name, key.Public().(ed25519.PublicKey))
}

func TestLeafHashIsRecordHash(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "{}", "a longer entry"} {
		if got, want := evidence.LeafHash([]byte(entry)), evidence.Hash(tlog.RecordHash([]byte(entry))); got != want {
			t.Errorf("%q: got %s, want %s", entry, got, want)
		}
	}
}

// TestForeignLogAcceptsCheckpoints compares a thousand checkpoints of a growing log with golang.org/x/mod, which computes every root on its
// own, verifies every signature, and checks that each checkpoint contains the one before.
func TestForeignLogAcceptsCheckpoints(t *testing.T) {
	t.Parallel()
	const origin = "shop.example/uim-ledger/0"
	private, vkey := newKey(origin)
	signer, err := log.NewSigner(origin, private)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	m, tree := memory{}, open(t, memory{}, 0)
	var stored []tlog.Hash
	reference := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			out[i] = stored[index]
		}
		return out, nil
	})
	var before log.Checkpoint
	for step := range int64(1000) {
		size := before.Size + step%97
		for i := before.Size; i < size; i++ {
			more, err := tlog.StoredHashes(i, []byte("entry "+strconv.FormatInt(i, 10)), reference)
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, more...)
		}
		if step%10 == 0 {
			tree = open(t, m, before.Size) // as after a restart
		}
		grow(tree, m, size)
		root, err := tree.Root()
		if err != nil {
			t.Fatal(err)
		}
		c := log.Checkpoint{Origin: origin, Size: size, Root: root, Time: time.Unix(1_800_000_000+step, 0)}
		signed, err := c.Sign(signer)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := note.Open(signed, note.VerifierList(verifier))
		if err != nil || opened.Text != c.Text() {
			t.Fatalf("size %d: %v", size, err)
		}
		if want, err := tlog.TreeHash(size, reference); err != nil || tlog.Hash(root) != want {
			t.Fatalf("size %d: root %s, want %s, %v", size, root, want, err)
		}
		if again, err := log.Reader(m.tile).Root(before.Size); err != nil || step > 0 && again != before.Root {
			t.Fatalf("size %d: the stored tiles have root %s of the size before, want %s, %v", size, again, before.Root, err)
		}
		proof, err := log.Reader(m.tile).Consistency(before.Size, size)
		if err != nil || step > 0 && log.CheckConsistency(before, c, proof) != nil {
			t.Fatalf("size %d contains %d: %v", size, before.Size, err)
		}
		if before.Size > 0 && size > before.Size {
			foreign := make(tlog.TreeProof, len(proof))
			for i, h := range proof {
				foreign[i] = tlog.Hash(h)
			}
			if err := tlog.CheckTree(foreign, size, tlog.Hash(root), before.Size, tlog.Hash(before.Root)); err != nil {
				t.Fatalf("size %d: %v", size, err)
			}
		}
		before = c
	}
	if before.Size < 40_000 {
		t.Errorf("the log has %d leaves, want several tiles of the second level", before.Size)
	}
	for _, index := range []int64{0, 1, 255, 256, 257, 12345, before.Size - 1} {
		hashes, err := log.Reader(m.tile).Inclusion(before.Size, index)
		if err != nil {
			t.Fatal(err)
		}
		p := log.Proof{Index: index, Hashes: hashes}
		if err := p.Verify(before, leaf(index)); err != nil {
			t.Errorf("leaf %d: %v", index, err)
		}
		if err := p.Verify(before, leaf(index+1)); !errors.Is(err, log.ErrNotIncluded) {
			t.Errorf("another leaf at %d: got %v, want %v", index, err, log.ErrNotIncluded)
		}
	}
}

func TestProofsOfSmallTrees(t *testing.T) {
	t.Parallel()
	m := memory{}
	tree := open(t, m, 0)
	var checkpoints []log.Checkpoint
	for size := range int64(70) {
		grow(tree, m, size)
		root, err := tree.Root()
		if err != nil {
			t.Fatal(err)
		}
		checkpoints = append(checkpoints, log.Checkpoint{Origin: "o", Size: size, Root: root})
	}
	read := log.Reader(m.tile)
	for size, c := range checkpoints {
		for index := range c.Size {
			hashes, err := read.Inclusion(c.Size, index)
			if err != nil || (log.Proof{Index: index, Hashes: hashes}).Verify(c, leaf(index)) != nil {
				t.Errorf("leaf %d of %d: %v", index, size, err)
			}
		}
		for _, before := range checkpoints[:size+1] {
			hashes, err := read.Consistency(before.Size, c.Size)
			if err != nil || log.CheckConsistency(before, c, hashes) != nil {
				t.Errorf("%d contains %d: %v", size, before.Size, err)
			}
			other := before
			other.Root = leaf(1)
			if before.Size > 0 && log.CheckConsistency(other, c, hashes) == nil {
				t.Errorf("%d contains another log of size %d", size, before.Size)
			}
		}
	}
	for name, err := range map[string]error{
		"index at the end": second(read.Inclusion(5, 5)), "negative index": second(read.Inclusion(5, -1)),
		"shrinking": second(read.Consistency(6, 5)), "negative": second(read.Consistency(-1, 5)), "too large": second(read.Inclusion(log.MaxSize+1, 1)),
	} {
		if !errors.Is(err, log.ErrRange) {
			t.Errorf("%s: got %v, want %v", name, err, log.ErrRange)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestTileWidths(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size  int64
		level int
		n     int64
		want  int
	}{
		{0, 0, 0, 0},
		{1, 0, 0, 1},
		{256, 0, 0, 256},
		{256, 0, 1, 0},
		{256, 1, 0, 1},
		{300, 0, 1, 44},
		{300, 0, 2, 0},
		{65536, 2, 0, 1},
		{65536, 3, 0, 0},
		{300, -1, 0, 0},
		{300, 0, -1, 0},
		{300, 99, 0, 0},
	} {
		if got := log.TileWidth(test.size, test.level, test.n); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
	for path, want := range map[string][3]int64{
		"0/000": {0, 0, 256}, "0/x001/x234/067": {0, 1234067, 256}, "1/000.p/5": {1, 0, 5}, "0/x001/234.p/255": {0, 1234, 255},
	} {
		level, n, hashes, err := log.ParseTilePath(path)
		if got := [3]int64{int64(level), n, int64(hashes)}; err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", path, got, err, want)
		}
	}
	for _, path := range []string{"", "0", "0/0", "0/000.p/256", "0/000.p/0", "data/000", "-1/000", "0/../000", "64/000", "0/x000/001"} {
		if _, _, _, err := log.ParseTilePath(path); !errors.Is(err, log.ErrRange) {
			t.Errorf("%q: got %v, want %v", path, err, log.ErrRange)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	tree, err := log.OpenTree(0, nil)
	if err != nil {
		b.Fatal(err)
	}
	h := leaf(1)
	for b.Loop() {
		tree.Append(h)
	}
}
