package export

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
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
)

// A Cursor is a position in the audit stream. Files keep their first line when they are renamed, compressed or copied; the first line
// therefore identifies a file.
type Cursor struct {
	First  string    `json:"first"`  // SHA-256 of the first line of the file, in hexadecimal; empty: the stream has not been read yet
	At     time.Time `json:"at"`     // time of the first record of the file
	Offset int64     `json:"offset"` // number of bytes of the file, uncompressed, that were exported
}

// A Record is one line of the audit stream.
type Record struct {
	ID      string    // unique, and the same whenever the record is read
	At      time.Time // when the call ended
	Service string
	JSON    []byte // without a newline
}

// maxLine is the maximum length of a record, in bytes. A longer record is skipped.
const maxLine = 8 << 20

// A tail reads the records of the audit stream in order, across rotated files. path is the path of the current file. Rotated files are in
// the same directory, and their names begin with the name of the current file and a full stop or a hyphen. Files whose name ends with .gz
// are compressed with gzip.
type tail struct {
	path    string
	cursor  Cursor // after the last record that next returned
	file    *os.File
	lines   *bufio.Reader
	partial []byte // the beginning of a line whose end has not been written yet
	skipped func(reason string)
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close() // it was only read
	}
	t.file, t.lines, t.partial = nil, nil, nil
}

// isCurrent reports whether the open file is still the file at path, and was not truncated.
func (t *tail) isCurrent() bool {
	open, err := t.file.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(t.path)
	return err == nil && os.SameFile(open, current) && current.Size() >= t.cursor.Offset
}

// next returns a batch of the next complete records: at most as many as the parameter records. The batch ends with the record that makes it
// reach size bytes. If no record is complete yet, the batch is empty.
func (t *tail) next(records, size int) (batch []Record, err error) {
	if t.file == nil {
		if err := t.open(); t.file == nil {
			return nil, err
		}
	}
	for len(batch) < records && size > 0 {
		line, err := t.line()
		if errors.Is(err, io.EOF) {
			if len(batch) > 0 {
				return batch, nil
			}
			moved, err := t.advance()
			if err != nil || !moved {
				return nil, err
			}
			continue
		}
		if err != nil {
			return batch, err
		}
		at := t.cursor.Offset
		t.cursor.Offset += int64(len(line))
		if r, ok := t.record(line, at); ok {
			batch = append(batch, r)
			size -= len(line)
		}
	}
	return batch, nil
}

// line returns the next line, including the newline. The error is io.EOF if there is no complete line.
func (t *tail) line() ([]byte, error) {
	for {
		part, err := t.lines.ReadSlice('\n')
		t.partial = append(t.partial, part...)
		switch {
		case err == nil:
			line := t.partial
			t.partial = nil
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(t.partial) > maxLine:
			t.cursor.Offset += int64(len(t.partial))
			t.partial = t.partial[:0] // the rest of the line is not valid JSON
			t.skipped("a line is longer than " + strconv.Itoa(maxLine) + " bytes")
		}
	}
}

// record returns the record in a line that begins at an offset of the file. It returns false if the line is empty, or is not JSON because a
// crash cut it off.
func (t *tail) record(line []byte, offset int64) (Record, bool) {
	line = line[:len(line)-1]
	if len(line) == 0 {
		return Record{}, false
	}
	var r struct {
		At      time.Time `json:"at"`
		Service string    `json:"service"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		t.skipped("a line is not JSON")
		return Record{}, false
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", t.cursor.First, offset))
	return Record{ID: hex.EncodeToString(sum[:16]), At: r.At, Service: r.Service, JSON: line}, true
}

// A segment is a file of the stream that has at least one line.
type segment struct {
	path, first string
	at          time.Time
}

// open opens the file of the cursor. If that file no longer exists, open begins with the file that followed it. If the cursor is new, open
// begins with the current file. If there is no such file yet, open opens none and returns nil.
func (t *tail) open() error {
	files, err := t.segments()
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(files, func(s segment) bool { return s.first == t.cursor.First }); at >= 0 {
		return t.use(files[at], t.cursor.Offset)
	}
	if t.cursor.First == "" {
		files = slices.DeleteFunc(files, func(s segment) bool { return s.path != t.path })
	} else if len(files) > 0 {
		t.skipped("the file with the next record is gone")
	}
	if following, ok := after(files, t.cursor.At, t.path); ok {
		return t.use(following, 0)
	}
	return nil
}

// advance opens the file that follows the current one, and reports whether there is one. The gateway then writes to the following file, so
// nothing more is added to the current one. If the current file has unread bytes, advance returns true without opening the next one, so
// that these are read first.
func (t *tail) advance() (moved bool, err error) {
	if t.isCurrent() { // the usual case each second; no other file needs to be opened
		return false, nil
	}
	files, err := t.segments()
	if err != nil {
		return false, err
	}
	files = slices.DeleteFunc(files, func(s segment) bool { return s.first == t.cursor.First })
	following, ok := after(files, t.cursor.At, t.path)
	if !ok {
		return false, nil
	}
	part, err := t.lines.Peek(1)
	if len(part) > 0 {
		return true, nil // records were added before the gateway changed the file
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	t.close()
	return true, t.use(following, 0)
}

// after returns the first file that begins after the time at. If there is none, for example because the clock was set back, it
// returns the file at path.
func after(files []segment, at time.Time, path string) (segment, bool) {
	for _, s := range files {
		if s.at.After(at) {
			return s, true
		}
	}
	for _, s := range files {
		if s.path == path {
			return s, true
		}
	}
	return segment{}, false
}

func (t *tail) use(s segment, offset int64) error {
	file, err := os.Open(s.path)
	if err != nil {
		return err
	}
	content, err := contentOf(file)
	if err == nil {
		_, err = io.CopyN(io.Discard, content, offset)
	}
	if err != nil {
		_ = file.Close()
		return fmt.Errorf("reading the audit stream: %w", err)
	}
	t.file, t.lines, t.partial = file, bufio.NewReaderSize(content, 64<<10), nil
	t.cursor = Cursor{First: s.first, At: s.at, Offset: offset}
	return nil
}

func contentOf(f *os.File) (io.Reader, error) {
	if !strings.HasSuffix(f.Name(), ".gz") {
		return f, nil
	}
	return gzip.NewReader(f)
}

// segments returns the files of the stream in the order of their first records.
func (t *tail) segments() (files []segment, err error) {
	dir, name := filepath.Split(t.path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the audit stream: %w", err)
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), name)
		if !ok || !e.Type().IsRegular() || rest != "" && rest[0] != '.' && rest[0] != '-' {
			continue
		}
		if s, ok := segmentOf(filepath.Join(dir, e.Name())); ok {
			files = append(files, s)
		}
	}
	slices.SortFunc(files, func(a, b segment) int { return a.at.Compare(b.at) })
	return files, nil
}

// segmentOf reads the first line of a file. It returns false if there is no complete line, or if the file cannot be read.
func segmentOf(path string) (segment, bool) {
	file, err := os.Open(path)
	if err != nil {
		return segment{}, false
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := contentOf(file)
	if err != nil {
		return segment{}, false
	}
	first, err := bufio.NewReader(io.LimitReader(content, maxLine)).ReadBytes('\n')
	if err != nil {
		return segment{}, false
	}
	var r struct {
		At time.Time `json:"at"`
	}
	_ = json.Unmarshal(first, &r) // a file whose first line has no time counts as the oldest
	sum := sha256.Sum256(first)
	return segment{path, hex.EncodeToString(sum[:]), r.At}, true
}
