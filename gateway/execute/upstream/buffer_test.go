package upstream

import "testing"

func TestBufferSizes(t *testing.T) {
	for n := 1; n < 6<<20; n += 1 + n/64 {
		got, b := newBuffer(n)
		switch {
		case len(got) != n || cap(got) != n:
			t.Fatalf("%d: %d bytes of %d", n, len(got), cap(got))
		case b == nil && n > 16<<10 && n <= 4<<20, b != nil && (n <= 16<<10 || n > 4<<20):
			t.Fatalf("%d: a buffer: %t", n, b != nil)
		case b != nil:
			size := len(b.space)
			if size < n || size > n+n/4+1 {
				t.Fatalf("%d: a buffer of %d", n, size)
			}
			if class, again := classOf(size); class != b.class || again != size {
				t.Fatalf("%d: class %d of %d, then %d of %d", n, b.class, size, class, again)
			}
			b.Release()
		}
	}
	(*Buffer)(nil).Release()
}
