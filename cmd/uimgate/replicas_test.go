package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// Three processes share a database, and one of them is frozen. A stop shows which of them have applied it, and how long each took.
func TestStopShowsEveryReplica(t *testing.T) {
	t.Parallel()
	place := "store: " + pgtest.Start(t).Database(t) + "\n" + plainService
	var replicas [3]*testGateway
	var frozen *int
	for i := range replicas {
		replicas[i] = newProcess(t, operatorPolicy, place, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) })
		process := replicas[i].startProcess()
		if i == 2 {
			frozen = &process.Pid
		}
	}
	g := replicas[0]
	await(t, func() bool {
		list := want[processes.Processes](g, "processes")
		return len(list.Items) == 3 && list.Unreported == 0
	})
	applied := want[processes.Stop](g, "stop", "charging").Applied
	if applied == nil || applied.Processes != 3 || applied.Applied != 3 || applied.Seconds == nil || *applied.Seconds >= 2 ||
		len(applied.By) != 3 {
		t.Fatalf("got %+v", applied)
	}
	if err := syscall.Kill(*frozen, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resumed := want[processes.Stop](g, "resume", "charging").Applied
	if resumed == nil || resumed.Processes != 3 || resumed.Applied != 2 || len(resumed.By) != 3 {
		t.Errorf("with a frozen process: got %+v", resumed)
	}
	late := slices.IndexFunc(resumed.By, func(p processes.Arrival) bool { return !p.Applied && p.Seconds == nil })
	if s := g.run("stop", "list", "--ended"); late < 0 || !strings.Contains(s.out, "2 of 3 processes, ") ||
		!strings.Contains(s.out, "; not yet: "+resumed.By[late].Process) {
		t.Errorf("got %+v", s)
	}
	if err := syscall.Kill(*frozen, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		ended := want[api.Page[processes.Stop]](replicas[1], "stop", "list", "--ended")
		return len(ended.Items) == 1 && ended.Items[0].Applied.Complete() && ended.Items[0].Applied.Applied == 3
	})
	// A process that ends no longer counts. A new one has read the stops when it starts.
	g.run("stop", "charging")
	replicas[1].stop()
	replicas[2].stop()
	replicas[2].startProcess()
	await(t, func() bool {
		list := want[api.Page[processes.Stop]](g, "stop", "list")
		return list.Items[0].Applied.Processes == 2 && list.Items[0].Applied.Applied == 2
	})
}

// A SQLite database has one process.
func TestStopShowsTheOnlyProcess(t *testing.T) {
	t.Parallel()
	g := newProcess(t, operatorPolicy, plainService, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) })
	g.startProcess()
	if s := g.run("stop", "charging"); s.code != exitDone || !strings.Contains(s.out, "1 of 1 processes, ") {
		t.Errorf("got %+v", s)
	}
}
