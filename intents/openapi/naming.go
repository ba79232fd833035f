package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
)

const maxName = 80 // characters of an intent's name

// kebab writes a name of any style in the alphabet of UIM core 1.2: listHTTPServers, list_http_servers
// and "List HTTP servers" are all list-http-servers. Empty where nothing is left.
func kebab(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		isLetter := r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
		switch {
		case !isLetter:
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
				b.WriteByte('-')
			}
		case unicode.IsUpper(r):
			afterLower := i > 0 && runes[i-1] < 0x80 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]))
			beforeLower := i > 0 && i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])
			if (afterLower || beforeLower) && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
		if b.Len() > 4*maxName {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// title is the intent_name of a kebab name: ListHttpServers.
func title(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

var pathParameter = regexp.MustCompile(`\{([^{}]*)\}`)

// operationName names an operation by its operationId, else by method and path.
func operationName(operationID, method, path string) string {
	name := kebab(operationID)
	if name == "" {
		name = kebab(method + " " + pathParameter.ReplaceAllString(path, " by $1 "))
	}
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName-7], "-") + "-" + short(name)
	}
	return name
}

// short tells apart what would be cut alike.
func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:3])
}

var leadingNumbers = regexp.MustCompile(`^[vV]?([0-9]{1,9})(?:[.\-]([0-9]{1,9}))?`)

// versionOf is the version of all intents of a document: v1 of 1.0.5, v1.2 of 1.2.1, v1 where there is no
// number.
func versionOf(s string) string {
	m := leadingNumbers.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return "v1"
	}
	out := "v" + noZeros(m[1])
	if minor := noZeros(m[2]); minor != "0" {
		out += "." + minor
	}
	return out
}

func noZeros(s string) string {
	if s = strings.TrimLeft(s, "0"); s == "" {
		return "0"
	}
	return s
}

// major is what a version is compatible within.
func major(version string) string {
	m, _, _ := strings.Cut(version, ".")
	return m
}
