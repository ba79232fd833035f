package sqlmail

import (
	"context"

	"github.com/uimgate/uimgate/store/mail"
)

const agentColumns = "a.agent, a.name, a.status, a.visibility, a.policy, a.metadata, a.capabilities, a.created_at, a.last_active_at"

func scanAgent(scan scan) (a mail.Agent, err error) {
	var key, name []byte
	var created, active int64
	err = scan(&key, &name, &a.Status, &a.Visibility, &a.Policy, &a.Metadata, &a.Capabilities, &created, &active)
	a.Key, a.Name, a.CreatedAt, a.LastActiveAt = keyFrom(key), string(name), fromNanos(created), fromNanos(active)
	return a, err
}

// agentOf reads an agent. lock is forUpdate if the caller changes the agent, and otherwise empty.
func agentOf(ctx context.Context, x tx, key mail.Key, lock string) (a mail.Agent, found bool, err error) {
	err = x.Rows(ctx, "SELECT "+agentColumns+" FROM relay_agents a WHERE a.agent = ?"+lock, []any{key[:]}, func(scan scan) error {
		found = true
		a, err = scanAgent(scan)
		return err
	})
	return a, found, err
}

const forUpdate = " FOR UPDATE"

// Agent returns an agent, or mail.ErrNotFound.
func (s *Store) Agent(ctx context.Context, key mail.Key) (a mail.Agent, err error) {
	list, err := s.agents(ctx, "SELECT "+agentColumns+" FROM relay_agents a WHERE a.agent = ?", key[:])
	if err == nil && len(list) == 0 {
		err = mail.ErrNotFound
	}
	if err != nil {
		return mail.Agent{}, err
	}
	return list[0], nil
}

// Agents lists agents in the order of their keys. The list begins after the given key; nil means from the beginning.
func (s *Store) Agents(ctx context.Context, after *mail.Key, limit int) (list []mail.Agent, more bool, err error) {
	query, args := "SELECT "+agentColumns+" FROM relay_agents a", []any(nil)
	if after != nil {
		query, args = query+" WHERE a.agent > ?", append(args, after[:])
	}
	list, err = s.agents(ctx, query+" ORDER BY a.agent LIMIT ?", append(args, limit+1)...)
	list, more = cut(list, limit)
	return list, more, err
}

func (s *Store) agents(ctx context.Context, query string, args ...any) (list []mail.Agent, err error) {
	err = s.db.Rows(ctx, query, args, func(scan scan) error {
		a, err := scanAgent(scan)
		list = append(list, a)
		return err
	})
	return list, err
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
	err = s.db.Update(ctx, func(ctx context.Context, x tx) error {
		var found bool
		if a, found, err = agentOf(ctx, x, key, forUpdate); err != nil {
			return err
		}
		if !found {
			return mail.ErrNotFound
		}
		tagged := tagSync{key: key, was: shown(a), tags: p.Tags, retag: p.Capabilities != nil}
		adopt(&a, p)
		tagged.now = shown(a)
		if err := tagged.write(ctx, x); err != nil {
			return err
		}
		var words *string
		if p.Words != nil {
			folded := fold(*p.Words)
			words = &folded
		}
		_, err := x.Exec(ctx, `UPDATE relay_agents SET name = ?, visibility = ?, policy = ?, metadata = ?, capabilities = ?, shown = ?,
			blank = 0, found_name = ?, found_words = COALESCE(?, found_words) WHERE agent = ?`,
			[]byte(a.Name), a.Visibility, a.Policy, a.Metadata, a.Capabilities, flag(shown(a)), fold(a.Name), words, key[:])
		return err
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
	return s.db.Update(ctx, func(ctx context.Context, x tx) error {
		a, found, err := agentOf(ctx, x, key, forUpdate)
		if err != nil {
			return err
		}
		if !found {
			return mail.ErrNotFound
		}
		tagged := tagSync{key: key, was: shown(a)}
		if a.Status = mail.Active; suspended {
			a.Status = mail.Suspended
		}
		tagged.now = shown(a)
		if err := tagged.write(ctx, x); err != nil {
			return err
		}
		_, err = x.Exec(ctx, "UPDATE relay_agents SET status = ?, shown = ?, blank = 0 WHERE agent = ?", a.Status, flag(shown(a)), key[:])
		return err
	})
}
