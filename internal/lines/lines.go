// Package lines reads lines of untrusted length, and makes lines from untrusted texts.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// ErrTooLong means that a line has more bytes than permitted. It was read to its end: the next Read returns the next line.
var ErrTooLong = errors.New("the line is too long")

// Read returns the next line, without its end (LF or CRLF), if it has at most this many bytes including the end, and ErrTooLong
// otherwise. The last line may lack its end; io.EOF means that there is no further line.
func Read(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > most; !long {
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

// Printable makes one line from a text that a terminal shows unchanged: at most most characters, and a question mark for each that is not
// printable ASCII.
func Printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, s[:min(len(s), most*utf8.UTFMax)])
	return s[:min(len(s), most)]
}
