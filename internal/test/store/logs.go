package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testLogs(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"lines enter the log of their service": linesAreLogged,
		"a log never forks":                    logsDoNotFork,
		"a key is introduced once":             keysAreLoggedOnce,
		"one process has the lease":            oneLease,
	})
}

// A logger appends all lines of the ledger to one log.
type logger struct {
	*suite
	tree *log.Tree
	head store.LogHead
}

func (b *suite) logger() *logger {
	b.Helper()
	tree, err := log.OpenTree(0, nil)
	b.must(err)
	return &logger{suite: b, tree: tree, head: store.LogHead{Service: service, Issuer: "shop.example"}}
}

// change returns the change that appends lines.
func (l *logger) change(lines []store.LogLine) store.LogChange {
	l.Helper()
	c := store.LogChange{Before: l.tree.Size()}
	firsts := map[int64]int64{}
	for _, line := range lines {
		if n := l.tree.Size(); n%256 == 0 {
			firsts[n/256] = line.Seq
		}
		l.tree.Append(line.Leaf)
		l.head.Seq = line.Seq
	}
	var err error
	l.head.Root, err = l.tree.Root()
	l.must(err)
	l.head.Size, l.head.Checkpoint, l.head.KeyID, l.head.At = l.tree.Size(), []byte("signed"), "kid", l.clock.Now().UTC()
	for _, tile := range l.tree.Changed() {
		t := store.LogTile{Tile: tile}
		if tile.Level == 0 {
			t.FirstSeq = firsts[tile.N]
		}
		c.Tiles = append(c.Tiles, t)
	}
	c.Head = l.head
	return c
}

// grow appends all lines that are not in the log yet.
func (l *logger) grow() {
	l.Helper()
	p, err := l.Logs().Progress(l.Context())
	l.must(err)
	_, err = l.Ledger(l.Context(), store.Filter{}) // the lines of the journal are written into the tables
	l.must(err)
	lines, err := l.Logs().NewLines(l.Context(), p.Logged, 1000)
	l.must(err)
	l.must(l.Logs().Grow(l.Context(), p.Logged, lines[len(lines)-1].Seq, []store.LogChange{l.change(lines)}))
}

func linesAreLogged(b *suite) {
	ctx := b.Context()
	l := b.logger()
	if _, err := b.Logs().Head(ctx, service); err == nil {
		b.Fatal("there is a log without lines")
	}
	var held []store.Admission
	for range 300 {
		held = append(held, b.begin(b.paid(1)))
	}
	_, err := b.Logs().Find(ctx, service, held[0].Execution.ID, "")
	b.want(err, store.ErrNotLogged)
	l.grow()
	b.settle(held[7], store.Captured, store.Done)
	found, err := b.Logs().Find(ctx, service, held[7].Execution.ID, store.Held)
	if b.must(err); found.Index != 7 || found.AgentID != agent {
		b.Fatalf("found %+v", found)
	}
	for _, state := range []store.State{store.Captured, ""} {
		_, err = b.Logs().Find(ctx, service, held[7].Execution.ID, state)
		b.want(err, store.ErrNotLogged)
	}
	at, err := b.Logs().Oldest(ctx, l.head.Seq)
	if b.must(err); at.IsZero() {
		b.Fatal("no line is waiting")
	}
	l.grow()
	if at, err = b.Logs().Oldest(ctx, l.head.Seq); err != nil || !at.IsZero() {
		b.Fatalf("a line of %v is waiting, %v", at, err)
	}
	found, err = b.Logs().Find(ctx, service, held[7].Execution.ID, "")
	if b.must(err); found.Index != 300 {
		b.Fatalf("found %+v", found)
	}
	read := log.Reader(func(level int, n int64) ([]byte, error) { return b.Logs().Tile(ctx, service, 0, level, n) })
	hashes, err := read.Inclusion(301, found.Index)
	b.must(err)
	proof := log.Proof{Index: found.Index, Hashes: hashes}
	b.must(proof.Verify(log.Checkpoint{Size: 301, Root: l.head.Root}, found.Leaf))
	for _, missing := range [][2]string{{"other", held[7].Execution.ID}, {service, "none"}} {
		_, err = b.Logs().Find(ctx, missing[0], missing[1], "")
		b.want(err, store.ErrNotFound)
	}
	_, err = b.Logs().Find(ctx, service, held[7].Execution.ID, store.Released)
	b.want(err, store.ErrNotFound)
	numbered, err := b.Logs().FindEntry(ctx, service, agent, "USD", 300)
	if b.must(err); numbered != found {
		b.Fatalf("by its number: found %+v, want %+v", numbered, found)
	}
	for _, missing := range []struct {
		service, agent, currency string
		k                        int64
	}{{service, agent, "USD", 301}, {service, agent, "EUR", 300}, {service, "other", "USD", 300}, {"other", agent, "USD", 300}} {
		_, err = b.Logs().FindEntry(ctx, missing.service, pat.AgentID(missing.agent), missing.currency, missing.k)
		b.want(err, store.ErrNotFound)
	}
	_, err = b.Logs().Tile(ctx, service, 0, 5, 0)
	b.want(err, store.ErrNotFound)
	b.reopen()
	head, err := b.Logs().Head(ctx, service)
	b.must(err)
	if d := cmp.Diff(l.head, head); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	progress, err := b.Logs().Progress(ctx)
	if b.must(err); progress.Logged != l.head.Seq || progress.Last != l.head.Seq {
		b.Fatalf("got %+v, want %d", progress, l.head.Seq)
	}
}

