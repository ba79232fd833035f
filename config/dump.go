package config

import "github.com/uimgate/uimgate/internal/yamlconf"

// Dump returns the effective configuration, with defaults and overrides, and with secrets masked. Its paths can be opened from the working
// directory. It omits derived credentials and the contents of files.
func (c *Config) Dump() yamlconf.Dump { return c.document.Dump(c) }
