package receipts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/privatefile"
	"github.com/uimgate/uimgate/pat"
)

const (
	// Extension is the file name extension of a book.
	Extension = ".jsonl"

	// Bounds of a book.
	maxFile     = 16 << 20 // bytes of a file, after which a new file begins
	maxFiles    = 8        // files of a book; the oldest is removed when there are more
	maxLine     = 1 << 20  // the maximum length of a line, in bytes
	maxTail     = 64 << 10 // how many bytes at the end of the file are searched for earlier records
	lockWait    = 5 * time.Second
	privateBits = 0o077 // the permissions that other users must not have
)

// ErrBook means that a book cannot be read or written.
var ErrBook = errors.New("the receipts cannot be stored")

// A Book holds the records of one service and one agent. It is safe for concurrent use.
type Book struct {
	path  string
	most  int64 // bytes of a file
	forms []pat.Form
}

// Open returns the book at the given path. The file need not exist. Older records are in files next to it. forms are the forms of other
// protocols in which the agent agrees. The book neither stores nor exports agreements in forms of other protocols that are not in forms.
func Open(path string, forms ...pat.Form) *Book { return &Book{path, maxFile, forms} }

// Path returns the path of the file.
func (b *Book) Path() string { return b.path }

// A Mark maps each currency to the position of the newest entry that the book had before a call.
type Mark map[string]Place

// A Place is the position of an entry of a service: see Epoch and K of evidence.Entry.
type Place struct{ Epoch, K int64 }

// after reports whether a position comes after another one.
func (p Place) after(q Place) bool { return p.Epoch > q.Epoch || p.Epoch == q.Epoch && p.K > q.K }

func placeOf(e *evidence.Entry) Place { return Place{e.Epoch, e.K} }

// Begin records that a call is about to be sent. request is the digest of the call. Begin returns the Mark to pass to Add. The error wraps
// ErrBook.
func (b *Book) Begin(ctx context.Context, request string, now time.Time) (Mark, error) {
	mark := Mark{}
	err := b.append(ctx, func(tail []Record) ([]Record, error) {
		for _, r := range receiptsIn(tail) {
			newest, known := mark[r.Entry.Account.Currency]
			if at := placeOf(&r.Entry); !known || at.after(newest) {
				mark[r.Entry.Account.Currency] = at
			}
		}
		return []Record{{Type: typeSent, At: now, Request: request}}, nil
	})
	return mark, err
}

// Add records a call that was charged, with its receipt if there is one, and the problems that Check found. It compares the receipt with
// those that were recorded last, and returns all problems. The error wraps ErrBook.
func (b *Book) Add(
	ctx context.Context, m Mark, c Call, text string, r *evidence.Receipt, problems []evidence.Problem, now time.Time,
) ([]evidence.Problem, error) {
	err := b.append(ctx, func(tail []Record) ([]Record, error) {
		if r != nil {
			problems = append(problems, follow(m, c, r, receiptsIn(tail))...)
		}
		return []Record{{Type: typeCall, At: now, Call: &c, Receipt: text, Problems: problems}}, nil
	})
	return problems, err
}

// follow compares a receipt with earlier receipts of the account.
func follow(m Mark, c Call, r *evidence.Receipt, earlier []evidence.Receipt) (problems []evidence.Problem) {
	e, known := &r.Entry, false
	fork := func(format string, args ...any) {
		problems = append(problems, c.problem(evidence.ProblemFork, format, args...))
	}
	for _, other := range earlier {
		if other.Entry.Account != e.Account {
			continue
		}
		switch {
		case other.Entry.K == e.K && other.Leaf == r.Leaf:
			known = true
		case other.Entry.K == e.K:
			fork("another receipt also has the number %d", e.K)
		case other.Entry.K == e.K-1 && other.Leaf != e.Prev, other.Entry.K == e.K+1 && other.Entry.Prev != r.Leaf:
			fork("the receipts %d and %d do not follow each other", min(e.K, other.Entry.K), max(e.K, other.Entry.K))
		}
	}
	last, there := m[e.Account.Currency]
	switch {
	case c.Replayed || !there || len(problems) > 0:
	case known && !placeOf(e).after(last):
		problems = append(problems, c.problem(evidence.ProblemDuplicate, "it is the receipt of an earlier call"))
	case e.Epoch > last.Epoch && e.K <= last.K:
		problems = append(problems, c.problem(evidence.ProblemEpoch,
			"the service has restored an earlier state: the receipt has the number %d, and number %d existed before the call", e.K, last.K))
	case e.K <= last.K || e.Epoch < last.Epoch:
		problems = append(problems, c.problem(evidence.ProblemOrder,
			"the receipt has the number %d in epoch %d, and number %d in epoch %d existed before the call", e.K, e.Epoch, last.K, last.Epoch))
	}
	return problems
}

// Trust records the keys that the agent trusts for the service, unless one of the last records has the same set. The error wraps ErrBook.
func (b *Book) Trust(ctx context.Context, set evidence.KeySet, now time.Time) error {
	jwks := set.JWKS()
	return b.append(ctx, func(tail []Record) ([]Record, error) {
		for _, r := range tail {
			if r.Type == typeKeys && bytes.Equal(r.Keys, jwks) {
				return nil, nil
			}
		}
		return []Record{{Type: typeKeys, At: now, Keys: jwks}}, nil
	})
}

