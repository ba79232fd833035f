package openapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// parameters maps the parameters of the path item and of the operation, and sets the path of the call. The operation's own parameters take
// precedence.
func (c *call) parameters(prefix string) error {
	type key struct{ in, name string }
	at := map[key]int{}
	var all []map[string]any
	described := slices.Concat(read.List(c.op.item["parameters"]), read.List(c.op.tree["parameters"]))
	if len(described) > 4*maxInputs {
		return fmt.Errorf("it describes %d parameters; at most %d are supported", len(described), maxInputs)
	}
	for _, v := range described {
		p, err := c.Follow(v, "a parameter")
		if err != nil {
			return err
		}
		k := key{read.Text(p["in"]), read.Text(p["name"])}
		if i, have := at[k]; have {
			all[i] = p
			continue
		}
		at[k] = len(all)
		all = append(all, p)
	}
	places := map[string]string{}
	for _, p := range all {
		if err := c.parameter(p, places); err != nil {
			return err
		}
	}
	return c.route(prefix, places)
}

func (c *call) parameter(p map[string]any, places map[string]string) error {
	name, required := read.Text(p["name"]), read.Flag(p["required"])
	if !nameable(name) {
		return errors.New("it has a parameter whose name cannot be used")
	}
	var err error
	switch in := read.Text(p["in"]); in {
	case "path":
		if !strings.Contains(c.op.path, "{"+name+"}") {
			return nil // the path has no place for the parameter
		}
		required = true
		err = c.inPath(name, p, places)
	case "query":
		err = c.inQuery(name, p, required)
	case "header":
		return c.inHeader(name, required)
	case "cookie":
		if required {
			return fmt.Errorf("it requires the cookie %s, which the gateway cannot send", read.Excerpt(name))
		}
		c.report("the cookie " + read.Excerpt(name) + " is not sent")
		return nil
	default:
		err = fmt.Errorf("its parameter %s is in %s, which the gateway cannot send", read.Excerpt(name), read.Excerpt(in))
	}
	if err == nil || required {
		return err
	}
	if _, outside := errors.AsType[*read.OutsideError](err); outside {
		return err
	}
	c.report(fmt.Sprintf("the optional parameter %s is left out: %v", read.Excerpt(name), err))
	return nil
}

// schemaOf reads the schema of a parameter. encoded is true if the document specifies a media type for the parameter: its value is then
// text in that media type, which is sent unchanged.
func (c *call) schemaOf(p map[string]any) (schema map[string]any, encoded bool, err error) {
	raw := p["schema"]
	if media := read.Object(p["content"]); len(media) > 0 {
		name := slices.Sorted(maps.Keys(media))[0]
		raw, encoded = read.Object(media[name])["schema"], true
	}
	if encoded {
		c.report("the parameter " + read.Excerpt(read.Text(p["name"])) + " is sent unchanged: it must be text in the media type that the service expects")
		schema = map[string]any{"type": "string"}
		if d := trimmed(p["description"], maxNested*2); d != "" {
			schema["description"] = d
		}
		return schema, true, nil
	}
	schema, err = readSchema(c.Document, raw, false, c.report)
	if err != nil {
		return nil, false, err
	}
	if d := trimmed(p["description"], maxNested*2); d != "" {
		schema["description"] = d
	}
	return schema, false, nil
}

func isType(schema map[string]any, name string) bool {
	return schema["type"] == name || slices.Contains(read.List(schema["type"]), any(name))
}

func (c *call) inPath(name string, p map[string]any, places map[string]string) error {
	schema, _, err := c.schemaOf(p)
	if err != nil {
		return err
	}
	if isType(schema, "array") {
		schema = joined(schema, ",")
		c.report("the parameter " + read.Excerpt(name) + " is a string of values with commas between them")
	}
	if isType(schema, "object") {
		return fmt.Errorf("its path parameter %s is an object, which is not supported", read.Excerpt(name))
	}
	given := c.unique(placeholder(name), "path")
	place := "{" + given + "}"
	switch read.Text(p["style"]) {
	case "", "simple":
	case "label":
		place = "." + place
	case "matrix":
		place = ";" + url.PathEscape(name) + "=" + place
	default:
		return fmt.Errorf("its path parameter %s has the unsupported style %s", read.Excerpt(name), read.Excerpt(read.Text(p["style"])))
	}
	places[name] = place
	c.inputs = append(c.inputs, input{given, true, schema})
	return nil
}

