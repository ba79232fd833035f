package store

import (
	"strconv"
	"strings"
	"time"
)

// An IndexedRequest describes one request for the operator, who finds it by its id or lists it.
type IndexedRequest struct {
	ID      string // the id of the request; several requests may have the same id, because clients can choose it
	At      time.Time
	Process string // the process that handled the request
	Number  int64  // the number of the record, unique within the process
	RequestKind
	// Record is JSON. The store does not interpret it.
	Record []byte
	Until  time.Time // when the record is deleted
}

// A RequestKind holds the properties that listings select requests by. A field is empty if it does not apply to the request.
type RequestKind struct {
	Service, Agent, Intent string
	Decision               string // permit, deny or pending
	Reason                 string // the reason of a refusal
	Outcome                string // the state of the execution, for a call to the service
}

// MostRequests is the maximum number of requests that a lookup by id returns.
const MostRequests = 20

// A RequestFilter restricts a listing of requests; empty fields restrict nothing. See AgentFilter for Limit.
type RequestFilter struct {
	RequestKind
	From, To time.Time // From is included, To is not
	After    RequestCursor
	Limit    int
}

// MostRequestsRead is the maximum number of requests that one listing compares with its filter. A listing that has reached it may be
// shorter than Limit, although more requests match.
const MostRequestsRead = 10_000

// A RequestCursor is a position in a listing of requests. The zero RequestCursor is the beginning.
type RequestCursor struct {
	At      time.Time
	Process string
	Number  int64
}

// String returns the string that ParseRequestCursor parses. It is empty for the beginning.
func (c RequestCursor) String() string {
	if c.At.IsZero() {
		return ""
	}
	return strconv.FormatInt(c.At.UnixNano(), 10) + "." + strconv.FormatInt(c.Number, 10) + "." + c.Process
}

// ParseRequestCursor parses the result of RequestCursor.String. ok is false for any other string.
func ParseRequestCursor(s string) (c RequestCursor, ok bool) {
	if s == "" {
		return RequestCursor{}, true
	}
	at, rest, _ := strings.Cut(s, ".")
	number, process, ok := strings.Cut(rest, ".")
	nanos, badAt := strconv.ParseInt(at, 10, 64)
	n, badNumber := strconv.ParseInt(number, 10, 64)
	c = RequestCursor{time.Unix(0, nanos).UTC(), process, n}
	if !ok || badAt != nil || badNumber != nil || c.String() != s {
		return RequestCursor{}, false
	}
	return c, true
}

// Cursor returns the position after the request.
func (r *IndexedRequest) Cursor() RequestCursor { return RequestCursor{r.At, r.Process, r.Number} }
