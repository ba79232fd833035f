package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

// A RestoreMode defines how the limits of policies count after the state was restored to an earlier one.
type RestoreMode string

// The modes of a restore. In all of them, lifetime limits continue from the restored counts.
const (
	// RestoreUsed holds back agents that the restored state knows, because their use since then is unknown. A limit per week or per
	// shorter period counts as used up for its period. A limit per month or year continues from the restored count, and a part of it, the
	// allowance, also counts as used. All other agents start with unused limits.
	RestoreUsed RestoreMode = "used"
	// RestoreBackup continues from the restored counts.
	RestoreBackup RestoreMode = "backup"
	// RestoreFresh deletes all counts, except those of lifetime limits.
	RestoreFresh RestoreMode = "fresh"
)

// RestoreModes are all modes. Their order defines how they are stored.
var RestoreModes = []RestoreMode{RestoreUsed, RestoreBackup, RestoreFresh}

// RestoredLimits define how limits count after a restore.
type RestoredLimits struct {
	Mode RestoreMode
	// Allowance is the part of each limit per month or year, in percent, that counts as used since the restored state. It is between 0 and
	// 100, and has no effect unless Mode is RestoreUsed.
	Allowance int64
}

// DefaultAllowance is the default value of RestoredLimits.Allowance.
const DefaultAllowance = 10

// DefaultRestoredLimits returns the RestoredLimits of a restore without options.
func DefaultRestoredLimits() RestoredLimits { return RestoredLimits{RestoreUsed, DefaultAllowance} }

// A LimitHold is an event after which limits count as used up.
type LimitHold struct {
	At time.Time // when the event was detected, by the clock for limits; the zero time means never
	// Periods are the periods whose limits are still held back, the shortest first.
	Periods []HeldPeriod
}

// A HeldPeriod is a period whose limits are held back until a time.
type HeldPeriod struct {
	Period limit.Period
	Until  time.Time
}

// HeldLimits are the limits that are held back at present.
type HeldLimits struct {
	// Restored is the last restore. Only agents that the restored state knows are held back, see RestoreUsed.
	Restored LimitHold
	Limits   RestoredLimits // the limits of the last restore
	// Stepped is the last step of the clock of a database server. All agents are held back.
	Stepped LimitHold
	By      time.Duration // by how much the clock was set; negative if it was set back
}
