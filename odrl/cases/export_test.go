package cases

// Wanted returns what is expected of a case as a JSON value.
func Wanted(c *Case) map[string]any { return c.Expect.wanted() }
