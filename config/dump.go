package config

import "github.com/uimgate/uimgate/internal/yamlconf"

// Dump returns what holds, for people and for programs: defaults and overrides included, secrets masked. Paths are as they can
// be opened. Credentials that follow from others, and contents of files, are not in it.
func (c *Config) Dump() yamlconf.Dump { return c.document.Dump(c) }
