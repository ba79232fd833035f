package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/execute/upstream/mcp"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/fetch"
)

// A toolServer is the MCP server whose tools init offers.
type toolServer struct {
	url     string
	command string
	args    []string
	env     []string // NAME=value
	header  string   // file with a header line
}

func (t *toolServer) isSet() bool { return t.url != "" || t.command != "" }

// check returns a usage error if the flags contradict each other.
func (t *toolServer) check(document string) error {
	switch {
	case t.url != "" && t.command != "":
		return cli.Usage(errors.New("--mcp and --mcp-command cannot be combined"))
	case t.isSet() && document != "":
		return cli.Usage(errors.New("--openapi and --mcp cannot be combined"))
	case t.command == "" && len(t.args)+len(t.env) > 0:
		return cli.Usage(errors.New("--mcp-arg and --mcp-env require --mcp-command"))
	case t.url == "" && t.header != "":
		return cli.Usage(errors.New("--mcp-header requires --mcp"))
	}
	for _, v := range t.env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return cli.Usage(errors.New("--mcp-env: want NAME=VALUE"))
		}
	}
	return nil
}

// shown describes the server, without secrets, for people.
func (t *toolServer) shown() string {
	if t.url != "" {
		return shownSource(t.url)
	}
	return t.command
}

// document lists the tools of the server, and returns them as an OpenAPI document, which init reads.
func (t *toolServer) document(ctx context.Context, namespace string) ([]byte, error) {
	u, err := t.open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.shown(), err)
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTime)
		defer cancel()
		u.End(ending)
	}()
	tools, err := u.Tools(ctx)
	if err != nil {
		report := upstream.UnreadTools(err)
		if r, ok := u.ToolsReport(); ok && r.Processes.Failure != "" {
			report += ": " + r.Processes.Failure
		}
		return nil, fmt.Errorf("the tools of %s cannot be listed: %s", t.shown(), report)
	}
	if len(tools) == 0 {
		return nil, fmt.Errorf("%s has no tools", t.shown())
	}
	return mcp.Document("the tools of "+namespace, "https://"+namespace, tools)
}

// listTime is the time limit for listing the tools, and for ending the process that listed them.
const listTime = 30 * time.Second

// open returns an upstream for the server, with the settings that the gateway would use.
func (t *toolServer) open() (*upstream.Upstream, error) {
	cfg := upstream.Config{
		MCP:     &upstream.MCP{Command: mcp.Command{Path: t.command, Args: t.args, Env: t.env}, Sessions: 1},
		Timeout: listTime, MaxResponse: maxToolList, Breaker: config.Breaker{Failures: 1, OpenFor: time.Second},
		Retry:  upstream.Retry{Attempts: 1, Wait: time.Second, MaxWait: time.Second},
		Places: fairqueue.Bounds{Places: 1, Waiting: 1, Wait: time.Second},
		Pool:   upstream.Pool{MaxConns: 2, MaxIdle: 1, IdleTimeout: time.Minute, DialTimeout: listTime}, Now: time.Now,
	}
	if t.url != "" {
		u, err := url.Parse(t.url)
		switch {
		case err != nil:
			return nil, cli.Usage(errors.New("--mcp: the URL does not parse"))
		case u.Scheme != "https" && (u.Scheme != "http" || !fetch.LoopbackHost(u.Hostname())):
			return nil, cli.Usage(errors.New("--mcp: want an https URL, or an http URL on this machine"))
		}
		cfg.URL = u
	}
	if t.header != "" {
		line, err := cli.ReadNamed(t.header, http.DefaultMaxHeaderBytes)
		if err != nil {
			return nil, err
		}
		name, value, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
		if !ok {
			return nil, cli.Usage(errors.New(`--mcp-header: want a file with one line, "Name: value"`))
		}
		cfg.AuthHeaders = map[string]config.Secret{name: config.NewSecret(strings.TrimSpace(value))}
	}
	return upstream.New(cfg)
}

// maxToolList is the maximum size of a page of the list of tools, in bytes.
const maxToolList = 8 << 20

// settings returns the settings of the server for the configuration.
func (t *toolServer) settings() *openapi.ToolServer {
	if !t.isSet() {
		return nil
	}
	return &openapi.ToolServer{URL: t.url, Command: t.command, Args: t.args, Env: t.env, HeaderFile: t.header}
}
