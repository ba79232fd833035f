package store

import (
	"time"

	"github.com/uimgate/uimgate/pat"
)

// A Consent is the result of a person's consent on the gateway's own page: one agreement, one code, and one chain of refresh tokens. It
// contains only digests of the secrets.
type Consent struct {
	Service string
	Handle  string // part of its codes
	// RefreshHandle is part of its refresh tokens. It cannot be computed from Handle, so a leaked code does not identify the refresh tokens.
	// It is empty in records of earlier releases, whose codes and refresh tokens both contain Handle.
	RefreshHandle string
	AgreementID   pat.AgreementID
	ClientID      string
	Document      string // digest of the client's metadata document; empty if the client registered itself
	RedirectURI   string
	Challenge     string // the PKCE challenge, for the method S256: RFC 7636, section 4.2
	Resource      string // see pat.Claims.Resource
	Request       string // the state parameter that the client sent
	Browser       string // digest of the cookie that identifies the browser that agreed
	CreatedAt     time.Time
	Until         time.Time // no tokens are issued from then on
	// Code is the digest of the last issued code, or empty if none was issued yet. The code is valid until CodeUntil.
	Code      string
	CodeUntil time.Time
	CodeUsed  bool
	Refresh   string // digest of the only valid refresh token; empty if none was issued yet
}

// A Client is a client that registered itself. See RFC 7591.
type Client struct {
	Service   string
	ID        string
	Name      string
	Redirects []string
	CreatedAt time.Time
	Until     time.Time // when it is deleted; each consent extends it
}

// An Invitation lets one person consent at a service whose operator decides who may consent.
type Invitation struct {
	Service   string
	Code      string // digest of the code
	Name      string // the operator's name for the invited person
	CreatedAt time.Time
	Until     time.Time
}
