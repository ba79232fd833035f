package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A child is one process of a server. It forms one process group with the processes that it starts, and the group ends as a whole.
type child struct {
	cmd     *exec.Cmd
	in      *os.File // its standard input
	now     func() time.Time
	max     int64 // maximum size of a message, in bytes
	started time.Time

	writing chan struct{} // held while a message is written
	gone    chan struct{} // closed when the process has ended or is being ended; from then on, its output is not read
	exited  chan struct{} // closed when the process has ended
	unread  chan struct{} // closed when its output has been read to the end
	once    sync.Once
	why     atomic.Pointer[string]
	doubted atomic.Bool
	probes  atomic.Int64
	heard   atomic.Int64 // number of messages that the process has sent
	tooLong atomic.Int64 // the request whose response was too long

	mu      sync.Mutex
	waiting map[int64]chan response
	// listening maps requests in progress to the callers that want notifications about their progress.
	listening map[int64]*listener
	owes      bool // a response to an earlier request may still come
	using     int
	retired   bool // the process ends when no request is in progress
}

// startChild starts a process. ended is called once, when the process has ended.
func startChild(cfg Config, ended func(c *child, why string, closed bool)) (*child, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		_ = theirIn.Close()
		_ = in.Close()
		return nil, err
	}
	cmd := exec.Command(cfg.Command.Path, cfg.Command.Args...) //nolint:gosec,noctx // the operator configures it; it outlives requests
	cmd.Dir, cmd.Env = cfg.Command.Dir, append([]string{}, cfg.Command.Env...)
	cmd.Stdin, cmd.Stdout = theirIn, theirOut // its standard error is discarded, because it may contain anything
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	_ = theirIn.Close()
	_ = theirOut.Close()
	if err != nil {
		_ = in.Close()
		_ = out.Close()
		return nil, err
	}
	c := &child{
		cmd: cmd, in: in, max: cfg.MaxMessage, started: cfg.Now(), writing: make(chan struct{}, 1), gone: make(chan struct{}),
		exited: make(chan struct{}), unread: make(chan struct{}), waiting: map[int64]chan response{}, listening: map[int64]*listener{},
		now: cfg.Now,
	}
	go c.read(out)
	go c.wait(out, ended)
	return c, nil
}

// wait waits until the process has ended. It delivers the responses that the process sent before.
func (c *child) wait(out *os.File, ended func(c *child, why string, closed bool)) {
	err := c.cmd.Wait()
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // the processes that it started end with it
	close(c.exited)
	isClosed(c.unread, patience)
	c.kill("it ended: " + exitOf(err))
	_ = out.Close()
	c.mu.Lock()
	closed := c.retired
	c.mu.Unlock()
	ended(c, *c.why.Load(), closed)
}

// isClosed waits until a channel is closed, but not longer than d. It reports whether the channel is closed.
func isClosed(ch <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ch:
		return true
	case <-timer.C:
		return false
	}
}

func exitOf(err error) string {
	if err == nil {
		return "exit status 0"
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.String()
	}
	return "how it ended is not known"
}

// cause describes why a program cannot be started, without its path.
func cause(err error) string {
	var number syscall.Errno
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return "no such program or directory"
	case errors.As(err, &number):
		return number.Error()
	default:
		return "the operating system did not start it"
	}
}

func (c *child) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// usable reports whether the process takes further requests.
func (c *child) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.retired && c.alive()
}

// kill ends the process group at once.
func (c *child) kill(why string) {
	c.once.Do(func() {
		c.why.Store(&why)
		close(c.gone)
		_ = c.in.Close()
	})
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // fails if the group has already ended
}

// enter counts a request in progress. It returns false if the process accepts no more requests.
func (c *child) enter() (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired || !c.alive() {
		return nil, false
	}
	c.using++
	return func() {
		c.mu.Lock()
		c.using--
		last := c.using == 0 && c.retired
		c.mu.Unlock()
		if last {
			c.end()
		}
	}, true
}

