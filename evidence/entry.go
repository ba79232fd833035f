package evidence

import (
	"time"

	"github.com/uimgate/uimgate/internal/money"
)

// Version is the member v of every entry.
const Version = "uim-entry-1"

// A Kind is the kind of change that an entry records.
type Kind string

// The kinds of entries. Entries of KindKey and KindRestored belong to the log of a service, and to no account.
const (
	KindCharge   Kind = "charge"   // a charge changed its state
	KindTopUp    Kind = "top-up"   // the operator credited an amount
	KindReversal Kind = "reversal" // the operator took back a top-up; Amount is negative
	KindCarry    Kind = "carry"    // an entry that replaces deleted entries of the account, or entries from before entries had numbers
	KindKey      Kind = "key"      // a new key signs receipts or checkpoints
	KindRestored Kind = "restored" // the state was restored, or the issuer changed: a new epoch begins
)

// The states of a charge.
const (
	StateHeld       = "held"
	StateCaptured   = "captured"
	StateReleased   = "released"
	StateUnresolved = "unresolved"
)

// FormCanonical is the AnswerForm of an output that was not sent as JSON text: its digest covers the RFC 8785 form.
const FormCanonical = "jcs"

// An Account is the account of one agent in one currency.
type Account struct {
	Agent    string
	Currency string // ISO 4217, or another code that the policy uses
}

// An Entry is one line of the ledger of a service. An empty string or a zero value means that the entry lacks the member.
type Entry struct {
	Issuer string // the issuer of the service's PATs
	// Epoch counts the logs of the service: it increases by one when the state is restored or the issuer changes. The chain continues across
	// epochs.
	Epoch   int64
	Account Account // zero for KindKey and KindRestored
	K       int64   // number of the entry in the chain of its account, starting from 0
	Prev    Hash    // leaf hash of entry K-1; zero if K is 0
	At      time.Time
	Kind    Kind
	ID      string // execution id of a charge
	From    string // previous state of a charge; empty in the first entry of an execution
	To      string // state of a charge
	By      string // who caused the entry: agent, operator, service or sweeper; for KindKey, the id of the previous key
	Amount  money.Amount

	// The terms of a charge.
	Intent    string // uid
	Rule      string // permission of the policy that was used
	Policy    string // digest, sha-256:…
	Agreement string
	Token     string // jti of the PAT
	KeyID     string // RFC 7638 thumbprint of the agent's key

	// The digests of a charge, each sha-256: and unpadded base64url.
	Request  string // the digest of the call: RFC 8785 of {"intent_uid", "parameters"}
	Proof    string // the digest of the proof of key as sent; empty if there was none
	Decision string // the digest of the question that the policy decided
	Outcome  string // the outcome of the call to the service: not_sent, failed, done or unknown; empty while held
	Answer   string // the digest of the output as HTTP sends it; only for captured charges
	// AnswerForm is FormCanonical if Answer covers the RFC 8785 form of the output; empty if it covers the bytes.
	AnswerForm string

	Reference string // for a top-up or reversal; the operator's choice
	// Salt makes the hash of an entry without an execution id unpredictable.
	Salt    []byte
	Through *Through // for KindCarry; nil if the account had no numbered entries
	Sums    *Sums    // for KindCarry
	Key     *Key     // for KindKey
	Last    *Last    // for KindRestored; nil if no checkpoint was made
}

// Through identifies the last entry that a KindCarry replaces.
type Through struct {
	K    int64
	Hash Hash
}

// Sums are the sums over all entries of an account up to a point in its chain. Held includes Unresolved.
type Sums struct{ ToppedUp, Held, Unresolved, Captured money.Amount }

// A Key introduces a key that signs for the service from then on.
type Key struct {
	Purpose  string // receipt or log
	ID       string // kid
	JWK      []byte // public key, RFC 7517, in RFC 8785 form
	Verifier string // for a log key: the key in the form of C2SP signed-note
}

// Last is the newest checkpoint known when an epoch ended.
type Last struct {
	Epoch, Size int64
	Root        Hash
}
