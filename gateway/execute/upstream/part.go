package upstream

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Part describes how the value of a parameter is encoded as a part of a multipart/form-data body, or as a complete body of
// application/octet-stream.
type Part struct {
	// Base64 means that the value is a file in base64 (RFC 4648 section 4, with padding, without line breaks), or a data URL in base64. A data
	// URL can also state the media type and the name of the file. The decoded bytes are sent.
	Base64 bool
	// MediaType is the media type of the value. It may list several types, separated by commas, and ranges such as image/*. The type that the
	// bytes seem to have is then sent, if the list includes it; otherwise, the first type that is not a range is sent or, if there is none,
	// application/octet-stream. Empty: application/octet-stream for bytes, application/json for lists and objects, and no type for scalars.
	MediaType string
}

const (
	// maxParts is the maximum number of parts of one request. Each part needs about 200 bytes in addition to its value.
	maxParts = 1000
	// maxFileName is the maximum length of the part of a parameter's name that a file name contains, in bytes.
	maxFileName = 64
)

const badBase64 = "must be base64 (RFC 4648 section 4) with padding and without line breaks, or a data URL in base64"

// checkParts checks the media types of parts. If the body is the value of one parameter, checkParts also checks that exactly one parameter
// has no place in the URL, and records its name.
func (r *Route) checkParts() error {
	if !r.hasBody || r.body != multipartBody && r.body != bytesBody {
		return nil
	}
	for name, part := range r.parts {
		for _, one := range mediaTypes(part.MediaType) {
			if _, _, err := mime.ParseMediaType(one); err != nil || !strings.Contains(one, "/") || !isHeaderValue(one) {
				return fmt.Errorf("%w: the contentMediaType of %q is not a media type", ErrEndpoint, name)
			}
		}
	}
	if r.body != bytesBody {
		return nil
	}
	count := 0
	for _, name := range r.names {
		if !r.placed[name] {
			r.content = name
			count++
		}
	}
	if count != 1 {
		return fmt.Errorf("%w: with the content type %s, one parameter is the whole body, but %d parameters have no place in the URL",
			ErrEndpoint, bytesMedia, count)
	}
	return nil
}

// bytes returns the body for bytesBody, which is the value of one parameter, and sets its media type.
func (b *builder) bytes() []byte {
	name := b.route.content
	b.contentType = bytesMedia
	v := b.parameters[name]
	if v == nil {
		return nil
	}
	data, media, _ := b.part(name, v)
	if media != "" {
		b.contentType = media
	}
	return data
}

// multipart returns a multipart/form-data body (RFC 7578), and sets its media type. Files come last, because some services need the other
// parts first. More than maxParts parts are a violation.
func (b *builder) multipart() []byte {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	count := 0
	write := func(name string, data []byte, media, as string) {
		if count++; count > maxParts {
			return
		}
		h := textproto.MIMEHeader{}
		disposition := `form-data; name="` + inQuotes(name) + `"`
		if as != "" {
			disposition += `; filename="` + inQuotes(as) + `"`
		}
		h["Content-Disposition"] = []string{disposition}
		if media != "" {
			h["Content-Type"] = []string{media}
		}
		if part, err := w.CreatePart(h); err == nil { // writing to a bytes.Buffer cannot fail
			_, _ = part.Write(data)
		}
	}
	for _, member := range b.route.fixedParts {
		write(member.name, []byte(member.text), "", "")
	}
	for _, files := range []bool{false, true} {
		for _, name := range b.route.names {
			if b.route.placed[name] || b.route.parts[name].Base64 != files {
				continue
			}
			for _, v := range items(b.parameters[name]) {
				if count >= maxParts {
					b.violate(name, fmt.Sprintf("makes a request with more than %d parts", maxParts))
					break
				}
				data, media, as := b.part(name, v)
				write(name, data, media, as)
			}
		}
	}
	b.contentType = w.FormDataContentType()
	_ = w.Close()
	return buf.Bytes()
}

// items returns the elements of v if it is a list, and otherwise v as the only element. It omits null.
func items(v any) []any {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []any
	for _, item := range list {
		if item != nil {
			out = append(out, item)
		}
	}
	return out
}

// part returns the content and the media type of one value and, if it is a file, its name. It adds a violation if the value must be base64
// but is not.
func (b *builder) part(name string, v any) (data []byte, media, as string) {
	p := b.route.parts[name]
	if p.Base64 {
		text, ok := v.(string)
		f, err := readFile(text)
		if !ok || err != nil {
			b.violate(name, badBase64)
			return nil, "", ""
		}
		media = f.mediaOf(p.MediaType)
		return f.data, media, cmp.Or(f.name, fileName(name, media))
	}
	data = []byte(b.text(name, v))
	if p.MediaType != "" {
		return data, typeOf(p.MediaType, data), ""
	}
	if _, ok := strictjson.ScalarText(v); !ok {
		media = "application/json"
	}
	return data, media, ""
}

func mediaTypes(declared string) []string {
	var out []string
	for one := range strings.SplitSeq(declared, ",") {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

// typeOf returns the media type of data according to the declared types: see Part.MediaType.
func typeOf(declared string, data []byte) string {
	all := mediaTypes(declared)
	if len(all) == 1 && !strings.Contains(all[0], "*") {
		return all[0]
	}
	seems, _, _ := mime.ParseMediaType(http.DetectContentType(data))
	first := bytesMedia
	for _, one := range slices.Backward(all) {
		if inRange(seems, one) {
			return seems
		}
		if !strings.Contains(one, "*") {
			first = one
		}
	}
	return first
}

// inRange reports whether a media type equals limits or is within a range such as image/*. Both are in lowercase.
func inRange(media, limits string) bool {
	if limits, _, err := mime.ParseMediaType(limits); err == nil {
		whole, isAll := strings.CutSuffix(limits, "*")
		return media == limits || limits == "*/*" || isAll && strings.HasPrefix(media, whole)
	}
	return false
}

var quotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// inQuotes escapes a name for use between quotation marks (RFC 9110 section 5.6.4), and replaces control characters with _.
func inQuotes(name string) string {
	return quotes.Replace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name))
}

// extensions are the file name extensions of media types. Some services check the extension.
var extensions = map[string]string{
	"application/pdf": ".pdf", "application/zip": ".zip", "application/gzip": ".gz", "application/json": ".json",
	"application/xml": ".xml", "text/xml": ".xml", "text/csv": ".csv", "text/plain": ".txt", "image/png": ".png", "image/jpeg": ".jpg",
	"image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg", "audio/mpeg": ".mp3", "audio/wav": ".wav", "video/mp4": ".mp4",
}

// fileName returns a file name: the name of the parameter, with _ for all characters except letters, digits, - and _, and the extension of
// the media type.
func fileName(parameter, media string) string {
	plain := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_') {
			return r
		}
		return '_'
	}, parameter)
	plain = plain[:min(len(plain), maxFileName)]
	if strings.Trim(plain, "_") == "" {
		plain = "file"
	}
	kind, _, _ := mime.ParseMediaType(media)
	if extension, ok := extensions[kind]; ok {
		return plain + extension
	}
	return plain + ".bin"
}
