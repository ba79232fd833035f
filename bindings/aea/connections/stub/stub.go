//go:build unix

// Package stub is the connection for one agent on this machine. Like the framework's connection stub, it uses two files in a directory:
// the agent reads input_file, which this package writes, and writes output_file, which this package reads. Both sides lock a file while
// they change it.
//
// An agent reads the whole file in one step, and finds only the first of several records. Therefore a record is written only when the file
// is empty. Other envelopes wait until the agent has read the record; an envelope that cannot be written within a minute is dropped.
// Records that this package has read are removed from output_file. The agent continues to write at its old offset, so zeros precede its
// next record.
//
// The agent creates the files; the connection waits for missing files. Anyone who can write to the directory can send in the name of any
// agent.
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
	"github.com/uimgate/uimgate/internal/delay"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// ID is the public id of the connection.
var ID = wire.PublicID{Author: "uimgate", Name: "stub", Version: "1.0.0"}

// The file names, as the agent uses them.
const (
	toAgent   = "input_file"
	fromAgent = "output_file"
)

const (
	poll     = 20 * time.Millisecond
	sendTime = time.Minute
	// maxFile limits the unread bytes of output_file. If there are more, they are discarded.
	maxFile = 16 << 20
)

// A Connection reads and writes the files of one agent.
type Connection struct {
	directory string

	// State of output_file, for the one goroutine that reads it.
	read  int64 // the offset up to which the file has been read
	empty bool  // the file was truncated at that offset

	out runtime.SendQueue
}

// New returns a connection that uses the files in a directory. It opens nothing before Run.
func New(directory string) *Connection { return &Connection{directory: directory} }

// ID returns the public id of the connection.
func (c *Connection) ID() wire.PublicID { return ID }

// Confidential returns true: the owner of this machine controls who may read the files.
func (c *Connection) Confidential() bool { return true }

// State returns the current state of the connection. The connection has one peer, which may have any address.
func (c *Connection) State() runtime.ConnectionState {
	s := runtime.ConnectionState{Listening: c.directory}
	if queued, open := c.out.Len(); open {
		s.Peers, s.Queued = 1, queued
	}
	return s
}

// Send queues an envelope. Errors are wire.ErrUnsendable if the envelope does not fit into a record, runtime.ErrFull and runtime.ErrDown.
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
	writing.Go(func() { port.Deliver(ctx, queue, c.put) }) // each after the previous record was read
	c.receive(ctx, port)
	writing.Wait()
	c.out.Close(port, runtime.ErrNoPeer)
	return nil
}

// errBusy means that another process has locked a file.
var errBusy = errors.New("the file is locked")

// locked locks a file and calls a function. It does not wait for the lock: it returns errBusy if another process has it.
func (c *Connection) locked(name string, do func(f *os.File) error) error {
	// The flags prevent waiting for a pipe in place of the file, and following a symbolic link.
	f, err := os.OpenFile(filepath.Join(c.directory, name), os.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // closing also releases the lock
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, errors.New(name+" is not a regular file"))
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
			if missing = true; !was { // report an error only once
				port.Failed(err)
			}
		} else {
			missing = false
		}
		for _, e := range envelopes {
			_ = port.Receive(ctx, e) // an error means that the runtime ends
		}
		if len(envelopes) == 0 {
			_ = delay.For(ctx, poll)
		}
	}
}

// take returns the records that the agent has written, and empties its file. If the last record is incomplete, take does not empty the
// file. It discards everything from the first invalid record on, and all records if there are more than maxFile unread bytes.
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

// unread returns the unread bytes, starting with the first that is not 0. It sets c.read to the offset of that byte.
func (c *Connection) unread(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var first [1]byte
	if _, err := f.ReadAt(first[:], 0); err != nil || info.Size() < c.read || c.empty && first[0] != 0 { // the agent has started a new file
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
	errLong   = errors.New("output_file has more than 16 MiB of unread data")
	errUnread = errors.New("the agent does not read input_file")
)

// put writes a record as soon as the file exists and is empty. If that does not happen within sendTime, put returns the reason.
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
				return errors.Join(err, f.Truncate(0)) // remove a partial record
			}
			return nil
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
		_ = delay.For(ctx, poll)
	}
}
