package store

import (
	"errors"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// The errors of logs.
var (
	// ErrLogMoved means that another process has appended to a log.
	ErrLogMoved = errors.New("another process has appended to the log")
	// ErrNotLogged means that a line of the ledger is not in its log yet.
	ErrNotLogged = errors.New("the line is not in the log yet")
)

// A LogHead is the state of the log of a service in one epoch.
type LogHead struct {
	Service  string
	Epoch    int64
	Issuer   string
	FirstSeq int64 // ledger number of the entry that begins the epoch; 0 for the first epoch, which has none

	Size       int64 // leaves
	Seq        int64 // ledger number of the last leaf
	Root       evidence.Hash
	Checkpoint []byte    // signed, of this size; empty if there is none yet
	KeyID      keys.ID   // the id of the key that signed it
	At         time.Time // when the checkpoint was signed
	CosignedAt time.Time // when a witness last signed a checkpoint; zero if never
}

// A LogLine is a line of the ledger, or another entry, that belongs in a log.
type LogLine struct {
	Seq     int64
	Service string
	Epoch   int64
	Leaf    evidence.Hash
	Own     bool // an entry of the log that belongs to no account
}

// A LogEntry is an entry that belongs to no account.
type LogEntry struct {
	Seq     int64 // 0: the next number of the ledger
	Service string
	Epoch   int64
	Purpose string  // the purpose of the key that the entry introduces; empty if it introduces none
	KeyID   keys.ID // the id of this key
	Receipt string
	Leaf    evidence.Hash
}

// A LogKey is a key that an entry of a log introduces.
type LogKey struct {
	Service, Purpose string
	KeyID            keys.ID
}

// A LogChange appends to the log of a service.
type LogChange struct {
	Before  int64     // the size before the change; 0: the log is new
	Head    LogHead   // after the change
	Tiles   []LogTile // tiles that are new or that got more hashes
	Entries []LogEntry
}

// A LogTile is a tile with the ledger number of its first leaf.
type LogTile struct {
	log.Tile

	FirstSeq int64 // for a new tile of level 0: the first ledger number; otherwise 0
}

// A LogProgress shows how much of the ledger has been appended to the logs.
type LogProgress struct {
	Logged int64 // every ledger number up to this one is in a log or does not belong in one
	Last   int64 // the last ledger number
}

// A LoggedLine is the place of a line of the ledger in a log.
type LoggedLine struct {
	AgentID pat.AgentID
	Epoch   int64
	Index   int64
	Leaf    evidence.Hash
}
