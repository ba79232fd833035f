package calls

import (
	"strconv"
	"testing"
)

func TestRecentIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	r := newRecent(10)
	hot := ref{"s", "hot"}
	r.add(hot)
	for i := range 1000 {
		r.add(ref{"s", strconv.Itoa(i)})
		if !r.has(hot) {
			t.Fatalf("the used entry was removed after %d others", i)
		}
		if n := len(r.now) + len(r.old); n > 20 {
			t.Fatalf("%d entries; want at most 20", n)
		}
	}
	if r.has(ref{"s", "0"}) || r.has(ref{"t", "hot"}) || !r.has(ref{"s", "999"}) {
		t.Fatal("the wrong entries were removed")
	}
}
