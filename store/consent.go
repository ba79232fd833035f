package store

import (
	"time"

	"github.com/uimgate/uimgate/pat"
)

// A Consent is what follows from a person's consent on the gateway's own page: one agreement, one code, and one chain of
// refresh tokens. Of secrets it holds digests.
type Consent struct {
	Service string
	Handle  string // in its codes
	// RefreshHandle is in its refresh tokens. It cannot be computed from Handle: a code that leaked finds the refresh tokens of no
	// consent. Empty in records of earlier releases, where Handle is in both.
	RefreshHandle string
	AgreementID   pat.AgreementID
	ClientID      string
	Document      string // digest of the client's metadata document; empty: a registration
	RedirectURI   string
	Challenge     string // of PKCE, S256. RFC 7636 4.2
	Resource      string // see pat.Claims.Resource
	Request       string // what the client sent as state
	Browser       string // digest of the cookie that identifies the browser that agreed
	CreatedAt     time.Time
	Until         time.Time // from then on there are no further tokens
	// Code is the digest of the code that was handed out last; empty: none yet. It is good until CodeUntil.
	Code      string
	CodeUntil time.Time
	CodeUsed  bool
	Refresh   string // digest of the only refresh token that is good; empty: none yet
}

// A Client is one that registered itself. RFC 7591.
type Client struct {
	Service   string
	ID        string
	Name      string
	Redirects []string
	CreatedAt time.Time
	Until     time.Time // when it is deleted; each consent moves it
}

// An Invitation lets one person consent where the operator decides who may.
type Invitation struct {
	Service   string
	Code      string // digest
	Name      string // what the operator calls the invited person
	CreatedAt time.Time
	Until     time.Time
}
