package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// lineTime bounds the work on one line of a batch.
const lineTime = 10 * time.Second

// errLineTooLong means a line holds more than maxInput bytes; it was read past.
var errLineTooLong = fmt.Errorf("the line is longer than the %d MiB allowed", maxInput>>20)

// A lineError is the answer to a line that could not be answered.
type lineError struct {
	Error string `json:"error"`
}

// batch answers each line of a file, or of stdin, as soon as it has been read, in order. A line that
// cannot be answered gets {"error"} in its place, one that needs no answer (nil) none. Only reading and writing can fail the whole.
func batch(c *cobra.Command, args []string, answer func(context.Context, []byte) (any, error)) error {
	in := c.InOrStdin()
	if len(args) == 1 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	lines, out := bufio.NewReaderSize(in, 1<<20), bufio.NewWriter(c.OutOrStdout())
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return fmt.Errorf("reading the batch: %w", err)
		}
		a := answerLine(c.Context(), line, err, answer)
		if a == nil { // a line that needs no answer
			continue
		}
		if err := writeLine(out, a); err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
		if err := c.Context().Err(); err != nil {
			return err
		}
	}
}

func answerLine(ctx context.Context, line []byte, err error, answer func(context.Context, []byte) (any, error)) any {
	if err != nil {
		return lineError{err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, lineTime)
	defer cancel()
	a, err := answer(ctx, line)
	if err != nil {
		return lineError{err.Error()}
	}
	return a
}

// readLine reads one line without its end; io.EOF where there is none left. What is too long is read to
// its end and not kept.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxInput; !long {
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
			return nil, errLineTooLong
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

func writeLine(w *bufio.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	return w.Flush()
}
