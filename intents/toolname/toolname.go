// Package toolname derives tool names from the UIDs of intents, so that language models can call intents as tools. A UID cannot serve as a
// tool name, because it contains colons and dots and may be too long. See MCP 2026-07-28, server/tools, Tool Names.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/uimgate/uimgate/intents"
)

// Max is the maximum length of a name, in bytes. Model APIs allow 64 bytes, and clients prepend the name of the server.
const Max = 48

// The number of hexadecimal digits of SHA-256(uid) in a suffix.
const (
	digits     = 6
	moreDigits = 32 // if the names of two UIDs are equal with 6 digits
)

// Names returns the UIDs by tool name. A tool name is <name>_<version> with hyphens for dots, such as find-products_v1, and has at most Max
// characters of [A-Za-z0-9_-]. A longer name is truncated and ends with a hyphen and 6 hexadecimal digits of SHA-256(uid), or 32 if two
// names would otherwise be equal. All versions of an intent also have this suffix if the intent's name occurs in more than one namespace. A
// tool name therefore depends on the UID and on which other intents there are, but not on their versions: a new version does not rename any
// tool. Names ignores the order of the UIDs, duplicates and the zero UID.
func Names(uids []intents.UID) map[string]intents.UID {
	namespace := map[string]string{} // one namespace for each name of an intent
	several := map[string]bool{}     // names in more than one namespace
	for _, uid := range uids {
		if first, ok := namespace[uid.Name]; ok && first != uid.Namespace {
			several[uid.Name] = true
		}
		namespace[uid.Name] = uid.Namespace
	}
	short := map[string]map[intents.UID]bool{}
	for _, uid := range uids {
		if uid == (intents.UID{}) {
			continue
		}
		name := plain(uid)
		if len(name) > Max || several[uid.Name] {
			name = suffixed(name, uid.String(), digits)
		}
		if short[name] == nil {
			short[name] = map[intents.UID]bool{}
		}
		short[name][uid] = true
	}
	out := make(map[string]intents.UID, len(uids))
	for name, same := range short {
		for uid := range same {
			if len(same) == 1 {
				out[name] = uid
			} else {
				out[suffixed(plain(uid), uid.String(), moreDigits)] = uid
			}
		}
	}
	return out
}

// Of returns the name of the tool of an intent, or uid if the catalog does not offer the intent.
func Of(catalog *intents.Catalog, uid string) string {
	var offered []intents.UID
	for _, in := range catalog.Intents() {
		if !in.Retired {
			offered = append(offered, in.UID)
		}
	}
	for name, of := range Names(offered) {
		if of.String() == uid {
			return name
		}
	}
	return uid
}

// maxLabel is the maximum length of a label, in bytes, which leaves space for the name.
const maxLabel = 20

// Under prepends a label, such as the host of a service, to names that Names returned: shop-example_find-products_v1. In the label, Under
// changes letters to lower case, and replaces characters other than letters and digits with hyphens. It truncates a label longer than
// maxLabel and a name longer than Max, and appends hash digits as Names does.
func Under(label string, names map[string]intents.UID) map[string]intents.UID {
	text := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(label)), "-")
	if len(text) > maxLabel {
		const digits = 4
		sum := sha256.Sum256([]byte(label))
		text = text[:maxLabel-1-digits] + "-" + hex.EncodeToString(sum[:])[:digits]
	}
	out := make(map[string]intents.UID, len(names))
	for name, uid := range names {
		full := text + "_" + name
		if len(full) > Max {
			full = suffixed(full, label+" "+uid.String(), digits)
		}
		if _, taken := out[full]; taken {
			full = suffixed(text+"_"+name, label+" "+uid.String(), moreDigits)
		}
		out[full] = uid
	}
	return out
}

func plain(uid intents.UID) string {
	return uid.Name + "_" + strings.ReplaceAll(uid.Version, ".", "-")
}

// suffixed appends a hyphen and this many hexadecimal digits of SHA-256(of) to name. It first truncates name so that the result fits into
// Max.
func suffixed(name, of string, digits int) string {
	sum := sha256.Sum256([]byte(of))
	return name[:min(len(name), Max-1-digits)] + "-" + hex.EncodeToString(sum[:])[:digits]
}
