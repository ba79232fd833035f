package sqlmail

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

// Admit records a signature as used, and returns the agent that made it. If the agent is new, Admit creates it with the defaults of the
// protocol and sets isNew. The time of the agent's last activity is stored with a precision of touch. The error is mail.ErrReplayed if the
// signature was used before, in this process or another one, or was made before the state was restored from a backup. It is
// mail.ErrSuspended if the agent is suspended, and mail.ErrFull if the relay has too many agents.
func (s *Store) Admit(ctx context.Context, g mail.Guard, touch time.Duration) (a mail.Agent, isNew bool, err error) {
	if s.beforeRestore(g) {
		return mail.Agent{}, false, mail.ErrReplayed
	}
	t := &turn{guard: &g, touch: touch}
	if err := s.take(ctx, t); err != nil {
		return mail.Agent{}, false, err
	}
	return t.agent, t.isNew, nil
}

// beforeRestore reports whether a signature was made before the last restore from a backup. The backup does not show whether such a
// signature was used.
func (s *Store) beforeRestore(g mail.Guard) bool {
	return !g.Signed.IsZero() && !g.Signed.After(s.db.Floor())
}

// A signature consists of the bytes of a signature and the key that made it.
type signature struct {
	key   mail.Key
	bytes [64]byte
}

// admit records the signatures of a round. It refuses a turn whose signature was used before, whose agent is suspended, or whose agent
// cannot be created because the relay is full.
func (r *round) admit(ctx context.Context) error {
	var guards []*turn
	for _, t := range r.callers {
		if t.guard != nil {
			guards = append(guards, t)
		}
	}
	if len(guards) == 0 {
		return nil
	}
	fresh, agents, err := r.signatures(ctx, guards)
	if err != nil {
		return err
	}
	var newcomers []mail.Key
	for _, t := range guards {
		id := signature{t.guard.Key, t.guard.Signature}
		if !fresh[id] {
			t.err = mail.ErrReplayed
			continue
		}
		fresh[id] = false
		if agents[t.guard.Key] == nil {
			newcomers = append(newcomers, t.guard.Key)
		}
	}
	made, err := r.begin(ctx, sortedKeys(newcomers), agents)
	if err != nil {
		return err
	}
	active := map[mail.Key]bool{}
	for _, t := range guards {
		if t.err != nil {
			continue
		}
		a := agents[t.guard.Key]
		switch {
		case a == nil:
			t.err = mail.ErrFull
			r.first = append(r.first, command{
				Query: "DELETE FROM relay_signatures WHERE agent = ? AND signature = ?", Args: []any{t.guard.Key[:], t.guard.Signature[:]},
			})
			continue
		case a.Status == mail.Suspended:
			t.err = mail.ErrSuspended // the signature still counts as used
			continue
		}
		if r.x.Now().Sub(a.LastActiveAt) > t.touch {
			a.LastActiveAt = fromNanos(r.now)
			active[a.Key] = true
		}
		t.agent, t.isNew = *a, made[a.Key]
		delete(made, a.Key)
	}
	r.touched(active)
	return nil
}

// signatures inserts the signatures of turns, and reads their agents. fresh contains the signatures that were not stored before.
func (r *round) signatures(ctx context.Context, guards []*turn) (fresh map[signature]bool, agents map[mail.Key]*mail.Agent, err error) {
	fresh, agents = map[signature]bool{}, map[mail.Key]*mail.Agent{}
	ordered := slices.SortedFunc(slices.Values(guards), func(a, b *turn) int {
		return cmp.Or(bytes.Compare(a.guard.Key[:], b.guard.Key[:]), bytes.Compare(a.guard.Signature[:], b.guard.Signature[:]))
	})
	var list []command
	var keys []mail.Key
	for _, some := range divided(ordered) {
		var args []any
		for _, t := range some {
			args, keys = append(args, t.guard.Key[:], t.guard.Signature[:], nanos(t.guard.Until)), append(keys, t.guard.Key)
		}
		list = append(list, command{
			Query: "INSERT INTO relay_signatures (agent, signature, until) VALUES " + marks(len(some), "(?, ?, ?)") +
				" ON CONFLICT (agent, signature) DO NOTHING RETURNING agent, signature",
			Args: args, Row: func(scan scan) error {
				var id signature
				var sig []byte
				err := scan(keyTo(&id.key), &sig)
				copy(id.bytes[:], sig)
				fresh[id] = true
				return err
			},
		})
	}
	err = r.x.Send(ctx, append(list, agentsOf(sortedKeys(keys), agents)...))
	return fresh, agents, err
}

// agentsOf returns the commands that read agents into a map.
func agentsOf(keys []mail.Key, into map[mail.Key]*mail.Agent) (list []command) {
	sought(blobsOf(keys), func(marks string, args []any) {
		list = append(list, command{
			Query: "SELECT " + agentColumns + " FROM relay_agents a WHERE a.agent IN (" + marks + ")", Args: args, Row: func(scan scan) error {
				a, err := scanAgent(scan)
				into[a.Key] = &a
				return err
			},
		})
	})
	return list
}

// begin creates agents, reads them into the map agents, and returns the keys of those that it created. Agents that another process has just
// created are not among these keys. begin stops at the maximum number of agents of the relay.
func (r *round) begin(ctx context.Context, keys []mail.Key, agents map[mail.Key]*mail.Agent) (made map[mail.Key]bool, err error) {
	made = map[mail.Key]bool{}
	if len(keys) == 0 {
		return made, nil
	}
	var known int64
	r.x.Find(ctx, "SELECT "+total("agents"), nil, &known)
	if keys = keys[:max(0, min(int64(len(keys)), r.s.opts.MaxAgents-known))]; len(keys) == 0 {
		return made, nil
	}
	var list []command
	for _, some := range divided(keys) {
		var args []any
		for _, key := range some {
			args = append(args, key[:], mail.Active, mail.Private, mail.Blocklist, r.now, r.now, []byte{}, []byte("{}"), []byte("[]"))
		}
		list = append(list, command{
			Query: "INSERT INTO relay_agents (agent, status, visibility, policy, shown, blank, created_at, last_active_at, entries, last_entry, " +
				"blobs, blob_bytes, found_name, found_words, name, metadata, capabilities) VALUES " +
				marks(len(some), "(?, ?, ?, ?, 0, 1, ?, ?, 0, 0, 0, 0, '', '', ?, ?, ?)") + " ON CONFLICT (agent) DO NOTHING RETURNING agent",
			Args: args, Row: func(scan scan) error {
				var key mail.Key
				err := scan(keyTo(&key))
				made[key] = true
				return err
			},
		})
	}
	err = r.x.Send(ctx, append(list, agentsOf(keys, agents)...))
	r.sum.agents += int64(len(made))
	return made, err
}

// touched adds the commands that record the last activity of agents.
func (r *round) touched(active map[mail.Key]bool) {
	keys := make([]mail.Key, 0, len(active))
	for key := range active {
		keys = append(keys, key)
	}
	for _, key := range sortedKeys(keys) {
		r.first = append(r.first, command{
			Query: "UPDATE relay_agents SET last_active_at = ? WHERE agent = ? AND last_active_at < ?", Args: []any{r.now, key[:], r.now},
		})
	}
}