func logsDoNotFork(b *suite) {
	ctx := b.Context()
	l := b.logger()
	b.begin(b.paid(1))
	l.grow()
	before := l.head
	wrong := func(what string, from int64, c store.LogChange) {
		b.Helper()
		err := b.Logs().Grow(ctx, from, from+1, []store.LogChange{c})
		if b.want(err, store.ErrLogMoved); err == nil {
			b.Fatal(what)
		}
		head, err := b.Logs().HeadOf(ctx, service, 0)
		b.must(err)
		if d := cmp.Diff(before, head); d != "" {
			b.Fatalf("%s: differs (-want +got):\n%s", what, d)
		}
		tile, err := b.Logs().Tile(ctx, service, 0, 0, 0)
		if b.must(err); len(tile) != 32 {
			b.Fatalf("%s: the tile has %d bytes", what, len(tile))
		}
	}
	more := l.change([]store.LogLine{{Seq: before.Seq + 1, Leaf: evidence.LeafHash(nil)}})
	wrong("another process has moved on", before.Seq-1, more)
	another := more
	another.Before = 2
	wrong("the log has another size", before.Seq, another)
	another.Before = 0
	wrong("the log exists", before.Seq, another)
	cosigned := before
	cosigned.Size, cosigned.Checkpoint, cosigned.CosignedAt = 2, []byte("cosigned"), b.clock.Now().UTC()
	b.must(b.Logs().SetCosigned(ctx, cosigned)) // the size is another one
	wrong("after a cosignature of another size", before.Seq-1, more)
	cosigned.Size = 1
	b.must(b.Logs().SetCosigned(ctx, cosigned))
	heads, err := b.Logs().Heads(ctx)
	b.must(err)
	if d := cmp.Diff([]store.LogHead{cosigned}, heads); d != "" {
		b.Fatalf("differs (-want +got):\n%s", d)
	}
	b.must(b.Logs().Grow(ctx, before.Seq, before.Seq+1, []store.LogChange{more}))
}

func keysAreLoggedOnce(b *suite) {
	ctx := b.Context()
	e := store.LogEntry{Service: service, Purpose: "log", KeyID: "kid", Receipt: "one", Leaf: evidence.LeafHash([]byte("one"))}
	b.must(b.Logs().AddLogEntry(ctx, e))
	e.Receipt = "two"
	b.must(b.Logs().AddLogEntry(ctx, e))
	e.Purpose, e.Receipt = "receipt", "three"
	b.must(b.Logs().AddLogEntry(ctx, e))
	entries, err := b.Logs().LogEntries(ctx, service)
	b.must(err)
	want := []store.LogEntry{
		{Service: service, Purpose: "log", KeyID: "kid", Receipt: "one", Leaf: e.Leaf},
		{Service: service, Purpose: "receipt", KeyID: "kid", Receipt: "three", Leaf: e.Leaf},
	}
	ascending := len(entries) > 0 && entries[0].Seq > 0
	for i := range min(len(entries), len(want)) { // numbers ascend, with or without gaps
		ascending = ascending && (i == 0 || entries[i-1].Seq < entries[i].Seq)
		want[i].Seq = entries[i].Seq
	}
	if !ascending || !slices.Equal(entries, want) {
		b.Fatalf("got %+v, want %+v with ascending numbers", entries, want)
	}
	known, err := b.Logs().LoggedKeys(ctx)
	if b.must(err); !slices.Equal(known, []store.LogKey{{Service: service, Purpose: "log", KeyID: "kid"}, {Service: service, Purpose: "receipt", KeyID: "kid"}}) {
		b.Fatalf("got %+v", known)
	}
	lines, err := b.Logs().NewLines(ctx, 0, 10)
	if b.must(err); len(lines) != 2 || !lines[0].Own || lines[0].Leaf != e.Leaf || lines[0].Seq >= lines[1].Seq {
		b.Fatalf("got %+v", lines)
	}
	c := b.logger().change(lines)
	c.Entries = []store.LogEntry{{Seq: 1000, Service: service, Receipt: "four", Leaf: e.Leaf}}
	b.must(b.Logs().Grow(ctx, 0, lines[1].Seq, []store.LogChange{c}))
	if lines, err = b.Logs().NewLines(ctx, lines[1].Seq, 10); err != nil || len(lines) != 1 || lines[0].Seq != 1000 {
		b.Fatalf("got %+v, %v", lines, err)
	}
}

func oneLease(b *suite) {
	took := func(holder string, want bool) {
		b.Helper()
		if got, err := b.Logs().TakeLease(b.Context(), holder, time.Minute); got != want || err != nil {
			b.Fatalf("%s: %v, %v", holder, got, err)
		}
	}
	took("one", true)
	took("two", false)
	b.clock.Advance(50 * time.Second)
	took("one", true)
	b.clock.Advance(50 * time.Second)
	took("two", false)
	b.clock.Advance(11 * time.Second)
	took("two", true)
	b.must(b.Logs().EndLease(b.Context(), "one"))
	took("one", false)
	b.must(b.Logs().EndLease(b.Context(), "two"))
	took("one", true)
}
