// Package yamlconf reads YAML written by people into Go structs, strictly. An unknown key is an error that names the nearest known key.
// So are a duplicate key, a value of another type or out of bounds, and every feature of YAML beyond plain values (tags, merge keys,
// several documents). All problems of a document are reported together, each as file:line: message.
//
//	c := &Config{}
//	doc, problem := yamlconf.Decode(data, c, yamlconf.Options{File: path, Env: os.LookupEnv})
//	if doc == nil {
//		return problem
//	}
//	if c.Max < c.Min {
//		doc.Errorf("max", "is less than min")
//	}
//	return doc.Problems().Err()
//
// Keys, defaults, bounds and descriptions are written once, in struct tags. The decoder, the JSON Schema (Scalars.Schema) and the
// reference (Scalars.Reference) use them:
//
//	yaml      the key; fields without it, or with "-", are not read
//	default   the text of the default; without it the zero value
//	required  the key must be present
//	enum      the only values, separated by commas
//	min, max  inclusive bounds, written as a value of the key; of lists and maps, max is the number of entries
//	doc       the description, for people
//	example   the value of a required key in the reference
//	short     "true": a text instead of the whole mapping is the value of this field
//	pattern   regular expression of that text, for the JSON Schema
//	restart   "true": a change takes effect only after a restart; the descriptions state that
//
// In every value ${NAME} and ${NAME:-default} are replaced by an environment variable, ${file:PATH} by the text of a file, and $${ by the
// two characters ${.
//
// Documents are bounded (MaxDocument, tokens, keys, depth, values after aliases), so that every text is read in bounded time. Messages
// never quote a value that may be a secret.
package yamlconf
