package execute

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// This file generates the bytes of ids itself, because package uuid would allocate these bytes separately. It uses package uuid only to
// format them.

// newRequestID returns a new UUIDv4 (RFC 9562 5.4).
func newRequestID() RequestID {
	var id uuid.UUID
	_, _ = rand.Read(id[:]) // crypto/rand never fails
	return RequestID(text(id, 4))
}

// lastID is the time in the newest execution id, in units of 1/4096 ms since 1970.
var lastID atomic.Int64

// newID returns a new execution id. It is a UUIDv7, so that ids sort by creation time; the ids of one process do so even within a
// millisecond. RFC 9562 5.7 and 6.2, method 3.
func newID() string {
	now := time.Now() //nolint:forbidigo // ids use the clock of the machine
	moment := now.UnixMilli()<<12 | int64(now.Nanosecond()%int(time.Millisecond))<<12/int64(time.Millisecond)
	for {
		last := lastID.Load()
		moment = max(moment, last+1)
		if lastID.CompareAndSwap(last, moment) {
			break
		}
	}
	var id uuid.UUID
	_, _ = rand.Read(id[8:]) // as above
	binary.BigEndian.PutUint64(id[:], uint64(moment>>12)<<16|uint64(moment&0xfff))
	return text(id, 7)
}

// text formats an id with its version and the variant of RFC 9562.
func text(id uuid.UUID, version byte) string {
	id[6], id[8] = version<<4|id[6]&0x0f, 0x80|id[8]&0x3f
	return id.String()
}
