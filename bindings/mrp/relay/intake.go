package relay

import (
	"errors"
	"io"
	"sync"
)

// An intake limits the bytes of uploads or large responses in progress, for each client and in total. An upload has no owner until it is
// complete, because its signature can be verified only after the whole body has arrived. Without a limit, anyone could fill the disk.
type intake struct {
	most, each int64 // the maximum number of bytes in total and for each client

	mu  sync.Mutex
	all int64
	of  map[string]int64 // by client
}

var errIntake = errors.New("too many bytes are being received")

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

// A countedReader counts the bytes that it reads against an intake. Read returns errIntake if there are too many.
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
