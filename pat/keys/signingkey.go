package keys

import (
	"context"
	"time"
)

// A Purpose defines the kind of document that a key signs. A key never verifies signatures for a different purpose.
type Purpose string

// The purposes of keys.
const (
	ForPATs     Purpose = ""
	ForCards    Purpose = "card"    // descriptions of services, such as the agent card of A2A
	ForReceipts Purpose = "receipt" // entries of the ledger
	ForLogs     Purpose = "log"     // checkpoints of logs
)

// Name returns the purpose as the member uim_purpose of a JWKS names it.
func (p Purpose) Name() string {
	if p == ForPATs {
		return "pat"
	}
	return string(p)
}

// Lasting reports whether documents that keys of the purpose signed must verify for years. RotateAll and RetireAll do not affect such
// keys.
func (p Purpose) Lasting() bool { return p == ForReceipts || p == ForLogs }

// A SigningKey is the public half of a key that signs PATs, or signs for another purpose.
type SigningKey struct {
	ID        ID // kid
	Purpose   Purpose
	Algorithm string // EdDSA, ES256, RS256
	JWK       []byte // the public key, RFC 7517
	CreatedAt time.Time
	NotAfter  time.Time // when it stops verifying; zero while it still signs
	Process   string    // the name of the process that signs with it; empty if it is not recorded
}

// A Store holds the state of a Keyring that outlives the process: the public keys of all processes.
type Store interface {
	// AddSigningKey registers a public key. A repeated id updates Process, and NotAfter if the key then ends earlier than before.
	AddSigningKey(ctx context.Context, k SigningKey) error
	// SigningKeys returns the keys whose NotAfter is zero or after now.
	SigningKeys(ctx context.Context, now time.Time) ([]SigningKey, error)
}
