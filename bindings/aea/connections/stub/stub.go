//go:build unix

// Package stub is the connection for one agent on this machine that uses two files in a directory, like the framework's connection stub:
// the agent reads input_file, which this package writes, and writes output_file, which this package reads. Both sides lock a file while
// they change it.
//
// An agent reads the whole file at once and finds only the first of several records. Therefore a record is written only when the file is
// empty. The others wait until the agent has read it; an unread record is dropped after a minute. Records that were read here are cut
// off; the agent continues at its old offset, so that zeros precede its next record. The agent creates the files; the connection waits
// for a missing one. Anyone who can write to the directory can send in the name of any agent.
package stub

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// ID names the connection.
var ID = wire.PublicID{Author: "uimgate", Name: "stub", Version: "1.0.0"}

// The file names are those of the agent.
const (
	toAgent   = "input_file"
	fromAgent = "output_file"
)

const (
	poll     = 20 * time.Millisecond
	sendTime = time.Minute
	// maxFile bounds the file of the agent: a longer file is discarded.
	maxFile = 16 << 20
)

// A Connection reads and writes the files of one agent.
type Connection struct {
	directory string

	// State of output_file, for the one goroutine that reads it.
	read  int64 // the bytes before it have been read
	empty bool  // the file was emptied since

	out runtime.SendQueue
}

// New returns a connection in a directory. It opens nothing before Run.
func New(directory string) *Connection { return &Connection{directory: directory} }

// ID is the package's ID.
func (c *Connection) ID() wire.PublicID { return ID }

// Confidential returns true: the owner of this machine decides who may read the files.
func (c *Connection) Confidential() bool { return true }

// State returns the present state of the connection. There is one peer, with any address.
func (c *Connection) State() runtime.ConnectionState {
	s := runtime.ConnectionState{Listening: c.directory}
	if queued, open := c.out.Len(); open {
		s.Peers, s.Queued = 1, queued
	}
	return s
}

// Send queues an envelope. If it does not fit into a record, the error is wire.ErrUnsendable.
func (c *Connection) Send(e wire.Envelope) error {
	if _, err := wire.AppendRecord(nil, e); err != nil {
		return err
	}
	return c.out.Put(e)
}

// Run reads and writes until ctx ends.
func (c *Connection) Run(ctx context.Context, port *runtime.Port) error {
	queue := c.out.Open(port)
	var writing sync.WaitGroup
	writing.Go(func() { c.write(ctx, queue, port) })
	c.receive(ctx, port)
	writing.Wait()
	c.out.Close(port, runtime.ErrNoPeer)
	return nil
}

// errBusy means that another process has locked a file.
var errBusy = errors.New("the file is locked")

// locked calls a function while a file is locked. It does not wait for the lock: the error is then errBusy.
func (c *Connection) locked(name string, do func(f *os.File) error) error {
	// It does not wait for a pipe in place of the file, and does not follow a link.
	f, err := os.OpenFile(filepath.Join(c.directory, name), os.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // ends the lock as well
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, errors.New(name+" is not a file"))
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
			return errBusy
		}
		return err
	}
	return do(f)
}

// receive processes the records of the agent until ctx ends.
func (c *Connection) receive(ctx context.Context, port *runtime.Port) {
	for missing := false; ctx.Err() == nil; {
		envelopes, err := c.take(port)
		if was := missing; err != nil && !errors.Is(err, errBusy) {
			if missing = true; !was { // reported once, and not each time
				port.Failed(err)
			}
		} else {
			missing = false
		}
		for _, e := range envelopes {
			_ = port.Receive(ctx, e) // the runtime ends
		}
		if len(envelopes) == 0 {
			pause(ctx)
		}
	}
}

func pause(ctx context.Context) {
	select {
	case <-time.After(poll):
	case <-ctx.Done():
	}
}

// take returns the records that the agent has written, and empties its file. It leaves an incomplete record.
func (c *Connection) take(port *runtime.Port) (envelopes []wire.Envelope, err error) {
	err = c.locked(fromAgent, func(f *os.File) error {
		data, err := c.unread(f)
		if err != nil || len(data) == 0 {
			return err
		}
		rest, err := data, error(nil)
		if len(data) > maxFile {
			rest, err = nil, errLong
		}
		for len(rest) > 0 && err == nil {
			var e wire.Envelope
			var behind []byte
			if e, behind, err = wire.ReadRecord(rest); err == nil {
				envelopes, rest = append(envelopes, e), behind
			}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			c.read += int64(len(data) - len(rest))
			return nil
		}
		if err != nil { // the beginning of the next record is unknown
			port.Refused(err)
		}
		info, err := f.Stat()
		if err != nil {
			return err
		}
		c.read, c.empty = info.Size(), true
		return f.Truncate(0)
	})
	return envelopes, err
}

// unread reads the unread bytes from the first that is not 0, which is then at c.read.
func (c *Connection) unread(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var first [1]byte
	if _, err := f.ReadAt(first[:], 0); err != nil || info.Size() < c.read || c.empty && first[0] != 0 { // the writer started again
		c.read = 0
	}
	c.empty = c.empty && first[0] == 0
	r := bufio.NewReaderSize(io.NewSectionReader(f, c.read, info.Size()-c.read), 64<<10)
	for zeros := 1; zeros > 0; c.read += int64(zeros) {
		chunk, _ := r.Peek(r.Size()) // the available bytes
		zeros = len(chunk) - len(bytes.TrimLeft(chunk, "\x00"))
		if _, err := r.Discard(zeros); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(r, maxFile+1))
}

// Errors that operators see.
var (
	errLong   = errors.New("output_file had more than 16 MiB")
	errUnread = errors.New("the agent does not read input_file")
)

// write writes queued envelopes, each after the previous record was read, until ctx ends.
func (c *Connection) write(ctx context.Context, queue *runtime.Queue, port *runtime.Port) {
	for {
		e, done, err := queue.Take(ctx)
		if err != nil {
			return
		}
		err = c.put(ctx, e)
		done()
		if err != nil {
			port.Dropped(1, err)
			continue
		}
		port.Sent()
	}
}

// put writes a record as soon as the file exists and is empty, or returns why it could not in time.
func (c *Connection) put(ctx context.Context, e wire.Envelope) error {
	record, err := wire.AppendRecord(nil, e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	for {
		err := c.locked(toAgent, func(f *os.File) error {
			if info, err := f.Stat(); err != nil || info.Size() > 0 {
				return errors.Join(err, errUnread)
			}
			if _, err := f.Write(record); err != nil {
				return errors.Join(err, f.Truncate(0)) // a partial record does not count
			}
			return nil
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
		pause(ctx)
	}
}
