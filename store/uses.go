package store

import "time"

// An IntentUse records when agents last called an intent.
type IntentUse struct {
	Service string
	Intent  string // the uid of the intent
	At      time.Time
}

// UsesKept is how long an IntentUse is kept.
const UsesKept = 30 * 24 * time.Hour
