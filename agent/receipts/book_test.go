package receipts_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat/keys"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// A fixture is a book, and a service that signs receipts.
type fixture struct {
	*receipts.Book

	t       *testing.T
	private ed25519.PrivateKey
	key     keys.Key
	set     evidence.KeySet
	k       int64
	prev    evidence.Hash
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.New(public)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, private: private, key: key, Book: receipts.Open(filepath.Join(t.TempDir(), "receipts", "book"+receipts.Extension))}
	f.set.Add(evidence.PurposeReceipt, key)
	if err := f.Trust(t.Context(), f.set, noon); err != nil {
		t.Fatal(err)
	}
	return f
}

// call makes a call, and returns the problems.
func (f *fixture) call(id string) []evidence.Problem {
	f.t.Helper()
	mark, err := f.Begin(f.t.Context(), evidence.Digest([]byte(id)), noon)
	if err != nil {
		f.t.Fatal(err)
	}
	price := money.Amount{Nano: money.Unit, Currency: "EUR"}
	e := evidence.Entry{
		Issuer: "shop.example", Account: evidence.Account{Agent: "robot", Currency: "EUR"}, K: f.k, Prev: f.prev, At: noon,
		Kind: evidence.KindCharge, ID: id, From: evidence.StateHeld, To: evidence.StateCaptured, Amount: price,
	}
	if f.k == 0 {
		e.K, e.Prev = 1, evidence.LeafHash(nil)
	}
	text, err := evidence.SignReceipt(f.private, f.key.Thumbprint(), e.Append(nil))
	if err != nil {
		f.t.Fatal(err)
	}
	f.k, f.prev = e.K+1, evidence.LeafHash(e.Append(nil))
	c := receipts.Call{Issuer: "shop.example", Agent: "robot", Execution: id, Amount: price, State: "captured", Intent: "x:y:v1"}
	r, problems := receipts.Check(text, f.set, c)
	problems, err = f.Add(f.t.Context(), mark, c, text, r, problems, noon)
	if err != nil {
		f.t.Fatal(err)
	}
	return problems
}

func (f *fixture) verified() receipts.Report {
	f.t.Helper()
	report, err := f.Verify()
	if err != nil {
		f.t.Fatal(err)
	}
	return report
}

// Whatever part of the last record a killed process has written, the next process repairs the book.
func TestBookAfterAKill(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.call("a")
	whole, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	last := lines[len(lines)-2]
	for n := 1; n < len(last)-1; n += 97 {
		if err := os.WriteFile(f.Path(), []byte(string(whole)+last[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		if report := f.verified(); !report.OK || report.Receipts != 1 {
			t.Fatalf("with %d bytes: got %+v", n, report)
		}
		if problems := f.call(fmt.Sprint("b", n)); len(problems) > 0 {
			t.Fatalf("with %d bytes: got %v", n, problems)
		}
		if report := f.verified(); !report.OK {
			t.Fatalf("after the next call: got %+v", report)
		}
		f.k, f.prev = 0, evidence.Hash{}
		f.call("a")
	}
}

// Verify finds any altered byte of a receipt.
func TestVerifyFindsAlteredBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n := range 3 {
		f.call(fmt.Sprint(n))
	}
	whole, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	from := strings.Index(string(whole), `"receipt":"`) + len(`"receipt":"`)
	to := from + strings.IndexByte(string(whole[from:]), '"')
	for at := from; at < to; at += 13 {
		altered := append([]byte{}, whole...)
		if altered[at] = 'A'; whole[at] == 'A' {
			altered[at] = 'B'
		}
		if err := os.WriteFile(f.Path(), altered, 0o600); err != nil {
			t.Fatal(err)
		}
		if report := f.verified(); report.OK {
			t.Errorf("byte %d of %d was altered, and no problem was found", at-from, to-from)
		}
	}
	if err := os.WriteFile(f.Path(), append([]byte("{}\n"), whole...), 0o600); err != nil {
		t.Fatal(err)
	}
	if report := f.verified(); report.OK || report.Problems[0].Name != evidence.ProblemFile {
		t.Errorf("a line without a type: got %+v", report.Problems)
	}
}

// The book begins a new file, and keeps the keys.
func TestBookIsRotated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const most, n = 20_000, 300
	f.Limit(most)
	for i := range n {
		if problems := f.call(fmt.Sprint(i)); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	files, err := os.ReadDir(filepath.Dir(f.Path()))
	if err != nil || len(files) != receipts.MaxFiles+1 { // and the file of the lock
		t.Errorf("got %d files, %v, want %d", len(files), err, receipts.MaxFiles+1)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Size() > most || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %d bytes, %v, %v", file.Name(), info.Size(), info.Mode(), err)
		}
	}
	if report := f.verified(); !report.OK || report.Receipts < most/2000*(receipts.MaxFiles-1) || report.Receipts >= n {
		t.Errorf("got %d receipts, %v", report.Receipts, report.Problems)
	}
}

// Several processes can use one book.
func TestBookIsShared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			book := receipts.Open(f.Path())
			for range 20 {
				if _, err := book.Begin(t.Context(), evidence.Digest(nil), noon); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	n := 0
	err := f.Records(func(receipts.Record) { n++ }, func(file string, line int) { t.Errorf("%s:%d is damaged", file, line) })
	if err != nil || n != 161 {
		t.Errorf("got %d records, %v, want 161", n, err)
	}
}

func TestNoBook(t *testing.T) {
	t.Parallel()
	_, err := receipts.Open(filepath.Join(t.TempDir(), "x.jsonl")).Verify()
	if !errors.Is(err, os.ErrNotExist) || !errors.Is(err, receipts.ErrBook) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}
