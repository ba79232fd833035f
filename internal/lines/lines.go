// Package lines reads lines of untrusted length, and makes printable lines of untrusted text.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// ErrTooLong means that a line has more bytes than permitted. Read has skipped the line: the next call returns the next line.
var ErrTooLong = errors.New("the line is too long")

// Read returns the next line without its line ending (LF or CRLF) and without any CR before it. It returns ErrTooLong if the line has more
// than maxBytes bytes, including the line ending, and io.EOF if there is no further line. The last line may lack a line ending.
func Read(r *bufio.Reader, maxBytes int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxBytes; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0 && !long:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, ErrTooLong
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

// Printable returns s as one line that a terminal shows unchanged. It replaces each character that is not printable ASCII with a question
// mark, and truncates the line to maxLen characters.
func Printable(s string, maxLen int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, s[:min(len(s), maxLen*utf8.UTFMax)])
	return s[:min(len(s), maxLen)]
}
