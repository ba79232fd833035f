package odrl

import (
	"testing"
	"time"
)

// A test on a busy machine has the time that a document takes on a quiet one.
func TestMain(m *testing.M) {
	publishTime = 10 * time.Minute
	m.Run()
}

// Planned decides by the plan alone, without telling the facts it read; false where there is none.
func (p *Policy) Planned(r *Request) bool {
	_, ok := p.planned(r)
	return ok
}
