package main

import (
	"bufio"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/examples"
	"github.com/uimgate/uimgate/examples/shop/shopapi"
	"github.com/uimgate/uimgate/internal/daemon"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
)

// startGateway (gateway CONFIG|init [FLAG…]) runs uimgate serve, or uimgate init --serve, on free ports until the script ends, and sets
// GATEWAY, ADMIN, RELAY and GATEWAY_LOG. A new gateway of uimgate serve begins with a copied database.
func startGateway(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: gateway CONFIG|init [FLAG…]")
	}
	self, err := findUimgate(ts)
	ts.Check(err)
	log := filepath.Join(ts.Getenv("WORK"), "gateway.log")
	out, err := os.Create(log)
	ts.Check(err)
	command := append([]string{
		"serve", "-c", ts.MkAbs(args[0]), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--data", ts.MkAbs("data"),
	}, args[1:]...)
	if args[0] != "init" {
		ts.Check(sqlitetest.Empty.Write(config.StatePath(ts.MkAbs("data"))))
	} else {
		command = append(args, "--out", ts.MkAbs("gate"), "--serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	}
	c := exec.Command(self, command...)
	c.Stderr = out
	c.Env = append(os.Environ(), "UIMGATE_ADMIN_TOKEN="+ts.Getenv("UIMGATE_ADMIN_TOKEN"), "SHOP_URL="+ts.Getenv("SHOP_URL"))
	stdout, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ts.Defer(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			ts.Logf("the gateway ended with %v", err)
		}
		_ = out.Close()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		stderr, _ := os.ReadFile(log)
		ts.Fatalf("the gateway did not start: %v\n%s", err, stderr)
	}
	var ready struct {
		Ready bool
		daemon.Addresses
		Relay string `json:"mrp_relay"`
	}
	ts.Check(json.Unmarshal(line, &ready))
	if !ready.Ready {
		ts.Fatalf("ready line: %s", line)
	}
	ts.Setenv("GATEWAY", ready.Listen)
	ts.Setenv("ADMIN", ready.Admin)
	ts.Setenv("RELAY", ready.Relay)
	ts.Setenv("GATEWAY_HOST", strings.TrimPrefix(ready.Listen, "http://"))
	ts.Setenv("GATEWAY_LOG", log)
	ts.Setenv("GATEWAY_PID", strconv.Itoa(c.Process.Pid))
}

// startRelay (relay [FLAG…]) runs uimgate mrp-relay on a free port until the script ends, and sets RELAY.
func startRelay(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: relay [FLAG…]")
	}
	self, err := findUimgate(ts)
	ts.Check(err)
	c := exec.Command(self, append([]string{"mrp-relay", "--listen", "127.0.0.1:0", "--data", ts.MkAbs("relay")}, args...)...)
	var log strings.Builder
	c.Stderr = &log
	stdout, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	ts.Defer(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			ts.Logf("the relay ended with %v: %s", err, log.String())
		}
	})
	var ready struct {
		Relay string `json:"mrp_relay"`
	}
	if err := json.NewDecoder(stdout).Decode(&ready); err != nil {
		ts.Fatalf("the relay did not start: %v\n%s", err, log.String())
	}
	ts.Setenv("RELAY", ready.Relay)
}

// startExampleShop (shop) serves the example shop until the script ends, writes its configuration into shop/, and sets SHOP_URL.
func startExampleShop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: shop")
	}
	ts.Check(os.CopyFS(ts.MkAbs("."), examples.Files))
	handler, err := shopapi.New(shopapi.Config{Now: time.Now})
	ts.Check(err)
	shop := httptest.NewServer(handler)
	ts.Defer(shop.Close)
	ts.Setenv("SHOP_URL", shop.URL)
}

// hangup asks the gateway to reload.
func hangup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: hangup")
	}
	pid, err := strconv.Atoi(ts.Getenv("GATEWAY_PID"))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, syscall.SIGHUP))
}

// ownPath sets UIMGATE, in a script, to the path of the command.
func ownPath(e *testscript.Env) error {
	path, err := exec.LookPath("uimgate")
	e.Setenv("UIMGATE", path)
	return err
}

// findUimgate returns the path of the command as the script would find it.
func findUimgate(ts *testscript.TestScript) (string, error) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, "uimgate")); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}
