package sqlstore

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
)

// Counts made after the wall clock was set are kept, even if the process is killed after the first such transaction.
func TestClockNoteIsWrittenWithCounts(t *testing.T) {
	t.Parallel()
	path, in := filepath.Join(t.TempDir(), "state.db"), &world{now: time.Now()}
	Empty.Copy(t, path)
	var p *process
	set := false
	open := func() *process { return begin(t, path, in, true, func() { p.dead = set }) }
	call := func(p *process, id int) (err error) {
		r := journaledCall(id)
		r.Limits = []store.Reservation{{Limit: limit.Limit{ID: "few", Rate: limit.Rate{Max: 2, Period: limit.Minute}}}}
		p.together(t.Context(), func() { _, err = p.s.Begin(t.Context(), r) })
		return err
	}
	p = open()
	if err := call(p, 1); err != nil {
		t.Fatal(err)
	}
	in.now, set = in.now.Add(70*time.Second), true
	if err := call(p, 2); err != nil {
		t.Fatal(err)
	}
	if !p.dead {
		t.Fatal("the second call was not recorded")
	}
	p.kill(t)
	set = false
	p = open()
	defer p.kill(t)
	if err := call(p, 3); !errors.As(err, new(*store.LimitError)) {
		t.Errorf("two calls within a minute, then another: %v", err)
	}
}
