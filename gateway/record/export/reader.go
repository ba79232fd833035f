package export

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"time"
)

// A Reader reads the audit stream in order, across rotated files, and leaves it unchanged. It is not safe for concurrent use.
type Reader struct{ tail tail }

// NewReader returns a Reader of the stream at path. It begins at a Cursor or, if the Cursor is new, with the file that may contain the
// first record since a time. If the file of the Cursor is gone, it begins with the file that followed it.
func NewReader(path string, c Cursor, since time.Time) (*Reader, error) {
	r := &Reader{tail{path: path, cursor: c, skipped: func(string) {}}}
	if c.First != "" {
		return r, nil
	}
	files, err := r.tail.segments()
	if err != nil || len(files) == 0 {
		return r, err
	}
	first := files[0]
	for _, s := range files[1:] {
		if s.at.After(since) {
			break
		}
		first = s
	}
	return r, r.tail.use(first, 0)
}

// Next returns the next records; most is their maximum number. It returns none at the end of the stream.
func (r *Reader) Next(most int) ([]Record, error) { return r.tail.next(most, maxBatch) }

// maxBatch limits the size of the records that Next returns, in bytes.
const maxBatch = 4 << 20

// Cursor returns the position after the last record that Next returned.
func (r *Reader) Cursor() Cursor { return r.tail.cursor }

// Close closes the open file.
func (r *Reader) Close() { r.tail.close() }

// Left returns how many bytes of the stream, as stored in the files, follow the position, and how many the stream has in total.
func (r *Reader) Left() (left, all int64) {
	files, err := r.tail.segments()
	if err != nil {
		return 0, 0
	}
	for _, s := range files {
		info, err := os.Stat(s.path)
		if err != nil {
			continue
		}
		all += info.Size()
		switch {
		case s.first == r.tail.cursor.First:
			left += max(0, info.Size()-r.tail.cursor.Offset)
		case s.at.After(r.tail.cursor.At):
			left += info.Size()
		}
	}
	return left, all
}

// String returns the text that ParseCursor parses. It is empty for a new Cursor.
func (c Cursor) String() string {
	text, err := json.Marshal(c)
	if err != nil || c.First == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// errCursor means that the input does not represent a Cursor.
var errCursor = errors.New("not a position in the audit stream")

// ParseCursor parses the result of Cursor.String.
func ParseCursor(text string) (c Cursor, err error) {
	if text == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &c) != nil || c.First == "" || c.Offset < 0 {
		return Cursor{}, errCursor
	}
	return c, nil
}
