package main

import (
	"strings"
	"testing"
)

func TestPicksFromStdinAreBounded(t *testing.T) {
	t.Parallel()
	s := newInitShop(t)
	for list, stock := range map[string]bool{
		"# all\nfindProducts # free\n\ngetStock\n": true, "# getStock\nfindProducts # getStock\n": false,
	} {
		out, err := s.init(strings.NewReader(list), "--pick", "-")
		if err != nil || strings.Contains(out, "get-stock") != stock {
			t.Errorf("%q: %s, %v, want get-stock in the plan: %t", list, out, err, stock)
		}
	}
	out, err := s.init(strings.NewReader(strings.Repeat("findProducts\n", 1<<20/len("findProducts\n")+1)), "--pick", "-")
	if err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("a longer list: %s, %v", out, err)
	}
}
