package upstream

import (
	"math/bits"
	"sync"
)

// A Buffer is the memory of a large response.
type Buffer struct {
	space []byte
	class int
}

// Buffers of 16 KiB to 4 MiB are reused for further responses. Buffers have classes by size, and the size of each class is at most a
// quarter larger than that of the previous class. Smaller buffers are cheap, and larger buffers are rare.
const (
	leastClass = 4 * 14
	mostClass  = 4 * 22
)

// buffers holds the released buffers, by class. The garbage collector frees those that are not reused for a while.
var buffers [mostClass - leastClass + 1]sync.Pool

// classOf returns the class of the smallest buffer for n bytes, and the size of that buffer.
func classOf(n int) (class, size int) {
	power := bits.Len(uint(max(n, 1)-1)) - 1 // 1<<power < n <= 2<<power
	quarter := (1 << power) / 4
	quarters := (n + quarter - 1) / quarter // 5 to 8
	return 4*power + quarters - 4, quarters * quarter
}

// newBuffer returns n bytes with undefined content, and the Buffer to which they belong. The Buffer is nil if the memory is not worth
// reusing.
func newBuffer(n int) ([]byte, *Buffer) {
	if n <= 1<<(leastClass/4) {
		return make([]byte, n), nil
	}
	class, size := classOf(n)
	if class > mostClass {
		return make([]byte, n), nil
	}
	b, _ := buffers[class-leastClass].Get().(*Buffer)
	if b == nil {
		b = &Buffer{make([]byte, size), class}
	}
	return b.space[:n:n], b
}

// Release makes the memory of a response available to other responses. The caller must not use the memory afterwards. Release does nothing
// if b is nil. The garbage collector frees memory that is not released.
func (b *Buffer) Release() {
	if b != nil {
		buffers[b.class-leastClass].Put(b)
	}
}
