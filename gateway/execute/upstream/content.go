package upstream

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uimgate/uimgate/internal/membudget"
)

// The members of the object that represents a response with a file or text.
const (
	contentMember  = "content"          // text, or base64 (RFC 4648 section 4) of the bytes
	typeMember     = "content_type"     // media type in lowercase without parameters
	encodingMember = "content_encoding" // "base64" if content is base64; otherwise absent
)

const (
	jsonMedia  = "application/json"
	bytesMedia = "application/octet-stream"
)

// acceptHeader returns the value of the Accept header.
func acceptHeader(accept []string) string {
	if len(accept) == 0 {
		return applicationJSON
	}
	return strings.Join(accept, ", ")
}

// isContent reports whether a 2xx response is passed on as content: the endpoint accepts media types other than JSON, and the response is
// not JSON that the endpoint accepts.
func (r *Route) isContent(a Answer) bool {
	if len(r.accept) == 0 || r.method == http.MethodHead || a.Status == http.StatusNoContent || a.Status == http.StatusResetContent {
		return false
	}
	// A service that refuses calls with status 200 sends JSON.
	mayBeJSON := slices.ContainsFunc(r.accept, isJSON) || r.errorWhen.Pointer != ""
	return !mayBeJSON || !isJSON(a.ContentType)
}

// contentOf converts a response that is a file or text into an object. Bytes of an unknown type are accepted whatever type was requested.
// HTML is accepted only if it was requested by name, because it is usually a login page or an error page.
func (r *Route) contentOf(ctx context.Context, answer Answer, raw []byte) (Answer, error) {
	unusable := func(reason string) (Answer, error) {
		return Answer{Status: answer.Status, Header: answer.Header, ContentType: answer.ContentType},
			&ResponseError{Status: answer.Status, Reason: reason}
	}
	media, asText := answer.ContentType, false
	if media == "" || media == "binary/octet-stream" {
		media = bytesMedia
	}
	fits := media == bytesMedia
	for _, limits := range r.accept {
		named := inRange(media, limits) && (limits != "*/*" || !isHTML(media)) || isNear(media, limits)
		fits = fits || named || limits == bytesMedia && !isHTML(media)
		asText = asText || isText(media) && isText(limits) && named
	}
	if !fits {
		return unusable("it is " + media + ", not " + strings.Join(r.accept, ", "))
	}
	body := map[string]any{typeMember: media}
	if asText && utf8.Valid(raw) {
		body[contentMember] = string(raw)
	} else {
		if membudget.Of(ctx).Wait(ctx, 2*int64(base64.StdEncoding.EncodedLen(len(raw)))) != nil {
			return unusable(errNoMemory.Error())
		}
		body[contentMember], body[encodingMember] = base64.StdEncoding.EncodeToString(raw), "base64"
	}
	answer.content = body
	return answer, nil
}

// isNear reports whether a media type and a requested type are both images, audio, video, or text other than HTML: image/jpg usually means
// image/jpeg, and services may send text/csv as text/plain.
func isNear(media, limits string) bool {
	major, _, _ := strings.Cut(media, "/")
	near := major == "image" || major == "audio" || major == "video" || major == "text" && !isHTML(media)
	return near && strings.HasPrefix(limits, major+"/")
}

func isHTML(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }

func isJSON(media string) bool {
	return media == jsonMedia || media == "text/json" || strings.HasSuffix(media, "+json")
}

// isText reports whether content of this media type is text if it is valid UTF-8. This includes types that end in +json or +xml.
func isText(media string) bool {
	switch media {
	case "application/xml", "application/x-ndjson", "application/yaml", "application/x-yaml", "application/sql", "application/graphql":
		return true
	default:
		return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+xml") || isJSON(media)
	}
}
