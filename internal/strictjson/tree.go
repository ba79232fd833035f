package strictjson

// tree reads a document of at most so many values; false where it is not acceptable, or has more.
func tree(data []byte, most int) (v any, ok bool) {
	c := Begin(data)
	defer c.End()
	v = c.tree(&most)
	return v, c.Complete()
}

// tree reads the next value with all that is inside it. most is how many values may still be read.
func (c *Cursor) tree(most *int) any {
	if *most--; *most < 0 {
		c.at = failed
		return nil
	}
	switch c.Next() {
	case '{':
		members := map[string]any{}
		for c.Open('{'); c.Member(); {
			name := string(c.Name())
			members[name] = c.tree(most)
		}
		return members
	case '[':
		list := []any{}
		for c.Open('['); c.Item(); {
			list = append(list, c.tree(most))
		}
		return list
	default:
		if raw := c.Value(); raw != nil {
			return Scalar(raw)
		}
		return nil
	}
}
