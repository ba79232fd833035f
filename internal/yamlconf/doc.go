// Package yamlconf decodes hand-written YAML into Go structs, strictly. An unknown key is an error, and the message suggests a known key. A
// duplicate key, a value of the wrong type or out of bounds, tags, directives, merge keys and several documents are also errors. Anchors
// and aliases are accepted. All problems of a document are reported together, each as file:line: message.
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
// Struct tags declare keys, defaults, bounds and descriptions. The decoder, the JSON Schema (Types.Schema) and the reference
// (Types.Reference) use them:
//
//	yaml      the key; fields without it, or with "-", are not read
//	default   the text of the default; without this tag, the default is the zero value
//	required  the key must be present
//	unless    the other key whose presence makes a required key optional
//	enum      the only values, separated by commas
//	min, max  inclusive bounds, written as a value of the key; for lists and maps, max is the maximum number of entries
//	doc       the description, for people
//	example   the value of a required key in the reference
//	short     "true": in place of the mapping, a document may have the value of this field alone: a string or, for a boolean, true or false
//	pattern   regular expression of that text, for the JSON Schema
//	restart   "true": a change takes effect only after a restart; the descriptions state that
//
// In every value, ${NAME} and ${NAME:-default} are replaced by an environment variable, ${file:PATH} by the text of a file, and $${ by the
// two characters ${.
//
// The size of documents is limited (MaxDocument, tokens, keys, depth, values after aliases), so that decoding takes bounded time. Messages
// never quote a value that may be a secret.
package yamlconf