// retire ends the process when its requests in progress have ended.
func (c *child) retire() {
	c.mu.Lock()
	idle := c.using == 0 && !c.retired
	c.retired = true
	c.mu.Unlock()
	if idle {
		c.end()
	}
}

// patience is how long a process may take to end after the gateway has closed its standard input, and again after SIGTERM. See MCP
// 2026-07-28, basic/transports/stdio, Shutdown.
const patience = 2 * time.Second

// end closes the standard input of the process. It ends the process group by force if the process does not end by itself.
func (c *child) end() {
	_ = c.in.Close()
	go func() {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			if isClosed(c.exited, patience) {
				return
			}
			_ = syscall.Kill(-c.cmd.Process.Pid, signal)
		}
	}()
}

// await returns a channel that receives the response to a request.
func (c *child) await(id int64) <-chan response {
	w := make(chan response, 1)
	c.mu.Lock()
	c.waiting[id] = w
	c.mu.Unlock()
	return w
}

func (c *child) forget(id int64) {
	c.mu.Lock()
	delete(c.listening, id)
	if _, owed := c.waiting[id]; owed {
		delete(c.waiting, id)
		c.owes = true
	}
	c.mu.Unlock()
}

// cancelTime is the time limit for the notification that a request is canceled.
const cancelTime = time.Second

// cancel notifies the process that a request is canceled. See MCP 2026-07-28, basic/patterns/cancellation.
func (c *child) cancel(id int64) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTime)
	defer cancel()
	text := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), id, 10)
	_, _ = c.write(ctx, append(text, "}}"...), admitted)
}

// read reads messages until the standard output of the process ends. A line of more than max bytes, or more than max bytes outside of
// responses, ends the process.
func (c *child) read(out *os.File) {
	defer close(c.unread)
	in := bufio.NewReaderSize(out, 64<<10)
	surplus := int64(0)
	for {
		line, err := readLine(in, c.max)
		if errors.Is(err, ErrTooLong) {
			c.blame(line)
			c.kill("it sent a line of more than " + strconv.FormatInt(c.max, 10) + " bytes")
		}
		if err != nil {
			go func() {
				if !isClosed(c.exited, patience) {
					c.kill("it closed its output")
				}
			}()
			return
		}
		if c.deliver(line) {
			surplus = 0
			continue
		}
		if surplus += int64(len(line)) + 1; surplus > c.max {
			c.kill("it sent more than " + strconv.FormatInt(c.max, 10) + " bytes outside responses")
			return
		}
	}
}

// blame finds the request whose response is a line that is too long, and records it. part is the beginning of the line.
// Some servers write the id after the result; the line then belongs to the only request in progress, if every earlier request got a
// response.
func (c *child) blame(part []byte) {
	id, result := beginning(part)
	if !result {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for waiting := range c.waiting {
		if id == strconv.FormatInt(waiting, 10) || id == "" && len(c.waiting) == 1 && !c.owes {
			c.tooLong.Store(waiting)
		}
	}
}

// deliver hands a response to the caller that waits for it. It reports whether a caller was waiting. It refuses requests of the process,
// passes notifications about progress to their callers, and ignores all other messages, including lines that are not JSON.
func (c *child) deliver(line []byte) bool {
	got, ok := readMessage(line)
	if !ok {
		return false
	}
	c.heard.Add(1)
	if got.method != "" {
		if got.id != "" {
			ctx, cancel := context.WithTimeout(context.Background(), cancelTime)
			defer cancel()
			_, _ = c.write(ctx, got.refusal(), admitted)
		} else if got.method == progressMethod {
			c.report(&got)
		}
		return false
	}
	id, err := strconv.ParseInt(got.id, 10, 64)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.waiting[id]
	if ok {
		delete(c.waiting, id)
		w <- got
	}
	return ok
}

// readLine returns the next line without its end. The caller may keep and modify the line. If the error is ErrTooLong, the result is the
// beginning of the line.
func readLine(in *bufio.Reader, most int64) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if int64(len(line)+len(part)) > most+2 {
			return line, ErrTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSpace(line), nil
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return bytes.TrimSpace(line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
