package config

import "github.com/uimgate/uimgate/internal/yamlconf"

// Dump returns the effective configuration, for people and for programs: defaults and overrides included, secrets masked. Paths can be
// opened from the working directory. It omits derived credentials and contents of files.
func (c *Config) Dump() yamlconf.Dump { return c.document.Dump(c) }
