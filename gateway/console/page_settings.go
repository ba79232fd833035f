package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

const mostSessions = 100

func (r *request) settingsPage() error {
	s := r.console.Operator.Statuses.LocalStatus(r.Context())
	p := pageView{Title: "Settings", Sections: []section{{
		Facts: facts(
			fact{"Configuration", code(s.Configuration.Hash)}, fact{"Read", when(s.Configuration.TakenAt)},
			fact{"Waits for a restart", text(cmp.Or(strings.Join(s.NeedsRestart, ", "), "nothing"))},
			fact{"Version", text(s.Version)}, fact{"Process", text(s.Process)},
			fact{"Keys", link("Signing keys", at("settings", "keys"))},
			fact{"Reloads", link("What the last reloads changed", at("settings", "reloads"))},
			fact{"Sessions", link("Who is signed in", at("settings", "sessions"))},
		),
		Forms: []form{{
			Path: at("settings", "reload"), Title: "Reload", Button: "Reload",
			Text:   "Reads and applies the configuration. If it has errors, the present one stays in use.",
			Fields: []field{{Name: "force", Label: "Apply even if this ends calls of agents", Type: "checkbox"}},
		}},
	}}}
	if s.RefusedReload != nil {
		refused := section{Title: "The last reload was refused", Facts: []fact{{"Time", when(s.RefusedReload.At)}}}
		for _, found := range s.RefusedReload.Problems {
			refused.Lines = append(refused.Lines, problemLine(found))
		}
		p.Sections = append(p.Sections, refused)
	}
	if r.console.Dump != nil {
		p.Sections = append(p.Sections, section{
			Title: "The configuration in use", Text: "With defaults, and with secrets masked.", Pre: string(r.console.Dump()),
		})
	}
	return r.show(http.StatusOK, p)
}

func (r *request) keysPage() error {
	list := listing[agreements.Key]{
		caption: "Signing keys",
		columns: []column[agreements.Key]{
			{"Key", func(k agreements.Key) cell { return code(string(k.ID)) }},
			{"Purpose", func(k agreements.Key) cell { return text(cmp.Or(string(k.Purpose), "PATs")) }},
			{"Algorithm", func(k agreements.Key) cell { return text(k.Algorithm) }},
			{"Process", func(k agreements.Key) cell { return text(k.Process) }},
			{"Signs", func(k agreements.Key) cell { return text(yesNo(k.Signing)) }},
			{"Since", func(k agreements.Key) cell { return when(k.CreatedAt) }},
			{"Ends", func(k agreements.Key) cell { return when(k.NotAfter) }},
		},
		fetch: func(ctx context.Context, _ api.PageRequest) (api.Page[agreements.Key], error) {
			return r.console.Operator.Agreements.Keys(ctx)
		},
	}
	return list.page(r, pageView{Title: "Signing keys"}, nil, section{Forms: []form{{
		Path: at("settings", "keys", "rotate"), Title: "Rotate", Button: "Rotate…", Danger: true,
		Text: "Creates a new key. PATs that the previous key has signed remain valid until they expire.", Fields: []field{
			{ID: "purpose", Name: "purpose", Label: "Key for", Options: rotated},
			{Name: "all", Label: "On every replica (only for PATs)", Type: "checkbox"},
		},
	}}})
}

func (r *request) sessionsPage() error {
	found, err := r.console.Store.ConsoleSessions(r.Context(), mostSessions)
	if err != nil {
		return errors.Join(errStore, err)
	}
	list := listing[store.ConsoleSession]{
		caption: "People who are signed in",
		columns: []column[store.ConsoleSession]{
			{"Name", func(s store.ConsoleSession) cell {
				if s.ID == r.session.ID {
					return text(s.Name + " (you)")
				}
				return text(s.Name)
			}},
			{"Role", func(s store.ConsoleSession) cell { return text(s.Role) }},
			{"By", func(s store.ConsoleSession) cell { return text(s.Via) }},
			{"Since", func(s store.ConsoleSession) cell { return when(s.CreatedAt) }},
			{"Expires if unused", func(s store.ConsoleSession) cell { return when(s.Until) }},
		},
		fetch: func(context.Context, api.PageRequest) (api.Page[store.ConsoleSession], error) {
			return api.Page[store.ConsoleSession]{Items: found}, nil
		},
	}
	var forms []form
	for _, s := range found {
		if s.ID != r.session.ID {
			forms = append(forms, form{Path: at("settings", "sessions", s.ID, "end"), Title: s.Name + ", " + s.Role, Button: "End the session"})
		}
	}
	return list.page(r, pageView{Title: "Who is signed in"}, nil, section{Forms: forms})
}

// rotated are the purposes of the keys that an operator can rotate.
var rotated = []option{
	{Value: "", Label: "PATs"},
	{Value: string(keys.ForReceipts), Label: "receipts"},
	{Value: string(keys.ForLogs), Label: "checkpoints of the log"},
}

var settingsActions = []action{
	{
		path: "settings/reload", operation: operation.Reload.Name(), done: "The configuration is applied.",
		back: func(*request) string { return at("settings") },
		do: func(r *request) error {
			return run(r, api.Record{}, operation.Reload, reloads.ReloadRequest{Force: r.PostForm.Get("force") == "yes"})
		},
	},
	{
		path: "settings/keys/rotate", operation: operation.RotateKey.Name(), done: "The key is rotated.", question: "Rotate this key?",
		rows: reviewRotation,
		back: func(*request) string { return at("settings", "keys") },
		do: func(r *request) error {
			return run(r, api.Record{}, operation.RotateKey, agreements.Rotation{
				All: r.PostForm.Get("all") == "yes", Purpose: keys.Purpose(r.PostForm.Get("purpose")),
			})
		},
	},
	{
		path: "settings/sessions/{id}/end", operation: operation.EndConsoleSession.Name(), done: "The session is ended.",
		back: func(*request) string { return at("settings", "sessions") },
		do: func(r *request) error {
			ended := api.Record{ID: r.PathValue("id")}
			return run(r, ended, operation.EndConsoleSession, ended)
		},
	},
}
