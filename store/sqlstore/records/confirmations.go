package records

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// undecidedKept is how long a Confirmation is stored after the time to decide on it, or to use it, has ended.
const undecidedKept = 10 * time.Minute

const (
	confirmationColumns = `service, id, agent_id, agreement_id, door, intent, digest, binding, parameters, sent, amount, currency,
	policy_digest, state, tries, token, record, execution_id, created_at, until, context_id, idem_key`
	selectNewestConfirmation = "SELECT " + confirmationColumns +
		" FROM confirmations WHERE service = ? AND agent_id = ? AND binding = ? ORDER BY created_at DESC, id DESC LIMIT 1"
	selectOpenConfirmation = "SELECT " + confirmationColumns +
		" FROM confirmations WHERE service = ? AND agent_id = ? AND binding = ? AND state = 'asked'"
)

// AskConfirmation records a call that a person is asked to confirm. If the person has already been asked about the same call, it returns
// that Confirmation instead. If the number of other calls of the agent that wait for a decision has reached most, the error is
// store.ErrFull.
func (s *Records) AskConfirmation(ctx context.Context, c store.Confirmation, most int) (asked store.Confirmation, err error) {
	err = s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		now := engine.Nanos(t.Now())
		asked = c
		t.Run(ctx, `UPDATE confirmations SET state = 'refused'
			WHERE service = ? AND agent_id = ? AND state = 'asked' AND until <= ?`, c.Service, c.AgentID, now)
		var open int
		t.Find(ctx, "SELECT COUNT(*) FROM confirmations WHERE service = ? AND agent_id = ? AND state = 'asked' AND binding <> ?",
			[]any{c.Service, c.AgentID, c.Binding}, &open)
		if open >= most {
			return store.ErrFull
		}
		if t.Run(ctx, "INSERT INTO confirmations ("+confirmationColumns+`, kept_until)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'asked', 0, '', '', '', ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			c.Service, c.ID, c.AgentID, c.AgreementID, c.Door, c.Intent, c.Digest, c.Binding, c.Parameters, c.Sent, c.Charge.Nano,
			c.Charge.Currency, c.PolicyDigest, now, engine.Nanos(c.Until), c.ContextID, c.Key, engine.Nanos(c.Until.Add(undecidedKept))) > 0 {
			asked.State, asked.CreatedAt = store.ConfirmationAsked, engine.FromNanos(now)
			return nil
		}
		if !t.Find(ctx, selectOpenConfirmation, []any{c.Service, c.AgentID, c.Binding}, confirmationFields(&asked)...) {
			return store.ErrUsed // another request has ended it in the meantime
		}
		return nil
	})
	return asked, err
}

// Confirmation returns one Confirmation, or store.ErrNotFound.
func (s *Records) Confirmation(ctx context.Context, service, id string) (store.Confirmation, error) {
	return s.confirmation(ctx, "SELECT "+confirmationColumns+" FROM confirmations WHERE service = ? AND id = ?", service, id)
}

// NewestConfirmation returns the newest Confirmation of a call, in any state, or store.ErrNotFound.
func (s *Records) NewestConfirmation(ctx context.Context, service, agent, binding string) (store.Confirmation, error) {
	return s.confirmation(ctx, selectNewestConfirmation, service, agent, binding)
}

// RecentConfirmations returns the states of Confirmations of an agent, by id: of those on which a person has not decided yet, and of those
// that were created at or after the given time.
func (s *Records) RecentConfirmations(
	ctx context.Context, service, agent string, since time.Time,
) (map[string]store.ConfirmationState, error) {
	states := map[string]store.ConfirmationState{}
	err := s.db.List(ctx, `SELECT id, state FROM confirmations
		WHERE service = ? AND agent_id = ? AND (state = 'asked' OR created_at >= ?)`,
		[]any{service, agent, engine.Nanos(since)}, func(scan engine.Scan) error {
			var id string
			var state store.ConfirmationState
			err := scan(&id, &state)
			states[id] = state
			return err
		})
	return states, err
}

func (s *Records) confirmation(ctx context.Context, query string, args ...any) (c store.Confirmation, err error) {
	err = present(s.db.One(ctx, query, args, confirmationFields(&c)...))
	return c, err
}

// DecideConfirmation records the decision of a person. If record is empty, the person refuses the call. Otherwise the person confirms it,
// and DecideConfirmation stores the digest of a token, the signed record, and the time until which the call can be made. It returns
// store.ErrUsed if the time to decide is over, or if the person has decided before.
func (s *Records) DecideConfirmation(ctx context.Context, service, id, token, record string, until time.Time) error {
	state := store.ConfirmationConfirmed
	if record == "" {
		state = store.ConfirmationRefused
	}
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		return used(t.Run(ctx, `UPDATE confirmations SET state = ?, token = ?, record = ?, until = ?, kept_until = ?
			WHERE service = ? AND id = ? AND state = 'asked' AND until > ?`,
			state, token, record, engine.Nanos(until), engine.Nanos(until.Add(undecidedKept)), service, id, engine.Nanos(t.Now())), nil)
	})
}

// MissConfirmation counts a failed attempt to decide. When the number of attempts reaches most, the Confirmation counts as refused.
func (s *Records) MissConfirmation(ctx context.Context, service, id string, most int) error {
	_, err := s.db.Run(ctx, `UPDATE confirmations SET tries = tries + 1, state = CASE WHEN tries + 1 >= ? THEN 'refused' ELSE state END
		WHERE service = ? AND id = ? AND state = 'asked'`, most, service, id)
	return err
}

// UseConfirmation records that a call has used a Confirmation, and deletes its parameters. execution is the id of the record of the call,
// or empty. It returns store.ErrUsed if the Confirmation is not confirmed.
func (s *Records) UseConfirmation(ctx context.Context, service, id, execution string) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		return used(t.Run(ctx, `UPDATE confirmations SET state = 'used', execution_id = ?, parameters = ?, sent = ?, kept_until = ?
			WHERE service = ? AND id = ? AND state = 'confirmed'`,
			execution, []byte{}, []byte{}, engine.Nanos(t.Now().Add(store.ConfirmationKept)), service, id), nil)
	})
}

func confirmationFields(c *store.Confirmation) []any {
	return []any{
		&c.Service, &c.ID, &c.AgentID, &c.AgreementID, &c.Door, &c.Intent, &c.Digest, &c.Binding, &c.Parameters, &c.Sent, &c.Charge.Nano,
		&c.Charge.Currency, &c.PolicyDigest, &c.State, &c.Tries, &c.Token, &c.Record, &c.ExecutionID, engine.Stored(&c.CreatedAt),
		engine.Stored(&c.Until), &c.ContextID, &c.Key,
	}
}
