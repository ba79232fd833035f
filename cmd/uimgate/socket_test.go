package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// On the gateway's machine, operator commands need no URL, no token and no readable configuration.
func TestOperatorCommandsBySocket(t *testing.T) {
	g := startGatewayWithOperator(t)
	beside := func(args ...string) output { return command(t, "", args...) }
	if got := beside("status", "-c", g.config(), "-o", "json"); got.code != exitDone || !strings.Contains(got.out, "shop.example") {
		t.Errorf("got %+v; want code %v and out containing %q", got, exitDone, "shop.example")
	}
	g.write("uimgate.yaml", "data: data # as it was\nservices: [\n")
	for name, args := range map[string][]string{
		"found by the line of data": {"agents", "list", "-c", g.config()},
		"named":                     {"agents", "list", "--data", filepath.Join(g.dir, "data"), "-c", "/nowhere.yaml"},
	} {
		if got := beside(args...); got.code != exitDone {
			t.Errorf("%s: got %+v; want code %v", name, got, exitDone)
		}
	}
	if got := beside("reload", "-c", g.config()); got.code != exitWrong || !strings.Contains(got.errors, "uimgate.yaml:") {
		t.Errorf("reloading an invalid file: %+v; want code %v and errors containing %q", got, exitWrong, "uimgate.yaml:")
	}
	g.stop()
	if got := beside("agents", "list", "-c", g.config()); got.code != exitWrong || strings.Contains(got.errors, "sock") {
		t.Errorf("after the gateway ended: %+v", got)
	}
}
