package store

import "time"

// An IndexedRequest describes one request for the operator, who finds it by its id.
type IndexedRequest struct {
	ID      string // the id of the request; several requests may have the same id, because clients can choose it
	At      time.Time
	Process string // the process that handled the request
	Number  int64  // distinguishes the records of one process
	// Record is JSON. The store does not interpret it.
	Record []byte
	Until  time.Time // when the record is deleted
}

// MostRequests is the maximum number of requests that a lookup by id returns.
const MostRequests = 20
