package runtime_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
)

// TestFramesShareMemory checks that the received parts of all long frames share one limit, and that short frames are always read.
func TestFramesShareMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		few := limits()
		few.Reading = 6 << 20
		l := newLine("first")
		running(t, runtime.Options{Limits: few}, nil, l)
		frame := strings.Repeat("x", 3<<20)
		read := func(frame string) (done func(), err error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r, done := l.port.Reader(ctx, strings.NewReader(frame))
			data, err := io.ReadAll(r)
			if err == nil && string(data) != frame {
				t.Error("another frame was read")
			}
			return done, err
		}
		first, err := read(frame)
		if err != nil {
			t.Fatal(err)
		}
		second, err := read(frame)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second one of %d bytes: %v, want %v", len(frame), err, context.DeadlineExceeded)
		}
		second()
		short, err := read(frame[:60<<10])
		if err != nil {
			t.Error(err)
		}
		short()
		first()
		again, err := read(frame)
		if err != nil {
			t.Error(err)
		}
		again()
	})
}
