package cases

// Wanted returns the expected result of a case as a JSON value.
func Wanted(c *Case) map[string]any { return c.Expect.wanted() }
