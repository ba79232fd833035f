package sqlstore

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/journal"
)

// What is counted after the wall clock was set stays counted, even if the process is killed after the first such transaction.
func TestAClockIsNotedWithWhatIsCountedOnIt(t *testing.T) {
	t.Parallel()
	path, in := filepath.Join(t.TempDir(), "state.db"), &world{now: time.Now()}
	Empty.Copy(t, path)
	set, dead := false, false
	open := func() *process {
		p, d := &process{}, engine.SQLite()
		send := d.Send
		d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
			if dead {
				return errFault
			}
			dead = set && slices.ContainsFunc(list, func(c engine.Command) bool { return strings.HasPrefix(c.Query, "INSERT INTO journal") })
			return send(ctx, w, list)
		}
		var err error
		p.s, err = connect(t.Context(), path, Options{
			Now: func() time.Time { return in.now }, Elapsed: func() time.Duration { return in.up },
		}, d, func(db *engine.DB) calls.Journal { p.journal = journal.New(db); return p.journal })
		if err != nil {
			t.Fatal(err)
		}
		p.step = p.s.db.Step()
		return p
	}
	call := func(p *process, id int) (err error) {
		r := journaledCall(id)
		r.Limits = []store.Reservation{{Limit: limit.Limit{ID: "few", Rate: limit.Rate{Max: 2, Period: limit.Minute}}}}
		p.together(t.Context(), func() { _, err = p.s.Begin(t.Context(), r) })
		return err
	}
	p := open()
	if err := call(p, 1); err != nil {
		t.Fatal(err)
	}
	in.now, set = in.now.Add(70*time.Second), true
	if err := call(p, 2); err != nil {
		t.Fatal(err)
	}
	if !dead {
		t.Fatal("the second call was not recorded")
	}
	p.kill(t)
	set, dead = false, false
	p = open()
	defer p.kill(t)
	if err := call(p, 3); !errors.As(err, new(*store.LimitError)) {
		t.Errorf("two calls within a minute, then another: %v", err)
	}
}
