package mcp

import (
	"context"
	"errors"
	"os"
	"time"
)

// writeTurn is how long an attempt to write the first byte of a message may take. admit is called again before each attempt.
const writeTurn = 100 * time.Millisecond

// write writes a message as one line, after admit has admitted it. n is the number of bytes that were written before write returned. If
// these are only a part of the message, the rest is written in the background.
func (c *child) write(ctx context.Context, message []byte, admit func() error) (n int, err error) {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-c.gone:
		return 0, errGone
	}
	line := append(message, '\n')
	if n, err = c.begin(ctx, line, admit); n == 0 || n == len(line) {
		<-c.writing
		return n, err
	}
	go func() {
		defer func() { <-c.writing }()
		c.finish(context.WithoutCancel(ctx), line[n:])
	}()
	return n, nil
}

// begin writes the beginning of a line. If the process reads nothing, the line can still be withdrawn.
func (c *child) begin(ctx context.Context, line []byte, admit func() error) (int, error) {
	for c.alive() {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := admit(); err != nil {
			return 0, err
		}
		n, err := c.put(ctx, line, writeTurn)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return 0, errGone
}

// finish writes the rest of a line. Without it the process cannot read further messages, so finish ends a process that reads nothing for
// doubtTime.
func (c *child) finish(ctx context.Context, rest []byte) {
	for len(rest) > 0 {
		n, err := c.put(ctx, rest, doubtTime)
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			c.kill(notRead)
		}
		if n == 0 {
			return
		}
		rest = rest[n:]
	}
}

const notRead = "it did not read the messages of the gateway"

// put writes bytes. It stops after the time d, or when ctx ends.
func (c *child) put(ctx context.Context, data []byte, d time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	until, _ := ctx.Deadline()
	if err := c.in.SetWriteDeadline(until); err != nil {
		return 0, errGone
	}
	n, err := c.in.Write(data)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
		c.kill(notRead)
	}
	return n, err
}
