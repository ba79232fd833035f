package calls

import (
	"strconv"
	"testing"
)

func TestRecentIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	r := newRecent(10)
	hot := agreementKey{"s", "hot"}
	r.add(hot)
	for i := range 1000 {
		r.add(agreementKey{"s", strconv.Itoa(i)})
		if !r.has(hot) {
			t.Fatalf("what is in use was forgotten after %d others", i)
		}
		if n := len(r.now) + len(r.old); n > 20 {
			t.Fatalf("%d are remembered; want at most 20", n)
		}
	}
	if r.has(agreementKey{"s", "0"}) || r.has(agreementKey{"t", "hot"}) || !r.has(agreementKey{"s", "999"}) {
		t.Fatal("remembers the wrong ones")
	}
}
