package store

import (
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat"
)

// A LedgerEntry is an entry of the ledger in the form of its receipt. See package evidence.
type LedgerEntry struct {
	Seq   int64 // its number in the ledger of all services
	Epoch int64 // the epoch of the log to which the entry belongs
	K     int64 // its number in the chain of its account
	Leaf  evidence.Hash
	Bytes []byte
	// Decision is the question that the policy decided, as in the member "asked" of the audit record. Proof is the proof of key. Both are
	// empty unless EntryFilter.Evidence is set and the entry is the first of its execution.
	Decision []byte
	Proof    string
}

// An EntryFilter selects entries of one account, in the order of its chain.
type EntryFilter struct {
	Service  string
	AgentID  pat.AgentID
	Currency string
	After    int64 // the last K that was read; -1 for the beginning
	Limit    int   // at most 1000
	Evidence bool  // also read the texts that the digests of entries cover
}

// A Head is the end of the chain of one account.
type Head struct {
	Currency string
	K        int64 // the number of the last entry; -1: there is none
	Hash     evidence.Hash
	Carry    int64 // K of the newest entry that carries the sums of deleted entries; -1: there is none
}

// ErrAltered means that a row of the ledger differs from the entry that the gateway made: another program has changed the database. The
// error names the account and the entry.
var ErrAltered = errors.New("the ledger was altered")

// An AlteredError names an account whose entries were altered. It wraps ErrAltered.
type AlteredError struct {
	Service  string
	AgentID  pat.AgentID
	Currency string
	Detail   string // what differs
}

func (e *AlteredError) Error() string {
	return fmt.Sprintf("service %q, agent %q, %s: %s: %v", e.Service, e.AgentID, e.Currency, e.Detail, ErrAltered)
}

func (e *AlteredError) Unwrap() error { return ErrAltered }

// An ExpiredError means that entries were deleted, because their retention period has passed. It contains no entry of another agent.
type ExpiredError struct{ Carry int64 } // K of the entry that carries the sums

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the entry was deleted, because its retention period has passed: entry %d carries its sum", e.Carry)
}
