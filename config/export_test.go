package config

import "github.com/uimgate/uimgate/internal/yamlconf"

// What tests of the package name.
const (
	MaxPolicyFile = maxPolicyFile
	SchemaID      = schemaID
)

// NewSecret is newSecret.
func NewSecret(text string) Secret { return newSecret(text) }

// Path is the directory as it was opened.
func (d *DataDir) Path() string { return d.path }

// Defaults returns a configuration in which every key has its default, and nothing is read or checked. It
// has no service.
func Defaults() *Config {
	c := &Config{}
	none := func(string) (string, bool) { return "", false }
	yamlconf.Decode(nil, c, yamlconf.Options{Scalars: scalars, Env: none}) // its problem: no service
	return c
}
