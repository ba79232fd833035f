package config

import "github.com/uimgate/uimgate/internal/yamlconf"

// Exported for tests.
const (
	MaxPolicyFile = maxPolicyFile
	SchemaID      = schemaID
)

// Path returns the path that the directory was opened with.
func (d *DataDir) Path() string { return d.path }

// Defaults returns a configuration in which every key has its default. Nothing is read or checked, and there is no service.
func Defaults() *Config {
	c := &Config{}
	none := func(string) (string, bool) { return "", false }
	yamlconf.Decode(nil, c, yamlconf.Options{Types: Blocks{}.types(), Env: none}) // the only problem is the missing service
	return c
}
