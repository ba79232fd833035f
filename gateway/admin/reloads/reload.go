package reloads

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

// Configuration identifies the configuration in use.
type Configuration struct {
	Hash    string    `json:"hash"`     // digest over the digests of all files of the configuration
	TakenAt time.Time `json:"taken_at"` // when the start or the last successful reload read the configuration
}

// A Reload is the result of applying a configuration. Its problems are only warnings.
type Reload struct {
	Configuration Configuration `json:"configuration"`
	Problems      []Problem     `json:"problems"`
	// NeedsRestart lists the changed settings, such as server.listen, that take effect only after a restart.
	NeedsRestart []string `json:"needs_restart,omitempty"`
}

// A ReloadRequest contains the options of a reload.
type ReloadRequest struct {
	// Force applies a configuration even if it ends calls of agents. A configuration with other errors is still refused.
	Force bool `json:"force,omitempty"`
}

// Details returns the details of the change for the audit stream.
func (r ReloadRequest) Details() map[string]string {
	return map[string]string{"force": api.Flag(r.Force)}
}

// Members implements api.Body.
func (r *ReloadRequest) Members(m *wire.Members) error {
	if force, sent := m.Take("force"); sent {
		var ok bool
		if r.Force, ok = force.(bool); !ok {
			return m.Wrong("force", "must be true or false")
		}
	}
	return m.Done()
}

// A Problem is one finding in the configuration.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Level   string `json:"level"` // error or warning
	Message string `json:"message"`
}

// Offered reports whether the process can reload its configuration.
func (o *Operations) Offered() bool { return o.Apply != nil }

// Reload reads and applies the current configuration as a whole. If the configuration has errors, the previous one remains in use, and the
// refusal lists the problems.
func (o *Operations) Reload(ctx context.Context, r ReloadRequest) (Reload, error) {
	if o.Apply == nil {
		return Reload{}, reason.NotOffered.Refusal("")
	}
	found := o.Apply(ctx, r.Force)
	problems := showProblems(found)
	if found.Failed() {
		return Reload{}, reason.ConfigRefused.Refusal("").With("problems", problems)
	}
	snapshot := o.Services.Directory.Current()
	return Reload{Configuration{snapshot.Hash, snapshot.TakenAt.UTC()}, problems, o.NeedsRestart()}, nil
}

func showProblems(found config.Problems) []Problem {
	out := make([]Problem, 0, len(found))
	for _, p := range found {
		out = append(out, Problem{p.File, p.Line, p.Column, string(p.Level), p.Message})
	}
	return out
}

// A RefusedReload is a configuration that was refused.
type RefusedReload struct {
	At       time.Time `json:"at"`
	Problems []Problem `json:"problems"` // the first MostProblems
}

// MostProblems is the maximum number of problems of a RefusedReload.
const MostProblems = 20

// RefusedAt returns the RefusedReload for a reload that was refused at a time because of the given problems.
func RefusedAt(at time.Time, found config.Problems) *RefusedReload {
	return &RefusedReload{At: at.UTC(), Problems: showProblems(found[:min(len(found), MostProblems)])}
}
