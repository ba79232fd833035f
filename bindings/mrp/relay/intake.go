package relay

import (
	"errors"
	"io"
	"sync"
)

// An intake counts the bytes of running uploads, for each client and in total. Uploads have no owner until they end: a signature is
// verified after all that it covers has arrived, and until then anyone could fill the disk.
type intake struct {
	most, each int64 // bytes, of all clients and of one

	mu  sync.Mutex
	all int64
	of  map[string]int64 // by client
}

var errIntake = errors.New("too much is being received")

func (i *intake) add(client string, n int64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n > 0 && (i.all+n > i.most || i.of[client]+n > i.each) {
		return false
	}
	if i.of == nil {
		i.of = map[string]int64{}
	}
	i.all += n
	if i.of[client] += n; i.of[client] == 0 {
		delete(i.of, client)
	}
	return true
}

// A countedReader counts the bytes that it reads. The error is errIntake if there are too many.
type countedReader struct {
	io.Reader
	to     *intake
	client string
	bytes  int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if n > 0 && !c.to.add(c.client, int64(n)) {
		return 0, errIntake
	}
	c.bytes += int64(n)
	return n, err
}

func (c *countedReader) free() { c.to.add(c.client, -c.bytes) }
