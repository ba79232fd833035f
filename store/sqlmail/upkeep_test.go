package sqlmail_test

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/mail"
)

func TestUpkeep(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"sweep deletes only expired data": sweeping,
	})
}

func sweeping(r *relay) {
	r.agent(alice, bob)
	delivered, lost := r.send(r.message(alice, bob)), r.send(r.message(alice, bob))
	r.must(r.Delivered(r.Context(), bob, []string{delivered.ID}))
	blob := r.blob(alice, 10)
	long := r.message(alice, bob)
	long.Lifetime = 50 * time.Hour
	long.IdempotencyKey = "k"
	r.send(long)
	sweep := func() (blobs []string) {
		r.Helper()
		for {
			some, more, err := r.Sweep(r.Context(), 1)
			r.must(err)
			if blobs = append(blobs, some...); !more {
				r.counted()
				return blobs
			}
		}
	}
	r.same(sweep(), nil)
	for _, step := range []struct {
		after time.Duration
		blobs []string
		want  mail.Totals
	}{
		{20 * time.Minute, []string{blob}, mail.Totals{Agents: 2, Waiting: 2, Messages: 3}},
		{2 * time.Hour, nil, mail.Totals{Agents: 2, Waiting: 1, Messages: 2}},
		{22 * time.Hour, nil, mail.Totals{Agents: 2, Waiting: 1, Messages: 2}},
		{3 * time.Hour, nil, mail.Totals{Agents: 2, Waiting: 1, Messages: 1}},
		{30 * time.Hour, nil, mail.Totals{Agents: 2, Messages: 1}},
		{30 * time.Hour, nil, mail.Totals{Agents: 2}},
	} {
		r.age(step.after)
		r.same(sweep(), step.blobs)
		got := r.counted()
		if got.Bytes = 0; got != step.want {
			r.Fatalf("after %v more: %+v; want %+v", step.after, got, step.want)
		}
	}
	_, err := r.Message(r.Context(), lost.ID)
	r.want(err, mail.ErrNotFound)
	for _, table := range []string{"relay_signatures", "relay_keys", "relay_boxes", "relay_messages", "relay_attachments", "relay_blobs"} {
		var n int
		r.must(r.db.Engine().List(r.Context(), "SELECT COUNT(*) FROM "+table, nil, func(scan func(...any) error) error { return scan(&n) }))
		if n != 0 {
			r.Errorf("%d rows of %s are left", n, table)
		}
	}
}
