package bridge

import (
	"context"
	"io"
	"time"
)

// Serve handles MCP messages until the input ends or ctx is done. Serve then gives the calls in progress one second to finish; the cost of
// a call that does not finish stays reserved in the budget. Serve then closes the Bridge, so it may be called only once. It returns nil if
// ctx ended, otherwise the error of the session.
func (b *Bridge) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	go b.watch(ctx)
	err := b.serve(ctx, in, out)
	b.stop()
	b.finish()
	return err
}

// finish waits for the calls in progress, but at most for settleTime, and then closes the client, the outbox and the pages.
func (b *Bridge) finish() {
	settled := make(chan struct{})
	go func() {
		b.working.Wait()
		close(settled)
	}()
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	select {
	case <-settled:
	case <-timer.C:
		b.o.Log("shut down while calls were in progress: their cost stays reserved")
	}
	b.client.Close()
	b.outbox.Close()
	if b.o.Confirm != nil {
		b.o.Confirm.Close()
	}
}

func (b *Bridge) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	session, err := b.server.Connect(ctx, stdio{in, out}, nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		go session.Close() //nolint:errcheck // waits for calls in progress; Serve must not wait so long
		return nil
	}
}
