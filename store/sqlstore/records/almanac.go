package records

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const registrationColumns = "a.service, a.address, a.network, a.record, a.source, a.active, a.attested_at, a.until"

func scanRegistration(scan engine.Scan) (store.Registration, error) {
	var r store.Registration
	err := scan(&r.Service, &r.Address, &r.Network, &r.Record, &r.Source, &r.Active, engine.Stored(&r.AttestedAt), engine.Stored(&r.Until))
	return r, err
}

// Register records the endpoints of an agent. If the recorded registration was signed at the same time, Register changes nothing. It
// returns store.ErrOlder if the recorded registration is newer, and store.ErrFull if the service has too many registrations. It returns
// store.ErrShare if the source of the registration, or a wider range of sources around it, has too many.
func (s *Records) Register(ctx context.Context, r store.Registration, most store.RegistrationBounds) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		var attested, until int64
		found := t.Find(ctx, "SELECT attested_at, until FROM almanac WHERE service = ? AND address = ? FOR UPDATE",
			[]any{r.Service, r.Address}, &attested, &until)
		switch {
		case found && attested > engine.Nanos(r.AttestedAt):
			return store.ErrOlder
		case found && attested == engine.Nanos(r.AttestedAt):
			return nil
		case !found || until <= engine.Nanos(t.Now()):
			if err := s.roomFor(ctx, t, &r, most); err != nil {
				return err
			}
		}
		if t.Run(ctx, `INSERT INTO almanac (service, address, network, record, source, active, attested_at, status_at, until)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (service, address) DO UPDATE SET network = excluded.network, record = excluded.record,
			source = excluded.source, attested_at = excluded.attested_at, until = excluded.until,
			active = CASE WHEN almanac.status_at > excluded.attested_at THEN almanac.active ELSE excluded.active END,
			status_at = CASE WHEN almanac.status_at > excluded.attested_at THEN almanac.status_at ELSE excluded.status_at END
			WHERE almanac.attested_at < excluded.attested_at`,
			r.Service, r.Address, r.Network, r.Record, r.Source, engine.Flag(r.Active), engine.Nanos(r.AttestedAt),
			engine.Nanos(r.AttestedAt), engine.Nanos(r.Until)) == 0 { // another process has recorded a newer one
			return store.ErrOlder
		}
		t.Run(ctx, "DELETE FROM almanac_protocols WHERE service = ? AND address = ?", r.Service, r.Address)
		for _, protocol := range r.Protocols {
			t.Run(ctx, "INSERT INTO almanac_protocols (service, protocol, address, until) VALUES (?, ?, ?, ?)",
				r.Service, protocol, r.Address, engine.Nanos(r.Until))
		}
		return nil
	})
}

// roomFor returns store.ErrFull or store.ErrShare if there is no space for one more registration.
func (s *Records) roomFor(ctx context.Context, t *engine.Tx, r *store.Registration, most store.RegistrationBounds) error {
	const live = "SELECT COUNT(*) FROM almanac WHERE service = ? AND until > ?"
	count := func(query string, args ...any) (n int) {
		t.Find(ctx, query, append([]any{r.Service, engine.Nanos(t.Now())}, args...), &n)
		return n
	}
	switch {
	case count(live) >= most.All:
		return store.ErrFull
	case count(live+" AND source = ?", r.Source) >= most.Source:
		return store.ErrShare
	}
	for _, w := range most.Wider {
		if count(live+" AND source >= ? AND source < ?", w.Prefix, after(w.Prefix)) >= w.Most {
			return store.ErrShare
		}
	}
	return nil
}

// after returns the first string in byte order that is after all strings with a prefix. The prefix must not be empty, and must not end with
// the byte 0xff.
func after(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// SetActive records whether an agent is active, according to a statement that the agent signed at the given time. A statement older than
// the recorded one changes nothing; of two statements with the same time, the last one counts. The error is store.ErrNotFound if the agent
// has not registered.
func (s *Records) SetActive(ctx context.Context, service, address string, active bool, signed time.Time) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		t.Run(ctx, "UPDATE almanac SET active = ?, status_at = ? WHERE service = ? AND address = ? AND status_at <= ?",
			engine.Flag(active), engine.Nanos(signed), service, address, engine.Nanos(signed))
		return present(t.Find(ctx, "SELECT 1 FROM almanac WHERE service = ? AND address = ? AND until > ?",
			[]any{service, address, engine.Nanos(t.Now())}), nil)
	})
}

// Registration returns the registration of an agent, without its protocols, or store.ErrNotFound.
func (s *Records) Registration(ctx context.Context, service, address string) (store.Registration, error) {
	return engine.First(ctx, s.db, store.ErrNotFound,
		"SELECT "+registrationColumns+" FROM almanac a WHERE a.service = ? AND a.address = ? AND a.until > ?",
		[]any{service, address, engine.Nanos(s.db.Now())}, scanRegistration)
}

// Registrations returns the registrations of agents with a protocol, which is given by its digest: at most limit registrations, in the
// order of addresses, with addresses greater than after. They do not include the protocols of the agents.
func (s *Records) Registrations(ctx context.Context, service, protocol, after string, limit int) ([]store.Registration, error) {
	return engine.All(ctx, s.db, "SELECT "+registrationColumns+` FROM almanac_protocols p
		JOIN almanac a ON a.service = p.service AND a.address = p.address
		WHERE p.service = ? AND p.protocol = ? AND p.address > ? AND a.until > ? ORDER BY p.address LIMIT ?`,
		[]any{service, protocol, after, engine.Nanos(s.db.Now()), limit}, scanRegistration)
}
