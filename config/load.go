package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// Overrides take precedence over the file: flags first, then the environment. An empty flag counts as not set.
type Overrides struct {
	Listen      string // --listen, or UIMGATE_LISTEN
	AdminListen string // --admin-listen, or UIMGATE_ADMIN_LISTEN
	Data        string // --data, or UIMGATE_DATA; relative to the working directory
	// Blocks are the blocks of the program's modules. All other blocks are unknown keys.
	Blocks Blocks
	// Needed reports whether a command needs the value at path, such as "services[0].upstream.auth.header". secret is true for a Secret. If
	// Needed returns false for a value with ${…}, Load leaves the value empty and reports no problem with it, so that a command runs where it
	// cannot read the secrets. If Needed is nil, every value is needed.
	Needed func(path string, secret bool) bool
	// Env looks up environment variables, including those in ${NAME}. nil means os.LookupEnv.
	Env func(string) (string, bool)
}

// A Problem is one finding in a configuration, with its line.
type Problem = yamlconf.Problem

// Problems are the findings in one configuration, in the order of its lines.
type Problems = yamlconf.Problems

// Load reads the configuration at path and every file that it names. If one of the Problems is an error, the Config is nil; if all are
// warnings, it is not. The methods Files and Digests of the Config list the files that were read.
func Load(path string, o Overrides) (*Config, Problems) {
	state := fileState(path)
	data, err := yamlconf.ReadFile(path, yamlconf.MaxDocument)
	if err != nil {
		message := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			message += ": create one from an OpenAPI document with uimgate init, or name another file with -c"
		}
		return nil, Problems{{File: path, Level: problem.Error, Message: message}}
	}
	c, problems := Parse(path, data, o)
	if c != nil {
		c.states[path] = state
	}
	return c, problems
}

// A loader reads a configuration and the files that it names, and checks them.
type loader struct {
	*yamlconf.Document

	files   *reader
	env     func(string) (string, bool)
	claimed uniqueValues
}

// Parse is like Load, but takes data as the text of the configuration at path. The file at path need not exist.
func Parse(path string, data []byte, o Overrides) (*Config, Problems) {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	sum := sha256.Sum256(data)
	c := &Config{Source: File{Path: path, SHA256: hex.EncodeToString(sum[:])}, blocks: o.Blocks}
	l := &loader{files: newReader(filepath.Dir(path)), env: o.Env}
	doc, bad := yamlconf.Decode(data, c, yamlconf.Options{
		File: path, What: "the configuration", Types: o.Blocks.types(), Env: o.Env, ReadFile: l.files.secret, Needed: o.Needed,
	})
	if bad != nil {
		return nil, Problems{*bad}
	}
	l.Document = doc
	l.override("server.listen", &c.Server.Listen, "--listen", o.Listen)
	l.override("admin.listen", &c.Admin.Listen, "--admin-listen", o.AdminListen)
	if !l.override("data", &c.Data, "--data", o.Data) {
		c.Data = l.files.path(c.Data)
	}
	l.check(c)
	problems := l.Problems()
	if problems.Failed() {
		return nil, problems
	}
	c.positions, c.inputs, c.states, c.document = l.Positions(), l.files.inputs, l.files.states, l.Document
	return c, problems
}

// variables maps flags to their environment variables.
var variables = map[string]string{"--listen": "UIMGATE_LISTEN", "--admin-listen": "UIMGATE_ADMIN_LISTEN", "--data": "UIMGATE_DATA"}

// override sets value to given, the value of a flag. If given is empty, override sets value to that of the flag's environment variable. It
// reports whether one of the two is not empty.
func (l *loader) override(path string, value *string, flag, given string) bool {
	origin := flag
	if given == "" {
		origin = variables[flag]
		given, _ = l.env(origin)
	}
	if given == "" {
		return false
	}
	*value = given
	l.Override(path, origin)
	return true
}

// Problemf returns a Problem at the position of path, such as "services[0].policy_file", or of the nearest enclosing value that is in the
// file. Use it for problems that are found after loading.
func (c *Config) Problemf(level problem.Level, path, format string, args ...any) Problem {
	at := c.positions.Nearest(path)
	message := path + ": " + fmt.Sprintf(format, args...)
	return Problem{File: c.Source.Path, Line: at.Line, Column: at.Column, Level: level, Message: message}
}
