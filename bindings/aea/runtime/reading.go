package runtime

import (
	"context"
	"io"
)

// portion is the space that every frame may use, and the unit in which further space is reserved, in bytes.
const portion = 64 << 10

// Reader returns a reader for one frame from r. While incomplete frames take too much space, the reader waits, until ctx ends. The caller
// must call done when it no longer uses the frame.
func (p *Port) Reader(ctx context.Context, r io.Reader) (frame io.Reader, done func()) {
	f := &frameReader{ctx: ctx, r: r, m: p.m, room: portion}
	return f, func() { p.m.reading.Release(f.taken) }
}

// A frameReader reads one frame. It reserves space for the frame while it reads.
type frameReader struct {
	ctx   context.Context //nolint:containedctx // it bounds the reads of one frame
	r     io.Reader
	m     *Multiplexer
	room  int64 // the rest of the reserved space
	taken int64
}

func (f *frameReader) Read(into []byte) (int, error) {
	if f.room == 0 {
		if err := f.m.reading.Acquire(f.ctx, 2*portion); err != nil { // doubled, because the read buffer grows by copying
			return 0, err
		}
		f.room, f.taken = portion, f.taken+2*portion
	}
	n, err := f.r.Read(into[:min(int64(len(into)), f.room)])
	f.room -= int64(n)
	return n, err
}
