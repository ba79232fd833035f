package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/operatorcmd"
)

// TestMain makes the real command available to scripts as uimgate.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){
		"uimgate": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			var code int
			if os.Getenv(envWorker) == "" {
				code = run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
			} else if err := work(ctx, os.Stdin, os.Stdout); err != nil {
				panic(err)
			}
			stop()
			os.Exit(code)
		},
	})
}

// tests unsets the variables that would affect the commands.
type tests struct{ *testing.M }

// By default, the race detector makes each process wait a second at its end, for races of goroutines that end with it anyway. The scripts
// run hundreds of commands.
const (
	envRace   = "GORACE"
	unhurried = "atexit_sleep_ms=0"
)

// Most commands end before they have used memory that is worth collecting.
const (
	envGC = "GOGC"
	rare  = "800"
)

func (m tests) Run() int {
	for _, name := range []string{operatorcmd.EnvAdminToken, operatorcmd.EnvAdminURL, "UIMGATE_AGENT_ID"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	if err := os.Setenv(envRace, unhurried+" "+os.Getenv(envRace)); err != nil { // the last setting of a name applies
		panic(err)
	}
	if err := os.Setenv(envGC, rare); err != nil { // of the processes that tests start
		panic(err)
	}
	return m.M.Run()
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/scripts", RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/.config")
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/.state")
			e.Setenv("HOME", e.WorkDir)
			e.Setenv(envRace, os.Getenv(envRace))
			e.Setenv(envGC, os.Getenv(envGC))
			if err := ownPath(e); err != nil {
				return err
			}
			e.Values[workerKey{}] = newWorker(e.Vars)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"run":     inWorker,
			"gateway": startGateway, "relay": startRelay, "bridge": startBridge, "tools": listTools,
			"shop":    startExampleShop,
			"hangup":  hangup,
			"dns":     startDNS,
			"consent": consent,
		},
	})
}
