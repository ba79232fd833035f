package store

import (
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/pat"
)

// An AgentFilter restricts a listing of agents; zero fields restrict nothing. Limit is 100 if not set, and at most
// 1000.
type AgentFilter struct {
	Service  string
	Status   pat.AgentStatus
	Approved *bool
	Waiting  bool        // only those that wait for approval: of the first MostCounted agreements that do
	After    pat.AgentID // of the last agent returned
	Limit    int
}

// A Backlog is what waits for the operator at one service. Each number is MostCounted at most.
type Backlog struct {
	Waiting    int64 // agents that wait for approval
	Unresolved int64 // charges of calls of unknown outcome
}

// MostCounted bounds what is counted for a Backlog.
const MostCounted = 10_000

// An AgreementFilter restricts a listing of agreements; zero fields restrict nothing. Limit is as in AgentFilter.
type AgreementFilter struct {
	Service      string
	AgentID      pat.AgentID
	PolicyDigest string
	State        pat.AgreementState
	After        pat.AgreementID // of the last agreement returned
	Limit        int
}

// A TokenFilter restricts a listing of PATs; zero fields restrict nothing. Limit is as in AgentFilter.
type TokenFilter struct {
	Service     string
	AgentID     pat.AgentID
	AgreementID pat.AgreementID
	ID          pat.TokenID
	// ValidAt leaves out the PATs that have expired, were renewed or revoked by then. Zero: none.
	ValidAt time.Time
	After   TokenCursor
	Limit   int
}

// A TokenCursor is a position in a listing of PATs: behind the one issued at IssuedAt with this ID. The zero
// TokenCursor is the beginning.
type TokenCursor struct {
	IssuedAt time.Time
	ID       pat.TokenID
}

// String returns the form that ParseTokenCursor reads; empty for the beginning.
func (c TokenCursor) String() string {
	if c.ID == "" {
		return ""
	}
	return strconv.FormatInt(c.IssuedAt.UnixNano(), 10) + "." + string(c.ID)
}

// ParseTokenCursor reads the result of TokenCursor.String. ok is false where s is not such a text.
func ParseTokenCursor(s string) (_ TokenCursor, ok bool) {
	if s == "" {
		return TokenCursor{}, true
	}
	at, id, ok := strings.Cut(s, ".")
	nanos, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || id == "" || strconv.FormatInt(nanos, 10) != at {
		return TokenCursor{}, false
	}
	return TokenCursor{time.Unix(0, nanos).UTC(), pat.TokenID(id)}, true
}

// A ListedToken is the record of a PAT. Revoked is set where a revocation names the PAT, its agreement, its agent or its policy.
type ListedToken struct {
	pat.Token
	Revoked bool
}

// Cursor returns the position behind the token.
func (t ListedToken) Cursor() TokenCursor { return TokenCursor{t.IssuedAt, t.ID} }