// put appends records.
func (b *Book) put(ctx context.Context, records ...Record) error {
	return b.append(ctx, func([]Record) ([]Record, error) { return records, nil })
}

// unsigned lists the problems of receipts that the service did not make for the agent.
var unsigned = []evidence.ProblemName{
	evidence.ProblemSignature, evidence.ProblemKey, evidence.ProblemAgreement, evidence.ProblemUnknown,
}

// receiptsIn returns the receipts that the records contain.
func receiptsIn(records []Record) (list []evidence.Receipt) {
	for _, r := range records {
		if r.Receipt == "" || slices.ContainsFunc(r.Problems, func(p evidence.Problem) bool { return slices.Contains(unsigned, p.Name) }) {
			continue
		}
		if parsed, err := evidence.ParseReceipt(r.Receipt); err == nil {
			list = append(list, parsed)
		}
	}
	return list
}

// append appends the records that f returns for the last records of the file, while it holds the lock.
func (b *Book) append(ctx context.Context, f func(tail []Record) ([]Record, error)) error {
	err := b.locked(ctx, func() error {
		file, err := os.OpenFile(b.path, os.O_RDWR|os.O_CREATE, privatefile.Mode)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // the records are already written
		tail, size, err := readTail(file)
		if err != nil {
			return err
		}
		records, err := f(tail)
		if err != nil || len(records) == 0 {
			return err
		}
		var out bytes.Buffer
		for _, r := range records {
			encoder := json.NewEncoder(&out)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(r); err != nil {
				return err
			}
		}
		if size > 0 && size+int64(out.Len()) > b.most {
			return b.rotate(out.Bytes(), records[0].At)
		}
		_, err = file.WriteAt(out.Bytes(), size)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBook, err)
	}
	return nil
}

func (b *Book) locked(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := privatefile.Lock(ctx, b.path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	return f()
}

// readTail removes an incomplete last line, and returns the last complete records and the size of the file.
func readTail(f *os.File) ([]Record, int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.Mode().Perm()&privateBits != 0 {
		return nil, 0, privatefile.ErrOpen
	}
	from := max(0, info.Size()-maxTail)
	text, err := io.ReadAll(io.NewSectionReader(f, from, maxTail))
	if err != nil {
		return nil, 0, err
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	size := from + int64(end)
	if end == 0 && from > 0 { // one line is longer than the tail
		return nil, info.Size(), nil
	}
	if size < info.Size() {
		if err := f.Truncate(size); err != nil {
			return nil, 0, err
		}
	}
	text = text[:end]
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	var records []Record
	for line := range bytes.Lines(text) {
		var r Record
		if json.Unmarshal(line, &r) == nil {
			records = append(records, r)
		}
	}
	return records, size, nil
}

// older returns the path of file n of the book: file 0 is the current one, and higher numbers are older.
func (b *Book) older(n int) string {
	if n == 0 {
		return b.path
	}
	return strings.TrimSuffix(b.path, Extension) + "." + strconv.Itoa(n) + Extension
}

// rotate begins a new file, and repeats the keys in it.
func (b *Book) rotate(first []byte, now time.Time) error {
	var set evidence.KeySet
	for n := range maxFiles {
		err := readFile(b.older(n), `{"type":"`+typeKeys+`"`, func(r Record) {
			if more, err := evidence.ParseKeySet(r.Keys); err == nil {
				set.Join(more)
			}
		}, func(string, int) {})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for n := maxFiles - 2; n >= 0; n-- {
		if err := os.Rename(b.older(n), b.older(n+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if set.Len() > 0 {
		text, err := json.Marshal(Record{Type: typeKeys, At: now, Keys: set.JWKS()})
		if err != nil {
			return err
		}
		first = append(append(text, '\n'), first...)
	}
	return privatefile.Write(b.path, first)
}

// Records calls each for all records, the oldest first. It calls damaged for each line that is not a record, with the name of the file and
// the number of the line. The error wraps ErrBook, and os.ErrNotExist if there is no book.
func (b *Book) Records(each func(Record), damaged func(file string, line int)) error {
	found := false
	for n := maxFiles - 1; n >= 0; n-- {
		err := readFile(b.older(n), "", each, damaged)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", ErrBook, err)
		}
		found = found || err == nil
	}
	if !found {
		return fmt.Errorf("%w: %s: %w", ErrBook, b.path, os.ErrNotExist)
	}
	return nil
}

// readFile reads the lines of a file that begin with prefix. It calls each for those that are records, and damaged for the others, except
// for an incomplete last line.
func readFile(path, prefix string, each func(Record), damaged func(string, int)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReaderSize(f, maxTail)
	for n := 1; ; n++ {
		line, err := lines.Read(r, maxLine)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, lines.ErrTooLong) {
			return err
		}
		if !bytes.HasPrefix(line, []byte(prefix)) {
			continue
		}
		var record Record
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err != nil || decoder.Decode(&record) != nil || record.Type == "" {
			if _, peekErr := r.Peek(1); errors.Is(peekErr, io.EOF) && !endsLine(f) {
				return nil // a process was killed while it wrote the last line
			}
			damaged(filepath.Base(path), n)
			continue
		}
		each(record)
	}
}

// endsLine reports whether a file ends with a line end.
func endsLine(f *os.File) bool {
	info, err := f.Stat()
	var last [1]byte
	if err != nil || info.Size() == 0 {
		return true
	}
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err != nil || last[0] == '\n'
}
