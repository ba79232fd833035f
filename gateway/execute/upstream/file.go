package upstream

import (
	"encoding/base64"
	"errors"
	"mime"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A file is a parameter value that is a file.
type file struct {
	data  []byte
	name  string // empty: the agent named none
	media string // empty: the agent named none
}

// maxSentName is the maximum length of the name of a file that an agent sends, in bytes. Longer names are shortened.
const maxSentName = 255

var errNoFile = errors.New(badBase64)

// readFile reads a file: base64, or a data URL (RFC 2397) in base64, whose parameter "name" is the name of the file, as in
// data:image/png;name=a%20lamp.png;base64,….
func readFile(text string) (f file, err error) {
	if rest, ok := strings.CutPrefix(text, "data:"); ok {
		about, content, found := strings.Cut(rest, ",")
		about, isBase64 := strings.CutSuffix(about, ";base64")
		if !found || !isBase64 {
			return file{}, errNoFile
		}
		text = content
		f.name, f.media = readAbout(about)
	}
	f.data, err = base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return file{}, errNoFile
	}
	return f, nil
}

// readAbout reads the media type and the name of a file from the part of a data URL before ";base64". It ignores other parameters.
func readAbout(about string) (name, media string) {
	for i, part := range strings.Split(about, ";") {
		if value, ok := strings.CutPrefix(part, "name="); ok {
			name = plainName(value)
		}
		if i > 0 || part == "" {
			continue
		}
		if kind, _, err := mime.ParseMediaType(part); err == nil && strings.Contains(kind, "/") {
			media = kind
		}
	}
	return name, media
}

// plainName returns the last element of a percent-encoded path, without control characters. It is empty if that is not a file name.
func plainName(encoded string) string {
	name, err := url.PathUnescape(encoded)
	if err != nil || !utf8.ValidString(name) {
		return ""
	}
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf) { // invisible characters could hide the extension
			return -1
		}
		return r
	}, name)
	for len(name) > maxSentName { // shorten the stem, so that the extension stays
		stem, extension := name, ""
		if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= maxSentName/2 {
			stem, extension = name[:i], name[i:]
		}
		_, size := utf8.DecodeLastRuneInString(stem)
		name = stem[:len(stem)-size] + extension
	}
	if strings.Trim(name, ". ") == "" {
		return ""
	}
	return name
}

// mediaOf returns the media type of a file: the type that the agent named, if it is one of the declared types, and otherwise the result of
// typeOf.
func (f *file) mediaOf(declared string) string {
	if f.media == "" {
		return typeOf(declared, f.data)
	}
	all := mediaTypes(declared)
	if len(all) == 0 {
		return f.media
	}
	for _, one := range all {
		if inRange(f.media, strings.ToLower(one)) {
			return f.media
		}
	}
	return typeOf(declared, f.data)
}
