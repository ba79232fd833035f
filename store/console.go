package store

import "time"

// A ConsoleSession is one person who is signed in to the console of the operator.
type ConsoleSession struct {
	ID          string // the digest of the secret in the cookie
	Name        string
	Role        string
	Via         string // token, link or oidc
	Credential  string // the digest of the credential that the person signed in with; empty: a link
	CreatedAt   time.Time
	ConfirmedAt time.Time // when the person last proved their identity
	EndsAt      time.Time // the session ends then at the latest
	Until       time.Time // an unused session ends then; never after EndsAt
}

// A ConsoleLink signs one person in to the console, once.
type ConsoleLink struct {
	Code  string // the digest of the code in the link
	Name  string
	Role  string
	Until time.Time
}

// Bounds of what the console stores. When they are reached, the session or link that ends first is deleted.
const (
	MostConsoleSessions = 1000
	MostConsoleLinks    = 100
)
