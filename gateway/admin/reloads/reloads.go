package reloads

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
)

// A ReloadRecord is a reload of the configuration in one process, and what it changed. It has no values of settings.
type ReloadRecord struct {
	At      time.Time   `json:"at"`
	Process string      `json:"process"`
	Cause   ReloadCause `json:"cause"`
	By      string      `json:"by,omitempty"`  // who asked for it, if Cause is ReloadByRequest
	Via     string      `json:"via,omitempty"` // how that person or program was identified: socket, token, link or oidc
	Applied bool        `json:"applied"`       // false: it was refused, and the previous configuration remains in use
	// Problems is the number of errors and warnings that were found.
	Problems int    `json:"problems,omitempty"`
	Before   string `json:"before,omitempty"` // hash of the previous configuration; empty if Cause is ReloadByStart
	Hash     string `json:"hash,omitempty"`   // hash of the applied configuration
	// Settings are the keys of the settings that differ, at most MostReloadNames.
	Settings     []string        `json:"settings,omitempty"`
	MoreSettings int             `json:"more_settings,omitempty"`
	Services     []ServiceChange `json:"services,omitempty"` // that differ, or that were added or removed; at most MostReloadNames
}

// A ReloadCause is why the configuration was read.
type ReloadCause string

// The causes of a reload.
const (
	ReloadByRequest    ReloadCause = "request"    // the admin API, a command or the console
	ReloadBySignal     ReloadCause = "signal"     // SIGHUP
	ReloadByFile       ReloadCause = "file"       // a file of the configuration changed
	ReloadByRetirement ReloadCause = "retirement" // the retire_after of an intent passed
	// ReloadByStart is the start of a process with a configuration that differs from that of the newest record. The differences are not known.
	ReloadByStart ReloadCause = "start"
)

// A ServiceChange is what a reload changed in one service.
type ServiceChange struct {
	Service string `json:"service"`
	// Change is added, removed or changed.
	Change string `json:"change"`
	// PolicyBefore and PolicyAfter are the digests of the policy in force, if they differ.
	PolicyBefore string     `json:"policy_before,omitempty"`
	PolicyAfter  string     `json:"policy_after,omitempty"`
	Added        ChangedIDs `json:"added"`   // intents
	Removed      ChangedIDs `json:"removed"` // intents
	Changed      ChangedIDs `json:"changed"` // intents with another description, endpoint or retirement
	Terms        ChangedIDs `json:"terms"`   // intents of both configurations with other terms in the policy
}

// ChangedIDs counts uids of intents, and has the first of them.
type ChangedIDs struct {
	Count int      `json:"count"`
	First []string `json:"first,omitempty"` // at most MostReloadNames
}

// MostReloadNames bounds each list of a ReloadRecord.
const MostReloadNames = 50

// Add adds a uid.
func (c *ChangedIDs) Add(uid string) {
	if c.Count++; len(c.First) < MostReloadNames {
		c.First = append(c.First, uid)
	}
}

// String returns a summary such as "shop: policy, 2 intents added, 1 with other terms".
func (c *ServiceChange) String() string {
	var parts []string
	if c.Change != "changed" {
		parts = append(parts, c.Change)
	}
	if c.PolicyBefore != "" && c.PolicyAfter != "" {
		parts = append(parts, "policy")
	}
	for _, one := range []struct {
		n    int
		what string
	}{
		{c.Added.Count, "intents added"},
		{c.Removed.Count, "intents removed"},
		{c.Changed.Count, "intents changed"},
		{c.Terms.Count, "with other terms"},
	} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	return c.Service + ": " + strings.Join(parts, ", ")
}

// IsZero reports whether nothing in the service changed.
func (c *ServiceChange) IsZero() bool {
	return c.Change == "changed" && c.PolicyBefore == c.PolicyAfter && c.Added.Count+c.Removed.Count+c.Changed.Count+c.Terms.Count == 0
}

// shownReloads is how many reloads are listed.
const shownReloads = 50

// Reloads returns the last 50 reloads of all processes, the newest first. A reload that found no difference is listed only if somebody
// asked for it.
func (o *Operations) Reloads(ctx context.Context) (api.Page[ReloadRecord], error) {
	list, err := o.Store.Reloads(ctx, shownReloads)
	if err != nil {
		return api.Page[ReloadRecord]{}, err
	}
	page := api.Page[ReloadRecord]{Items: make([]ReloadRecord, 0, len(list))}
	for _, r := range list {
		var one ReloadRecord
		if err := json.Unmarshal(r.Record, &one); err != nil {
			return api.Page[ReloadRecord]{}, reason.Internal.Refusal("The record of a reload cannot be read.").Because(err)
		}
		one.At, one.Process = r.At.UTC(), r.Process
		page.Items = append(page.Items, one)
	}
	return page, nil
}
