package config

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"

	"github.com/uimgate/uimgate/internal/problem"
)

// Overrides are what comes before the file: flags first, then the environment. Empty flags are not set.
type Overrides struct {
	Listen      string // --listen, else UIMGATE_LISTEN
	AdminListen string // --admin-listen, else UIMGATE_ADMIN_LISTEN
	Data        string // --data, else UIMGATE_DATA; relative to the working directory
	// Env looks a variable up, for ${NAME} too. nil is the environment of the process.
	Env func(string) (string, bool)
}

// Load reads the configuration at path and every file it names. The Config is nil if a Problem is an
// error; warnings come with a Config. Files and Digests tell what was read.
func Load(path string, o Overrides) (*Config, Problems) {
	data, err := readFile(path, maxDocument)
	if err != nil {
		return nil, Problems{{File: path, Level: problem.Error, Message: err.Error()}}
	}
	return Parse(path, data, o)
}

// Parse is Load for the text of a configuration that is, or is to be, at path.
func Parse(path string, data []byte, o Overrides) (*Config, Problems) {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	d := newDecoder(path, reflect.TypeFor[Config](), o.Env)
	if len(data) > maxDocument {
		return nil, Problems{{File: path, Level: problem.Error, Message: tooLarge("the configuration", maxDocument).Error()}}
	}
	doc, at, err := parseDocument(data)
	if err != nil {
		return nil, Problems{{path, at.line, at.column, problem.Error, err.Error()}}
	}
	d.doc = doc
	sum := sha256.Sum256(data)
	c := &Config{Source: File{Path: path, SHA256: hex.EncodeToString(sum[:])}}
	v := reflect.ValueOf(c).Elem()
	setDefaults(v, d, "")
	if doc.root == nil || isNull(doc.root) {
		d.missing("", v.Type(), nil)
	} else {
		d.value("", doc.root, v, "")
	}
	d.override("server.listen", &c.Server.Listen, "--listen", o.Listen)
	d.override("admin.listen", &c.Admin.Listen, "--admin-listen", o.AdminListen)
	d.override("data", &c.Data, "--data", o.Data)
	if d.origins["data"] == "" {
		c.Data = d.files.path(c.Data)
	}
	d.check(c)
	problems := d.sorted()
	if problems.Failed() {
		return nil, problems
	}
	c.positions, c.inputs = d.positions, d.files.inputs
	return c, problems
}

func newDecoder(path string, root reflect.Type, env func(string) (string, bool)) *decoder {
	return &decoder{
		file: path, env: env, positions: map[string]position{"": {1, 1}}, origins: map[string]string{}, failed: map[string]bool{},
		files: &reader{dir: filepath.Dir(path), cache: map[string]read{}}, root: root,
	}
}

// variables are the environment's names for flags.
var variables = map[string]string{"--listen": "UIMGATE_LISTEN", "--admin-listen": "UIMGATE_ADMIN_LISTEN", "--data": "UIMGATE_DATA"}

// override lets a flag or its variable win over the file.
func (d *decoder) override(path string, value *string, flag, given string) {
	origin := flag
	if given == "" {
		origin = variables[flag]
		given, _ = d.env(origin)
	}
	if given != "" {
		*value, d.origins[path] = given, origin
	}
}
