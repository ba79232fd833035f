package intents

import "fmt"

// CompileAll compiles every schema that would be compiled for its first value: none may fail.
func CompileAll(c *Catalog) error {
	for _, i := range c.intents {
		for _, list := range [][]Parameter{i.Inputs, i.Outputs} {
			for _, p := range list {
				if err := p.check.compileAll(); err != nil {
					return fmt.Errorf("%s, %s: %w", i.UID, p.Name, err)
				}
			}
		}
	}
	return nil
}

func (c *check) compileAll() error {
	if c == nil {
		return nil
	}
	if c.compiled != nil {
		if _, err := c.compiled.get(); err != nil {
			return err
		}
	}
	for _, sub := range c.properties {
		if err := sub.compileAll(); err != nil {
			return err
		}
	}
	if err := c.items.compileAll(); err != nil {
		return err
	}
	return c.additional.compileAll()
}