// joined returns the schema of the string in which a list with this schema is sent.
func joined(schema map[string]any, separator string) map[string]any {
	out := map[string]any{"type": "string"}
	words := "Values separated by " + map[string]string{",": "commas", " ": "spaces", "|": "vertical bars"}[separator] + "."
	if allowed := read.List(read.Object(schema["items"])["enum"]); len(allowed) > 0 && len(allowed) <= 50 {
		var texts []string
		for _, v := range allowed {
			texts = append(texts, read.Text(v))
		}
		words += " Each is one of: " + strings.Join(texts, ", ") + "."
	}
	if d, ok := schema["description"].(string); ok && d != "" {
		words = d + "\n\n" + words
	}
	out["description"] = words
	if values, ok := schema["default"].([]any); ok {
		var texts []string
		for _, v := range values {
			texts = append(texts, read.Text(v))
		}
		out["default"] = strings.Join(texts, separator)
	}
	return out
}

// inQuery places a query parameter. In calls without a body, the gateway adds every parameter without a placeholder to the query. In calls
// with a body, the URL must contain a placeholder for the parameter.
func (c *call) inQuery(name string, p map[string]any, required bool) error {
	schema, encoded, err := c.schemaOf(p)
	if err != nil {
		return err
	}
	style, explode := read.Text(p["style"]), true
	if style != "" && style != "form" {
		explode = false
	}
	if e, ok := p["explode"].(bool); ok {
		explode = e
	}
	separators := map[string]string{"": ",", "form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}
	separator, known := separators[style]
	switch {
	case encoded:
	case style == "deepObject" && isType(schema, "object"):
		return c.flatten(name, schema, required, func(member string) string { return name + "[" + member + "]" })
	case style == "deepObject":
	case !known:
		return fmt.Errorf("its query parameter %s has the unsupported style %s", read.Excerpt(name), read.Excerpt(style))
	case isType(schema, "array") && !explode:
		schema = joined(schema, separator)
		c.report("the parameter " + read.Excerpt(name) + " is a string of values with separators between them")
	case isType(schema, "object") && explode:
		return c.flatten(name, schema, required, func(member string) string { return member })
	case isType(schema, "object"):
		return fmt.Errorf("its query parameter %s is an object that is sent as one string, which is not supported", read.Excerpt(name))
	}
	c.addQuery(name, required, schema)
	return nil
}

func (c *call) addQuery(name string, required bool, schema map[string]any) {
	given := c.unique(name, "query")
	if given != name || c.withBody() || name != placeholder(name) && strings.ContainsAny(name, "{}") {
		delete(c.names, given)
		given = c.unique(placeholder(given), "query")
		c.query = append(c.query, url.QueryEscape(name)+"={"+given+"}")
	}
	c.inputs = append(c.inputs, input{given, required, schema})
}

func (c *call) withBody() bool { return slices.Contains([]string{"POST", "PUT", "PATCH"}, c.op.method) }

// flatten makes each member of an object a separate parameter, because the members are sent that way. wire converts the name of a member to
// the name of its parameter.
func (c *call) flatten(name string, schema map[string]any, required bool, wire func(string) string) error {
	properties := read.Object(schema["properties"])
	if len(properties) == 0 || schema["$defs"] != nil {
		return fmt.Errorf("its query parameter %s is an object without named members", read.Excerpt(name))
	}
	needed := read.List(schema["required"])
	for _, member := range slices.Sorted(maps.Keys(properties)) {
		if sub := read.Object(properties[member]); isType(sub, "object") || !nameable(wire(member)) {
			return fmt.Errorf("its query parameter %s is an object that contains other objects", read.Excerpt(name))
		}
	}
	for _, member := range slices.Sorted(maps.Keys(properties)) {
		sub, ok := properties[member].(map[string]any)
		if !ok {
			sub = map[string]any{}
		}
		c.addQuery(wire(member), required && slices.Contains(needed, any(member)), sub)
	}
	return nil
}

// inHeader handles a header. The gateway does not send headers from agents, so inHeader returns an error if a required header depends on
// the call. The operator must supply all other required headers. According to OpenAPI, Accept, Content-Type and Authorization are not
// parameters.
func (c *call) inHeader(name string, required bool) error {
	switch canonical := http.CanonicalHeaderKey(name); {
	case canonical == "Accept" || canonical == "Content-Type" || canonical == "Authorization":
		return nil
	case canonical == "Idempotency-Key" || canonical == "X-Idempotency-Key":
		c.idempotency = canonical
		c.report("the gateway sends " + canonical + " itself")
		return nil
	case c.secret[canonical]:
		return nil
	}
	if required && fixable(name) {
		c.headers = append(c.headers, name)
		c.report("it requires the header " + read.Excerpt(name) + ": set it under services[].fixed in " + ConfigFile)
		return nil
	}
	if required {
		return fmt.Errorf("it requires the header %s, which the gateway cannot send", read.Excerpt(name))
	}
	c.report("the header " + read.Excerpt(name) + " is not sent")
	return nil
}
