package status

import (
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// A LogStatus is the state of the logs of the ledger.
type LogStatus struct {
	LagLines   int64              `json:"lag_lines"`   // lines of the ledger that are in no log yet
	LagSeconds float64            `json:"lag_seconds"` // how long the first of these lines has waited
	Services   map[string]LogHead `json:"services"`    // the newest checkpoints, by service
}

// A LogHead is the newest checkpoint of a service.
type LogHead struct {
	Epoch      int64      `json:"epoch"`
	Size       int64      `json:"size"` // entries
	At         time.Time  `json:"at"`
	KeyID      keys.ID    `json:"kid"`
	CosignedAt *time.Time `json:"cosigned_at,omitempty"` // the last time a witness signed a checkpoint
}
