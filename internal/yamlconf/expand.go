package yamlconf

import (
	"fmt"
	"strings"
)

// MaxValue is the maximum size of a value after expansion, in bytes.
const MaxValue = 64 << 10

// expand replaces ${NAME}, ${NAME:-default} and ${file:PATH} in a value, and $${ by ${. It does not expand replacements again. As in a
// shell, a default is also used if the variable is set but empty. Errors name the variable or file, but never a value.
func expand(value string, env func(string) (string, bool), file func(string) (string, error)) (string, error) {
	var out strings.Builder
	for rest := value; rest != ""; {
		at := strings.Index(rest, "${")
		if at < 0 {
			out.WriteString(rest)
			break
		}
		if at > 0 && rest[at-1] == '$' {
			out.WriteString(rest[:at-1] + "${")
			rest = rest[at+2:]
			continue
		}
		out.WriteString(rest[:at])
		inner, after, ok := strings.Cut(rest[at+2:], "}")
		if !ok {
			return "", fmt.Errorf("${ without }: close it, or write $${ for the two characters ${")
		}
		text, err := substitute(inner, env, file)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		if out.Len() > MaxValue {
			return "", fmt.Errorf("larger than %d bytes after expansion", MaxValue)
		}
		rest = after
	}
	return out.String(), nil
}

// substitute returns the replacement of the text between ${ and }.
func substitute(inner string, env func(string) (string, bool), file func(string) (string, error)) (string, error) {
	name, fallback, hasDefault := strings.Cut(inner, ":-")
	if path, ok := strings.CutPrefix(inner, "file:"); ok && name != "file" {
		return file(path)
	}
	if !variable(name) {
		return "", fmt.Errorf("${…} does not contain a variable name: want ${NAME}, ${NAME:-default} or ${file:PATH}")
	}
	switch text, set := env(name); {
	case hasDefault && text == "":
		return fallback, nil
	case !set:
		return "", fmt.Errorf("the environment variable %s is not set: set it, or write ${%s:-default}", name, name)
	default:
		return text, nil
	}
}

// variable reports whether name is a valid name of an environment variable: POSIX.1-2024 8.1.
func variable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 128
}
