package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// checkMCP checks the settings of an MCP server, and sets the URL of the upstream to that of the server.
func (l *loader) checkMCP(path string, u *Upstream) {
	m, at := &u.MCP, path+".mcp"
	if !m.IsSet() {
		return // package upstream would report a missing URL
	}
	switch {
	case u.URL != nil:
		l.Errorf(path+".url", "is for HTTP APIs: set either url or mcp")
	case m.URL != nil && m.Command != "":
		l.Errorf(at+".command", "is set together with url: set one of them")
	}
	u.URL = m.URL
	if m.Command == "" && (len(m.Args)+len(m.Env)+len(m.SecretEnv) > 0 || m.Dir != "") {
		l.Errorf(at+".command", "is required with args, dir, env and secret_env")
	}
	if m.Dir != "" && !filepath.IsAbs(m.Dir) {
		l.Errorf(at+".dir", "is not an absolute path")
	}
	if strings.ContainsRune(m.Command+m.Dir+strings.Join(m.Args, ""), 0) {
		l.Errorf(at+".command", "contains a NUL character, which programs cannot receive")
	}
	l.checkEnv(at+".env", m.Env)
	l.checkEnv(at+".secret_env", m.SecretEnv)
	for name := range m.SecretEnv {
		if _, twice := m.Env[name]; twice {
			l.Errorf(at+".secret_env["+strconv.Quote(name)+"]", "is also in env: give one value")
		}
	}
	a := &u.Auth
	if m.Command != "" && (!a.Header.IsEmpty() || !a.Basic.IsEmpty() || a.OAuth2.TokenURL != nil || len(a.Headers) > 0) {
		l.Errorf(path+".auth", "is for requests over HTTP: give credentials to the command in mcp.secret_env")
	}
	if len(a.Query) > 0 {
		l.Errorf(path+".auth.query", "is for HTTP APIs: a call to a tool has no query")
	}
	if u.Execute != "" {
		l.Errorf(path+".execute", "is for HTTP APIs: with mcp, each intent needs an endpoint whose path ends with /tools/ and the name of a tool")
	}
	if u.Reconcile != (Reconcile{}) {
		l.Errorf(path+".reconcile", "is for HTTP APIs: an MCP server cannot report the outcome of a call")
	}
}

// checkEnv checks the names and values of environment variables.
func (l *loader) checkEnv(path string, env map[string]Value) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		at := path + "[" + strconv.Quote(name) + "]"
		text, ok := strictjson.ScalarText(env[name].Tree())
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			l.Errorf(at, "is not the name of an environment variable")
		case !ok || strings.ContainsRune(text, 0):
			l.Errorf(at, "cannot be an environment variable: want text, a number or a boolean")
		}
	}
}

// Environment returns the environment of the command as NAME=value, and the values in it that are secrets.
func (m *MCPServer) Environment() (all, secrets []string) {
	for i, env := range []map[string]Value{m.Env, m.SecretEnv} {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			text, _ := strictjson.ScalarText(env[name].Tree())
			all = append(all, name+"="+text)
			if i == 1 {
				secrets = append(secrets, text)
			}
		}
	}
	return all, secrets
}
