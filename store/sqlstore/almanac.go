package sqlstore

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/store"
)

const registrationColumns = "a.service, a.address, a.network, a.record, a.source, a.active, a.attested_at, a.until"

func scanRegistration(scan scan) (store.Registration, error) {
	var r store.Registration
	var attested, until int64
	err := scan(&r.Service, &r.Address, &r.Network, &r.Record, &r.Source, &r.Active, &attested, &until)
	r.AttestedAt, r.Until = fromNanos(attested), fromNanos(until)
	return r, err
}

// Register records where an agent is. The one that was signed at the same moment is the same, and changes nothing;
// store.ErrOlder where a newer one is there, store.ErrFull where the service has as many as may be, and store.ErrShare where the
// source has, or all sources around it.
func (s *Store) Register(ctx context.Context, r store.Registration, most store.RegistrationBounds) error {
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		var attested, until int64
		found, err := t.row(ctx, "SELECT attested_at, until FROM almanac WHERE service = ? AND address = ? FOR UPDATE",
			[]any{r.Service, r.Address}, &attested, &until)
		switch {
		case err != nil:
			return err
		case found && attested > nanos(r.AttestedAt):
			return store.ErrOlder
		case found && attested == nanos(r.AttestedAt):
			return nil
		case !found || until <= nanos(t.now):
			if err := t.roomFor(ctx, &r, most); err != nil {
				return err
			}
		}
		n, err := t.exec(ctx, `INSERT INTO almanac (service, address, network, record, source, active, attested_at, status_at, until)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (service, address) DO UPDATE SET network = excluded.network, record = excluded.record,
			source = excluded.source, attested_at = excluded.attested_at, until = excluded.until,
			active = CASE WHEN almanac.status_at > excluded.attested_at THEN almanac.active ELSE excluded.active END,
			status_at = CASE WHEN almanac.status_at > excluded.attested_at THEN almanac.status_at ELSE excluded.status_at END
			WHERE almanac.attested_at < excluded.attested_at`,
			r.Service, r.Address, r.Network, r.Record, r.Source, flag(r.Active), nanos(r.AttestedAt), nanos(r.AttestedAt), nanos(r.Until))
		switch {
		case err != nil:
			return err
		case n == 0: // another process was faster
			return store.ErrOlder
		}
		if _, err := t.exec(ctx, "DELETE FROM almanac_protocols WHERE service = ? AND address = ?", r.Service, r.Address); err != nil {
			return err
		}
		for _, protocol := range r.Protocols {
			if _, err := t.exec(ctx, "INSERT INTO almanac_protocols (service, protocol, address, until) VALUES (?, ?, ?, ?)",
				r.Service, protocol, r.Address, nanos(r.Until)); err != nil {
				return err
			}
		}
		return nil
	})
}

// roomFor returns nil where there is room for one registration more.
func (t *tx) roomFor(ctx context.Context, r *store.Registration, most store.RegistrationBounds) error {
	const live = "SELECT COUNT(*) FROM almanac WHERE service = ? AND until > ?"
	room := func(most int, full error, query string, args ...any) error {
		var n int
		_, err := t.row(ctx, query, append([]any{r.Service, nanos(t.now)}, args...), &n)
		if err == nil && n >= most {
			err = full
		}
		return err
	}
	if err := room(most.All, store.ErrFull, live); err != nil {
		return err
	}
	if err := room(most.Source, store.ErrShare, live+" AND source = ?", r.Source); err != nil {
		return err
	}
	for _, w := range most.Wider {
		if err := room(w.Most, store.ErrShare, live+" AND source >= ? AND source < ?", w.Prefix, after(w.Prefix)); err != nil {
			return err
		}
	}
	return nil
}

// after is the first text after all that begin with prefix, in the order of bytes.
func after(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(prefix[last]+1)
}

// SetActive notes whether an agent says that it is active, as of the moment at which it signed that; what is older than what is
// there changes nothing; of two of one moment the last holds. store.ErrNotFound where it has not registered.
func (s *Store) SetActive(ctx context.Context, service, address string, active bool, signed time.Time) error {
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, "UPDATE almanac SET active = ?, status_at = ? WHERE service = ? AND address = ? AND status_at <= ?",
			flag(active), nanos(signed), service, address, nanos(signed)); err != nil {
			return err
		}
		var one int
		found, err := t.row(ctx, "SELECT 1 FROM almanac WHERE service = ? AND address = ? AND until > ?",
			[]any{service, address, nanos(t.now)}, &one)
		if err == nil && !found {
			return store.ErrNotFound
		}
		return err
	})
}

// Registration returns where an agent is, or store.ErrNotFound; without its protocols.
func (s *Store) Registration(ctx context.Context, service, address string) (store.Registration, error) {
	list, err := s.registrations(ctx, "SELECT "+registrationColumns+" FROM almanac a WHERE a.service = ? AND a.address = ? AND a.until > ?",
		service, address, nanos(s.now()))
	if err == nil && len(list) == 0 {
		return store.Registration{}, store.ErrNotFound
	}
	if err != nil {
		return store.Registration{}, err
	}
	return list[0], nil
}

// Registrations lists who speaks a protocol, by its digest: at most limit from the address after on, in the order of addresses;
// without their protocols.
func (s *Store) Registrations(ctx context.Context, service, protocol, after string, limit int) ([]store.Registration, error) {
	return s.registrations(ctx, "SELECT "+registrationColumns+` FROM almanac_protocols p
		JOIN almanac a ON a.service = p.service AND a.address = p.address
		WHERE p.service = ? AND p.protocol = ? AND p.address > ? AND a.until > ? ORDER BY p.address LIMIT ?`,
		service, protocol, after, nanos(s.now()), limit)
}

func (s *Store) registrations(ctx context.Context, query string, args ...any) (list []store.Registration, err error) {
	err = s.list(ctx, query, args, func(scan scan) error {
		r, err := scanRegistration(scan)
		list = append(list, r)
		return err
	})
	return list, err
}
