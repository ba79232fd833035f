package gatewaycmd

import (
	"strings"
	"testing"
)

func TestPicksFromStdinAreBounded(t *testing.T) {
	t.Parallel()
	list, err := readPicks("-", strings.NewReader("# all\nsearch # free\n\norder\n"))
	if err != nil || strings.Join(list, ",") != "search,order" {
		t.Errorf("got %q, %v", list, err)
	}
	if list, err := readPicks("-", strings.NewReader(strings.Repeat("search\n", maxPicks))); err == nil {
		t.Errorf("%d operations of a longer list", len(list))
	}
}
