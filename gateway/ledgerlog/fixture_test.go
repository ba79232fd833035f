package ledgerlog_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/mod/sumdb/note"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/gateway/ledgerlog"
	"github.com/uimgate/uimgate/internal/money"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

const (
	service = "shop"
	issuer  = "shop.example"
)

// onEach runs a test on SQLite and on PostgreSQL.
func onEach(t *testing.T, run func(t *testing.T, place string)) {
	t.Helper()
	for name, place := range map[string]func(*testing.T) string{"sqlite": sqliteFile, "postgres": postgresDatabase} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, place(t))
		})
	}
}

func sqliteFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	sqlitetest.Empty.Copy(t, path)
	return path
}

func postgresDatabase(t *testing.T) string {
	t.Helper()
	return pgtest.Start(t).Database(t)
}

// A process is a sequencer with its store and keys.
type process struct {
	*ledgerlog.Sequencer

	store    *sqlstore.Store
	root     *keys.Keyring
	keys     *keys.Keyring // of checkpoints
	receipts *keys.Keyring
	settings config.Evidence
	// before and after are called around each operation of the store, with its number. If they return an error, it replaces that of the
	// operation.
	before, after func(n int) error
	clock         func() time.Time
	shared        bool // other processes use the database
}

// memoryFile keeps private keys in memory.
type memoryFile struct {
	mu   sync.Mutex
	text []byte
}

func (f *memoryFile) Load() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text, nil
}

func (f *memoryFile) Save(text []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = slices.Clone(text)
	return nil
}

func openStore(tb testing.TB, place string) *sqlstore.Store {
	tb.Helper()
	s, err := sqlstore.Open(tb.Context(), place, sqlstore.Options{
		Now: time.Now, Services: &store.Services{Served: []store.Service{{ID: service, Issuer: issuer}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func start(tb testing.TB, s *sqlstore.Store, name string) *process {
	tb.Helper()
	p := &process{store: s, settings: config.Evidence{Log: true, Checkpoint: time.Millisecond}, clock: time.Now}
	var err error
	p.root, err = keys.Open(tb.Context(), keys.Config{
		Store: s, Files: &memoryFile{}, Algorithm: keys.EdDSA, Overlap: time.Hour, Process: name, Now: time.Now,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if p.keys, err = p.root.For(tb.Context(), keys.ForLogs, keys.EdDSA, &memoryFile{}); err != nil {
		tb.Fatal(err)
	}
	if p.receipts, err = p.root.For(tb.Context(), keys.ForReceipts, keys.EdDSA, &memoryFile{}); err != nil {
		tb.Fatal(err)
	}
	p.restart()
	return p
}

// restart replaces the sequencer with a new one, without its state in memory.
func (p *process) restart() {
	p.Sequencer = ledgerlog.New(ledgerlog.Options{
		Store: &stepStore{Store: p.store.Logs(), p: p}, Keys: p.keys, Introduced: map[keys.Purpose]*keys.Keyring{keys.ForReceipts: p.receipts},
		Settings: func() config.Evidence { return p.settings }, Process: p.root.Process(), Sole: !p.shared, Log: zap.NewNop(),
		Now: func() time.Time { return p.clock() },
	})
}

var errStopped = errors.New("the process has stopped")

// A stepStore calls functions around each operation that writes.
type stepStore struct {
	ledgerlog.Store
	p *process
	n int
}

func (s *stepStore) step(do func() error) error {
	s.n++
	if f := s.p.before; f != nil {
		if err := f(s.n); err != nil {
			return err
		}
	}
	err := do()
	if f := s.p.after; f != nil && err == nil {
		err = f(s.n)
	}
	return err
}

func (s *stepStore) Grow(ctx context.Context, from, to int64, changes []store.LogChange) error {
	return s.step(func() error { return s.Store.Grow(ctx, from, to, changes) })
}

func (s *stepStore) AddLogEntry(ctx context.Context, e store.LogEntry) error {
	return s.step(func() error { return s.Store.AddLogEntry(ctx, e) })
}

func (s *stepStore) SetCosigned(ctx context.Context, h store.LogHead) error {
	return s.step(func() error { return s.Store.SetCosigned(ctx, h) })
}

// topUp adds n lines to the ledger.
func topUp(tb testing.TB, s *sqlstore.Store, n int) {
	tb.Helper()
	for i := range n {
		_, err := s.TopUp(tb.Context(), store.TopUp{
			Service: service, AgentID: pat.AgentID("agent-" + strconv.Itoa(i%7)), Amount: money.Amount{Nano: 1, Currency: "EUR"},
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func (p *process) round(tb testing.TB) {
	tb.Helper()
	if err := p.Round(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// A view is the log of a service as an agent with its keys sees it.
type view struct {
	store.LogHead
	log.Checkpoint

	leaves []evidence.Hash // from the tiles
}

// look reads the log of the service and verifies it: the signature of the checkpoint by a key of the keyring, its root over the leaves in
// the tiles, and that it contains all checkpoints before.
func look(tb testing.TB, p *process, before ...view) view {
	tb.Helper()
	head, err := p.store.Logs().Head(tb.Context(), service)
	if err != nil {
		tb.Fatal(err)
	}
	origin := log.Origin(issuer, head.Epoch)
	if err := p.root.Reload(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	var verifiers []note.Verifier
	for _, k := range p.root.Keys(time.Now()) {
		if k.Purpose != keys.ForLogs {
			continue
		}
		key, err := keys.ParseJWK(k.JWK)
		if err != nil {
			tb.Fatal(err)
		}
		verifiers = append(verifiers, verifier(tb, origin, key))
	}
	signed, err := log.OpenCheckpoint(head.Checkpoint, verifiers...)
	if err != nil || signed.Origin != origin || signed.Size != head.Size || signed.Root != head.Root {
		tb.Fatalf("got %+v, %v of %+v", signed, err, head)
	}
	v := view{LogHead: head, Checkpoint: signed.Checkpoint}
	read := log.Reader(func(level int, n int64) ([]byte, error) {
		return p.store.Logs().Tile(tb.Context(), service, head.Epoch, level, n)
	})
	tree, err := log.OpenTree(0, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for n := int64(0); n*256 < head.Size; n++ {
		tile, err := read(0, n)
		if err != nil || int64(len(tile)/32) < min(256, head.Size-n*256) {
			tb.Fatalf("tile %d has %d bytes, %v", n, len(tile), err)
		}
		for i := range min(256, head.Size-n*256) {
			v.leaves = append(v.leaves, evidence.Hash(tile[i*32:]))
			tree.Append(evidence.Hash(tile[i*32:]))
		}
	}
	if root, err := tree.Root(); err != nil || root != signed.Root {
		tb.Fatalf("the leaves have root %s, want %s, %v", root, signed.Root, err)
	}
	for _, b := range before {
		if b.Epoch != head.Epoch {
			continue
		}
		hashes, err := read.Consistency(b.Checkpoint.Size, signed.Size)
		if err == nil {
			err = log.CheckConsistency(b.Checkpoint, signed.Checkpoint, hashes)
		}
		if err != nil {
			tb.Fatalf("size %d after %d: %v", signed.Size, b.Checkpoint.Size, err)
		}
	}
	return v
}
