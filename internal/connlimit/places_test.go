package connlimit

import "testing"

func TestPlaces(t *testing.T) {
	t.Parallel()
	p := Places{Most: 3, MostOf: 2}
	for i, step := range []struct {
		enter, leave string
		admitted     bool
	}{
		{enter: "a", admitted: true},
		{enter: "a", admitted: true},
		{enter: "a"}, // as many as one owner may have
		{enter: "b", admitted: true},
		{enter: "c"}, // as many as all may have
		{leave: "a"},
		{enter: "c", admitted: true},
		{leave: "a"},
		{leave: "b"},
		{leave: "c"},
	} {
		if step.leave != "" {
			p.Leave(step.leave)
			continue
		}
		if got := p.Enter(step.enter); got != step.admitted {
			t.Errorf("step %d: admitted %v, want %v", i, got, step.admitted)
		}
	}
	if len(p.of) != 0 {
		t.Errorf("without places, %d owners are kept", len(p.of))
	}
	if new(Places).Enter("a") {
		t.Error("the zero Places admitted an owner")
	}
}
