package store

import (
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/pat"
)

// An AgentFilter restricts a listing of agents; zero fields restrict nothing. Limit is 100 if not set, and at most 1000.
type AgentFilter struct {
	Service  string
	Status   pat.AgentStatus
	Approved *bool
	Waiting  bool // only agents that wait for approval, among the first MostCounted waiting agreements
	// Prefix is the beginning of the id or, ignoring the case of ASCII letters, of the name. At most MostCounted names are compared.
	Prefix string
	After  pat.AgentID // the id of the last agent returned
	Limit  int
}

// A Backlog counts the records of one service that wait for the operator. Each number is at most MostCounted.
type Backlog struct {
	Waiting    int64 // agents that wait for approval
	Unresolved int64 // charges of calls of unknown outcome
	Unclaimed  int64 // payments that wait for a decision of the operator before they can be entered
}

// MostCounted limits each number in a Backlog.
const MostCounted = 10_000

// An AgreementFilter restricts a listing of agreements; zero fields restrict nothing. See AgentFilter for Limit.
type AgreementFilter struct {
	Service      string
	AgentID      pat.AgentID
	PolicyDigest string
	Without      string // the digest of a policy: only agreements of agents without an active agreement to it
	State        pat.AgreementState
	After        Cursor // see AgreementCursor
	Limit        int
}

// A TokenFilter restricts a listing of PATs; zero fields restrict nothing. See AgentFilter for Limit.
type TokenFilter struct {
	Service     string
	AgentID     pat.AgentID
	AgreementID pat.AgreementID
	ID          pat.TokenID
	// ValidAt excludes the PATs that have expired or were renewed or revoked by then. The zero time excludes none.
	ValidAt time.Time
	After   Cursor
	Limit   int
}

// A Cursor is a position in a listing by time: after the record with the time At and this ID. The zero Cursor is the beginning.
type Cursor struct {
	At time.Time
	ID string
}

// String returns the string that ParseCursor parses. It is empty for the beginning.
func (c Cursor) String() string {
	if c.ID == "" {
		return ""
	}
	return strconv.FormatInt(c.At.UnixNano(), 10) + "." + c.ID
}

// ParseCursor parses the result of Cursor.String. ok is false for any other string.
func ParseCursor(s string) (_ Cursor, ok bool) {
	if s == "" {
		return Cursor{}, true
	}
	at, id, ok := strings.Cut(s, ".")
	nanos, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || id == "" || strconv.FormatInt(nanos, 10) != at {
		return Cursor{}, false
	}
	return Cursor{time.Unix(0, nanos).UTC(), id}, true
}

// AgreementCursor returns the position after an agreement.
func AgreementCursor(a pat.Agreement) Cursor { return Cursor{a.CreatedAt, string(a.ID)} }

// A ListedToken is the record of a PAT. Revoked is set if a revocation names the PAT, its agreement, its agent or its policy.
type ListedToken struct {
	pat.Token
	Revoked bool
}

// Cursor returns the position after the token.
func (t ListedToken) Cursor() Cursor { return Cursor{t.IssuedAt, string(t.ID)} }
