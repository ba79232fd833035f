package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const agentColumns = "a.agent, a.name, a.status, a.visibility, a.policy, a.metadata, a.capabilities, a.created_at, a.last_active_at"

func scanAgent(scan scan) (a mail.Agent, err error) {
	err = scan(keyTo(&a.Key), textTo(&a.Name), &a.Status, &a.Visibility, &a.Policy, &a.Metadata, &a.Capabilities, timeTo(&a.CreatedAt),
		timeTo(&a.LastActiveAt))
	return a, err
}

const selectAgent = "SELECT " + agentColumns + " FROM relay_agents a WHERE a.agent = ?"

// lockAgent reads an agent that the transaction changes. The error is mail.ErrNotFound if the agent does not exist.
func lockAgent(ctx context.Context, x tx, key mail.Key) (mail.Agent, error) {
	a, found := engine.Record(ctx, x, scanAgent, selectAgent+" FOR UPDATE", key[:])
	if !found {
		return a, mail.ErrNotFound
	}
	return a, nil
}

// Agent returns an agent, or mail.ErrNotFound.
func (s *Store) Agent(ctx context.Context, key mail.Key) (a mail.Agent, err error) {
	return engine.First(ctx, s.db, mail.ErrNotFound, selectAgent, []any{key[:]}, scanAgent)
}

// Agents lists agents in the order of their keys. The list begins after the given key; nil means from the beginning.
func (s *Store) Agents(ctx context.Context, after *mail.Key, limit int) (list []mail.Agent, more bool, err error) {
	query, args := "SELECT "+agentColumns+" FROM relay_agents a", []any(nil)
	if after != nil {
		query, args = query+" WHERE a.agent > ?", append(args, after[:])
	}
	return page(ctx, s, limit, scanAgent, query+" ORDER BY a.agent LIMIT ?", args...)
}

// cut shortens a list to a limit, and reports whether the list was longer.
func cut[T any](list []T, limit int) ([]T, bool) {
	if len(list) > limit {
		return list[:limit], true
	}
	return list, false
}

// Update changes the profile of an agent, and returns the changed agent. The error is mail.ErrNotFound if the agent does not exist.
func (s *Store) Update(ctx context.Context, key mail.Key, p mail.Profile) (a mail.Agent, err error) {
	err = s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		if a, err = lockAgent(ctx, x, key); err != nil {
			return err
		}
		tagged := tagSync{key: key, was: shown(a), tags: p.Tags, retag: p.Capabilities != nil}
		adopt(&a, p)
		tagged.now = shown(a)
		tagged.write(ctx, x)
		var words *string
		if p.Words != nil {
			folded := fold(*p.Words)
			words = &folded
		}
		x.Run(ctx, `UPDATE relay_agents SET name = ?, visibility = ?, policy = ?, metadata = ?, capabilities = ?, shown = ?,
			blank = 0, found_name = ?, found_words = COALESCE(?, found_words) WHERE agent = ?`,
			[]byte(a.Name), a.Visibility, a.Policy, a.Metadata, a.Capabilities, engine.Flag(shown(a)), fold(a.Name), words, key[:])
		return nil
	})
	if err != nil {
		return mail.Agent{}, err
	}
	return a, nil
}

func adopt(a *mail.Agent, p mail.Profile) {
	for _, text := range []struct{ to, from *string }{{&a.Name, p.Name}, {&a.Visibility, p.Visibility}, {&a.Policy, p.Policy}} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	if p.Metadata != nil {
		a.Metadata = p.Metadata
	}
	if p.Capabilities != nil {
		a.Capabilities = p.Capabilities
	}
}

// shown reports whether other agents can find an agent.
func shown(a mail.Agent) bool { return a.Status == mail.Active && a.Visibility == mail.Public }

// Suspend suspends an agent if suspended is set, and otherwise ends its suspension. The error is mail.ErrNotFound if there is no such
// agent.
func (s *Store) Suspend(ctx context.Context, key mail.Key, suspended bool) error {
	return s.db.Aside(ctx, func(ctx context.Context, x tx) error {
		a, err := lockAgent(ctx, x, key)
		if err != nil {
			return err
		}
		tagged := tagSync{key: key, was: shown(a)}
		if a.Status = mail.Active; suspended {
			a.Status = mail.Suspended
		}
		tagged.now = shown(a)
		tagged.write(ctx, x)
		x.Run(ctx, "UPDATE relay_agents SET status = ?, shown = ?, blank = 0 WHERE agent = ?", a.Status, engine.Flag(shown(a)), key[:])
		return nil
	})
}
